//! The calls of existing clients, with the checks and the meaning that they have always had (client-abi).
//!
//! Buffers lie at ascending device addresses in the order of their creation. A submission runs the whole program, at
//! priority 4, in queue 4, under network id 0x40, from a descriptor that the client has copied and patched itself, and
//! returns when the engine is done. The device's own deadline limits it, which counts progress and the engine's time. No
//! clock of the host limits it, since the host may be busy. Such clients know nothing of faults: a submission while its
//! context is parked waits for the park to end.

use std::task::Poll;

use ane_uapi::hw::tm::RequestInfo;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::BO_PREMAPPED;
use ane_uapi::ioctl::drm_ane::{BoFree, BoInit, CAPS_ABI, CAPS_FAMILY_H13, Caps, Submit};
use ane_uapi::ioctl::errno::Errno;

use super::argument::unless;
use super::{Answer, Context, Result};
use crate::bo::Create;
use crate::bus::Bus;
use crate::device::Driver;
use crate::fence::State;
use crate::front::FileId;

impl<B: Bus> Driver<B> {
    pub(super) fn get_caps(&mut self, caps: &mut Caps, _: &mut Context<'_>) -> Result<()> {
        let size = u32::try_from(size_of::<Caps>()).map_err(|_| Errno::EINVAL)?;
        *caps = Caps { size, abi: CAPS_ABI, family: CAPS_FAMILY_H13, ..Caps::default() };
        Ok(())
    }

    pub(super) fn bo_init(&mut self, init: &mut BoInit, context: &mut Context<'_>) -> Result<()> {
        let file = context.file;
        // Existing clients map everything both ways, at once, and never say what for.
        let premapped = Create {
            size: init.size,
            flags: BO_PREMAPPED,
            usage: Usage::Program as u32,
            ..Create::default()
        };
        let created = match self.create_buffer(file, &premapped, 0) {
            // It may have its place once something else is idle.
            Err(Errno::ENOSPC) => self.create_buffer(file, &Create { flags: 0, ..premapped }, 0),
            created => created,
        };
        let (handle, id) =
            created.map_err(|errno| if errno == Errno::ENOSPC { Errno::ENOMEM } else { errno })?;
        init.handle = handle;
        init.offset =
            self.hardware.space(file).and_then(|space| space.info(id)).ok_or(Errno::ENODEV)?.map_offset;
        Ok(())
    }

    pub(super) fn bo_free(&mut self, free: &mut BoFree, context: &mut Context<'_>) -> Result<()> {
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
        match self.clients.file(file).ok().and_then(|known| known.fences().state(fence)) {
            Some(State::Queued | State::Running) => Poll::Pending,
            Some(State::Complete(ending)) => Poll::Ready(ending.result.map_err(|errno| match errno {
                // The device gave up.
                Errno::ETIME => Errno::ETIMEDOUT,
                other => other,
            })),
            // No call waits for so long that a thousand other requests end.
            Some(State::Forgotten) | None => Poll::Ready(Err(Errno::EIO)),
        }
    }

    /// Submits what such a client asks for; `None` while there is no room for it.
    fn try_legacy(&mut self, file: FileId, submit: &Submit) -> Result<Option<u64>> {
        unless(submit.tsk_size == 0 || submit.td_count == 0 || submit.td_size == 0, Errno::EINVAL)?;
        let [commands, constants, ..] = submit.handles;
        unless(commands == 0 || constants != 0 || submit.btsp_handle == 0, Errno::EINVAL)?;
        let info = RequestInfo::of(submit.td_size, submit.td_count).map_err(|_| Errno::EINVAL)?;
        let known = self.clients.file(file)?;
        let named = submit.handles.iter().filter(|&&handle| handle != 0).chain([&submit.btsp_handle]);
        for &handle in named {
            known.buffer(handle).map_err(|_| Errno::EINVAL)?;
        }
        let commands = known.buffer(commands).map_err(|_| Errno::EINVAL)?;
        let space = self.hardware.space(file).ok_or(Errno::EINVAL)?;
        let size = space.info(commands.id).ok_or(Errno::EINVAL)?.size;
        unless(submit.tsk_size >= size, Errno::EINVAL)?;
        let bootstrap = known.buffer(submit.btsp_handle).map_err(|_| Errno::EINVAL)?;
        let size = space.info(bootstrap.id).ok_or(Errno::EINVAL)?.size;
        unless(u64::from(submit.td_size) > size, Errno::EINVAL)?;
        unless(self.hardware.is_dead(), Errno::EIO)?;
        let Self { hardware, clients, scheduler } = self;
        // A context that is parked takes the request all the same: its client knows nothing of parks.
        let submitted = scheduler.submit_legacy(hardware, clients, file, (submit, info));
        submitted.map_err(|errno| if errno == Errno::ENOSPC { Errno::ENOMEM } else { errno })
    }
}
