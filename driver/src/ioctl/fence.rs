//! Waiting for requests, and taking them back.

use std::task::Poll;

use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fence::{CANCEL_RUNNING, Cancel, Fence, WAIT_ANY, Wait};
use ane_uapi::ioctl::param::WAIT_MAX;

use super::argument::{each, elements, put, unless};
use super::{Answer, Context, Result};
use crate::bus::Bus;
use crate::clock::Time;
use crate::device::Driver;
use crate::fence::{Fences, State};

/// Fills in what became of a fence's request; true if it has ended.
fn tell(fences: &Fences, fence: &mut Fence) -> Result<bool> {
    let state = fences.state(fence.fence).ok_or(Errno::ENODATA)?;
    let (result, fault, timestamp) = match state {
        State::Complete(ending) => {
            (ending.result.map_or_else(|errno| errno.as_result(), |()| 0), ending.fault, ending.timestamp)
        }
        State::Queued | State::Running | State::Forgotten => (0, 0, 0),
    };
    *fence = Fence { fence: fence.fence, result, state: state.code() as u32, fault, timestamp };
    Ok(state.has_ended())
}

impl<B: Bus> Driver<B> {
    pub(super) fn wait(&mut self, wait: &mut Wait, context: &mut Context<'_>) -> Answer {
        match self.try_wait(wait, context) {
            Ok(true) => Poll::Ready(Ok(())),
            Ok(false) => Poll::Pending,
            Err(errno) => Poll::Ready(Err(errno)),
        }
    }

    /// True if the wait is over; false if it is not.
    fn try_wait(&mut self, wait: &mut Wait, context: &mut Context<'_>) -> Result<bool> {
        unless(wait.count == 0 || wait.flags & !WAIT_ANY != 0, Errno::EINVAL)?;
        let bytes = elements::<Fence>(context.memory, wait.fences, wait.count, wait.fence_size, WAIT_MAX)?;
        let file = self.clients.file_mut(context.file)?;
        let mut completed = 0_u32;
        for mut fence in each::<Fence>(bytes) {
            completed = completed.saturating_add(tell(file.fences(), &mut fence)?.into());
        }
        file.mark_read();
        let wanted = if wait.flags & WAIT_ANY != 0 { 1 } else { wait.count };
        let until = Time::from_client(wait.timeout_ns);
        let is_late = until <= self.hardware.now();
        if completed < wanted && !is_late {
            self.hardware.ring_at(until);
            return Ok(false);
        }
        wait.completed = completed;
        for index in 0..wait.count as usize {
            let at = index.saturating_mul(size_of::<Fence>()) as u64;
            let bytes = context.memory.read(wait.fences.saturating_add(at), size_of::<Fence>());
            let Some(mut fence) = bytes.ok().and_then(|bytes| each::<Fence>(bytes).next()) else { break };
            tell(file.fences(), &mut fence)?;
            put(context.memory, wait.fences, index, &fence)?;
        }
        if completed < wanted { Err(Errno::ETIMEDOUT) } else { Ok(true) }
    }

    pub(super) fn cancel(&mut self, cancel: &mut Cancel, context: &mut Context<'_>) -> Result<()> {
        unless(cancel.flags & !CANCEL_RUNNING != 0, Errno::EINVAL)?;
        let state = self.clients.file(context.file)?.fences().state(cancel.fence).ok_or(Errno::ENODATA)?;
        unless(state.has_ended(), Errno::EALREADY)?;
        unless(state == State::Running && cancel.flags & CANCEL_RUNNING == 0, Errno::EBUSY)?;
        let id = self.scheduler.request_of(context.file, cancel.fence).ok_or(Errno::EALREADY)?;
        cancel.state = state.code() as u32;
        let Self { hardware, clients, scheduler } = self;
        scheduler.stop(hardware, clients, id, Errno::ECANCELED);
        scheduler.pursue(hardware, clients);
        scheduler.schedule(hardware, clients);
        Ok(())
    }
}
