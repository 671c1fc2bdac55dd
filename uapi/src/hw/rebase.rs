//! The firmware's rebase: from the host's device addresses to where the tiles stream.
//!
//! When a program is created the firmware moves each buffer's device address (space A) into its own
//! aperture (space C): `mappedBase + (iova - dvaBase)`, after checking that the address lies in the region.
//! Nothing is shifted, masked or rounded, and because both bases move with every load there is no constant
//! offset between the two spaces.
//!
//! The result goes to a BAR of a task queue. A BAR is 32 bits wide; a flag on the BAR sends wider addresses
//! to a table in software instead. And whatever the engine's DMA is to use as a *device* address must have
//! no high half: that is asserted for every kind of buffer.

use thiserror::Error;

use super::bar::{AddressWord, BarIndex};
use super::program::ApertureConfig;
use super::space::{ApertureAddr, EngineOffset, Iova, IovaRange};
use super::tq::{self, QueueId};
use crate::codes;

/// Why an address has no counterpart in the other space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RebaseError {
    #[error("no region is mapped yet")]
    NotMapped,
    #[error("{iova} lies before the region at {base:#x}")]
    BeforeRegion { iova: Iova, base: u64 },
    /// The address, or the end of the `len` bytes that begin there, lies behind the region.
    #[error("{len:#x} bytes at {iova} leave the region that ends at {end:#x}")]
    BehindRegion { iova: Iova, len: u64, end: u64 },
    #[error("{0} lies outside the mapped region")]
    OutsideAperture(ApertureAddr),
    #[error(
        "region of {:#x} bytes at {:#x}, mapped to {:#x}, does not fit into 64 bits",
        .0.region_size, .0.dva_base, .0.mapped_base
    )]
    Wraps(ApertureConfig),
    #[error("device address {0:#x} has bits above 31")]
    HighAddress(u64),
}

/// The region, with its ends checked.
struct Region {
    start: u64,
    end: u64,
    mapped: u64,
}

impl Region {
    fn of(config: &ApertureConfig) -> Result<Self, RebaseError> {
        let size = config.region_size.get();
        if size == 0 {
            return Err(RebaseError::NotMapped);
        }
        let (start, mapped) = (config.dva_base.get(), config.mapped_base.get());
        // The last byte has to have an address in both spaces; one past it need not exist in the second.
        match (start.checked_add(size), mapped.checked_add(size - 1)) {
            (Some(end), Some(_)) => Ok(Self { start, end, mapped }),
            _ => Err(RebaseError::Wraps(*config)),
        }
    }

    fn rebase(&self, iova: Iova, len: u64) -> Result<ApertureAddr, RebaseError> {
        let address = u64::from(iova.0);
        let Some(distance) = address.checked_sub(self.start) else {
            return Err(RebaseError::BeforeRegion { iova, base: self.start });
        };
        if self.end - self.start < distance.saturating_add(len) {
            return Err(RebaseError::BehindRegion { iova, len, end: self.end });
        }
        Ok(ApertureAddr(self.mapped + distance))
    }
}

/// Where a device address lies after the rebase.
///
/// # Examples
///
/// ```
/// use ane_uapi::hw::program::ApertureConfig;
/// use ane_uapi::hw::rebase::rebase;
/// use ane_uapi::hw::space::{ApertureAddr, Iova};
///
/// let config = ApertureConfig {
///     dva_base: 0x3000_0000.into(),
///     region_size: 0x10_0000.into(),
///     mapped_base: 0x1bc4_0010_0000.into(),
/// };
/// assert_eq!(rebase(&config, Iova(0x3000_8001)), Ok(ApertureAddr(0x1bc4_0010_8001)));
/// ```
pub fn rebase(config: &ApertureConfig, iova: Iova) -> Result<ApertureAddr, RebaseError> {
    Region::of(config)?.rebase(iova, 1)
}

/// Where a whole buffer begins after the rebase.
pub fn rebase_range(config: &ApertureConfig, range: IovaRange) -> Result<ApertureAddr, RebaseError> {
    Region::of(config)?.rebase(range.base(), range.len().into())
}

/// The device address that was rebased to `address`.
pub fn undo(config: &ApertureConfig, address: ApertureAddr) -> Result<Iova, RebaseError> {
    let region = Region::of(config)?;
    match address.0.checked_sub(region.mapped) {
        Some(distance) if distance < region.end - region.start => {
            let iova = region.start + distance;
            u32::try_from(iova).map(Iova).map_err(|_| RebaseError::HighAddress(iova))
        }
        _ => Err(RebaseError::OutsideAperture(address)),
    }
}

/// Container offset of the register of a queue's BAR: `0x1c25020 + queue * 0x148 + bar * 4`.
///
/// The formula is seed 000's, which calls the queue "engine"; it names the BAR array of seed 004's queues.
pub const fn bar_register(queue: QueueId, bar: BarIndex) -> EngineOffset {
    EngineOffset(0x1c2_5020 + queue.number() as u32 * 0x148 + bar.number() as u32 * 4)
}

const _: () = {
    // The two documents speak of the same registers.
    let mut q = 0;
    while q < QueueId::ALL.len() {
        let queue = QueueId::ALL[q];
        assert!(bar_register(queue, BarIndex::TASKS).0 == queue.register(&tq::BAR1).0);
        q += 1;
    }
};

codes! {
    /// The kinds of buffer whose addresses are asserted to have no high half (seed 000).
    pub enum ClampedBuffer: u8, "kind of clamped buffer" {
        /// Program text.
        Text = 0, "text";
        /// Weights.
        Weights = 1, "weights";
        /// Task descriptors.
        Descriptors = 2, "descriptor";
        /// Intermediate results.
        Intermediate = 3, "intermediate";
        /// Outputs.
        Output = 4, "output";
        /// Outputs of one call that are inputs of the next.
        Chained = 5, "chained";
    }
}

/// A buffer's device address has a high half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{buffer} buffer at {address:#x} has bits above 31")]
pub struct HighAddress {
    pub buffer: ClampedBuffer,
    pub address: u64,
}

/// The clamp: the device address of a buffer, if it has no high half.
pub const fn clamp(buffer: ClampedBuffer, address: u64) -> Result<Iova, HighAddress> {
    if address >> 32 == 0 { Ok(Iova(address as u32)) } else { Err(HighAddress { buffer, address }) }
}

/// The flag of a BAR: how wide the addresses are that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarWidth {
    /// 32 bits: the hardware register.
    Narrow,
    /// More: the software table.
    Wide,
}

/// Where a rebased address goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarTarget {
    /// To a register of the queue.
    Register { at: EngineOffset, value: AddressWord },
    /// To the table in software; the register stays as it is.
    SoftwareTable { queue: QueueId, bar: BarIndex, value: ApertureAddr },
}

/// A rebased address does not fit a narrow BAR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{bar} of {queue} is 32 bits wide and cannot hold {address}")]
pub struct NeedsWideBar {
    pub queue: QueueId,
    pub bar: BarIndex,
    pub address: ApertureAddr,
}

/// Where `address` goes when it is bound to a BAR of a queue.
///
/// # Errors
///
/// Only 32 bits reach a register. An address with a high half in a narrow BAR would lose it; that is
/// refused here rather than done (Chosen).
pub const fn bind(
    queue: QueueId,
    bar: BarIndex,
    width: BarWidth,
    address: ApertureAddr,
) -> Result<BarTarget, NeedsWideBar> {
    match width {
        BarWidth::Wide => Ok(BarTarget::SoftwareTable { queue, bar, value: address }),
        BarWidth::Narrow if address.0 >> 32 == 0 => Ok(BarTarget::Register {
            at: bar_register(queue, bar),
            value: AddressWord::from_bits(address.0 as u32),
        }),
        BarWidth::Narrow => Err(NeedsWideBar { queue, bar, address }),
    }
}
