//! Pools, as clients make and use them.

use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::handle::NONE;
use ane_uapi::ioctl::param::POOLS_MAX;
use ane_uapi::ioctl::pool::{PoolCreate, PoolDestroy, PoolRecycle, PoolTake};
use ane_uapi::ioctl::stats::Counter;

use super::Context;
use super::argument::unless;
use crate::bus::Bus;
use crate::device::Driver;
use crate::file::Object;
use crate::pool::Pool;

impl<B: Bus> Driver<B> {
    pub(super) fn pool_create(
        &mut self,
        create: &mut PoolCreate,
        context: &mut Context<'_>,
    ) -> Result<(), Errno> {
        unless(create.capacity == 0 || create.flags != 0, Errno::EINVAL)?;
        let file = self.files.get_mut(&context.file).ok_or(Errno::ENODEV)?;
        unless(file.pools >= POOLS_MAX, Errno::ENOSPC)?;
        let handle = file.objects.insert(Object::Pool(Pool::new(create.capacity)));
        create.handle = handle.map_err(|full| full.errno())?.raw();
        file.pools = file.pools.saturating_add(1);
        Ok(())
    }

    pub(super) fn pool_destroy(
        &mut self,
        destroy: &mut PoolDestroy,
        context: &mut Context<'_>,
    ) -> Result<(), Errno> {
        let file = self.files.get_mut(&context.file).ok_or(Errno::ENODEV)?;
        let pool = file.pool(destroy.handle)?;
        unless(pool.is_busy(), Errno::EBUSY)?;
        let members: Vec<u32> = pool.handles().collect();
        for member in members {
            if let Ok(Object::Buffer(buffer)) = file.objects.get_mut(member) {
                buffer.pool = NONE;
            }
        }
        let removed = file.objects.remove(destroy.handle);
        removed.map_err(|missing| missing.errno())?;
        file.pools = file.pools.saturating_sub(1);
        Ok(())
    }

    pub(super) fn pool_take(&mut self, take: &mut PoolTake, context: &mut Context<'_>) -> Result<(), Errno> {
        let file = self.files.get_mut(&context.file).ok_or(Errno::ENODEV)?;
        take.handle = file.pool_mut(take.pool)?.take(take.size)?;
        file.counters.add(Counter::PoolTakes, 1);
        self.counters.add(Counter::PoolTakes, 1);
        Ok(())
    }

    pub(super) fn pool_recycle(
        &mut self,
        recycle: &mut PoolRecycle,
        context: &mut Context<'_>,
    ) -> Result<(), Errno> {
        let file = self.files.get_mut(&context.file).ok_or(Errno::ENODEV)?;
        file.pool(recycle.pool)?;
        file.buffer(recycle.handle)?;
        file.pool_mut(recycle.pool)?.recycle(recycle.handle)?;
        file.counters.add(Counter::PoolRecycles, 1);
        self.counters.add(Counter::PoolRecycles, 1);
        Ok(())
    }
}
