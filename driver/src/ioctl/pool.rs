//! Pools, as clients make and use them.

use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::pool::{PoolCreate, PoolDestroy, PoolRecycle, PoolTake};
use ane_uapi::ioctl::stats::Counter;

use super::argument::unless;
use super::{Context, Result};
use crate::bus::Bus;
use crate::device::Driver;

impl<B: Bus> Driver<B> {
    pub(super) fn pool_create(&mut self, create: &mut PoolCreate, context: &mut Context<'_>) -> Result<()> {
        unless(create.capacity == 0 || create.flags != 0, Errno::EINVAL)?;
        create.handle = self.clients.file_mut(context.file)?.insert_pool(create.capacity)?;
        Ok(())
    }

    pub(super) fn pool_destroy(
        &mut self,
        destroy: &mut PoolDestroy,
        context: &mut Context<'_>,
    ) -> Result<()> {
        self.clients.file_mut(context.file)?.remove_pool(destroy.handle)
    }

    pub(super) fn pool_take(&mut self, take: &mut PoolTake, context: &mut Context<'_>) -> Result<()> {
        let file = self.clients.file_mut(context.file)?;
        take.handle = file.pool_mut(take.pool)?.take(take.size)?;
        self.clients.count_of(context.file, Counter::PoolTakes, 1);
        Ok(())
    }

    pub(super) fn pool_recycle(
        &mut self,
        recycle: &mut PoolRecycle,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let file = self.clients.file_mut(context.file)?;
        file.pool(recycle.pool)?;
        file.buffer(recycle.handle)?;
        file.pool_mut(recycle.pool)?.recycle(recycle.handle)?;
        self.clients.count_of(context.file, Counter::PoolRecycles, 1);
        Ok(())
    }
}
