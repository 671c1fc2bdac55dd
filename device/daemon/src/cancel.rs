//! What calls a task off while it runs.
//!
//! The engine's thread is the one that reads the guest's requests, so while a task runs nobody reads them. A request
//! that takes the task's queue back, or resets the device, must not wait for it all the same: so the engine asks, every
//! some ten thousand steps, and what is asked looks at the requests that wait, without taking them. They are carried out
//! when the task has ended, as aborted, and the guest sees what it would have seen if it had been faster.
//!
//! A thread that needs the engine for a reset, or for good, has no request to wait in the queue. It raises a flag.
//!
//! What is looked at here is looked at again when it is carried out, and a guest may have changed it meanwhile. It has
//! ended its own task then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

use ane_device::engine::cancel::Cancel;
use ane_uapi::hw::tq::QueueId;
use vhost_user_backend::VringT;
use virtio_queue::{QueueOwnedT, QueueT};
use vm_memory::GuestMemoryMmap;

use super::chain::Chain;
use super::request::{self, REQUEST_MAX};
use super::worker::Vring;

/// Everything that may call a task off, for one turn.
pub(crate) struct Asked<'a> {
    flag: &'a AtomicBool,
    vring: &'a Vring,
    memory: &'a GuestMemoryMmap,
    heeds_aborts: bool,
    looking: Mutex<Looking>,
}

/// How far the queue was looked at.
#[derive(Default)]
struct Looking {
    /// Index of the first request that was not looked at; `None` before the first look.
    next: Option<u16>,
    /// One of them is a reset.
    found_reset: bool,
    chain: Chain,
    bytes: Vec<u8>,
}

impl<'a> Asked<'a> {
    /// A flag that somebody raises, and the queue of requests. A device that was told to ignore an abort does.
    pub(crate) fn new(
        flag: &'a AtomicBool,
        vring: &'a Vring,
        memory: &'a GuestMemoryMmap,
        heeds_aborts: bool,
    ) -> Self {
        Self { flag, vring, memory, heeds_aborts, looking: Mutex::default() }
    }

    /// True if somebody waits to reset the engine, or to have it for good: what happened last is nobody's concern then.
    pub(crate) fn is_for_a_reset(&self) -> bool {
        let looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        looking.found_reset || self.flag.load(Ordering::Relaxed)
    }

    /// Looks at the requests that came since the last look.
    fn look(&self, looking: &mut Looking, running: QueueId) -> bool {
        let Looking { next, found_reset, chain, bytes } = looking;
        let mut state = self.vring.get_mut();
        let queue = state.get_queue_mut();
        let taken = queue.next_avail();
        let first = next.unwrap_or(taken);
        if queue.avail_idx(self.memory, Ordering::Acquire).is_ok_and(|index| index.0 == first) {
            return false;
        }
        queue.set_next_avail(first);
        let is_urgent = queue.iter(self.memory).is_ok_and(|mut waiting| {
            waiting.any(|waits| {
                let is_there =
                    chain.gather(waits, self.memory).is_ok() && chain.read(self.memory, REQUEST_MAX, bytes);
                *found_reset |= is_there && request::is_reset(bytes);
                *found_reset || is_there && self.heeds_aborts && request::takes_back(bytes, running)
            })
        });
        *next = Some(queue.next_avail());
        queue.set_next_avail(taken);
        is_urgent
    }
}

impl Cancel for Asked<'_> {
    fn is_cancelled(&self, running: QueueId) -> bool {
        if self.flag.load(Ordering::Relaxed) {
            return true;
        }
        // One thread of the array is enough to look; what it finds all of them learn.
        match self.looking.try_lock() {
            Ok(mut looking) => self.look(&mut looking, running),
            Err(TryLockError::Poisoned(looking)) => self.look(&mut looking.into_inner(), running),
            Err(TryLockError::WouldBlock) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::tq;
    use ane_uapi::wire::ctrl::{Header, Kind, Op};
    use virtio_queue::desc::RawDescriptor;
    use virtio_queue::desc::split::Descriptor;
    use virtio_queue::mock::MockSplitQueue;
    use vm_memory::{Bytes, GuestAddress, GuestMemoryAtomic};
    use zerocopy::IntoBytes;

    use super::*;

    const SIZE: u16 = 16;
    static NOBODY: AtomicBool = AtomicBool::new(false);

    fn memory() -> GuestMemoryMmap {
        GuestMemoryMmap::from_ranges(&[(GuestAddress(0), 0x1_0000)]).unwrap()
    }

    /// A queue in which these requests wait, behind one that was taken; its index says that so many do.
    fn waiting(memory: &GuestMemoryMmap, requests: &[Vec<u8>], index: u16) -> Vring {
        let mock = MockSplitQueue::new(memory, SIZE);
        for (n, request) in (0u16..).zip(requests) {
            let at = 0x8000 + 0x400 * u64::from(n);
            memory.write_slice(request, GuestAddress(at)).unwrap();
            let descriptor = Descriptor::new(at, request.len() as u32, 0, 0);
            mock.desc_table().store(n, RawDescriptor::from(descriptor)).unwrap();
            mock.avail().ring().ref_at(1 + usize::from(n)).unwrap().store(n);
        }
        mock.avail().idx().store(1 + index);
        let vring = Vring::new(GuestMemoryAtomic::new(memory.clone()), SIZE).unwrap();
        let (table, available, used) = (mock.desc_table_addr().0, mock.avail_addr().0, mock.used_addr().0);
        vring.set_queue_info(table, available, used).unwrap();
        vring.set_queue_ready(true);
        vring.set_queue_next_avail(1);
        vring
    }

    fn batch(ops: &[Op]) -> Vec<u8> {
        [Header::new(Kind::Batch, ops.len() as u32, 1).as_bytes(), ops.as_bytes()].concat()
    }

    fn reset() -> Vec<u8> {
        Header::new(Kind::Reset, 0, 1).as_bytes().to_vec()
    }

    fn status(queue: QueueId, value: u32) -> Op {
        Op::write(queue.base().0 + tq::STATUS.offset(), value)
    }

    /// Whether these requests call off a task of queue 4, and whether there is a reset among them.
    fn outcome(requests: &[Vec<u8>], heeds_aborts: bool) -> (bool, bool) {
        let memory = memory();
        let vring = waiting(&memory, requests, requests.len() as u16);
        let asked = Asked::new(&NOBODY, &vring, &memory, heeds_aborts);
        let is_cancelled = asked.is_cancelled(QueueId::LINUX);
        assert_eq!(vring.queue_next_avail(), 1, "nothing is taken");
        (is_cancelled, asked.is_for_a_reset())
    }

    #[test]
    fn task_is_called_off_by_what_takes_its_queue_back_and_by_a_reset_wherever_they_wait() {
        let read = batch(&[Op::read(0)]);
        let back = batch(&[Op::read(0), status(QueueId::LINUX, 0)]);
        assert_eq!(outcome(&[read.clone(), back.clone()], true), (true, false));
        assert_eq!(outcome(&[read.clone(), read, reset()], true), (true, true));
        assert_eq!(
            outcome(std::slice::from_ref(&back), false),
            (false, false),
            "an abort that is to be ignored"
        );
        assert_eq!(outcome(&[back, reset()], false), (true, true));
    }

    #[test]
    fn task_goes_on_whatever_else_waits() {
        let other = QueueId::ALL.into_iter().find(|&queue| queue != QueueId::LINUX).unwrap();
        let read = Op::read(QueueId::LINUX.base().0 + tq::STATUS.offset());
        let cut = batch(&[status(QueueId::LINUX, 0)]);
        let requests = [
            batch(&[status(other, 0)]),
            batch(&[status(QueueId::LINUX, 1)]),
            batch(&[read]),
            cut[..cut.len() - 1].to_vec(),
            b"reset".to_vec(),
            Vec::new(),
        ];
        assert_eq!(outcome(&requests, true), (false, false));
    }

    #[test]
    fn request_that_comes_between_two_looks_is_seen_and_none_is_seen_twice() {
        let memory = memory();
        let vring = waiting(&memory, &[batch(&[]), reset()], 1);
        let asked = Asked::new(&NOBODY, &vring, &memory, true);
        assert!(!asked.is_cancelled(QueueId::LINUX));
        // What was looked at becomes a reset, and is not looked at again.
        memory.write_slice(&reset(), GuestAddress(0x8000)).unwrap();
        assert!(!asked.is_cancelled(QueueId::LINUX));
        let index = GuestAddress(vring.get_ref().get_queue().avail_ring() + 2);
        memory.write_obj(3u16, index).unwrap();
        assert!(asked.is_cancelled(QueueId::LINUX));
    }

    #[test]
    fn index_that_runs_away_calls_nothing_off_and_changes_nothing() {
        let memory = memory();
        let vring = waiting(&memory, &[reset()], SIZE + 1);
        let asked = Asked::new(&NOBODY, &vring, &memory, true);
        assert!(!asked.is_cancelled(QueueId::LINUX) && !asked.is_cancelled(QueueId::LINUX));
        assert_eq!(vring.queue_next_avail(), 1);
    }
}
