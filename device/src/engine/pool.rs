//! The threads, and how work is shared out among them.
//!
//! Threads are started when a pass is first large enough to need them, and stay. Which of them computes an output
//! makes no difference to it. The array has them work together twice in a pass: to prepare what kernels read, and to compute. Threads stay
//! awake for a while behind that: the next pass of a program begins soon, and to wake one takes as long as a small pass.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use super::cancel::{Pace, Watch};
use crate::dart::Helpers;

/// Elements of a tensor that are a thread's share at a time where each is for itself. Whole blocks of any pass.
const STRETCH: usize = 1 << 14;
/// Elements of which another thread takes as many, at least.
const PER_THREAD: usize = 1 << 15;

/// Bytes that are moved of which another thread takes as many, at least.
const BYTES_PER_THREAD: usize = 1 << 15;

/// Threads that wait for work.
#[derive(Debug)]
pub(in crate::engine) struct Pool {
    threads: NonZero<usize>,
    started: Option<ThreadPool>,
    /// Set when the host would not start threads; the caller's own has to do then.
    alone: bool,
    /// How often work was shared out. A thread that waits awake sees here that there is more.
    shared: Arc<AtomicUsize>,
}

impl Pool {
    pub(in crate::engine) fn new(threads: NonZero<usize>) -> Self {
        Self { threads, started: None, alone: false, shared: Arc::default() }
    }

    pub(in crate::engine) fn threads(&self) -> NonZero<usize> {
        self.threads
    }

    /// How many of them are there for a pass that could use so many.
    pub(in crate::engine) fn start(&mut self, wanted: usize) -> usize {
        let wanted = wanted.min(self.threads.get());
        if wanted < 2 || self.alone {
            return 1;
        }
        if self.started.is_none() {
            // The caller's thread works too.
            let builder = ThreadPoolBuilder::new().num_threads(self.threads.get().saturating_sub(1));
            match builder.thread_name(|i| format!("ane-madd-{i}")).build() {
                Ok(pool) => self.started = Some(pool),
                Err(error) => {
                    log::warn!(target: "ane::engine", "no threads for the array: {error}");
                    self.alone = true;
                    return 1;
                }
            }
        }
        wanted
    }

    /// Does all jobs, on as many threads as there are workers. The caller's thread is one of them. A thread that is
    /// done takes the next job, so that a slow thread does not hold up the others.
    pub(in crate::engine) fn share<W: Send, J>(
        &self,
        workers: &mut [W],
        watch: &Watch<'_>,
        jobs: impl Iterator<Item = J> + Send,
        work: impl Fn(&mut W, J, &mut Pace<'_>) + Sync,
    ) {
        let jobs = Mutex::new(jobs);
        let take = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
        let run = |worker: &mut W| {
            let mut pace = Pace::new(watch);
            while !pace.is_over()
                && let Some(job) = take()
            {
                work(worker, job, &mut pace);
            }
        };
        let Some((own, others)) = workers.split_first_mut() else { return };
        let Some(pool) = self.started.as_ref().filter(|_| !others.is_empty()) else {
            run(own);
            return;
        };
        let busy = AtomicUsize::new(0);
        let number = self.shared.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        pool.in_place_scope(|scope| {
            for other in others {
                scope.spawn(|_| {
                    busy.fetch_add(1, Ordering::Relaxed);
                    run(other);
                    let shared = Arc::clone(&self.shared);
                    rayon_core::spawn(move || stay_awake(|| shared.load(Ordering::Relaxed) == number));
                    busy.fetch_sub(1, Ordering::Relaxed);
                });
            }
            run(own);
            linger(|| busy.load(Ordering::Relaxed) > 0);
        });
    }

    /// Has the threads go over the elements of a tensor, a stretch at a time; the place of its first element comes with it.
    pub(in crate::engine) fn stretches(
        &mut self,
        watch: &Watch<'_>,
        elements: &mut [u16],
        work: impl Fn(usize, &mut [u16], &mut Pace<'_>) + Sync,
    ) {
        let mut workers = vec![(); self.start(elements.len() / PER_THREAD)];
        let stretches = (0_usize..).step_by(STRETCH).zip(elements.chunks_mut(STRETCH));
        self.share(&mut workers, watch, stretches, |(), (first, stretch), pace| work(first, stretch, pace));
    }
}

impl Helpers for Pool {
    fn together<J: Send>(
        &mut self,
        bytes: usize,
        jobs: impl Iterator<Item = J> + Send,
        work: impl Fn(J) + Sync,
    ) {
        let mut workers = vec![(); self.start(bytes / BYTES_PER_THREAD)];
        self.share(&mut workers, &Watch::idle(), jobs, |(), job, _| work(job));
    }
}

/// Waits a little for threads that still work and end at nearly the same time: to sleep and be woken takes longer.
/// A thread that has not begun may have no processor, so nothing waits for it here.
fn linger(is_busy: impl Fn() -> bool) {
    const TURNS: usize = 1 << 12;
    for _ in 0..TURNS {
        if !is_busy() {
            return;
        }
        std::hint::spin_loop();
    }
}

/// Keeps a thread awake as long as there is nothing to do: some hundred microseconds, two milliseconds where a processor pauses for
/// long. That is what a pass has to move before the next one computes (Chosen). Others may have the processor meanwhile.
fn stay_awake(is_idle: impl Fn() -> bool) {
    const TURNS: usize = 500;
    const SPINS: usize = 64;
    for _ in 0..TURNS {
        if !is_idle() {
            return;
        }
        for _ in 0..SPINS {
            std::hint::spin_loop();
        }
        std::thread::yield_now();
    }
}
