//! Fences: requests on their way, and waiting for them.

use std::os::fd::OwnedFd;
use std::time::Duration;

use ane_device::tm::error::Failure;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fence::{self, Cancel, FenceState, TIME_NEVER, Wait};
use ane_uapi::ioctl::param::Param;
use zerocopy::{FromZeros, IntoBytes};

use super::error::Error;
use super::{Device, EmbeddedDriver, address};

/// A request that was submitted. The number is never used again in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fence(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Outcome {
    #[error("has not ended")]
    Pending,
    #[error("ran to its end")]
    Done,
    #[error("ended with {}", match u32::try_from(-*result).ok().and_then(|code| Errno::try_from(code).ok()) {
        Some(errno) => errno.to_string(),
        None => format!("result {result}"),
    })]
    Failed {
        /// The negative error number.
        result: i32,
        /// Sequence number of the fault that ended it, zero if none did.
        fault: u64,
    },
    #[error("ended so long ago that its result is no longer kept")]
    Forgotten,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    All,
    Any,
}

impl Device {
    /// Waits for requests, no longer than `limit` if there is one, and tells what became of each.
    ///
    /// On a device in this process, this is where the engine works.
    ///
    /// # Errors
    ///
    /// Those of `DRM_IOCTL_ANE_WAIT`, except that running out of time is none: fences that are [`Outcome::Pending`] tell it.
    pub fn wait(
        &self,
        fences: &[Fence],
        which: WaitFor,
        limit: Option<Duration>,
    ) -> Result<Vec<Outcome>, Error> {
        let mut list: Vec<fence::Fence> = fences
            .iter()
            .map(|&Fence(number)| {
                let mut fence = fence::Fence::new_zeroed();
                fence.fence = number;
                fence
            })
            .collect();
        let timeout = match limit {
            Some(limit) => self.parameter(Param::ClockNs)?.saturating_add(nanoseconds(limit)).min(TIME_NEVER),
            None => TIME_NEVER,
        };
        let memory = list.as_mut_bytes();
        let mut wait = Wait::new_zeroed();
        wait.fences = address(memory);
        wait.count = u32::try_from(fences.len()).unwrap_or(u32::MAX);
        wait.fence_size = size_of::<fence::Fence>() as u32;
        wait.timeout_ns = i64::try_from(timeout).unwrap_or(i64::MAX);
        wait.flags = if which == WaitFor::Any { fence::WAIT_ANY } else { 0 };
        match self.call(&fence::WAIT, &mut wait, &mut [memory]) {
            Err(error) if error.errno() == Some(Errno::ETIMEDOUT) => {}
            other => other?,
        }
        Ok(list.iter().map(outcome).collect())
    }

    /// Takes a request back; one that runs already is aborted at its next task if `running` says so.
    pub fn cancel(&self, fence: Fence, running: bool) -> Result<(), Error> {
        let mut cancel = Cancel::new_zeroed();
        cancel.fence = fence.0;
        cancel.flags = if running { fence::CANCEL_RUNNING } else { 0 };
        self.call(&fence::CANCEL, &mut cancel, &mut [])
    }

    /// Why a request failed, in words: what the device said of it, where that is known. Only the last few of a file are.
    pub fn failure(&self, fence: Fence) -> Option<String> {
        self.connection().failure(fence.0)
    }

    /// The failure that the device told as `reason`, if device and driver are in this process and no other request has failed
    /// since.
    pub(crate) fn failure_told(&self, reason: &str) -> Option<Failure> {
        let last = |driver: &mut EmbeddedDriver| {
            driver.bus_mut().device_mut().ane().task_manager().last_failure().copied()
        };
        self.with_embedded(last).flatten().filter(|failure| failure.to_string() == reason)
    }

    /// A descriptor that becomes readable once the request has ended, for `poll` and its kin.
    ///
    /// The engine of a device in this process only works while some thread waits in [`Device::wait`].
    ///
    /// # Errors
    ///
    /// [`Error::Unable`] where there is no such thing, [`Error::Failed`] if it is not given, or [`Error::Gone`].
    pub fn signal(&self, fence: Fence) -> Result<OwnedFd, Error> {
        self.connection().signal(fence.0)
    }
}

fn outcome(fence: &fence::Fence) -> Outcome {
    match (FenceState::try_from(fence.state), fence.result) {
        (Ok(FenceState::Complete), 0) => Outcome::Done,
        (Ok(FenceState::Complete), result) => Outcome::Failed { result, fault: fence.fault },
        (Ok(FenceState::Forgotten), _) => Outcome::Forgotten,
        _ => Outcome::Pending,
    }
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
