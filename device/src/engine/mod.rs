//! The engine proper: what executes a decoded task.
//!
//! By the time a task gets here its descriptor was fetched and understood word by word, the base addresses
//! are in place, and the register file holds the whole state of the pass. An engine reads that state, moves
//! data through the ports it is handed, and says how long the pass would have taken.
//!
//! [`NotExecuting`] is the engine of a device that does everything but compute: it ends each task with the
//! error that says so, and moves no byte.

use std::fmt;

use ane_uapi::hw::bar::BarTable;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::td::header::Header;
use ane_uapi::hw::tq::QueueId;

use crate::dart::Dart;
use crate::kernel_memory::KernelMemory;
use crate::sram::Sram;
use crate::td::register_file::RegisterFile;
use crate::time::Ticks;

/// The task, but for its registers.
#[derive(Clone, Copy, Debug)]
pub struct TaskContext<'a> {
    /// The descriptor's header.
    pub header: &'a Header,
    /// The queue that it came from.
    pub queue: QueueId,
    /// The request that it belongs to.
    pub nid: Nid,
    /// The stream that its transfers carry.
    pub stream: StreamId,
    /// Which task of the request it is, from 0.
    pub index: u16,
    /// How many tasks the request has.
    pub tasks: u16,
    /// The request's base addresses.
    pub bars: &'a BarTable,
}

/// What an engine may touch besides the registers.
pub struct Ports<'a, M> {
    /// The guest's memory.
    pub memory: &'a M,
    /// The way to it.
    pub dart: &'a mut Dart,
    /// Tile L2.
    pub l2: &'a mut Sram,
    /// Kernel memory.
    pub kernel: &'a mut KernelMemory,
}

/// Why a task did not run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineError {
    /// The device executes nothing.
    NotExecuting,
    /// A transfer faulted; the window holds the rest.
    Fault {
        /// Low half of the address that faulted.
        address: u32,
    },
    /// A real engine would hang.
    WouldHang {
        /// Record address of the register that makes it.
        address: u32,
        /// Its value.
        value: u32,
    },
    /// The registers ask for what the model cannot do.
    Unsupported {
        /// Record address of the register.
        address: u32,
        /// The bits.
        bits: u32,
        /// Its value.
        value: u32,
    },
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotExecuting => f.write_str("this device executes no tasks"),
            Self::Fault { address } => write!(f, "transfer faulted at {address:#x}"),
            Self::WouldHang { address, value } => {
                write!(f, "register {address:#x} with {value:#010x} hangs the engine")
            }
            Self::Unsupported { address, bits, value } => {
                write!(f, "bits {bits:#010x} of {value:#010x} in register {address:#x} are not supported")
            }
        }
    }
}

impl std::error::Error for EngineError {}

/// What executes tasks.
pub trait Engine<M> {
    /// Runs one task to its end, and returns the time that it would have taken on the chip.
    ///
    /// # Errors
    ///
    /// Why it did not run. Nothing was written to memory then, unless a transfer faulted midway.
    fn run(
        &mut self,
        task: &TaskContext<'_>,
        registers: &RegisterFile,
        ports: Ports<'_, M>,
    ) -> Result<Ticks, EngineError>;

    /// Forgets what it knows of earlier tasks.
    fn reset(&mut self) {}
}

/// The engine of a device that executes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotExecuting;

impl<M> Engine<M> for NotExecuting {
    fn run(&mut self, _: &TaskContext<'_>, _: &RegisterFile, _: Ports<'_, M>) -> Result<Ticks, EngineError> {
        Err(EngineError::NotExecuting)
    }
}
