//! The log, kept short: a guest that errs a million times gets a few lines a second.
//!
//! Each kind of report has its own budget, so that a flood of one does not hide another.

use ane_uapi::hw::space::EngineOffset;

use crate::refusal::{Category, Refusal};
use crate::time::{TICKS_PER_SECOND, Ticks};

/// Lines of one kind in a second: enough to see what a driver does wrong, too few to fill a disk.
const LINES_PER_SECOND: u32 = 5;

/// A kind of report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An access was refused.
    Refused(Category),
    /// An access was carried out, and is remarkable.
    Remark,
    /// A request failed.
    Request,
    /// Checking mode found something.
    Check,
    /// The mover refused a command.
    Mover,
}

impl Kind {
    const COUNT: usize = Category::ALL.len() + 4;

    fn index(self) -> usize {
        match self {
            Self::Remark => 0,
            Self::Request => 1,
            Self::Check => 2,
            Self::Mover => 3,
            Self::Refused(category) => 4usize.saturating_add(category as usize),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Budget {
    since: Ticks,
    lines: u32,
    swallowed: u64,
}

/// The budgets.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    budgets: [Budget; Kind::COUNT],
}

impl Reporter {
    /// True if a line of this kind may be written; the number is how many were swallowed before it.
    fn admits(&mut self, kind: Kind, now: Ticks) -> Option<u64> {
        let budget = self.budgets.get_mut(kind.index())?;
        if now.saturating_sub(budget.since) >= Ticks(TICKS_PER_SECOND) {
            *budget = Budget { since: now, lines: 0, swallowed: budget.swallowed };
        }
        if budget.lines == LINES_PER_SECOND {
            budget.swallowed = budget.swallowed.saturating_add(1);
            return None;
        }
        budget.lines = budget.lines.saturating_add(1);
        Some(std::mem::take(&mut budget.swallowed))
    }

    /// Logs a line of the kind, if its budget allows.
    pub(crate) fn log(&mut self, kind: Kind, now: Ticks, line: impl FnOnce() -> String) {
        match self.admits(kind, now) {
            Some(0) => log::warn!(target: "ane::bus", "{}", line()),
            Some(swallowed) => {
                log::warn!(target: "ane::bus", "{} ({swallowed} similar lines were left out)", line());
            }
            None => {}
        }
    }

    /// Logs a refusal.
    pub(crate) fn refused(&mut self, refusal: Refusal, now: Ticks) {
        self.log(Kind::Refused(refusal.category), now, || refusal.to_string());
    }

    /// Logs something remarkable about an access that was carried out.
    pub(crate) fn remark(&mut self, at: EngineOffset, now: Ticks, what: &str) {
        self.log(Kind::Remark, now, || format!("access at {at}: {what}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flood_of_one_kind_is_cut_off_for_the_second_and_does_not_hide_another() {
        let mut reporter = Reporter::default();
        let undefined = Kind::Refused(Category::Undefined);
        let admitted = (0..1000).filter(|_| reporter.admits(undefined, Ticks(5)).is_some()).count();
        assert_eq!(admitted, 5);
        assert_eq!(reporter.admits(Kind::Remark, Ticks(5)), Some(0));
        let later = Ticks(5 + TICKS_PER_SECOND);
        assert_eq!(reporter.admits(undefined, later), Some(995));
        assert_eq!(reporter.admits(undefined, later), Some(0));
    }

    #[test]
    fn kinds_have_budgets_of_their_own() {
        let mut seen: Vec<usize> = Category::ALL
            .into_iter()
            .map(Kind::Refused)
            .chain([Kind::Remark, Kind::Request, Kind::Check, Kind::Mover])
            .map(Kind::index)
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..Kind::COUNT).collect::<Vec<_>>());
    }
}
