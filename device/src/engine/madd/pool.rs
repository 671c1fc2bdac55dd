//! The threads, and how a pass is shared out among them.
//!
//! Threads are started when a pass is first large enough to need them, and stay. Which of them computes an output
//! makes no difference to it. A pass has them work together twice: to prepare what kernels read, and to compute. The second
//! time they are still awake.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use super::piece::Worker;
use crate::engine::cancel::{Pace, Watch};

/// Threads that wait for work.
#[derive(Debug)]
pub(super) struct Pool {
    threads: NonZero<usize>,
    started: Option<ThreadPool>,
    /// Set when the host would not start threads; the caller's own has to do then.
    alone: bool,
}

impl Pool {
    pub(super) fn new(threads: NonZero<usize>) -> Self {
        Self { threads, started: None, alone: false }
    }

    pub(super) fn threads(&self) -> NonZero<usize> {
        self.threads
    }

    /// How many of them are there for a pass that could use so many.
    pub(super) fn start(&mut self, wanted: usize) -> usize {
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

    /// Does all jobs, on as many threads as there are workers. The caller's is one of them, and whoever is done takes the
    /// next job, so that a thread that was held up does not hold up the others.
    pub(super) fn share<J>(
        &self,
        workers: &mut [Worker],
        watch: &Watch<'_>,
        jobs: impl Iterator<Item = J> + Send,
        work: impl Fn(&mut Worker, J, &mut Pace<'_>) + Sync,
    ) {
        let jobs = Mutex::new(jobs);
        let take = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
        let run = |worker: &mut Worker| {
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
        pool.in_place_scope(|scope| {
            for other in others {
                scope.spawn(|_| {
                    busy.fetch_add(1, Ordering::Relaxed);
                    run(other);
                    busy.fetch_sub(1, Ordering::Relaxed);
                });
            }
            run(own);
            linger(|| busy.load(Ordering::Relaxed) > 0);
        });
    }
}

/// Waits a little for others who are at work, and end at nearly the same time: to fall asleep and be woken takes longer.
/// Who has not even begun may have no processor, and is not waited for like this.
fn linger(is_busy: impl Fn() -> bool) {
    const TURNS: usize = 1 << 12;
    for _ in 0..TURNS {
        if !is_busy() {
            return;
        }
        std::hint::spin_loop();
    }
}
