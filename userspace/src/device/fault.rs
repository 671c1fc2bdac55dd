//! Faults: what the DART caught of this file's requests.

use std::fmt;

use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fault::{
    self, FAULT_BENIGN, FAULT_LOST, GetFault, RECOVER_RESET, RECOVER_RESUME, Recover,
};
use zerocopy::FromZeros;

use super::{Device, Error, Fence};

#[derive(Clone, Copy, Debug)]
pub struct Fault(GetFault);

impl Fault {
    pub const fn sequence(&self) -> u64 {
        self.0.sequence
    }

    /// The request that faulted, if it was one of this file.
    pub fn fence(&self) -> Option<Fence> {
        (self.0.fence != 0).then_some(Fence(self.0.fence))
    }

    /// The engine was idle: nothing was latched, nothing stopped.
    pub const fn is_benign(&self) -> bool {
        self.0.flags & FAULT_BENIGN != 0
    }

    /// Faults before this one were dropped.
    pub const fn is_after_a_gap(&self) -> bool {
        self.0.flags & FAULT_LOST != 0
    }

    pub const fn raw(&self) -> &GetFault {
        &self.0
    }

    /// The descriptor that every consumer of DART faults gets.
    pub const fn info(&self) -> &IoDartErrorInfo {
        &self.0.info
    }
}

/// One line; with `{:#}` the whole descriptor behind it.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GetFault { sequence, context, window, engine_status, .. } = self.0;
        let info = self.info();
        let way = if info.is_write() == Ok(true) { "write" } else { "read" };
        write!(
            f,
            "fault {sequence}: {way} of {:#010x} in context {context} through dart{window}",
            info.address
        )?;
        if let Ok(error) = info.error() {
            write!(f, ", {error}")?;
        }
        write!(f, ", engine status {engine_status:#x}")?;
        if self.is_benign() {
            f.write_str(", benign")?;
        }
        if self.is_after_a_gap() {
            f.write_str(", others before it were dropped")?;
        }
        if f.alternate() {
            for line in info.to_string().lines() {
                write!(f, "\n  {line}")?;
            }
        }
        Ok(())
    }
}

impl Device {
    /// The oldest fault that was not fetched, if there is one.
    pub fn fault(&self) -> Result<Option<Fault>, Error> {
        self.fault_of(0)
    }

    pub fn fault_of(&self, sequence: u64) -> Result<Option<Fault>, Error> {
        let mut fault = GetFault::new_zeroed();
        fault.sequence = sequence;
        match self.call(&fault::GET_FAULT, &mut fault, &mut []) {
            Ok(()) => Ok(Some(Fault(fault))),
            Err(error) if error.errno() == Some(Errno::ENODATA) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lets work go on after a fault, without the request that faulted.
    pub fn resume(&self) -> Result<(), Error> {
        self.recover(RECOVER_RESUME)
    }

    /// Resets the device: every request of every file ends, buffers keep what they hold.
    pub fn reset(&self) -> Result<(), Error> {
        self.recover(RECOVER_RESET)
    }

    fn recover(&self, flags: u32) -> Result<(), Error> {
        let mut recover = Recover::new_zeroed();
        recover.flags = flags;
        self.call(&fault::RECOVER, &mut recover, &mut [])
    }
}
