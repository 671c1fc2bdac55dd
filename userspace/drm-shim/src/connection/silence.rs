//! A daemon that says nothing.
//!
//! A call may take as long as it likes, and a daemon that is stopped or hangs looks just the same. So a thread that has heard
//! nothing for long asks something whose answer takes no time, and if that has none either, the connection is broken:
//! to the program the device is gone. Once that was found, the other connections find it out sooner.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a daemon may be silent once another connection has found it so.
const SHORT: Duration = Duration::from_secs(1);

/// A connection has ended for silence, and none has heard anything since.
static IS_SILENT: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Wait, for so long at most; without an end if nothing is said.
    Wait(Option<Duration>),
    Ask,
    GiveUp,
}

#[derive(Debug)]
pub(crate) struct Silence {
    patience: Duration,
    since: Instant,
    is_asked: bool,
}

impl Silence {
    /// It begins; zero is patience without an end.
    pub(crate) fn begin(patience: Duration) -> Self {
        let patience = if IS_SILENT.load(Ordering::Relaxed) { patience.min(SHORT) } else { patience };
        Self { patience, since: Instant::now(), is_asked: false }
    }

    pub(crate) fn next(&mut self) -> Next {
        if self.patience.is_zero() {
            return Next::Wait(None);
        }
        let left = self.patience.saturating_sub(self.since.elapsed());
        if !left.is_zero() {
            return Next::Wait(Some(left));
        }
        if self.is_asked {
            IS_SILENT.store(true, Ordering::Relaxed);
            return Next::GiveUp;
        }
        (self.since, self.is_asked) = (Instant::now(), true);
        Next::Ask
    }

    /// The daemon answered the question.
    pub(crate) fn end(&mut self) {
        heard();
        (self.since, self.is_asked) = (Instant::now(), false);
    }
}

/// The daemon said something.
pub(crate) fn heard() {
    if IS_SILENT.load(Ordering::Relaxed) {
        IS_SILENT.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daemon_is_asked_once_and_given_up_when_it_stays_silent() {
        let mut silence = Silence::begin(Duration::from_nanos(1));
        assert_eq!((silence.next(), silence.next()), (Next::Ask, Next::GiveUp));
        silence.end();
        assert_eq!((silence.next(), silence.next()), (Next::Ask, Next::GiveUp), "asked anew after an answer");
        assert!(Silence::begin(Duration::from_secs(3600)).patience == SHORT);
        heard();
        assert!(Silence::begin(Duration::from_secs(3600)).patience > SHORT);
        assert_eq!(Silence::begin(Duration::ZERO).next(), Next::Wait(None));
    }
}
