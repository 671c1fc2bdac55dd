//! The requests when their device starts anew, or takes no more work.

use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::stats::Counter;

use super::{Request, Scheduler, Stage};
use crate::bus::Bus;
use crate::clients::Clients;
use crate::fence::Ending;
use crate::hardware::{Failure, Hardware};
use crate::tm::RequestId;

impl Scheduler {
    /// Ends every request if the device died or was lost since this was last called.
    pub(crate) fn end_failed<B: Bus>(&mut self, hardware: &mut Hardware<B>, clients: &mut Clients) {
        let Some(failure) = hardware.take_failure() else { return };
        let with_device: Vec<RequestId> = hardware.queues_mut().take_all(None).map(|(id, _)| id).collect();
        let errno = match failure {
            Failure::Dead => {
                self.end_of_death(hardware, clients, with_device);
                Errno::EIO
            }
            Failure::Lost => Errno::ENODEV,
        };
        self.end_all(hardware, clients, errno);
        self.purge_closed(hardware, clients);
        clients.announce();
    }

    /// Ends what was with a device that died: the request that faulted with its fault.
    fn end_of_death<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        with_device: Vec<RequestId>,
    ) {
        let at_fault = clients.last_open_fault();
        for id in with_device {
            let Some(request) = self.requests.get(id) else { continue };
            let (file, fence, context) = (request.file, request.fence, request.context);
            let is_its = at_fault.is_some_and(|(faulted, _)| faulted == context);
            let fault = if is_its && clients.has_open_fault(context) {
                clients.attribute(hardware, context, (file, fence))
            } else {
                0
            };
            let timestamp = at_fault.map_or(0, |(_, timestamp)| timestamp);
            self.finish(hardware, clients, id, Ending { result: Err(Errno::EIO), fault, timestamp });
        }
    }

    fn end_all<B: Bus>(&mut self, hardware: &mut Hardware<B>, clients: &mut Clients, errno: Errno) {
        let all: Vec<RequestId> = self.requests.iter().map(|(id, _)| id).collect();
        for id in all {
            self.finish(hardware, clients, id, Ending::unstarted(errno));
        }
    }

    /// Resets the device. With an error, every request of every file ends with it. Without one, the requests that
    /// had not started go to the device again, and what had ends with `EIO`.
    ///
    /// How many requests have ended; `None` if the reset failed, and the device is lost.
    pub(crate) fn reset<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        all: Option<Errno>,
    ) -> Option<usize> {
        let mut taken = hardware.take_back_all();
        // Requests that the device kept aside are lost with its state.
        let is_aside = |request: &Request| matches!(request.stage, Stage::Aside { .. });
        taken.extend(self.requests.iter().filter(|(_, request)| is_aside(request)).map(|(id, _)| (id, true)));
        let before = self.requests.count();
        let reset = hardware.reset();
        if reset.is_some() {
            clients.clear_faults();
            clients.count(Counter::Recoveries, 1);
        }
        if let Some(errno) = all {
            self.end_all(hardware, clients, errno);
        }
        // The youngest first, as each goes to the head of its line.
        for (id, has_started) in taken.into_iter().rev() {
            let stopped = self.requests.get(id).and_then(|request| request.stopped);
            match (stopped, has_started) {
                (Some(errno), _) => self.finish(hardware, clients, id, Ending::unstarted(errno)),
                (None, true) => self.finish(hardware, clients, id, Ending::unstarted(Errno::EIO)),
                (None, false) => self.requeue(clients, id),
            }
        }
        self.has_stopped = false;
        let ended = before.saturating_sub(self.requests.count());
        clients.announce();
        self.purge_closed(hardware, clients);
        self.end_failed(hardware, clients);
        reset.map(|()| ended)
    }

    /// Puts a request that did not run back to the head of its line.
    pub(super) fn requeue(&mut self, clients: &mut Clients, id: RequestId) {
        let Some(request) = self.requests.get_mut(id) else { return };
        request.stage = Stage::Waiting;
        let (file, fence, queue) = (request.file, request.fence, request.queue);
        clients.returned(file, fence);
        self.shares.returned(file);
        self.waiting[queue].push_front(file, id);
    }

    /// Compares what the registers say with what is known, and takes note of all that has ended.
    pub(crate) fn check_hardware<B: Bus>(&mut self, hardware: &mut Hardware<B>, clients: &mut Clients) {
        hardware.check_queues();
        self.end_failed(hardware, clients);
        self.take_ended(hardware, clients);
    }
}
