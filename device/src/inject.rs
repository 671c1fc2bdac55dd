//! Faults on demand: what goes wrong once in a million runs, now.
//!
//! An injection is armed at start or later, and each goes off a stated number of times. Nothing else in the
//! device knows whether a fault was injected: it takes the same way as a real one.
//!
//! | text | what happens |
//! |---|---|
//! | `translation-fault:0x8000` | the next transfer that touches this address finds no leaf there |
//! | `translation-fault:after=N` | the transfer after the next N finds no leaf at its start |
//! | `lost-interrupt` or `lost-interrupt:N` | the next N events reach the registers and raise no interrupt |
//! | `stuck-queue` or `stuck-queue:Q` | the next request, on any queue or on Q, never gets anywhere |
//! | `ignored-abort` or `ignored-abort:N` | the next N times that the driver takes a queue back nothing comes of it |
//! | `corrupted-completion` or `corrupted-completion:N` | the next N completions name the wrong request: the network id inverted |
//! | `wedge` | the next request never ends, aborts and deadlines included, until power goes off and on, or a reset |
//! | `slow-dma:N` | every transfer takes N microseconds longer, until cleared with 0 |

use std::fmt;
use std::str::FromStr;

use ane_uapi::hw::space::Iova;
use ane_uapi::hw::tq::QueueId;
use thiserror::Error;

use crate::number::number;
use crate::time::Ticks;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    /// A transfer that touches this address fails there.
    FaultAt(Iova),
    /// The transfer after this many fails.
    FaultAfter(u64),
    /// So many events raise no interrupt.
    LostInterrupt(u32),
    /// A request never gets anywhere.
    StuckQueue(Option<QueueId>),
    /// So many times a queue that is taken back keeps its requests.
    IgnoredAbort(u32),
    /// So many completions name the wrong request.
    CorruptedCompletion(u32),
    /// A request never ends, and nothing but a cycle of the power helps.
    Wedge,
    /// Each transfer takes this much longer.
    SlowDma(Ticks),
}

/// A text that names no fault.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadInjection {
    #[error("fault {0:?} is not known; known: {known}", known = KINDS.join(", "))]
    Kind(String),
    #[error("fault {0} needs an argument; write {form}", form = form(.0))]
    NoArgument(&'static str),
    #[error("fault {kind} cannot take {argument:?}; write {form}", form = form(.kind))]
    Argument { kind: &'static str, argument: String },
}

pub const KINDS: [&str; 7] = [
    "translation-fault",
    "lost-interrupt",
    "stuck-queue",
    "ignored-abort",
    "corrupted-completion",
    "wedge",
    "slow-dma",
];

/// How a fault of the kind is written.
fn form(kind: &str) -> &'static str {
    match kind {
        "translation-fault" => "translation-fault:ADDRESS or translation-fault:after=N",
        "lost-interrupt" => "lost-interrupt or lost-interrupt:N",
        "stuck-queue" => "stuck-queue or stuck-queue:Q, a queue from 0 to 7",
        "ignored-abort" => "ignored-abort or ignored-abort:N",
        "corrupted-completion" => "corrupted-completion or corrupted-completion:N",
        "wedge" => "wedge, alone",
        _ => "slow-dma:MICROSECONDS",
    }
}

impl FromStr for Injection {
    type Err = BadInjection;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (word, argument) = match text.split_once(':') {
            Some((word, argument)) => (word, Some(argument)),
            None => (text, None),
        };
        let kind = KINDS
            .into_iter()
            .find(|kind| *kind == word)
            .ok_or_else(|| BadInjection::Kind(word.to_owned()))?;
        let bad = || BadInjection::Argument { kind, argument: argument.unwrap_or_default().to_owned() };
        let needed = || argument.ok_or(BadInjection::NoArgument(kind));
        let small = |argument: &str| number(argument).and_then(|n| u32::try_from(n).ok()).ok_or_else(bad);
        let times = || argument.map_or(Ok(1), small);
        match kind {
            "translation-fault" => {
                let argument = needed()?;
                match argument.strip_prefix("after=") {
                    Some(count) => number(count).map(Self::FaultAfter).ok_or_else(bad),
                    None => small(argument).map(|address| Self::FaultAt(Iova(address))),
                }
            }
            "lost-interrupt" => times().map(Self::LostInterrupt),
            "ignored-abort" => times().map(Self::IgnoredAbort),
            "corrupted-completion" => times().map(Self::CorruptedCompletion),
            "wedge" => match argument {
                None => Ok(Self::Wedge),
                Some(_) => Err(bad()),
            },
            "stuck-queue" => match argument {
                Some(queue) => {
                    QueueId::new(small(queue)?).map(|queue| Self::StuckQueue(Some(queue))).map_err(|_| bad())
                }
                None => Ok(Self::StuckQueue(None)),
            },
            _ => {
                let microseconds = small(needed()?)?;
                Ok(Self::SlowDma(Ticks::from_nanoseconds(u64::from(microseconds).saturating_mul(1_000))))
            }
        }
    }
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::FaultAt(address) => write!(f, "translation-fault:{:#x}", address.0),
            Self::FaultAfter(count) => write!(f, "translation-fault:after={count}"),
            Self::LostInterrupt(count) => write!(f, "lost-interrupt:{count}"),
            Self::StuckQueue(None) => f.write_str("stuck-queue"),
            Self::StuckQueue(Some(queue)) => write!(f, "stuck-queue:{}", queue.number()),
            Self::IgnoredAbort(count) => write!(f, "ignored-abort:{count}"),
            Self::CorruptedCompletion(count) => write!(f, "corrupted-completion:{count}"),
            Self::Wedge => f.write_str("wedge"),
            Self::SlowDma(delay) => {
                write!(f, "slow-dma:{}", delay.0 / (crate::time::TICKS_PER_SECOND / 1_000_000))
            }
        }
    }
}

/// The state that makes transfers fail on demand.
///
/// The DART asks it before the walk: for an address also where it only checks what a transfer is going to need, and for
/// the number of transfers once for each. A trap springs once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trap {
    at: Option<Iova>,
    after: Option<u64>,
}

impl Trap {
    /// The address at which this transfer is to fail, if it touches the one that is armed.
    pub fn springs_at(&mut self, touches: impl FnOnce(Iova) -> bool) -> Option<Iova> {
        self.at.take_if(|at| touches(*at))
    }

    /// Counts a transfer. True if it is to fail, because enough have gone before.
    pub const fn springs_after(&mut self) -> bool {
        let Some(left) = self.after else { return false };
        self.after = left.checked_sub(1);
        self.after.is_none()
    }

    /// True if nothing is armed.
    pub const fn is_idle(&self) -> bool {
        self.at.is_none() && self.after.is_none()
    }
}

/// The faults that are armed, but for those of transfers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Armed {
    lost_interrupts: u32,
    stuck: Option<Option<QueueId>>,
    ignored_aborts: u32,
    corrupted: u32,
    wedge: bool,
    slow: Ticks,
}

/// Takes one off a count; true if there was one.
fn take_one(count: &mut u32) -> bool {
    match count.checked_sub(1) {
        Some(left) => {
            *count = left;
            true
        }
        None => false,
    }
}

impl Armed {
    /// Arms a fault; one of a transfer goes into the DART's trap.
    pub(crate) fn arm(&mut self, injection: Injection, trap: &mut Trap) {
        match injection {
            Injection::FaultAt(address) => trap.at = Some(address),
            Injection::FaultAfter(count) => trap.after = Some(count),
            Injection::LostInterrupt(count) => self.lost_interrupts = count,
            Injection::StuckQueue(queue) => self.stuck = Some(queue),
            Injection::IgnoredAbort(count) => self.ignored_aborts = count,
            Injection::CorruptedCompletion(count) => self.corrupted = count,
            Injection::Wedge => self.wedge = true,
            Injection::SlowDma(delay) => self.slow = delay,
        }
    }

    /// The faults that are armed, those of `trap` first.
    pub(crate) fn list(&self, trap: &Trap) -> Vec<Injection> {
        let some = |count: u32| (count != 0).then_some(count);
        [
            trap.at.map(Injection::FaultAt),
            trap.after.map(Injection::FaultAfter),
            some(self.lost_interrupts).map(Injection::LostInterrupt),
            self.stuck.map(Injection::StuckQueue),
            some(self.ignored_aborts).map(Injection::IgnoredAbort),
            some(self.corrupted).map(Injection::CorruptedCompletion),
            self.wedge.then_some(Injection::Wedge),
            (self.slow > Ticks::ZERO).then_some(Injection::SlowDma(self.slow)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    pub(crate) fn loses_interrupt(&mut self) -> bool {
        take_one(&mut self.lost_interrupts)
    }

    /// True if the request that starts on `queue` is to get stuck.
    pub(crate) fn sticks(&mut self, queue: QueueId) -> bool {
        match self.stuck {
            Some(which) if which.is_none_or(|which| which == queue) => {
                self.stuck = None;
                true
            }
            _ => false,
        }
    }

    /// True if the request that starts is to wedge the engine.
    pub(crate) const fn wedges(&mut self) -> bool {
        std::mem::replace(&mut self.wedge, false)
    }

    /// True if this abort is to come to nothing.
    pub(crate) fn ignores_abort(&mut self) -> bool {
        take_one(&mut self.ignored_aborts)
    }

    /// True if this completion is to name the wrong request.
    pub(crate) fn corrupts_completion(&mut self) -> bool {
        take_one(&mut self.corrupted)
    }

    /// How much longer each transfer takes.
    pub(crate) const fn delay(&self) -> Ticks {
        self.slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_text_parses_and_prints_as_it_was() {
        for text in [
            "translation-fault:0x8000",
            "translation-fault:after=3",
            "lost-interrupt:1",
            "stuck-queue",
            "stuck-queue:4",
            "ignored-abort:3",
            "corrupted-completion:2",
            "wedge",
            "slow-dma:250",
        ] {
            let injection: Injection = text.parse().unwrap();
            assert_eq!(injection.to_string(), text);
        }
        assert_eq!("lost-interrupt".parse(), Ok(Injection::LostInterrupt(1)));
        assert_eq!("slow-dma:1".parse(), Ok(Injection::SlowDma(Ticks(24))));
    }

    #[test]
    fn text_that_names_no_fault_is_refused_with_the_reason() {
        let refusal = |text: &str| text.parse::<Injection>().unwrap_err().to_string();
        assert_eq!(
            refusal("bit-rot"),
            "fault \"bit-rot\" is not known; known: translation-fault, lost-interrupt, stuck-queue, \
             ignored-abort, corrupted-completion, wedge, slow-dma"
        );
        assert_eq!(
            refusal("translation-fault"),
            "fault translation-fault needs an argument; write translation-fault:ADDRESS or translation-fault:after=N"
        );
        assert!(refusal("translation-fault:0x100000000").contains("cannot take \"0x100000000\""));
        assert_eq!(
            refusal("stuck-queue:8"),
            "fault stuck-queue cannot take \"8\"; write stuck-queue or stuck-queue:Q, a queue from 0 to 7"
        );
        assert!(refusal("lost-interrupt:").contains("cannot take \"\"; write lost-interrupt"));
        assert!(refusal("wedge:2").ends_with("cannot take \"2\"; write wedge, alone"));
        assert!(refusal("slow-dma:-1").ends_with("cannot take \"-1\"; write slow-dma:MICROSECONDS"));
    }

    #[test]
    fn trap_at_an_address_springs_once_and_only_there() {
        let mut trap = Trap::default();
        Armed::default().arm(Injection::FaultAt(Iova(0x8010)), &mut trap);
        assert_eq!(trap.springs_at(|at| at.0 < 0x8010), None);
        assert_eq!(trap.springs_at(|at| at.0 < 0x8011), Some(Iova(0x8010)));
        assert_eq!(trap.springs_at(|at| at.0 < 0x8011), None);
        assert!(trap.is_idle());
    }

    #[test]
    fn trap_after_two_transfers_springs_at_the_third() {
        let mut trap = Trap::default();
        Armed::default().arm(Injection::FaultAfter(2), &mut trap);
        let springs: Vec<_> = (0..4).map(|_| trap.springs_after()).collect();
        assert_eq!(springs, [false, false, true, false]);
    }

    #[test]
    fn faults_are_listed_from_their_arming_until_they_have_gone_off() {
        let (mut armed, mut trap) = (Armed::default(), Trap::default());
        assert_eq!(armed.list(&trap), []);
        let all =
            ["translation-fault:0x8000", "translation-fault:after=3", "lost-interrupt:1", "stuck-queue:4"]
                .map(|text| text.parse::<Injection>().unwrap());
        for injection in all {
            armed.arm(injection, &mut trap);
        }
        assert_eq!(armed.list(&trap), all);
        assert!(armed.loses_interrupt() && armed.sticks(QueueId::LINUX));
        assert_eq!(armed.list(&trap), all[..2]);
    }

    #[test]
    fn stuck_queue_waits_for_its_own() {
        let mut armed = Armed::default();
        armed.arm(Injection::StuckQueue(Some(QueueId::LINUX)), &mut Trap::default());
        assert!(!armed.sticks(QueueId::ALL[0]));
        assert!(armed.sticks(QueueId::LINUX));
        assert!(!armed.sticks(QueueId::LINUX));
    }
}
