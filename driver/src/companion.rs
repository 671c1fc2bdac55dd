//! The companion blocks, PE_MMU and mover, as the driver reaches them: over any bus.
//!
//! Both belong to the whole device and neither knows contexts. PE_MMU is told by messages, which take effect as a
//! whole and are in force when the call returns. The mover is told by its registers: four parameters and a command,
//! then STATUS until its queue is empty and it idle, as Tenstorrent's firmware does it. Whether it took the transfer,
//! only the model's own registers say.

use std::time::{Duration, Instant};

use ane_uapi::hw::mover::Direction;
use ane_uapi::hw::mover::command::NOTHING;
use ane_uapi::hw::mover::model::{self, Outcome};
use ane_uapi::hw::mover::regs::{self, Core};
use ane_uapi::hw::mover::status::wait_is_over;
use ane_uapi::hw::mover::transfer::SIZE_MASK;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::ioctl::companion::{Mover, PeMmuMapEntry, PeMmuUnmapEntry};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::register::{Reg, Word};
use ane_uapi::wire::config::{FEATURE_MOVER, FEATURE_PE_MMU};
use ane_uapi::wire::ctrl::Status;
use ane_uapi::wire::sideband::{MapEntry, Regions, UnmapEntry};
use thiserror::Error;

use crate::bus::{Bus, BusError, Operation};

/// How long the mover may take: the longest transfer is a third of a millisecond by its own clock, and whatever was
/// queued before takes no more than four times that.
const LIMIT: Duration = Duration::from_secs(1);

/// `COMMAND_ADDR`'s word for a parameterised transfer.
const MOVE: u32 = 0x40;

/// Why a companion block did not do what was asked.
#[derive(Debug, Error)]
pub enum CompanionError {
    #[error("device has no {block}")]
    Absent { block: &'static str },
    #[error("message of {count} entries is longer than the device's {limit}")]
    TooMany { count: usize, limit: usize },
    #[error("entry {entry:?} wraps around the end of the address space")]
    Wraps { entry: Option<u32> },
    #[error("entry {entry:?} needs more regions than the device keeps")]
    NoRegions { entry: Option<u32> },
    #[error("reserved word of a transfer is {value:#x}, not zero")]
    Reserved { value: u64 },
    #[error("direction {direction} is not known")]
    Direction { direction: u32 },
    #[error("transfer of {size:#x} units is longer than {SIZE_MASK:#x}")]
    Size { size: u32 },
    #[error("mover refuses the transfer as {}", outcome.name())]
    Refused { outcome: Outcome },
    #[error("mover did not come to rest within {LIMIT:?}, status {status:#x}")]
    Stuck { status: u32 },
    #[error(transparent)]
    Bus(#[from] BusError),
}

impl CompanionError {
    pub fn errno(&self) -> Errno {
        match self {
            Self::Absent { .. } => Errno::EOPNOTSUPP,
            Self::TooMany { .. } => Errno::E2BIG,
            Self::Wraps { .. } | Self::Size { .. } | Self::Refused { .. } => Errno::ERANGE,
            Self::NoRegions { .. } => Errno::ENOSPC,
            Self::Reserved { .. } | Self::Direction { .. } => Errno::EINVAL,
            Self::Stuck { .. } | Self::Bus(_) => Errno::EIO,
        }
    }
}

/// Maps regions: all of them, or none. They are in force when this returns.
pub fn pe_mmu_map(bus: &mut impl Bus, entries: &[PeMmuMapEntry]) -> Result<(), CompanionError> {
    room(bus, entries.len())?;
    let entries: Vec<_> = entries
        .iter()
        .map(|entry| MapEntry { va: entry.va.into(), pa: entry.pa.into(), size: entry.size.into() })
        .collect();
    tell(bus, Regions::Map(&entries))
}

/// Unmaps ranges: all of them, or none. Unmapping what is not mapped is no error.
pub fn pe_mmu_unmap(bus: &mut impl Bus, ranges: &[PeMmuUnmapEntry]) -> Result<(), CompanionError> {
    room(bus, ranges.len())?;
    let ranges: Vec<_> =
        ranges.iter().map(|range| UnmapEntry { va: range.va.into(), size: range.size.into() }).collect();
    tell(bus, Regions::Unmap(&ranges))
}

fn room(bus: &impl Bus, count: usize) -> Result<(), CompanionError> {
    let config = bus.config();
    if config.features.get() & FEATURE_PE_MMU == 0 {
        return Err(CompanionError::Absent { block: "pe_mmu" });
    }
    let limit = usize::from(config.entries_max.get());
    if count > limit { Err(CompanionError::TooMany { count, limit }) } else { Ok(()) }
}

fn tell(bus: &mut impl Bus, regions: Regions<'_>) -> Result<(), CompanionError> {
    bus.regions(regions).map_err(|error| match error {
        BusError::Refused { status: Status::Absent, .. } => CompanionError::Absent { block: "pe_mmu" },
        BusError::Refused { status: Status::Wraps, index, .. } => CompanionError::Wraps { entry: index },
        BusError::Refused { status: Status::NoRegions, index, .. } => {
            CompanionError::NoRegions { entry: index }
        }
        error => error.into(),
    })
}

/// A register in the window of the core that the driver plays.
fn at<T: Word>(register: &Reg<T>) -> EngineOffset {
    EngineOffset(Core::Other.window().0.saturating_add(register.offset()))
}

/// A register of what the virtual engine adds.
fn model_at<T: Word>(register: &Reg<T>) -> EngineOffset {
    EngineOffset(model::MODEL.base.0.saturating_add(register.offset()))
}

/// Runs one transfer of the mover to its end; tells how many cycles it took by the model.
pub fn mover(bus: &mut impl Bus, request: &Mover) -> Result<u64, CompanionError> {
    if bus.config().features.get() & FEATURE_MOVER == 0 {
        return Err(CompanionError::Absent { block: "mover" });
    }
    if request.reserved != 0 {
        return Err(CompanionError::Reserved { value: request.reserved });
    }
    let direction = u8::try_from(request.direction).ok().and_then(|number| Direction::try_from(number).ok());
    let Some(direction) = direction else {
        return Err(CompanionError::Direction { direction: request.direction });
    };
    if request.size > SIZE_MASK {
        return Err(CompanionError::Size { size: request.size });
    }
    rest(bus)?;
    let mut seen = [0; 2];
    bus.batch(
        &[
            Operation::Read(model_at(&model::REFUSED)),
            Operation::Write(at(&regs::XMOV_SRC_ADDR), request.source),
            Operation::Write(at(&regs::XMOV_DST_ADDR), request.destination),
            Operation::Write(at(&regs::XMOV_SIZE), request.size),
            Operation::Write(at(&regs::XMOV_DIRECTION), direction as u32),
            Operation::Write(at(&regs::COMMAND_ADDR), MOVE),
            // Behind each parameterised command, so that credits never run out.
            Operation::Write(at(&regs::COMMAND_ADDR), NOTHING),
            Operation::Read(at(&regs::STATUS)),
        ],
        &mut seen,
    )?;
    rest(bus)?;
    let [refused_before, _] = seen;
    let mut found = [0; 3];
    bus.batch(
        &[model_at(&model::REFUSED), model_at(&model::LAST_OUTCOME), model_at(&model::LAST_CYCLES)]
            .map(Operation::Read),
        &mut found,
    )?;
    let [refused, outcome, cycles] = found;
    if refused == refused_before {
        return Ok(cycles.into());
    }
    // A register with a name that this driver does not know is refused all the same.
    let outcome = u8::try_from(outcome).ok().and_then(|code| Outcome::try_from(code).ok());
    Err(CompanionError::Refused { outcome: outcome.unwrap_or(Outcome::UnknownCommand) })
}

/// Waits until the mover's queue is empty and the mover idle.
fn rest(bus: &mut impl Bus) -> Result<(), CompanionError> {
    let start = Instant::now();
    loop {
        let status = bus.read(at(&regs::STATUS))?;
        if wait_is_over(status, 1) {
            return Ok(());
        }
        if start.elapsed() > LIMIT {
            return Err(CompanionError::Stuck { status });
        }
    }
}
