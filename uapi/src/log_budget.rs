//! The log, kept short: how many lines others may cause.
//!
//! A guest that errs or a client whose requests fail may do so a million times. So device, driver and daemon give each kind of line
//! that others cause a [`LogBudget`] of its own: a few lines in a period. A flood of one kind does not hide another. Lines
//! beyond the budget are counted, and the next line of their kind ends with the count.
//!
//! Time is handed in, in the unit of the log's owner: ticks in the device, nanoseconds in the driver.

use core::fmt;

/// So many lines of one kind in each period.
///
/// # Examples
///
/// ```
/// use ane_uapi::log_budget::LogBudget;
///
/// let mut budget = LogBudget::new(1, 1000);
/// let line = |left_out| format!("the same again{left_out}");
/// assert_eq!(budget.admits(5).map(line).as_deref(), Some("the same again"));
/// assert_eq!(budget.admits(6).map(line), None);
/// let later = budget.admits(1005).map(line);
/// assert_eq!(later.as_deref(), Some("the same again (1 similar lines were left out)"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LogBudget {
    lines: u32,
    period: u64,
    /// The end of the period.
    until: u64,
    /// Lines that were written in it.
    written: u32,
    left_out: u64,
}

/// How many lines were left out before one that is written. Displayed, it is the end of that line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut(pub u64);

impl LogBudget {
    /// A budget of which nothing is used. A period begins with the first line after the end of the last one.
    pub const fn new(lines: u32, period: u64) -> Self {
        Self { lines, period, until: 0, written: 0, left_out: 0 }
    }

    /// Counts a line; `None` if it is left out.
    pub fn admits(&mut self, now: u64) -> Option<LeftOut> {
        if now >= self.until {
            self.until = now.saturating_add(self.period);
            self.written = 0;
        }
        if self.written >= self.lines {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        }
        self.written = self.written.saturating_add(1);
        Some(LeftOut(core::mem::take(&mut self.left_out)))
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            lines => write!(f, " ({lines} similar lines were left out)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flood_is_cut_off_for_the_period_and_counted_in_the_next_line() {
        let mut budget = LogBudget::new(5, 100);
        assert_eq!((0..1000).filter(|_| budget.admits(7).is_some()).count(), 5);
        assert_eq!(budget.admits(106), None);
        assert_eq!(budget.admits(107), Some(LeftOut(996)));
        assert_eq!(budget.admits(107), Some(LeftOut(0)));
    }
}
