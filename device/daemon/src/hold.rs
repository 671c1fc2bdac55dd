//! The engine, and who may have it.
//!
//! The thread that it runs on has it most of the time, one turn after the other. Others take it between two turns, for
//! little: they say so ([`Hold::is_wanted`]), because a lock is not fair. Some cannot wait for the end of a turn, and call the
//! task off that runs.
//!
//! Lock order: the engine, then a queue's. No thread takes the engine while it holds a queue.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use super::lock::lock;
use super::worker::Worker;

/// How long to sleep between two looks whether the engine is free.
const NAP: Duration = Duration::from_micros(100);

/// How long to step back: as briefly as the system can, some 50 microseconds.
const BRIEFLY: Duration = Duration::from_nanos(1);

/// How long to step back at most, so that others who always want the engine do not starve the guest (Chosen: a look at the
/// engine takes far less, and each of them gets it in one such span or another).
const STEP_BACK: Duration = Duration::from_millis(5);

/// A thread that waits for the engine or has it, besides the one it runs on, as long as this lives.
struct Wanting<'a>(&'a AtomicUsize);

impl Drop for Wanting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// An engine that several threads may take.
pub(crate) struct Hold {
    worker: Mutex<Worker>,
    /// Raised to have the task that runs end at once.
    call_off: Arc<AtomicBool>,
    /// Since when that lasts.
    ending: Mutex<Option<Instant>>,
    /// Threads that wait for the engine, besides the one it runs on.
    wanted: AtomicUsize,
}

impl Hold {
    pub(crate) fn new(worker: Worker) -> Self {
        Self {
            call_off: worker.call_off(),
            ending: Mutex::new(None),
            worker: Mutex::new(worker),
            wanted: AtomicUsize::new(0),
        }
    }

    /// The engine, for the thread that it runs on.
    pub(crate) fn own(&self) -> MutexGuard<'_, Worker> {
        lock(&self.worker)
    }

    /// True while another thread waits for the engine.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::SeqCst) != 0
    }

    /// Leaves the engine to those who wait for it, between two turns of the thread it runs on.
    pub(crate) fn step_back(&self) {
        let start = Instant::now();
        while self.is_wanted() && start.elapsed() < STEP_BACK {
            std::thread::sleep(BRIEFLY);
        }
    }

    fn want(&self) -> Wanting<'_> {
        self.wanted.fetch_add(1, Ordering::SeqCst);
        Wanting(&self.wanted)
    }

    /// Has every task end at once, or no longer.
    pub(crate) fn call_off(&self, is_over: bool) {
        *lock(&self.ending) = is_over.then(Instant::now);
        self.call_off.store(is_over, Ordering::SeqCst);
    }

    /// Waits for the end of the task that runs, calls it off after `limit`, and lets no other begin.
    pub(crate) fn freeze(&self, limit: Duration) {
        let start = Instant::now();
        let mut worker = loop {
            let wanting = self.want();
            let left = limit.saturating_sub(start.elapsed());
            match self.wait(left) {
                // A computation on the other thread ends with another turn.
                Some(worker) if worker.is_on_thread() && !left.is_zero() => drop(worker),
                worker => {
                    // From here on for good.
                    std::mem::forget(wanting);
                    break worker;
                }
            }
            drop(wanting);
            std::thread::sleep(NAP);
        };
        if worker.as_ref().is_none_or(|worker| worker.is_on_thread()) {
            log::warn!("engine still runs a task after {limit:?}; it is called off");
            self.call_off(true);
            worker = worker.or_else(|| self.wait(limit));
        }
        match worker.as_mut() {
            Some(worker) => worker.finish_trace(),
            None => log::error!("engine does not let go of its task; it is cut off"),
        }
        // No thread gets it again.
        std::mem::forget(worker);
    }

    /// The engine, if its turn ends before `limit`.
    fn wait(&self, limit: Duration) -> Option<MutexGuard<'_, Worker>> {
        let start = Instant::now();
        loop {
            match self.worker.try_lock() {
                Ok(worker) => return Some(worker),
                Err(TryLockError::Poisoned(worker)) => return Some(worker.into_inner()),
                Err(TryLockError::WouldBlock) if start.elapsed() >= limit => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(NAP),
            }
        }
    }

    /// True if the engine can be taken before `end`, and has not been called off for `limit`: the thread that has it gives it back.
    pub(crate) fn is_alive(&self, limit: Duration, end: Instant) -> bool {
        if lock(&self.ending).is_some_and(|since| since.elapsed() >= limit) {
            return false;
        }
        let _wanting = self.want();
        self.wait(end.saturating_duration_since(Instant::now())).is_some()
    }

    /// Does something with the engine that cannot wait for the end of a task longer than `limit`.
    pub(crate) fn interrupting<R>(&self, limit: Duration, action: impl FnOnce(&mut Worker) -> R) -> R {
        let _wanting = self.want();
        let mut worker = self.wait(limit).unwrap_or_else(|| {
            self.call_off(true);
            let worker = lock(&self.worker);
            self.call_off(false);
            worker
        });
        action(&mut worker)
    }

    /// Does something with the engine if it can be taken within `limit`.
    pub(crate) fn within<R>(&self, limit: Duration, action: impl FnOnce(&mut Worker) -> R) -> Option<R> {
        let _wanting = self.want();
        self.wait(limit).map(|mut worker| action(&mut worker))
    }

    /// Does something with the engine, from a thread that is not its own.
    pub(crate) fn with_worker<R>(&self, action: impl FnOnce(&mut Worker) -> R) -> R {
        let _wanting = self.want();
        action(&mut lock(&self.worker))
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    use ane_device::Options;

    use super::super::trace::Trace;
    use super::*;

    fn hold() -> Hold {
        Hold::new(Worker::new(&Options::default(), Trace::new(None).unwrap(), None).unwrap())
    }

    #[test]
    fn thread_that_steps_back_goes_on_though_others_always_want_the_engine() {
        let hold = Arc::new(hold());
        let always = hold.want();
        let own = Arc::clone(&hold);
        let stepping = thread::spawn(move || own.step_back());
        let start = Instant::now();
        while !stepping.is_finished() {
            assert!(start.elapsed() < Duration::from_secs(20), "it waits for ever");
            thread::sleep(NAP);
        }
        drop(always);
        assert!(!hold.is_wanted());
    }

    #[test]
    fn action_that_panics_wants_the_engine_no_more() {
        let hold = hold();
        let panics = |_: &mut Worker| -> () { panic!("a mistake") };
        let limit = Duration::from_secs(20);
        assert!(catch_unwind(AssertUnwindSafe(|| hold.with_worker(panics))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| hold.within(limit, panics))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| hold.interrupting(limit, panics))).is_err());
        assert!(!hold.is_wanted());
    }

    #[test]
    fn engine_that_is_free_is_alive_at_the_end_of_the_span_and_one_that_is_not_is_not() {
        let (hold, limit) = (hold(), Duration::from_secs(3600));
        let end = Instant::now();
        assert!(hold.is_alive(limit, end));
        let worker = hold.own();
        assert!(!hold.is_alive(limit, end));
        drop(worker);
    }
}
