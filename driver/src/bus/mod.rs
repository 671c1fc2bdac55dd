//! The way to a device: register accesses, events, and memory that both sides reach.
//!
//! A [`Bus`] carries the driver's accesses to an engine. The registers are those of the hardware. A bus lets the driver
//! touch many of them in one batch, since each trip to the device costs more than forty accesses do.
//!
//! * [`requests`]: the requests of every bus to its device, as the bytes of the wire;
//! * [`vhost_user`]: a device in another process, over its socket, without a virtual machine;
//! * [`vfio`]: a device of a virtual machine's, from inside of the guest;
//! * [`ring`]: the virtqueue under both;
//! * [`memory`]: memory that the device reaches by physical address, for the driver itself;
//! * [`arena`]: and such memory for the buffers of a context's files;
//! * `arena_id`: the owner of each arena, and where it lies.
//!
//! The bus to a device in the driver's own process is not here, since the driver knows no device. The package that joins
//! the two has it.
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "places in rings and tables that the driver laid out itself; what a device wrote is checked where it is read"
)]

pub mod arena;
mod arena_id;
mod descriptor;
pub mod memory;
mod queues;
pub mod requests;
pub mod ring;
pub mod vfio;
pub mod vhost_user;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use ane_uapi::hw::space::EngineOffset;
use ane_uapi::wire::config::{BadConfig, Config};
use ane_uapi::wire::ctrl::Status;
use ane_uapi::wire::event::Event;
use ane_uapi::wire::sideband::{Declaration, Regions};
use thiserror::Error;

pub use arena::Arena;
pub use arena_id::ArenaId;
pub use memory::{DmaMemory, MemoryError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Read(EngineOffset),
    Write(EngineOffset, u32),
}

#[derive(Debug, Error)]
pub enum BusError {
    /// The device refused the request. A batch was carried out up to the refused operation.
    #[error("device refuses operation {index:?} as {}, detail {detail:#x}, after {done} were done", status.name())]
    Refused { status: Status, done: u32, index: Option<u32>, detail: u32 },
    #[error("batch of {len} operations is longer than the device's {limit}")]
    TooLong { len: usize, limit: usize },
    #[error("batch reads {reads} registers into {places} places")]
    TooFewPlaces { reads: usize, places: usize },
    /// The device did not answer in time. It may still do so, so nothing more can be asked of it.
    #[error("device did not answer within {limit:?}")]
    TimedOut { limit: Duration },
    #[error(
        "device did not answer within {limit:?}: it serves one frontend at a time, and another may have it"
    )]
    Busy { limit: Duration },
    /// An earlier failure left the bus in a state from which only a new connection helps.
    #[error("bus is out of order after an earlier failure")]
    OutOfOrder,
    #[error("device broke its queue: {0}")]
    Ring(#[from] ring::Broken),
    #[error("device answers {what}, which is not what was asked for")]
    BadAnswer { what: String },
    #[error("device is not an ANE: {0}")]
    Config(#[from] BadConfig),
    #[error("device does not offer {feature}")]
    Lacks { feature: &'static str },
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The device's process has ended, it closed the connection, or it was unplugged from the machine.
    #[error("device has hung up")]
    HungUp,
    #[error("{action} failed: {why}")]
    Transport { action: &'static str, why: String },
}

pub type Result<T, E = BusError> = std::result::Result<T, E>;

/// Register accesses, events, and memory that the device reaches.
pub trait Bus {
    fn config(&self) -> &Config;

    /// Memory for the driver's own use. Buffers of clients lie in arenas.
    fn memory(&self) -> &DmaMemory;

    /// Fresh zeroed memory for the buffers of a file. From now on the device reaches it, and no longer the arena that had
    /// the number before.
    ///
    /// # Errors
    ///
    /// [`BusError::Lacks`] if the device takes no more; if there is none, or the device cannot be told of it.
    fn arena(&mut self, id: ArenaId) -> Result<Arena>;

    /// Takes an arena out of the device's reach. Clients may have its file still; the driver never uses it again.
    fn retire(&mut self, id: ArenaId) -> Result<()>;

    /// Carries out the operations in order. The values that were read stand in `values`, in the order of the
    /// reads; the number is how many there are.
    ///
    /// It does not wait for work that a write starts: an event tells about that.
    ///
    /// # Errors
    ///
    /// After [`BusError::Refused`] the operations before the refused one have happened, and what they read
    /// stands in `values`.
    fn batch(&mut self, operations: &[Operation], values: &mut [u32]) -> Result<usize>;

    /// Brings the device to the state after power-on. Afterwards nothing of before touches memory any more.
    /// Events that were on their way still arrive.
    fn reset(&mut self) -> Result<()>;

    /// Tells a device in checking mode what mappings are for, or that they are no more.
    ///
    /// # Errors
    ///
    /// If the device refuses: [`Status::Absent`] from a device that does not check.
    fn declare(&mut self, declarations: &[Declaration]) -> Result<()>;

    /// Has PE_MMU take regions in or out: all of them, or none. They are in force when this returns.
    ///
    /// # Errors
    ///
    /// If the device refuses an entry. [`Status::Absent`] if it has no PE_MMU, or the bus carries no such messages.
    fn regions(&mut self, _: Regions<'_>) -> Result<()> {
        Err(BusError::Refused { status: Status::Absent, done: 0, index: None, detail: 0 })
    }

    /// The device's last error in words, if it is near enough to be asked and its error registers still hold `registers`.
    fn reason(&mut self, _registers: [u32; 3]) -> Option<String> {
        None
    }

    /// The next event, waiting for it no longer than `limit`.
    ///
    /// # Errors
    ///
    /// If the device breaks its queue. No event in time is no error.
    fn event(&mut self, limit: Duration) -> Result<Option<Event>>;

    /// The next event that has arrived: without waiting, and without letting a device in this process work.
    fn arrived(&mut self) -> Result<Option<Event>> {
        self.event(Duration::ZERO)
    }

    /// True if a device in this process has something to do. Asked for an event without time to wait, it does one task.
    fn is_pending(&self) -> bool {
        false
    }

    /// When a device in this process will have something to do, if nothing else happens until then.
    fn due(&self) -> Option<Duration> {
        None
    }

    /// Readable when an event has arrived since [`Bus::arrived`] found none, or when the device is gone, until the driver has
    /// been told. `None` on a bus where nothing arrives by itself. [`Bus::find_again`] may replace it.
    fn wakeup(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Looks for the device again after it was lost, with the same memory: all that was in it is still there, and
    /// the device that answers knows nothing of it.
    fn find_again(&mut self) -> Result<()> {
        Err(BusError::OutOfOrder)
    }

    fn read(&mut self, at: EngineOffset) -> Result<u32> {
        let mut value = [0];
        self.batch(&[Operation::Read(at)], &mut value)?;
        Ok(value[0])
    }

    fn write(&mut self, at: EngineOffset, value: u32) -> Result<()> {
        self.batch(&[Operation::Write(at, value)], &mut []).map(|_| ())
    }
}
