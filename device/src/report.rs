//! The log, kept short: a guest that errs a million times gets a few lines a second.
//!
//! Each kind of report has a budget of its own ([`ane_uapi::log_budget`]).

use ane_uapi::hw::space::EngineOffset;
use ane_uapi::log_budget::{LeftOut, LogBudget};

use crate::refusal::{Category, Refusal};
use crate::time::{TICKS_PER_SECOND, Ticks};

/// Lines of one kind in a second: enough to see what a driver does wrong, too few to fill a disk.
const LINES_PER_SECOND: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Refused(Category),
    /// An access was carried out, and is remarkable.
    Remark,
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

#[derive(Debug)]
pub(crate) struct Reporter([LogBudget; Kind::COUNT]);

impl Default for Reporter {
    fn default() -> Self {
        Self([LogBudget::new(LINES_PER_SECOND, TICKS_PER_SECOND); Kind::COUNT])
    }
}

impl Reporter {
    /// Logs a line of the kind, if its budget allows.
    pub(crate) fn log(&mut self, kind: Kind, now: Ticks, line: impl FnOnce() -> String) {
        if let Some(left_out) = self.admits(kind, now) {
            log::warn!(target: "ane::bus", "{}{left_out}", line());
        }
    }

    fn admits(&mut self, kind: Kind, now: Ticks) -> Option<LeftOut> {
        self.0.get_mut(kind.index())?.admits(now.0)
    }

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
        assert_eq!(reporter.admits(Kind::Remark, Ticks(5)), Some(LeftOut(0)));
        let later = Ticks(5 + TICKS_PER_SECOND);
        assert_eq!(reporter.admits(undefined, later), Some(LeftOut(995)));
        assert_eq!(reporter.admits(undefined, later), Some(LeftOut(0)));
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
