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
        while self.is_wanted() {
            std::thread::sleep(BRIEFLY);
        }
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
            self.wanted.fetch_add(1, Ordering::SeqCst);
            let left = limit.saturating_sub(start.elapsed());
            match self.wait(left) {
                // A computation on the other thread ends with another turn.
                Some(worker) if worker.is_on_thread() && !left.is_zero() => drop(worker),
                worker => break worker,
            }
            self.wanted.fetch_sub(1, Ordering::SeqCst);
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

    /// True if the engine can be taken within `limit`, and has not been called off for longer: the thread that has it gives it back.
    pub(crate) fn is_alive(&self, limit: Duration) -> bool {
        if lock(&self.ending).is_some_and(|since| since.elapsed() >= limit) {
            return false;
        }
        self.wanted.fetch_add(1, Ordering::SeqCst);
        let is_free = self.wait(limit).is_some();
        self.wanted.fetch_sub(1, Ordering::SeqCst);
        is_free
    }

    /// Does something with the engine that cannot wait for the end of a task longer than `limit`.
    pub(crate) fn interrupting<R>(&self, limit: Duration, action: impl FnOnce(&mut Worker) -> R) -> R {
        self.wanted.fetch_add(1, Ordering::SeqCst);
        let mut worker = self.wait(limit).unwrap_or_else(|| {
            self.call_off(true);
            let worker = lock(&self.worker);
            self.call_off(false);
            worker
        });
        let result = action(&mut worker);
        drop(worker);
        self.wanted.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// Does something with the engine if it can be taken within `limit`.
    pub(crate) fn within<R>(&self, limit: Duration, action: impl FnOnce(&mut Worker) -> R) -> Option<R> {
        self.wanted.fetch_add(1, Ordering::SeqCst);
        let result = self.wait(limit).map(|mut worker| action(&mut worker));
        self.wanted.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// Does something with the engine, from a thread that is not its own.
    pub(crate) fn with_worker<R>(&self, action: impl FnOnce(&mut Worker) -> R) -> R {
        self.wanted.fetch_add(1, Ordering::SeqCst);
        let result = action(&mut lock(&self.worker));
        self.wanted.fetch_sub(1, Ordering::SeqCst);
        result
    }
}
