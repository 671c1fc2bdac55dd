//! How long to look for the next request before sleeping.
//!
//! A wake-up costs some microseconds; looking costs a processor. It pays while requests follow each other
//! closely, and not otherwise, so the window follows what happened: it doubles when a request came soon after
//! the device went to sleep, which a longer look would have caught, and halves when none came for long.

use std::time::{Duration, Instant};

/// The shortest window that is worth opening: about a wake-up.
const SHORTEST: Duration = Duration::from_micros(5);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    longest: Duration,
    now: Duration,
    last: Instant,
}

impl Window {
    pub(crate) fn new(longest: Duration, now: Instant) -> Self {
        Self { longest, now: Duration::ZERO, last: now }
    }

    /// The guest was served, or the engine did something.
    pub(crate) fn worked(&mut self, now: Instant) {
        self.last = now;
    }

    /// True if it is worth looking on.
    pub(crate) fn is_open(&self, now: Instant) -> bool {
        !self.now.is_zero() && now.saturating_duration_since(self.last) < self.now
    }

    /// True if there ever is anything to look for.
    pub(crate) fn is_used(&self) -> bool {
        !self.longest.is_zero()
    }

    pub(crate) fn woken(&mut self, now: Instant) {
        let rested = now.saturating_duration_since(self.last);
        self.now = if rested <= self.longest {
            self.now.saturating_mul(2).max(SHORTEST).min(self.longest)
        } else {
            self.now.checked_div(2).filter(|&half| half >= SHORTEST).unwrap_or_default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_micros(100);

    /// A window after `n` rests of `rest` each.
    fn after(n: u32, rest: Duration, start: Window) -> Window {
        let mut window = start;
        let mut now = window.last;
        for _ in 0..n {
            now += rest;
            window.woken(now);
            window.worked(now);
        }
        window
    }

    #[test]
    fn window_opens_while_requests_follow_each_other_and_closes_when_they_do_not() {
        let closed = Window::new(LONGEST, Instant::now());
        assert!(!closed.is_open(closed.last));
        let open = after(20, Duration::from_micros(50), closed);
        assert_eq!(open.now, LONGEST);
        assert!(open.is_open(open.last + Duration::from_micros(99)));
        assert!(!open.is_open(open.last + LONGEST));
        let idle = after(20, Duration::from_millis(1), open);
        assert_eq!(idle.now, Duration::ZERO);
    }

    #[test]
    fn window_of_nothing_never_opens() {
        let never = after(20, Duration::ZERO, Window::new(Duration::ZERO, Instant::now()));
        assert!(!never.is_open(never.last) && !never.is_used());
    }
}
