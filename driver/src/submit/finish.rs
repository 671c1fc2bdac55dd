//! The end of a request, and what it sets free.

use std::time::Duration;

use ane_uapi::hw::tm::error::ErrorCode;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::stats::Counter;

use super::{RequestId, Stage};
use crate::bo::Holder;
use crate::bus::Bus;
use crate::device::Driver;
use crate::fence::Ending;
use crate::tm::{Ended, Why};

impl<B: Bus> Driver<B> {
    /// Ends a request, wherever it is. Whoever waits for it hears of it.
    pub(crate) fn finish(&mut self, id: RequestId, ending: Ending) {
        self.drop_aside(id);
        let Some(request) = self.requests.get(id) else { return };
        let (file, fence, queue, stage) = (request.file, request.fence, request.queue, request.stage);
        let before = request.ran;
        let tasks = request.info.tasks();
        self.let_go(id);
        let is_last = self.requests.remove(id);
        self.news = self.news.wrapping_add(1);
        let now = self.clock.now();
        let since = match stage {
            Stage::Running { since, .. } => Some(since),
            Stage::Waiting | Stage::Aside { .. } => None,
        };
        self.shares.ended(file, tasks, since, now);
        let ran = before.saturating_add(since.map_or(Duration::ZERO, |since| now.since(since)));
        let ran = u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX);
        if ending.result.is_ok() {
            self.shares.ended_well(file);
        }
        let how = match ending.result {
            Ok(()) => Counter::Completed,
            Err(Errno::ECANCELED) => Counter::Cancelled,
            Err(Errno::ETIME | Errno::ETIMEDOUT) => Counter::TimedOut,
            Err(_) => Counter::Failed,
        };
        let Some(known) = self.files.get_mut(&file) else { return };
        if let Some(waiting) = known.waiting.get_mut(queue.index()) {
            match waiting.front() {
                Some(first) if *first == id => {
                    waiting.pop_front();
                }
                _ => waiting.retain(|other| *other != id),
            }
        }
        known.fences.end(fence, ending);
        known.is_readable = true;
        known.requests = known.requests.saturating_sub(1);
        for counters in [&mut known.counters, &mut self.counters] {
            counters.add(how, 1);
            counters.add(Counter::RunningNs, ran);
            counters.sub(Counter::InFlight, is_last.into());
        }
        known.in_flight = known.in_flight.saturating_sub(is_last.into());
    }

    /// Lets go of what a request holds: mappings, buffers, pools, its program.
    pub(crate) fn let_go(&mut self, id: RequestId) {
        let Some(request) = self.requests.get_mut(id) else { return };
        if let Some(space) = self.contexts.space_mut(request.context) {
            if request.is_mapped {
                space.finish(&request.uses);
            }
            for used in &request.uses {
                space.release(used.buffer, Holder::Request);
            }
        }
        request.is_mapped = false;
        if let Some(file) = self.files.get_mut(&request.file) {
            for &(pool, buffer) in &request.pooled {
                let recycles = request.recycles;
                let is_recycled = file.pool_mut(pool).is_ok_and(|pool| pool.end(buffer, recycles));
                for counters in [&mut file.counters, &mut self.counters] {
                    counters.add(Counter::PoolRecycles, is_recycled.into());
                }
            }
        }
        request.uses.clear();
        request.pooled.clear();
        if let Some(program) = request.program.take() {
            self.leave_program(program);
        }
    }

    /// Takes note of all that has left the hardware.
    pub(crate) fn take_ended(&mut self) {
        while let Some(ended) = self.hardware.take_ended() {
            self.last_work = self.clock.now();
            self.end_of(&ended);
        }
    }

    /// A request has left the hardware.
    fn end_of(&mut self, ended: &Ended) {
        let Some(request) = self.requests.get(ended.id) else { return };
        let (file, doom, context, fence) = (request.file, request.doom, request.context, request.fence);
        if let Some(nid) = ended.aside {
            self.put_aside(ended.id, nid, doom);
            return;
        }
        if ended.is_untouched && doom.is_none() {
            // Its queue was taken back for another's sake, and nothing of it ran: it goes first once more.
            self.requeue(ended.id);
            return;
        }
        let timestamp = ended.timestamp;
        if let Err(Why::Error { code: Some(ErrorCode::Deadline), .. }) = ended.result {
            self.park(ended.id);
        }
        let (result, fault) = match ended.result {
            Ok(()) => (Ok(()), 0),
            Err(why) => {
                let fault = match why {
                    Why::Error { code: Some(code), .. } if code.is_fault() => {
                        self.attribute(context, file, fence)
                    }
                    _ => 0,
                };
                self.note_failure(ended, why, file, fence);
                (Err(doom.unwrap_or(errno_of(why))), fault)
            }
        };
        self.finish(ended.id, Ending { result, fault, timestamp });
    }
}

/// What a client is told of what the device said.
const fn errno_of(why: Why) -> Errno {
    match why {
        Why::Error { code: Some(ErrorCode::Deadline), .. } => Errno::ETIME,
        Why::Error { .. } | Why::Lost => Errno::EIO,
    }
}
