//! The calls on buffers. [`crate::bo`] decides which numbers are valid.

use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{BO_AVAILABLE, BO_BUSY, BoCreate, BoInfo, BoMap, BoPremap, BoUnmap};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::handle::NONE;

use super::argument::unless;
use super::{Context, Result};
use crate::bo::{BufferError, BufferId, Create, Holder, Map, Premap, Space, Use};
use crate::bus::Bus;
use crate::clients::Buffer;
use crate::device::Driver;
use crate::front::FileId;
use crate::journal::told;
use crate::pool::State;

impl<B: Bus> Driver<B> {
    /// The memory of a file's context and the buffer of a handle in it, together with the bus.
    fn reach(&mut self, file: FileId, handle: u32) -> Result<(&mut B, &mut Space, Buffer)> {
        let buffer = self.clients.file(file)?.buffer(handle)?;
        let context = self.hardware.contexts().of(file).ok_or(Errno::ENOENT)?;
        let (bus, space) = self.hardware.reach(context).ok_or(Errno::ENODEV)?;
        Ok((bus, space, buffer))
    }

    pub(super) fn create_buffer(
        &mut self,
        file: FileId,
        create: &Create,
        pool: u32,
    ) -> Result<(u32, BufferId)> {
        let context = self.clients.attached(&mut self.hardware, file)?;
        let store = self.hardware.contexts().store(file).ok_or(Errno::ENODEV)?;
        let (bus, space) = self.hardware.reach(context).ok_or(Errno::ENODEV)?;
        let id =
            space.create(bus, &Create { store, ..*create }).map_err(|error| told(&error, error.errno()))?;
        match self.clients.file_mut(file)?.insert_buffer(Buffer { id, pool }) {
            Ok(handle) => Ok((handle, id)),
            Err(errno) => {
                space.release(id, Holder::Handle);
                Err(errno)
            }
        }
    }

    pub(super) fn bo_create(&mut self, create: &mut BoCreate, context: &mut Context<'_>) -> Result<()> {
        let file = context.file;
        if create.pool != NONE {
            let pool = self.clients.file(file)?.pool(create.pool)?;
            unless(create.usage != Usage::Output as u32, Errno::EINVAL)?;
            unless(!pool.has_room(), Errno::ENOSPC)?;
        }
        let asked = Create {
            size: create.size,
            flags: create.flags,
            usage: create.usage,
            address: create.device_address,
            ..Create::default()
        };
        let (handle, id) = self.create_buffer(file, &asked, create.pool)?;
        let info = self.hardware.space(file).and_then(|space| space.info(id)).ok_or(Errno::ENODEV)?;
        if let Ok(pool) = self.clients.file_mut(file)?.pool_mut(create.pool) {
            pool.join(handle, info.size);
        }
        create.size = info.size;
        create.handle = handle;
        create.device_address = info.device_address.map_or(0, |address| address.0.into());
        create.map_offset = info.map_offset;
        Ok(())
    }

    pub(super) fn bo_info(&mut self, ask: &mut BoInfo, context: &mut Context<'_>) -> Result<()> {
        let (_, space, buffer) = self.reach(context.file, ask.handle)?;
        let info = space.info(buffer.id).ok_or(Errno::ESTALE)?;
        let file = self.clients.file(context.file)?;
        let pooled = file.pool(buffer.pool).ok().and_then(|pool| pool.state(ask.handle));
        let available = if pooled == Some(State::Available) { BO_AVAILABLE } else { 0 };
        *ask = BoInfo {
            handle: ask.handle,
            flags: info.flags,
            size: info.size,
            map_offset: info.map_offset,
            device_address: info.device_address.map_or(0, |address| address.0.into()),
            usage: info.usage as u32,
            pool: buffer.pool,
            state: info.state | available,
            mapping_count: info.mapping_count,
            evictions: info.evictions,
            reserved: [0; 2],
        };
        Ok(())
    }

    pub(super) fn bo_map(&mut self, map: &mut BoMap, context: &mut Context<'_>) -> Result<()> {
        let (bus, space, buffer) = self.reach(context.file, map.handle)?;
        let asked = Map {
            usage: map.usage,
            flags: map.flags,
            offset: map.offset,
            size: map.size,
            address: map.device_address,
        };
        let (mapping, at) = space.map(bus, buffer.id, &asked).map_err(|error| told(&error, error.errno()))?;
        map.mapping = mapping;
        map.device_address = at.0.into();
        Ok(())
    }

    pub(super) fn bo_unmap(&mut self, unmap: &mut BoUnmap, context: &mut Context<'_>) -> Result<()> {
        let (_, space, buffer) = self.reach(context.file, unmap.handle)?;
        let is_busy = space.info(buffer.id).is_some_and(|info| info.state & BO_BUSY != 0);
        // One that waits for room uses none of its mappings yet, but is to find them.
        let named = Use { buffer: buffer.id, mapping: unmap.mapping };
        let of = self.hardware.contexts().of(context.file).ok_or(Errno::ENOENT)?;
        unless(is_busy && self.scheduler.is_in_flight(of, named), Errno::EBUSY)?;
        let (_, space, _) = self.reach(context.file, unmap.handle)?;
        space.unmap(buffer.id, unmap.mapping, unmap.usage).map_err(|error| told(&error, error.errno()))?;
        // A request that waits for room may find it now.
        self.clients.announce();
        Ok(())
    }

    pub(super) fn bo_premap(&mut self, premap: &mut BoPremap, context: &mut Context<'_>) -> Result<()> {
        unless(premap.count != 1, Errno::EINVAL)?;
        let (bus, space, buffer) = self.reach(context.file, premap.handle)?;
        let asked = Premap { usage: premap.usage, address: premap.device_address, size: premap.size };
        match space.premap(bus, buffer.id, &asked) {
            Ok(at) => {
                premap.device_address = at.0.into();
                Ok(())
            }
            Err(BufferError::Mapped(at)) => {
                premap.device_address = at.0.into();
                Err(Errno::EALREADY)
            }
            Err(error) => Err(told(&error, error.errno())),
        }
    }

    /// Lets a buffer go. Its other holders keep it. `EINVAL` if the handle names none, as existing clients are told.
    pub(super) fn free_buffer(&mut self, file: FileId, handle: u32) -> Result<()> {
        let buffer = self.clients.file_mut(file)?.remove_buffer(handle)?;
        let context = self.hardware.contexts().of(file).ok_or(Errno::EINVAL)?;
        if let Some((_, space)) = self.hardware.reach(context) {
            space.release(buffer.id, Holder::Handle);
        }
        Ok(())
    }
}
