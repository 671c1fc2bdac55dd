//! The log, kept short: a client that makes its requests fail a million times gets a few lines every ten seconds.
//!
//! Each kind of line has its own budget, so that a flood of one does not hide another. What was left out is counted in
//! the next line of its kind.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::time::Duration;

use log::Level;

use crate::clock::Time;

/// How long a budget is for.
const PERIOD: Duration = Duration::from_secs(10);

/// Entries of one kind in a period: enough to see what a client does wrong, too few to fill a disk (Chosen). All kinds together
/// stay below 100 lines, which is what a storm of faults may write.
const ENTRIES: u32 = 5;

/// Dumps in a period: each has some twenty lines.
const DUMPS: u32 = 2;

/// A kind of line, of those that a client can bring about as often as it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A request failed.
    Request,
    /// A fault that is no context's.
    Stray,
    /// A fault was latched; the line is a dump.
    Dump,
    /// A context was not recovered in time.
    Unrecovered,
    /// A queue was stuck, or does not let go.
    Queue,
    /// The device says what nobody understands, or that it is dead.
    Device,
}

impl Kind {
    const COUNT: usize = Self::Device as usize + 1;

    const fn level(self) -> Level {
        match self {
            Self::Dump | Self::Device => Level::Error,
            Self::Unrecovered => Level::Info,
            _ => Level::Warn,
        }
    }

    const fn budget(self) -> u32 {
        match self {
            Self::Dump => DUMPS,
            _ => ENTRIES,
        }
    }

    const fn target(self) -> &'static str {
        match self {
            Self::Stray | Self::Dump | Self::Unrecovered => "ane::fault",
            Self::Request | Self::Queue | Self::Device => "ane::driver",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Budget {
    until: Time,
    lines: u32,
    left_out: u64,
}

/// The budgets.
#[derive(Debug)]
pub(crate) struct Journal([Budget; Kind::COUNT]);

impl Default for Journal {
    fn default() -> Self {
        Self([Budget { until: Time(0), lines: 0, left_out: 0 }; Kind::COUNT])
    }
}

impl Journal {
    /// Writes a line of the kind, if its budget allows.
    pub(crate) fn log(&mut self, kind: Kind, now: Time, line: impl FnOnce() -> String) {
        match self.admits(kind, now) {
            Some(0) => log::log!(target: kind.target(), kind.level(), "{}", line()),
            Some(left_out) => log::log!(
                target: kind.target(), kind.level(), "{} ({left_out} similar lines were left out)", line()
            ),
            None => {}
        }
    }

    /// How many lines were left out before this one, if it may be written.
    fn admits(&mut self, kind: Kind, now: Time) -> Option<u64> {
        let budget = self.0.get_mut(kind as usize)?;
        if now >= budget.until {
            budget.until = now.after(PERIOD);
            budget.lines = 0;
        }
        if budget.lines >= kind.budget() {
            budget.left_out = budget.left_out.saturating_add(1);
            return None;
        }
        budget.lines = budget.lines.saturating_add(1);
        Some(std::mem::take(&mut budget.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flood_of_one_kind_is_cut_off_for_the_period_and_hides_no_other() {
        let mut journal = Journal::default();
        let admitted = (0..1000).filter(|_| journal.admits(Kind::Request, Time(5)).is_some()).count();
        assert_eq!(admitted, 5);
        assert_eq!(journal.admits(Kind::Device, Time(5)), Some(0));
        let later = Time(5).after(PERIOD);
        assert_eq!(journal.admits(Kind::Request, later), Some(995));
        assert_eq!(journal.admits(Kind::Request, later), Some(0));
        let dumps = (0..1000).filter(|_| journal.admits(Kind::Dump, later).is_some()).count();
        assert_eq!(dumps, 2);
    }
}
