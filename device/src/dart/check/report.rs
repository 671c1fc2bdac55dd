//! The findings of checking mode, and their text.

use std::fmt;

use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::regs::Window;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::{EngineOffset, Iova, IovaRange, PhysAddr};

use crate::dart::stream::Circuit;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    pub task: Option<u32>,
    pub register: Option<EngineOffset>,
    /// The BAR that the address was made from.
    pub bar: Option<Iova>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misuse {
    /// The translation buffer gave what the tables no longer say: the driver did not invalidate.
    /// `now` is the page that the tables name, or how they fail.
    StaleTranslation { used: PhysAddr, now: Result<PhysAddr, HwError> },
    /// A window has another control word or table base for the stream than dart0 has.
    WindowsDisagree { window: Window },
    /// The engine writes to what was mapped for reading.
    InputWritten { mapping: IovaRange },
    /// The engine reads a page of an output or intermediate that it has not written.
    NeverWritten { mapping: IovaRange },
    /// Nothing is mapped, and the policy lets the transfer go on: a read finds zeros, a write goes nowhere.
    Absorbed { error: HwError },
    /// The transfer leaves the mapping that its BAR points to, or that it starts in.
    /// There may be no such mapping.
    OutsideMapping { mapping: Option<IovaRange> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CheckReport {
    pub misuse: Misuse,
    pub stream: StreamId,
    pub circuit: Circuit,
    /// First address that is affected.
    pub address: Iova,
    pub origin: Origin,
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mapping = |range: IovaRange| format!("mapping of {:#x} bytes at {}", range.len(), range.base());
        match self.misuse {
            Misuse::StaleTranslation { used, now: Ok(now) } => {
                write!(f, "stale translation used: page at {used}, where the tables now name {now}")
            }
            Misuse::StaleTranslation { used, now: Err(error) } => {
                write!(f, "stale translation used: page at {used}, where the tables now give: {error}")
            }
            Misuse::WindowsDisagree { window } => {
                write!(f, "window {window} is programmed differently from dart0")
            }
            Misuse::InputWritten { mapping: range } => write!(f, "write into the input {}", mapping(range)),
            Misuse::NeverWritten { mapping: range } => {
                write!(f, "read of memory that was never written in {}", mapping(range))
            }
            Misuse::Absorbed { error } => write!(f, "transfer went on where nothing is mapped: {error}"),
            Misuse::OutsideMapping { mapping: Some(range) } => {
                write!(f, "transfer leaves {}", mapping(range))
            }
            Misuse::OutsideMapping { mapping: None } => write!(f, "transfer where nothing is mapped"),
        }?;
        write!(f, "; {} at {}", self.circuit, self.address)?;
        match ContextId::of_stream(self.stream) {
            Some(context) => write!(f, ", {context}")?,
            None => write!(f, ", {}", self.stream)?,
        }
        if let Some(task) = self.origin.task {
            write!(f, ", task {task}")?;
        }
        if let Some(register) = self.origin.register {
            write!(f, ", register at {register}")?;
        }
        Ok(())
    }
}
