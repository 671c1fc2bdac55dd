//! The times of something that was done very often, in bounded memory.
//!
//! A call takes some hundred nanoseconds and may be measured for an hour. Ends, number and sum are exact. For the median
//! only so many times are kept: when there is no room for more, every second one is dropped, and from then on every second
//! one is left out. So the times that are kept are spread evenly over all of them.

/// Times that are kept at most: half a megabyte.
const KEPT: usize = 1 << 16;

// So the time for which there is no room is one that the longer stride keeps.
const _: () = assert!(KEPT.is_multiple_of(2));

#[derive(Debug)]
pub(super) struct Times {
    /// Nanoseconds of every `stride`-th time.
    kept: Vec<u64>,
    stride: u64,
    count: u64,
    sum: u128,
    fastest: u64,
    slowest: u64,
}

impl Times {
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), stride: 1, count: 0, sum: 0, fastest: u64::MAX, slowest: 0 }
    }

    pub(super) fn add(&mut self, nanoseconds: u64) {
        if self.count.is_multiple_of(self.stride) {
            if self.kept.len() >= KEPT {
                let mut at = 0;
                self.kept.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.stride *= 2;
            }
            self.kept.push(nanoseconds);
        }
        self.count += 1;
        self.sum += u128::from(nanoseconds);
        self.fastest = self.fastest.min(nanoseconds);
        self.slowest = self.slowest.max(nanoseconds);
    }

    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) const fn fastest(&self) -> u64 {
        self.fastest
    }

    pub(super) const fn slowest(&self) -> u64 {
        self.slowest
    }

    pub(super) fn median(&mut self) -> u64 {
        self.kept.sort_unstable();
        self.kept.get(self.kept.len() / 2).copied().unwrap_or_default()
    }

    /// How many a second holds, one after the other.
    pub(super) fn per_second(&self) -> f64 {
        self.count as f64 * 1e9 / self.sum.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: impl IntoIterator<Item = u64>) -> Times {
        let mut all = Times::new();
        times.into_iter().for_each(|time| all.add(time));
        all
    }

    #[test]
    fn few_times_are_all_kept() {
        let mut times = of([30, 10, 50, 20, 40]);
        assert_eq!((times.count(), times.fastest(), times.median(), times.slowest()), (5, 10, 30, 50));
        assert!((times.per_second() - 1e9 / 30.0).abs() < 1e-3);
    }

    #[test]
    fn more_times_than_are_kept_take_no_more_memory_and_are_kept_evenly() {
        let count = 10 * KEPT as u64 + 7;
        let mut times = of((0..count).map(|time| time + 1));
        assert_eq!((times.count(), times.fastest(), times.slowest()), (count, 1, count));
        assert!(times.kept.len() <= KEPT && times.kept.capacity() <= 2 * KEPT);
        assert!(times.kept.windows(2).all(|pair| pair[1] - pair[0] == times.stride));
        assert!(times.median().abs_diff(count / 2) <= times.stride);
    }
}
