//! What checking mode finds, and how it reads.

use std::fmt;

use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::regs::Window;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::{EngineOffset, Iova, IovaRange, PhysAddr};

use crate::dart::stream::Circuit;

/// What a transfer is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    pub task: Option<u32>,
    /// The register that holds the address.
    pub register: Option<EngineOffset>,
    /// The BAR that the address was made from.
    pub bar: Option<Iova>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misuse {
    /// The translation buffer gave what the tables no longer say: the driver did not invalidate.
    StaleTranslation {
        /// The page that was used.
        used: PhysAddr,
        /// The page that the tables name now, or how they fail.
        now: Result<PhysAddr, HwError>,
    },
    /// A window has another control word or table base for the stream than dart0 has.
    WindowsDisagree { window: Window },
    /// The engine writes to what was mapped for reading.
    InputWritten { mapping: IovaRange },
    /// The engine reads a page of an output or intermediate that it has not written.
    NeverWritten { mapping: IovaRange },
    /// Nothing is mapped, and the policy lets the transfer go on: a read finds zeros, a write goes nowhere.
    Absorbed {
        /// How the tables fail.
        error: HwError,
    },
    /// The transfer leaves the mapping that its BAR points to, or that it starts in.
    OutsideMapping {
        /// The mapping; `None` if there is none.
        mapping: Option<IovaRange>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CheckReport {
    pub misuse: Misuse,
    /// The stream of the transfer.
    pub stream: StreamId,
    /// The circuit that transferred.
    pub circuit: Circuit,
    /// First address that is affected.
    pub address: Iova,
    /// What the transfer was for.
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
