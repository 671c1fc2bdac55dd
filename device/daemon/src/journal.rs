//! A limit on the lines of the log that a peer can cause.
//!
//! Each kind has a budget of its own ([`ane_uapi::log_budget`]), which all engines of this process share. Errors in a
//! guest's requests have budgets in the device.

use std::fmt::Arguments;
use std::sync::{LazyLock, Mutex};
use std::time::Instant;

use ane_uapi::log_budget::{LeftOut, LogBudget};
use log::Level;

use super::lock::lock;

/// How long a budget is for.
const PERIOD_NANOSECONDS: u64 = 10_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A peer came, or is gone.
    Connection,
    /// A peer was disconnected, or cannot be served.
    Disconnection,
    /// Something that a frontend handed over is not accepted.
    Refusal,
    /// A descriptor of a peer cannot be written to, or holds a thread up.
    Descriptor,
    /// A user may not control the device.
    Stranger,
    /// A client of the control socket changed something.
    Control,
}

impl Kind {
    const ALL: [Self; 6] = [
        Self::Connection,
        Self::Disconnection,
        Self::Refusal,
        Self::Descriptor,
        Self::Stranger,
        Self::Control,
    ];

    /// Lines in a period (Chosen: enough to see who comes and goes, and less than a hundred in all).
    const fn lines(self) -> u32 {
        match self {
            Self::Connection => 30,
            Self::Disconnection => 20,
            _ => 10,
        }
    }

    const fn level(self) -> Level {
        match self {
            Self::Connection | Self::Control => Level::Info,
            _ => Level::Warn,
        }
    }

    const fn target(self) -> &'static str {
        match self {
            Self::Refusal | Self::Descriptor => "ane::virtio",
            Self::Control => "ane::control",
            _ => "ane::socket",
        }
    }
}

static BUDGETS: LazyLock<(Instant, Mutex<[LogBudget; Kind::ALL.len()]>)> = LazyLock::new(|| {
    let budgets = Kind::ALL.map(|kind| LogBudget::new(kind.lines(), PERIOD_NANOSECONDS));
    (Instant::now(), Mutex::new(budgets))
});

fn admits(kind: Kind) -> Option<LeftOut> {
    let (start, budgets) = &*BUDGETS;
    let now = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    lock(budgets).get_mut(kind as usize)?.admits(now)
}

/// Writes a line of the kind, if its budget allows.
pub(crate) fn write(kind: Kind, line: Arguments<'_>) {
    if let Some(left_out) = admits(kind) {
        log::log!(target: kind.target(), kind.level(), "{line}{left_out}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_bring_about_less_than_a_hundred_lines_in_ten_seconds() {
        assert!(Kind::ALL.iter().map(|kind| kind.lines()).sum::<u32>() < 100);
        let admitted = (0..1000).filter(|_| admits(Kind::Stranger).is_some()).count();
        assert_eq!(admitted, Kind::Stranger.lines() as usize);
    }
}
