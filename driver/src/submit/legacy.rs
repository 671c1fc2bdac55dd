//! From an existing client's words to a request: priority 4, network id 0x40, and a descriptor that the client has
//! copied itself (client-abi).

use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::tm::RequestInfo;
use ane_uapi::ioctl::drm_ane::{CMD_GRAN, LEGACY_QUEUE, Submit};
use ane_uapi::ioctl::errno::Errno;

use super::{First, Scheduler};
use crate::bo::{Holder, Use};
use crate::bus::Bus;
use crate::clients::Clients;
use crate::front::FileId;
use crate::hardware::Hardware;
use crate::tm::{RequestId, queue_of};

impl Scheduler {
    /// Takes a request whose words were checked. Its fence, or `None` while there is no room for it.
    ///
    /// # Errors
    ///
    /// `ENOSPC` if its mappings have no room; `EINVAL`.
    pub(crate) fn submit_legacy<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        file: FileId,
        asked: (&Submit, RequestInfo),
    ) -> Result<Option<u64>, Errno> {
        if !self.has_room(clients, file) {
            return Ok(None);
        }
        let id = self.requests.create(None);
        let filled = self.fill_legacy(hardware, clients, (file, id), asked);
        if let Err(errno) = filled.and_then(|()| self.map_request(hardware, id)) {
            self.discard(hardware, clients, id);
            return Err(errno);
        }
        clients.group_admitted(file);
        Ok(Some(self.commit(hardware, clients, id, None)))
    }

    fn fill_legacy<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &Clients,
        (file, id): (FileId, RequestId),
        (submit, info): (&Submit, RequestInfo),
    ) -> Result<(), Errno> {
        let context = hardware.contexts().of(file).ok_or(Errno::EINVAL)?;
        let known = clients.file(file)?;
        let (_, space) = hardware.reach(context).ok_or(Errno::ENODEV)?;
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
