//! The ways to a driver: what each of them has to do.

use std::os::fd::OwnedFd;

use ane_uapi::ioctl::errno::Errno;

use super::error::Error;
use super::mapping::Mapping;

#[derive(Debug)]
pub(super) enum Failed {
    Code(i32),
    Gone(String),
}

impl From<Errno> for Failed {
    fn from(errno: Errno) -> Self {
        Self::Code(errno as i32)
    }
}

/// What [`Connection::again`] asks for, in words.
pub(super) const ANOTHER_FILE: &str = "another file of the device";

/// What [`Connection::signal`] asks for, in words.
pub(super) fn signal_of(fence: u64) -> String {
    format!("a descriptor for fence {fence}")
}

/// An open file of a device. Calls may come from several threads at once.
pub(super) trait Connection: Send + Sync {
    /// Makes a call. Pointers in the argument are those of the slices in `memory`, which the driver may write to.
    fn ioctl(&self, number: u32, argument: &mut [u8], memory: &mut [&mut [u8]]) -> Result<(), Failed>;

    fn map(&self, offset: u64, bytes: u64) -> Result<Mapping, Error>;

    /// A mapping is no more.
    fn unmap(&self, offset: u64, bytes: u64);

    /// Something to poll, which becomes readable when the request of a fence has ended.
    fn signal(&self, fence: u64) -> Result<OwnedFd, Error>;

    /// Why the request of a fence failed, in words, where that can be told.
    fn failure(&self, _fence: u64) -> Option<String> {
        None
    }

    /// Another file of the same device.
    fn again(&self) -> Result<Box<dyn Connection>, Error>;

    /// A report about driver and device besides the calls; `None` if there is none.
    fn report(&self, _what: &str) -> Result<Option<String>, Error> {
        Ok(None)
    }
}
