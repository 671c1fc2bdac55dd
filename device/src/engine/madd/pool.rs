//! The threads, and how a pass is shared out among them.
//!
//! Threads are started when a pass is first large enough to need them, and stay. Which of them computes an output
//! makes no difference to it.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use super::piece::{Pass, Worker};
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
            let builder = ThreadPoolBuilder::new().num_threads(self.threads.get());
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

    /// Does all jobs, at once if there are threads.
    fn each<T: Send>(&self, jobs: impl ExactSizeIterator<Item = T>, work: impl Fn(T) + Sync) {
        let Some(pool) = self.started.as_ref().filter(|_| jobs.len() > 1) else {
            jobs.for_each(work);
            return;
        };
        let work = &work;
        pool.in_place_scope(|scope| {
            for job in jobs {
                scope.spawn(move |_| work(job));
            }
        });
    }

    /// Hands out `all` in as many shares as threads, each whole parts of a size; `work` gets the number of a share's
    /// first part.
    pub(super) fn share<T: Send>(
        &self,
        threads: usize,
        all: &mut [T],
        part: usize,
        work: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let parts = all.len().checked_div(part).unwrap_or_default();
        let each = parts.div_ceil(threads.max(1)).max(1);
        let shares = all.chunks_mut(each.saturating_mul(part).max(1));
        self.each(shares.enumerate(), |(i, share)| work(i.saturating_mul(each), share));
    }
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
impl Pass<'_> {
    /// Computes all pieces, on as many threads as there are workers, or as many as somebody wants.
    pub(super) fn compute(
        &self,
        pool: &Pool,
        workers: &mut [Worker],
        kept: &mut Vec<u16>,
        output: &mut [u16],
        watch: &Watch<'_>,
    ) {
        let (shape, layout) = (self.definition.shape, self.layout);
        let (pixels, columns) = (shape.pixels(), layout.kernel.columns);
        let mut pieces = layout.pieces(shape);
        if let [worker] = workers {
            let mut results = std::mem::take(&mut worker.halves);
            let mut pace = Pace::new(watch);
            for piece in pieces {
                results.resize(layout.halves(&piece), 0);
                self.run(&piece, worker, &mut results, &mut pace);
                if pace.is_over() {
                    break;
                }
                let first = (piece.group * shape.group_outputs + piece.outputs.start) * pixels;
                let channels = output[first..].chunks_exact_mut(pixels).take(piece.outputs.len());
                for (row, channel) in channels.enumerate() {
                    let of_panels = results.chunks_exact(piece.outputs.len() * columns);
                    for (panel, results) in piece.panels.clone().zip(of_panels) {
                        self.place(panel, &results[row * columns..][..columns], channel);
                    }
                }
            }
            worker.halves = results;
            return;
        }
        kept.resize(layout.all_halves(shape), 0);
        let mut rest = kept.as_mut_slice();
        // Whoever is done takes the next piece, so that a thread that was held up does not hold up the others.
        let next = Mutex::new(std::iter::from_fn(move || {
            let piece = pieces.next()?;
            let results = rest.split_off_mut(..layout.halves(&piece))?;
            Some((piece, results))
        }));
        let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
        pool.each(workers.iter_mut(), |worker| {
            let mut pace = Pace::new(watch);
            while let Some((piece, results)) = take() {
                self.run(&piece, worker, results, &mut pace);
                if pace.is_over() {
                    break;
                }
            }
        });
        if watch.is_over() {
            return;
        }
        pool.share(workers.len(), output, pixels, |first, channels| {
            for (output, channel) in (first..).zip(channels.chunks_exact_mut(pixels)) {
                let (group, row) = (output / shape.group_outputs, output % shape.group_outputs);
                for (panel, at) in layout.results(shape, group, row) {
                    self.place(panel, &kept[at..at + columns], channel);
                }
            }
        });
    }
}
