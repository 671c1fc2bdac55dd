//! Failures: why a request did not run to its end, in words, for whoever submitted it.
//!
//! A client is told an error number, and that says little of a register that holds what the engine does not do. The
//! device's error registers say more: what went wrong, in which task, at which register, with which value. They are the
//! device's and hold the last error of anybody, so they are believed only as far as they agree with what the event said
//! of this request; and the words are kept with the file, out of which nobody else takes them.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::collections::VecDeque;

use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm::error::{ErrorCode, ErrorPlace};
use ane_uapi::hw::{td, tm};
use ane_uapi::ioctl::stats::Counter;

use crate::bus::{Bus, Operation};
use crate::device::Driver;
use crate::front::FileId;
use crate::journal::Kind;
use crate::tm::{Ended, Why};

/// Failures that a file keeps (Chosen: as many as faults; who wants to know asks soon).
const FAILURES_MAX: usize = 16;

/// Why the last requests of a file failed.
#[derive(Debug, Default)]
pub(crate) struct Failures(VecDeque<Failed>);

/// A request that failed.
#[derive(Debug)]
struct Failed {
    fence: u64,
    /// What the device said.
    why: String,
    /// All of it in one line: whose request, why, and what to try.
    told: String,
}

impl Failures {
    fn keep(&mut self, fence: u64, why: String, told: String) {
        if self.0.len() >= FAILURES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Failed { fence, why, told });
    }

    /// Why the request of `fence` failed, if that is known still.
    pub(crate) fn of(&self, fence: u64) -> Option<&str> {
        self.0.iter().rev().find(|failed| failed.fence == fence).map(|failed| failed.why.as_str())
    }

    /// The request of `fence`, or for 0 the last, and the line about it.
    pub(crate) fn told(&self, fence: u64) -> Option<(u64, &str)> {
        let mut failed = self.0.iter().rev();
        let found = failed.find(|failed| fence == 0 || failed.fence == fence)?;
        Some((found.fence, found.told.as_str()))
    }
}

/// What a client can do about an error of the device.
const fn advice(code: Option<ErrorCode>) -> &'static str {
    use ErrorCode as E;
    match code {
        Some(E::Unexplained | E::UnknownCode | E::NoRegister | E::Unsupported | E::Undefined) => {
            "`ane decode --explain MODEL` names the word, docs/coverage.md what is executed and what to avoid"
        }
        Some(E::Unpredictable | E::WouldHang) => {
            "an engine would do no better: `ane decode --explain MODEL` names the word to mend"
        }
        Some(
            E::DescriptorMisaligned | E::DescriptorShort | E::ChainEnds | E::WrongNetworkId | E::NoTasks,
        ) => "check length and number of tasks against `ane info MODEL`",
        Some(E::DescriptorFault | E::TransferFault) => {
            "check that every buffer is as long as `ane info MODEL` says; `ane faults` shows what is mapped"
        }
        Some(E::AddressTooHigh) => {
            "check base addresses: what they and the task's offsets lead to is beyond 4 GiB"
        }
        Some(E::NotExecuting) => "start the device with an engine: see `ane help daemon`",
        Some(E::Deadline) => "submit less at once, or give it a later deadline",
        Some(E::Aborted) => "submit it again",
        _ => "`ane doctor` checks each layer",
    }
}

impl<B: Bus> Driver<B> {
    /// What the device said of the last request, of whomever, that it did not run to its end.
    pub fn last_failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The value of a counter of the whole device.
    pub fn counted(&self, counter: Counter) -> u64 {
        self.counters.get(counter)
    }

    /// Keeps in words what the device said of a request that did not run to its end.
    pub(crate) fn note_failure(&mut self, ended: &Ended, why: Why, file: FileId, fence: u64) {
        let code = match why {
            Why::Error { word, .. } => word.error(),
            Why::Lost => None,
        };
        let why = self.why(why);
        let Some(known) = self.files.get_mut(&file) else { return };
        let text = format!(
            "request {fence} of process {} on {}: {why}; {}",
            known.who.process,
            ended.place.queue,
            advice(code)
        );
        known.failures.keep(fence, why, text.clone());
        self.journal.log(Kind::Request, self.clock.now(), || text.clone());
        self.failure = Some(text);
    }

    fn why(&mut self, why: Why) -> String {
        let Why::Error { word, value, .. } = why else {
            return "the device lost it, and does not say why".to_owned();
        };
        let mut registers = [0; 3];
        let reads = [tm::ERROR.offset(), tm::ERROR_PLACE.offset(), tm::ERROR_VALUE.offset()]
            .map(|offset| Operation::Read(EngineOffset(tm::TASK_MANAGER.base.0.saturating_add(offset))));
        let has_read = self.bus.batch(&reads, &mut registers).is_ok();
        let [first, place, third] = registers;
        let is_its = has_read && (first, third) == (word.into_bits(), value);
        if is_its && let Some(reason) = self.bus.reason(registers) {
            return reason;
        }
        let what = word.error().map_or_else(|| "an error without a name".to_owned(), |code| code.to_string());
        if !is_its {
            return format!("{what}, value {value:#010x}");
        }
        let place = ErrorPlace::from_bits(place);
        let address = u32::from(place.register()) << 2;
        match td::find(address) {
            Some(found) if address != 0 => {
                let name = found.register.name;
                format!("task {}: {what}: {value:#010x} in {name} at {address:#x}", place.task())
            }
            _ => format!("task {}: {what}, value {value:#010x}", place.task()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_failures_are_known() {
        let mut failures = Failures::default();
        for fence in 1..=20 {
            failures.keep(fence, format!("why {fence}"), format!("told {fence}"));
        }
        assert_eq!((failures.told(0), failures.told(7)), (Some((20, "told 20")), Some((7, "told 7"))));
        assert_eq!(failures.told(4), None);
        assert_eq!((failures.of(4), failures.of(5), failures.of(20)), (None, Some("why 5"), Some("why 20")));
        assert_eq!(failures.0.len(), FAILURES_MAX);
    }
}
