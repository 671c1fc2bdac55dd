//! `IODARTErrorInfo`: the fault as software passes it around.
//!
//! The kernel's DART core makes this descriptor from the captured registers and hands it to every consumer
//! that registered; other drivers of the same controller read the same layout. Its first three fields are
//! pointers to strings there. A pointer has no meaning outside the kernel that made it, so here they are
//! stable numbers whose names are printed (Chosen; see [`error`](super::dart::error)).
//!
//! The bytes that no source describes are reserved, and zero.

use core::fmt;
use core::mem::{offset_of, size_of};

use thiserror::Error;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromZeros, Unaligned};

use super::dart::error::{FaultAddress, FaultType, HwClass, HwError};
use super::dart::regs::ErrorStatus;
use super::dart::stream::StreamId;
use super::dart::walk::WalkIndices;
use super::index::OutOfRange;
use crate::abi::{AbiStruct, Item, abi};

/// How long the driver waits for someone to recover the engine after a real fault, in ms (seed 000; derived).
pub const RECOVERY_PARK_MS: u32 = 250;

abi! {
    /// One of the four bus ids, in a slot of eight bytes.
    #[derive(Hash, Unaligned)]
    pub struct AxiId, "ane_axi_id" {
        /// The id.
        pub id: U32,
        /// Zero.
        pub reserved: [u8; 4]
    }
}

abi! {
    /// The fault descriptor (seed 000, table 28.11; derived).
    #[derive(Hash, Unaligned)]
    pub struct IoDartErrorInfo, "ane_dart_error_info" {
        /// Type: a [`FaultType`], also the id of the event.
        pub fault_type: U64,
        /// HwClass: a [`HwClass`].
        pub hw_class: U64,
        /// HwError: a [`HwError`].
        pub hw_error: U64,
        /// HwStatus: the window's status word as it was captured.
        pub hw_status: U32,
        /// Zero.
        pub reserved_1c: [u8; 4],
        /// IsWrite: 1 if the access was a write, 0 if it was a read.
        pub is_write: u8,
        /// Zero.
        pub reserved_21: [u8; 7],
        /// SID: the stream that faulted.
        pub sid: U32,
        /// Zero.
        pub reserved_2c: [u8; 4],
        /// Address: low half of the address that faulted.
        pub address: U32,
        /// Zero.
        pub reserved_34: [u8; 12],
        /// TTBRIndex: which table base the walk used.
        pub ttbr_index: U32,
        /// Zero.
        pub reserved_44: [u8; 12],
        /// L2Index: which L2 entry the walk used.
        pub l2_index: U32,
        /// Zero.
        pub reserved_54: [u8; 4],
        /// L3Index: which leaf the walk used.
        pub l3_index: U32,
        /// Zero.
        pub reserved_5c: [u8; 52],
        /// AXI_ID: ids of the bus master and its transactions.
        pub axi_id: [AxiId; 4]
    }
}

/// The declarations of a C header that has the descriptor.
pub(crate) const ITEMS: [Item; 5] = [
    Item::enumeration("ANE_FAULT_TYPE_", "The type of a fault.", FaultType::CODES),
    Item::enumeration("ANE_FAULT_CLASS_", "The stage of the translation that gave up.", HwClass::CODES),
    Item::enumeration("ANE_FAULT_CAUSE_", "Why exactly a translation failed.", HwError::CODES),
    Item::Struct(&AxiId::LAYOUT),
    Item::Struct(&IoDartErrorInfo::LAYOUT),
];

const _: () = {
    assert!(offset_of!(IoDartErrorInfo, fault_type) == 0x00);
    assert!(offset_of!(IoDartErrorInfo, hw_class) == 0x08);
    assert!(offset_of!(IoDartErrorInfo, hw_error) == 0x10);
    assert!(offset_of!(IoDartErrorInfo, hw_status) == 0x18);
    assert!(offset_of!(IoDartErrorInfo, reserved_1c) == 0x1c);
    assert!(offset_of!(IoDartErrorInfo, is_write) == 0x20);
    assert!(offset_of!(IoDartErrorInfo, reserved_21) == 0x21);
    assert!(offset_of!(IoDartErrorInfo, sid) == 0x28);
    assert!(offset_of!(IoDartErrorInfo, reserved_2c) == 0x2c);
    assert!(offset_of!(IoDartErrorInfo, address) == 0x30);
    assert!(offset_of!(IoDartErrorInfo, reserved_34) == 0x34);
    assert!(offset_of!(IoDartErrorInfo, ttbr_index) == 0x40);
    assert!(offset_of!(IoDartErrorInfo, reserved_44) == 0x44);
    assert!(offset_of!(IoDartErrorInfo, l2_index) == 0x50);
    assert!(offset_of!(IoDartErrorInfo, reserved_54) == 0x54);
    assert!(offset_of!(IoDartErrorInfo, l3_index) == 0x58);
    assert!(offset_of!(IoDartErrorInfo, reserved_5c) == 0x5c);
    assert!(offset_of!(IoDartErrorInfo, axi_id) == 0x90);
    assert!(size_of::<AxiId>() == 8);
    assert!(size_of::<IoDartErrorInfo>() == 0xb0);
};

/// A field of a descriptor that came from elsewhere holds what it cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadErrorInfo {
    #[error("{0:#x} is no known fault type")]
    Type(u64),
    #[error("{0:#x} is no known fault class")]
    Class(u64),
    #[error("{0:#x} is no known fault cause")]
    Error(u64),
    #[error("write flag is {0:#x}, not 0 or 1")]
    IsWrite(u8),
    #[error(transparent)]
    Stream(OutOfRange),
    #[error("reserved byte at {offset:#x} is not zero")]
    Reserved { offset: usize },
}

/// The named value of a 64-bit field.
fn name<T: TryFrom<u32>>(field: U64) -> Result<T, u64> {
    let code = field.get();
    u32::try_from(code).ok().and_then(|code| T::try_from(code).ok()).ok_or(code)
}

impl IoDartErrorInfo {
    /// The descriptor of the fault that the registers hold.
    ///
    /// Stream and direction are taken from the status word, which always carries them, so that the
    /// descriptor cannot contradict it.
    pub fn new(status: ErrorStatus, address: FaultAddress, axi_ids: [u32; 4]) -> Self {
        let error = HwError::of(status);
        let walk = WalkIndices::of_fault(address);
        Self {
            fault_type: U64::new(error.fault_type() as u64),
            hw_class: U64::new(error.class() as u64),
            hw_error: U64::new(error as u64),
            hw_status: U32::new(status.into_bits()),
            is_write: status.write().into(),
            sid: U32::new(status.stream_id().number().into()),
            address: U32::new(address.low()),
            ttbr_index: U32::new(walk.ttbr),
            l2_index: U32::new(walk.l2.into()),
            l3_index: U32::new(walk.l3.into()),
            axi_id: axi_ids.map(|id| AxiId { id: U32::new(id), reserved: [0; 4] }),
            ..Self::new_zeroed()
        }
    }

    pub fn fault_type(&self) -> Result<FaultType, BadErrorInfo> {
        name(self.fault_type).map_err(BadErrorInfo::Type)
    }

    /// The stage of the translation that gave up.
    pub fn class(&self) -> Result<HwClass, BadErrorInfo> {
        name(self.hw_class).map_err(BadErrorInfo::Class)
    }

    /// Why exactly the translation failed.
    pub fn error(&self) -> Result<HwError, BadErrorInfo> {
        name(self.hw_error).map_err(BadErrorInfo::Error)
    }

    pub fn stream(&self) -> Result<StreamId, BadErrorInfo> {
        StreamId::new(self.sid.get()).map_err(BadErrorInfo::Stream)
    }

    pub fn is_write(&self) -> Result<bool, BadErrorInfo> {
        match self.is_write {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(BadErrorInfo::IsWrite(other)),
        }
    }

    pub fn status(&self) -> ErrorStatus {
        ErrorStatus::from_bits(self.hw_status.get())
    }

    /// Checks every field of a descriptor that came from elsewhere.
    pub fn check(&self) -> Result<(), BadErrorInfo> {
        self.fault_type()?;
        self.class()?;
        self.error()?;
        self.is_write()?;
        self.stream()?;
        let axi = |n: usize| 0x90 + 8 * n + 4;
        let gaps: [(usize, &[u8]); 11] = [
            (0x1c, &self.reserved_1c),
            (0x21, &self.reserved_21),
            (0x2c, &self.reserved_2c),
            (0x34, &self.reserved_34),
            (0x44, &self.reserved_44),
            (0x54, &self.reserved_54),
            (0x5c, &self.reserved_5c),
            (axi(0), &self.axi_id[0].reserved),
            (axi(1), &self.axi_id[1].reserved),
            (axi(2), &self.axi_id[2].reserved),
            (axi(3), &self.axi_id[3].reserved),
        ];
        for (start, bytes) in gaps {
            if let Some(at) = bytes.iter().position(|&byte| byte != 0) {
                return Err(BadErrorInfo::Reserved { offset: start + at });
            }
        }
        Ok(())
    }
}

/// Prints a name, or the number that has none.
fn field<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    name: Result<T, BadErrorInfo>,
) -> fmt::Result {
    match name {
        Ok(name) => writeln!(f, "{title}{name}"),
        Err(bad) => writeln!(f, "{title}({bad})"),
    }
}

impl fmt::Display for IoDartErrorInfo {
    /// One line for each field, in their order.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        field(f, "Type      ", self.fault_type())?;
        field(f, "HwClass   ", self.class())?;
        field(f, "HwError   ", self.error())?;
        writeln!(f, "HwStatus  {:#010x}", self.hw_status)?;
        field(f, "IsWrite   ", self.is_write().map(|write| if write { "1 (write)" } else { "0 (read)" }))?;
        writeln!(f, "SID       {}", self.sid)?;
        writeln!(f, "Address   {:#010x}", self.address)?;
        writeln!(f, "TTBRIndex {}", self.ttbr_index)?;
        writeln!(f, "L2Index   {}", self.l2_index)?;
        writeln!(f, "L3Index   {}", self.l3_index)?;
        write!(f, "AXI_ID   ")?;
        self.axi_id.iter().try_for_each(|slot| write!(f, " {:#x}", slot.id))
    }
}
