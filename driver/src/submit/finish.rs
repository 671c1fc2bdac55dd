//! The end of a request, and what it sets free.

use std::time::Duration;

use ane_uapi::hw::tm::error::ErrorCode;
use ane_uapi::ioctl::errno::Errno;

use super::{Scheduler, Stage};
use crate::bo::Holder;
use crate::bus::Bus;
use crate::clients::Clients;
use crate::fence::Ending;
use crate::hardware::Hardware;
use crate::tm::{Ended, RequestId, Why};

impl Scheduler {
    /// Ends a request in any stage. Calls that wait for it learn that it ended.
    pub(super) fn finish<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        id: RequestId,
        ending: Ending,
    ) {
        self.drop_aside(hardware, id);
        let Some(request) = self.requests.get(id) else { return };
        let (file, fence, queue, stage) = (request.file, request.fence, request.queue, request.stage);
        let before = request.ran;
        let tasks = request.info.tasks();
        clients.release(file, request.waits());
        self.let_go(hardware, clients, id);
        let is_last = self.requests.remove(id);
        let now = hardware.now();
        let since = match stage {
            Stage::Running { since, .. } => Some(since),
            Stage::Waiting | Stage::Aside { .. } => {
                self.waiting[queue].remove(file, id);
                None
            }
        };
        self.shares.ended(file, tasks, since, now);
        let ran = before.saturating_add(since.map_or(Duration::ZERO, |since| now.since(since)));
        let ran = u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX);
        if ending.result.is_ok() {
            self.shares.ended_well(file);
        }
        clients.ended(file, fence, ending, ran, is_last);
    }

    /// Lets go of what a request holds: mappings, buffers, pools, its program.
    pub(super) fn let_go<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        id: RequestId,
    ) {
        let Some(request) = self.requests.get_mut(id) else { return };
        if let Some((_, space)) = hardware.reach(request.context) {
            if request.is_mapped {
                space.finish(&request.uses);
            }
            for used in &request.uses {
                space.release(used.buffer, Holder::Request);
            }
        }
        request.is_mapped = false;
        clients.end_pooled(request.file, &request.pooled, request.recycles);
        request.uses.clear();
        request.pooled.clear();
        if let Some(program) = request.program.take() {
            clients.leave_program(hardware, program);
        }
    }

    /// Takes away the files that were closed and of which the device has nothing any more.
    pub(crate) fn purge_closed<B: Bus>(&mut self, hardware: &mut Hardware<B>, clients: &mut Clients) {
        for file in clients.take_closed() {
            self.shares.closed(file, hardware.now());
            self.waiting.0.iter_mut().for_each(|waiting| waiting.remove_file(file));
            clients.end_close(hardware, file);
        }
    }

    /// Takes note of all that has left the hardware.
    pub(crate) fn take_ended<B: Bus>(&mut self, hardware: &mut Hardware<B>, clients: &mut Clients) {
        while let Some(ended) = hardware.queues_mut().take_ended() {
            hardware.note_work();
            self.end_of(hardware, clients, &ended);
        }
    }

    /// A request has left the hardware.
    fn end_of<B: Bus>(&mut self, hardware: &mut Hardware<B>, clients: &mut Clients, ended: &Ended) {
        let Some(request) = self.requests.get(ended.id) else { return };
        let (file, stopped, context, fence) = (request.file, request.stopped, request.context, request.fence);
        if let Some(nid) = ended.aside {
            self.put_aside(hardware, clients, ended.id, nid, stopped);
            return;
        }
        if ended.is_untouched && stopped.is_none() {
            // Its queue was taken back for another's sake, and nothing of it ran: it goes first once more.
            self.requeue(clients, ended.id);
            return;
        }
        let timestamp = ended.timestamp;
        if let Err(Why::Error { code: Some(ErrorCode::Deadline), .. }) = ended.result {
            self.penalise(hardware, clients, ended.id);
        }
        let (result, fault) = match ended.result {
            Ok(()) => (Ok(()), 0),
            Err(why) => {
                let fault = match why {
                    Why::Error { code: Some(code), .. } if code.is_fault() => {
                        clients.attribute(hardware, context, (file, fence))
                    }
                    _ => 0,
                };
                clients.note_failure(hardware, (file, fence), ended.place.queue, why);
                (Err(stopped.unwrap_or(errno_of(why))), fault)
            }
        };
        self.finish(hardware, clients, ended.id, Ending { result, fault, timestamp });
    }
}

/// The error number of a client for an error of the device.
const fn errno_of(why: Why) -> Errno {
    match why {
        Why::Error { code: Some(ErrorCode::Deadline), .. } => Errno::ETIME,
        Why::Error { .. } | Why::Lost => Errno::EIO,
    }
}
