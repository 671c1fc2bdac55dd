//! The threads, and how a pass is shared out among them.
//!
//! Threads are started when a pass is first large enough to need them, and stay. Which of them computes an output
//! makes no difference to it.

use std::num::NonZero;
use std::ops::Range;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use super::piece::{PANELS, Pass, Worker};

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
    /// Computes all pieces, on as many threads as there are workers.
    pub(super) fn compute(
        &self,
        pool: &Pool,
        workers: &mut [Worker],
        kept: &mut Vec<u16>,
        output: &mut [u16],
    ) {
        let (shape, layout) = (self.definition.shape, self.layout);
        let (piece, pixels) = (layout.halves(shape), shape.pixels());
        if let [worker] = workers {
            let mut results = std::mem::take(&mut worker.halves);
            results.resize(PANELS.min(layout.panels) * piece, 0);
            for (group, outputs) in output.chunks_exact_mut(shape.group_outputs * pixels).enumerate() {
                for panels in together(0..layout.panels, layout.panels) {
                    let results = &mut results[..panels.len() * piece];
                    self.run(group, panels.clone(), worker, results);
                    for (panel, results) in panels.zip(results.chunks_exact(piece)) {
                        let rows = results.chunks_exact(layout.kernel.columns);
                        rows.zip(outputs.chunks_exact_mut(pixels))
                            .for_each(|(row, channel)| self.place(panel, row, channel));
                    }
                }
            }
            worker.halves = results;
            return;
        }
        kept.resize(layout.pieces(shape) * piece, 0);
        let each = layout.pieces(shape).div_ceil(workers.len());
        let shares = kept.chunks_mut(each * piece).zip(workers.iter_mut()).enumerate();
        pool.each(shares, |(share, (mut results, worker))| {
            let first = share * each;
            for pieces in together(first..first + results.len() / piece, layout.panels) {
                let (these, rest) = results.split_at_mut(pieces.len() * piece);
                let panel = pieces.start % layout.panels;
                self.run(pieces.start / layout.panels, panel..panel + pieces.len(), worker, these);
                results = rest;
            }
        });
        pool.share(workers.len(), output, pixels, |first, channels| {
            for (output, channel) in (first..).zip(channels.chunks_exact_mut(pixels)) {
                let (group, row) = (output / shape.group_outputs, output % shape.group_outputs);
                for panel in 0..layout.panels {
                    let at = (group * layout.panels + panel) * piece + row * layout.kernel.columns;
                    self.place(panel, &kept[at..at + layout.kernel.columns], channel);
                }
            }
        });
    }
}

/// Pieces in ranges that can be worked on together: those of one group, which has so many panels.
#[expect(clippy::arithmetic_side_effects, reason = "pieces can be counted, and a group has panels")]
fn together(all: Range<usize>, panels: usize) -> impl Iterator<Item = Range<usize>> {
    let mut next = all.start;
    std::iter::from_fn(move || {
        let start = next;
        next = all.end.min(start + PANELS).min((start / panels + 1) * panels);
        (start < next).then_some(start..next)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_belong_together_are_of_one_group() {
        let ranges: Vec<_> = together(3..17, 6).collect();
        assert_eq!(ranges, [3..6, 6..10, 10..12, 12..16, 16..17]);
    }
}
