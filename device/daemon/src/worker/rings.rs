//! The rings at work: requests are taken and answered, events delivered.
//!
//! They are read and written in the worker's memory, which was checked when it was handed over, and never by
//! what a [`Vring`] does on its own: its memory is what the transport was told last, checked or not.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use ane_device::wire;
use ane_device::wire::request::{self, REQUEST_MAX, Request};
use ane_uapi::wire::event::Event as Message;
use vhost_user_backend::{VringState, VringT};
use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::{GuestAddressSpace, GuestMemoryMmap};
use zerocopy::IntoBytes;

use super::super::journal::{self, Kind};
use super::{Turn, Vring, Worker};

/// Requests of one turn: after these the engine gets its turn, whatever else the guest wants.
const REQUESTS_PER_TURN: usize = 64;

/// True if the guest lets the device use the queue.
pub(super) fn runs(vring: &Vring) -> bool {
    is_at_work(&vring.get_ref())
}

fn is_at_work<M: GuestAddressSpace>(state: &VringState<M>) -> bool {
    state.is_enabled() && state.get_queue().ready()
}

/// True if the guest says that there is more in the queue than was taken.
pub(crate) fn is_behind(queue: &Queue, memory: &GuestMemoryMmap) -> bool {
    queue.avail_idx(memory, Ordering::Acquire).is_ok_and(|index| index.0 != queue.next_avail())
}

impl Worker {
    /// Carries out what waits in the queue of requests.
    pub(super) fn requests(&mut self, vring: &Vring, turn: &mut Turn) {
        let mut served = 0;
        for n in 1..=REQUESTS_PER_TURN {
            let popped = {
                let mut state = vring.get_mut();
                let queue = state.get_queue_mut();
                // Asked for first: a request that comes meanwhile is no entry that cannot be read.
                let is_behind = is_behind(queue, &self.memory);
                match queue.iter(&self.memory).map(|mut available| available.next()) {
                    Ok(None) if is_behind => Err("entry of the available ring lies in no memory".to_owned()),
                    Ok(popped) => Ok(popped),
                    Err(why) => Err(why.to_string()),
                }
            };
            let chain = match popped {
                Ok(Some(chain)) => chain,
                Ok(None) => break,
                Err(why) => {
                    self.complain(&format_args!("queue of requests cannot be read: {why}"));
                    turn.stalled = true;
                    break;
                }
            };
            let head = chain.head_index();
            let written = match self.chain.gather(chain, &self.memory) {
                Ok(()) => self.request(),
                Err(bad) => {
                    self.complain(&bad);
                    0
                }
            };
            if let Err(why) = self.give_back(vring, head, written) {
                self.complain(&format_args!("chain {head} cannot be given back: {why}"));
            }
            served = n;
        }
        if served != 0 {
            turn.progress = true;
            turn.busy = served == REQUESTS_PER_TURN;
            self.notify(vring);
        }
    }

    /// Logs what is wrong with a chain, if the budget allows.
    fn complain(&mut self, what: &dyn fmt::Display) {
        if let Some(left_out) = self.bad_chains.admits(self.now().0) {
            log::warn!(target: "ane::virtio", "{what}{left_out}");
        }
    }

    /// Carries out the request that `self.chain` holds; the number is how many bytes were answered.
    fn request(&mut self) -> u32 {
        if !self.chain.read(&self.memory, REQUEST_MAX, &mut self.bytes) {
            return 0;
        }
        let room = self.chain.writable_bytes();
        let len = self.chain.readable_bytes();
        if self.failed && request::is_reset(&self.bytes) {
            self.rebuild();
        }
        let now = self.now();
        let Self { ane, bytes, answer, .. } = self;
        let asked = Request { bytes, len, room };
        let mut failed = self.failed;
        if !failed {
            failed = catch_unwind(AssertUnwindSafe(|| request::carry_out(ane, now, asked, answer))).is_err();
        }
        if failed {
            request::internal_error(asked, answer);
            if !self.failed {
                self.fail("carrying out a request");
            }
        }
        self.chain.write(&self.memory, &self.answer)
    }

    /// Hands the engine's events to the guest. Those for which the queue is stopped wait in the engine.
    pub(super) fn deliver(&mut self, vring: &Vring, turn: &mut Turn) {
        let mut delivered = false;
        loop {
            let (event, popped) = {
                let mut state = vring.get_mut();
                // Asked for each event: another thread may stop the queue at any time. It waits for the end of this turn then.
                if !is_at_work(&state) {
                    break;
                }
                let Some(event) = self.ane.take_event() else { break };
                let available = state.get_queue_mut().iter(&self.memory);
                (event, available.ok().and_then(|mut available| available.next()))
            };
            turn.progress = true;
            let message = wire::event(&event, self.sequence, self.events_dropped);
            self.sequence = self.sequence.wrapping_add(1);
            let Some(chain) = popped else {
                self.events_dropped = self.events_dropped.saturating_add(1);
                continue;
            };
            let head = chain.head_index();
            let fits = self.chain.gather(chain, &self.memory).is_ok()
                && self.chain.writable_bytes() >= size_of::<Message>() as u64;
            let written = if fits { self.chain.write(&self.memory, message.as_bytes()) } else { 0 };
            self.events_dropped = if written == 0 { self.events_dropped.saturating_add(1) } else { 0 };
            // It fails only if the guest took the ring away; then there is nobody to tell.
            delivered |= self.give_back(vring, head, written).is_ok();
        }
        if delivered {
            self.notify(vring);
        }
    }

    fn give_back(&self, vring: &Vring, head: u16, written: u32) -> Result<(), virtio_queue::Error> {
        vring.get_mut().get_queue_mut().add_used(&self.memory, head, written)
    }

    /// Asks the guest to say when there is something new; true if there is already. The ring of a queue that is stopped is not
    /// the device's to write to.
    pub(crate) fn ask_for_kicks(&self, vring: &Vring) -> bool {
        runs(vring) && vring.get_mut().get_queue_mut().enable_notification(&self.memory).unwrap_or(false)
    }

    /// Tells the guest that it need not say so.
    pub(crate) fn ask_for_no_kicks(&self, vring: &Vring) {
        if !runs(vring) {
            return;
        }
        // A guest that makes its own ring unwritable goes on kicking.
        let _ = vring.get_mut().get_queue_mut().disable_notification(&self.memory);
    }

    /// Wakes the guest, if it wants to be woken.
    fn notify(&self, vring: &Vring) {
        // A guest that makes its own ring unreadable is not woken; that is its loss alone.
        let wants = vring.get_mut().get_queue_mut().needs_notification(&self.memory);
        if wants.unwrap_or(false)
            && let Err(why) = vring.signal_used_queue()
        {
            journal::write(Kind::Descriptor, format_args!("guest cannot be woken: {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use ane_device::Options;
    use ane_device::time::{TICKS_PER_SECOND, Ticks};
    use ane_uapi::hw::space::EngineOffset;
    use ane_uapi::hw::tm;
    use ane_uapi::log_budget::LeftOut;
    use vm_memory::GuestMemoryAtomic;

    use super::super::Trace;
    use super::*;

    #[test]
    fn events_for_which_the_queue_has_stopped_wait_in_the_engine() {
        let mut worker = Worker::new(&Options::default(), Trace::new(None).unwrap(), None).unwrap();
        // A queue that takes no requests is pushed to, which is an event on each line.
        let [enable, lines] = [tm::INTERRUPT_ENABLE.offset(), tm::LINE_ENABLE.offset()];
        for (offset, value) in [(enable, 0x400_0000), (lines, 6), (tm::PUSH.offset(), 0x405)] {
            let at = EngineOffset(tm::TASK_MANAGER.base.0 + offset);
            worker.ane.write(at, value, Ticks::ZERO).unwrap();
        }
        let vring = Vring::new(GuestMemoryAtomic::new(GuestMemoryMmap::new()), 16).unwrap();
        vring.set_enabled(true);
        worker.deliver(&vring, &mut Turn::default());
        assert_eq!((worker.events_dropped, worker.ane.take_events().count()), (0, 2));
    }

    #[test]
    fn flood_of_bad_chains_is_one_line_a_second() {
        let mut worker = Worker::new(&Options::default(), Trace::new(None).unwrap(), None).unwrap();
        let written = (0..1000).filter(|_| worker.bad_chains.admits(5).is_some()).count();
        assert_eq!(written, 1);
        assert_eq!(worker.bad_chains.admits(5 + TICKS_PER_SECOND), Some(LeftOut(999)));
    }
}
