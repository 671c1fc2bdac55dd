//! Times of two sides of a ratio, which run in turn.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

use crate::report::{self, median};

/// Many short rounds rather than few long ones: on a busy machine some are interrupted, and the median is of those
/// that were not.
pub(crate) const ROUNDS: usize = 31;
/// Runs of one side of a round of which the fastest counts, at least.
pub(crate) const FASTEST_OF: usize = 5;
/// The shortest time of one side of a round.
pub(crate) const ROUND_NANOSECONDS: f64 = 3e6;
/// The clock by which time is measured.
#[derive(Clone, Copy)]
pub(crate) enum Clock {
    /// The wall's, where threads work together.
    Wall,
    /// The processor's for this thread: others on the machine do not count.
    Thread,
}

impl Clock {
    /// That for so many threads.
    pub(crate) fn of(threads: usize) -> Self {
        if threads == 1 { Self::Thread } else { Self::Wall }
    }

    /// Nanoseconds of a run: over so many that of each, or by the wall's clock that of the fastest.
    pub(crate) fn time(self, times: usize, work: &mut dyn FnMut()) -> f64 {
        let cpu = Self::cpu();
        let mut fastest = Duration::MAX;
        for _ in 0..times {
            let start = Instant::now();
            work();
            fastest = fastest.min(start.elapsed());
        }
        match self {
            Self::Wall => fastest.as_nanos() as f64,
            Self::Thread => (Self::cpu() - cpu).as_nanos() as f64 / times as f64,
        }
    }

    /// How many runs make a round, if one takes so long.
    pub(crate) fn runs(self, nanoseconds: f64) -> usize {
        let many = (ROUND_NANOSECONDS / nanoseconds).ceil() as usize;
        match self {
            Self::Wall => many.max(FASTEST_OF),
            Self::Thread => many,
        }
    }

    fn cpu() -> Duration {
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has it").into()
    }
}

/// Median nanoseconds of both, and the median of the first over the second.
pub(crate) fn compare(clock: Clock, ours: &mut dyn FnMut(), theirs: &mut dyn FnMut()) -> [f64; 3] {
    let times = |work: &mut dyn FnMut()| {
        work();
        clock.runs(clock.time(1, work))
    };
    let (our_times, their_times) = (times(ours), times(theirs));
    let (mut a, mut b, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (x, y) = (clock.time(our_times, ours), clock.time(their_times, theirs));
        a.push(x);
        b.push(y);
        ratios.push(x / y);
    }
    [median(a), median(b), median(ratios)]
}

/// Prints microseconds of both, and the ratio.
pub(crate) fn line(id: &str, what: &str, [ours, theirs, ratio]: [f64; 3]) {
    report::line(id, what, &format!("{:.1} us / {:.1} us", ours / 1e3, theirs / 1e3), ratio);
}
