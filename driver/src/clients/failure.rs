//! Failures: why a request did not run to its end, in words, for the client that submitted it.
//!
//! A client gets an error number, which cannot say which register holds a value that the engine does not execute. The device
//! says more, and its words are kept with the file, so that only this file's clients can read them.

use std::collections::VecDeque;

use ane_uapi::hw::tm::error::ErrorCode;
use ane_uapi::hw::tq::QueueId;

use super::Clients;
use crate::bus::Bus;
use crate::front::FileId;
use crate::hardware::Hardware;
use crate::journal::LineKind;
use crate::tm::Why;

/// Failures that a file keeps (Chosen: as many as faults; who wants to know asks soon).
const FAILURES_MAX: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Failures(VecDeque<Failed>);

#[derive(Debug)]
struct Failed {
    fence: u64,
    /// The text of the device.
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
    pub(crate) fn reason(&self, fence: u64) -> Option<(u64, &str)> {
        let mut failed = self.0.iter().rev();
        let found = failed.find(|failed| fence == 0 || failed.fence == fence)?;
        Some((found.fence, found.told.as_str()))
    }
}

/// Advice to a client about an error of the device.
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

impl Clients {
    /// The device's text about the last request of any file that did not run to its end.
    pub(crate) fn last_failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Keeps in words what the device said of a request that did not run to its end.
    pub(crate) fn note_failure<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        (file, fence): (FileId, u64),
        queue: QueueId,
        why: Why,
    ) {
        let code = match why {
            Why::Error { word, .. } => word.error(),
            Why::Lost => None,
        };
        let why = hardware.reason(why);
        let Some(known) = self.files.get_mut(&file) else { return };
        let process = known.process();
        let text = format!("request {fence} of process {process} on {queue}: {why}; {}", advice(code));
        known.failures.keep(fence, why, text.clone());
        hardware.log(LineKind::Request, || text.clone());
        self.failure = Some(text);
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
        assert_eq!((failures.reason(0), failures.reason(7)), (Some((20, "told 20")), Some((7, "told 7"))));
        assert_eq!(failures.reason(4), None);
        assert_eq!((failures.of(4), failures.of(5), failures.of(20)), (None, Some("why 5"), Some("why 20")));
        assert_eq!(failures.0.len(), FAILURES_MAX);
    }
}
