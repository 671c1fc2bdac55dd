//! A device that refuses one call, for tests of what follows from that.

use std::os::fd::OwnedFd;

use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::number::Ioctl;

use super::connection::{Connection, Failed};
use super::error::Error;
use super::mapping::Mapping;
use super::{Device, Open};

struct Refusing {
    device: Device,
    call: &'static Ioctl,
}

impl Device {
    /// The same file, whose driver does not take `call`.
    pub(crate) fn refusing(self, call: &'static Ioctl) -> Self {
        let (location, embedded) = (self.open.location.clone(), self.open.embedded.clone());
        let connection = Box::new(Refusing { device: self, call });
        Self { open: Open { location, connection, embedded }.into() }
    }
}

impl Connection for Refusing {
    fn ioctl(&self, number: u32, argument: &mut [u8], memory: &mut [&mut [u8]]) -> Result<(), Failed> {
        if number == self.call.number {
            return Err(Errno::ENOTTY.into());
        }
        self.device.connection().ioctl(number, argument, memory)
    }

    fn map(&self, offset: u64, bytes: u64) -> Result<Mapping, Error> {
        self.device.connection().map(offset, bytes)
    }

    fn unmap(&self, offset: u64, bytes: u64) {
        self.device.connection().unmap(offset, bytes);
    }

    fn signal(&self, fence: u64) -> Result<OwnedFd, Error> {
        self.device.connection().signal(fence)
    }

    fn failure(&self, fence: u64) -> Option<String> {
        self.device.connection().failure(fence)
    }

    fn again(&self) -> Result<Box<dyn Connection>, Error> {
        self.device.connection().again()
    }
}
