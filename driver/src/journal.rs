//! The log, kept short: a client that makes its requests fail a million times gets a few lines every ten seconds.
//!
//! Each kind of line has a budget of its own ([`ane_uapi::log_budget`]).

use std::borrow::Cow;
use std::fmt::Display;

use ane_uapi::ioctl::errno::Errno;
use ane_uapi::log_budget::{LeftOut, LogBudget};
use log::Level;

use crate::clock::Time;

/// How long a budget is for.
const PERIOD_NANOSECONDS: u64 = 10_000_000_000;

/// Entries of one kind in a period: enough to see what a client does wrong, too few to fill a disk (Chosen). All kinds together
/// stay below 100 lines, which is what a storm of faults may write.
const ENTRIES: u32 = 5;

/// Dumps in a period.
const DUMPS: u32 = 2;

/// Lines of a dump that are written: most have fewer. All of the last one is in `REPORT`.
const DUMP_LINES: usize = 30;

/// A kind of line, of those that a client can bring about as often as it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    Request,
    /// A fault that is no context's.
    Stray,
    /// A fault was latched; the line is a dump.
    Dump,
    /// A context was not recovered in time.
    Unrecovered,
    /// A queue was stuck, or does not let go.
    Queue,
    /// The device says something that is not understood, or that it is dead.
    Device,
}

impl LineKind {
    /// In the order of their numbers.
    const ALL: [Self; 6] =
        [Self::Request, Self::Stray, Self::Dump, Self::Unrecovered, Self::Queue, Self::Device];

    const fn level(self) -> Level {
        match self {
            Self::Dump | Self::Device => Level::Error,
            Self::Unrecovered => Level::Info,
            _ => Level::Warn,
        }
    }

    const fn lines(self) -> u32 {
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

#[derive(Debug)]
pub(crate) struct Journal([LogBudget; LineKind::ALL.len()]);

impl Default for Journal {
    fn default() -> Self {
        Self(LineKind::ALL.map(|kind| LogBudget::new(kind.lines(), PERIOD_NANOSECONDS)))
    }
}

impl Journal {
    /// Writes a line of the kind, if its budget allows.
    pub(crate) fn log(&mut self, kind: LineKind, now: Time, line: impl FnOnce() -> String) {
        if let Some(left_out) = self.admits(kind, now) {
            log::log!(target: kind.target(), kind.level(), "{}{left_out}", shortened(&line()));
        }
    }

    fn admits(&mut self, kind: LineKind, now: Time) -> Option<LeftOut> {
        self.0.get_mut(kind as usize)?.admits(now.0)
    }
}

/// The errno with which a call ends for this error. What the error says beside it, with its values, goes to the log where
/// somebody asks for that much: the call has no room for it.
pub(crate) fn told(error: &impl Display, errno: Errno) -> Errno {
    log::debug!(target: "ane::driver", "{errno:?}: {error}");
    errno
}

/// A text with no more lines than a dump may have; the last one says how many are missing.
fn shortened(text: &str) -> Cow<'_, str> {
    let count = text.lines().count();
    if count <= DUMP_LINES {
        return text.into();
    }
    let kept = DUMP_LINES.saturating_sub(1);
    let lines: Vec<_> = text.lines().take(kept).collect();
    format!("{}\n  and {} more lines", lines.join("\n"), count.saturating_sub(kept)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storm_of_every_kind_writes_less_than_a_hundred_lines() {
        let dump: String = (0..300).map(|n| format!("mapping {n}\n")).collect();
        let lines: usize = LineKind::ALL
            .map(|kind| {
                let text = if kind == LineKind::Dump { &dump } else { "one line" };
                kind.lines() as usize * shortened(text).lines().count()
            })
            .iter()
            .sum();
        assert!(lines < 100, "{lines}");
        assert!(shortened(&dump).ends_with("mapping 28\n  and 271 more lines"));
    }

    #[test]
    fn flood_of_one_kind_is_cut_off_for_the_period_and_hides_no_other() {
        let mut journal = Journal::default();
        let admitted = (0..1000).filter(|_| journal.admits(LineKind::Request, Time(5)).is_some()).count();
        assert_eq!(admitted, 5);
        assert_eq!(journal.admits(LineKind::Device, Time(5)), Some(LeftOut(0)));
        let later = Time(5 + PERIOD_NANOSECONDS);
        assert_eq!(journal.admits(LineKind::Request, later), Some(LeftOut(995)));
        assert_eq!(journal.admits(LineKind::Request, later), Some(LeftOut(0)));
        let dumps = (0..1000).filter(|_| journal.admits(LineKind::Dump, later).is_some()).count();
        assert_eq!(dumps, 2);
    }
}
