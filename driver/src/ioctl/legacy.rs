//! The calls of existing clients, with the checks and the meaning that they have always had (client-abi).
//!
//! Buffers lie at ascending device addresses in the order of their creation. A submission runs the whole program, at
//! priority 4, in queue 4, under network id 0x40, from a descriptor that the client has copied and patched itself, and
//! returns when the engine is done. What limits it is the device's own deadline, which counts progress and the engine's time
//! and no clock of a host that may have other things to do. Such clients know nothing of faults: a submission while its
//! context is parked waits for the park to end.

use std::task::Poll;

use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::tm::RequestInfo;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::BO_PREMAPPED;
use ane_uapi::ioctl::drm_ane::{
    BoFree, BoInit, CAPS_ABI, CAPS_FAMILY_H13, CMD_GRAN, Caps, LEGACY_QUEUE, Submit,
};
use ane_uapi::ioctl::errno::Errno;

use super::argument::unless;
use super::{Answer, Context};
use crate::bo::{Create, Holder, Use};
use crate::bus::Bus;
use crate::device::Driver;
use crate::fence::State;
use crate::front::FileId;
use crate::submit::{First, RequestId};
use crate::tm::queue_of;

impl<B: Bus> Driver<B> {
    pub(super) fn get_caps(&mut self, caps: &mut Caps, _: &mut Context<'_>) -> Result<(), Errno> {
        let size = u32::try_from(size_of::<Caps>()).map_err(|_| Errno::EINVAL)?;
        *caps = Caps { size, abi: CAPS_ABI, family: CAPS_FAMILY_H13, ..Caps::default() };
        Ok(())
    }

    pub(super) fn bo_init(&mut self, init: &mut BoInit, context: &mut Context<'_>) -> Result<(), Errno> {
        let file = context.file;
        // Existing clients map everything both ways, at once, and never say what for.
        let premapped =
            Create { size: init.size, flags: BO_PREMAPPED, usage: Usage::Program as u32, address: 0 };
        let created = match self.create_buffer(file, &premapped, 0) {
            // It may have its place once something else is idle.
            Err(Errno::ENOSPC) => self.create_buffer(file, &Create { flags: 0, ..premapped }, 0),
            created => created,
        };
        let (handle, id) =
            created.map_err(|errno| if errno == Errno::ENOSPC { Errno::ENOMEM } else { errno })?;
        init.handle = handle;
        init.offset = self.space(file).and_then(|space| space.info(id)).ok_or(Errno::ENODEV)?.map_offset;
        Ok(())
    }

    pub(super) fn bo_free(&mut self, free: &mut BoFree, context: &mut Context<'_>) -> Result<(), Errno> {
        self.free_buffer(context.file, free.handle)
    }

    pub(super) fn legacy_submit(&mut self, submit: &mut Submit, context: &mut Context<'_>) -> Answer {
        let file = context.file;
        let fence = match *context.ticket {
            Some(fence) => fence,
            None => match self.try_legacy(file, submit) {
                Ok(Some(fence)) => *context.ticket.insert(fence),
                Ok(None) => return Poll::Pending,
                Err(errno) => return Poll::Ready(Err(errno)),
            },
        };
        match self.files.get(&file).and_then(|known| known.fences.state(fence)) {
            Some(State::Queued | State::Running) => Poll::Pending,
            Some(State::Complete(ending)) => Poll::Ready(ending.result.map_err(|errno| match errno {
                // The device gave up.
                Errno::ETIME => Errno::ETIMEDOUT,
                other => other,
            })),
            // Nobody waits for so long that a thousand others end.
            Some(State::Forgotten) | None => Poll::Ready(Err(Errno::EIO)),
        }
    }

    /// Submits what such a client asks for; `None` while there is no room for it.
    fn try_legacy(&mut self, file: FileId, submit: &Submit) -> Result<Option<u64>, Errno> {
        unless(submit.tsk_size == 0 || submit.td_count == 0 || submit.td_size == 0, Errno::EINVAL)?;
        let [commands, constants, ..] = submit.handles;
        unless(commands == 0 || constants != 0 || submit.btsp_handle == 0, Errno::EINVAL)?;
        let info = RequestInfo::of(submit.td_size, submit.td_count).map_err(|_| Errno::EINVAL)?;
        let known = self.files.get(&file).ok_or(Errno::ENODEV)?;
        let named = submit.handles.iter().filter(|&&handle| handle != 0).chain([&submit.btsp_handle]);
        for &handle in named {
            known.buffer(handle).map_err(|_| Errno::EINVAL)?;
        }
        let commands = known.buffer(commands).map_err(|_| Errno::EINVAL)?;
        let space = self.space(file).ok_or(Errno::EINVAL)?;
        let size = space.info(commands.id).ok_or(Errno::EINVAL)?.size;
        unless(submit.tsk_size >= size, Errno::EINVAL)?;
        let bootstrap = known.buffer(submit.btsp_handle).map_err(|_| Errno::EINVAL)?;
        let size = space.info(bootstrap.id).ok_or(Errno::EINVAL)?.size;
        unless(u64::from(submit.td_size) > size, Errno::EINVAL)?;
        unless(self.is_dead(), Errno::EIO)?;
        // A context that is parked takes the request all the same: its client knows nothing of parks.
        if !self.has_room(file) {
            return Ok(None);
        }
        let group = self.requests.create_group();
        let id = self.requests.create(group);
        let filled = self.fill_legacy(file, id, submit, info).and_then(|()| self.map_request(id));
        if let Err(errno) = filled {
            self.discard(id);
            return Err(if errno == Errno::ENOSPC { Errno::ENOMEM } else { errno });
        }
        self.count_group(file);
        Ok(Some(self.commit(id, None)))
    }

    fn fill_legacy(
        &mut self,
        file: FileId,
        id: RequestId,
        submit: &Submit,
        info: RequestInfo,
    ) -> Result<(), Errno> {
        let context = self.contexts.of(file).ok_or(Errno::EINVAL)?;
        let known = self.files.get(&file).ok_or(Errno::ENODEV)?;
        let space = self.contexts.space_mut(context).ok_or(Errno::ENODEV)?;
        let request = self.requests.get_mut(id).ok_or(Errno::EINVAL)?;
        request.file = file;
        request.context = context;
        request.queue = queue_of(LEGACY_QUEUE).ok_or(Errno::EINVAL)?;
        request.nid = Some(Nid::LINUX);
        request.info = info;
        request.first = First::Clients;
        for (bar, &handle) in BarIndex::ALL.into_iter().zip(&submit.handles) {
            // Coefficients lie behind the commands, in the same buffer.
            let (handle, offset) = if bar == BarIndex::CONSTANTS {
                (submit.handles[0], submit.tsk_size.next_multiple_of(CMD_GRAN.into()))
            } else {
                (handle, 0)
            };
            if handle == 0 {
                continue;
            }
            let buffer = known.buffer(handle).map_err(|_| Errno::EINVAL)?;
            space.hold(buffer.id, Holder::Request);
            // Below the buffer's size, and so below the aperture's.
            let offset = u32::try_from(offset).map_err(|_| Errno::EINVAL)?;
            request.bind(bar, Use { buffer: buffer.id, mapping: 0 }, offset);
        }
        let bootstrap = known.buffer(submit.btsp_handle).map_err(|_| Errno::EINVAL)?;
        space.hold(bootstrap.id, Holder::Request);
        request.uses.push(Use { buffer: bootstrap.id, mapping: 0 });
        Ok(())
    }
}
