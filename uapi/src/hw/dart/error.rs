//! The faults of a translation, and the status word of each cause.
//!
//! A fault is named three times, from coarse to fine: its [type](FaultType), the [stage](HwClass) of the
//! translation that gave up, and the exact [cause](HwError). The founding document says that three such
//! names exist but not what they are; this division is Chosen, so that no two ways to fail look alike. The
//! numbers are part of the contract and do not change.

use super::regs::ErrorStatus;
use super::stream::StreamId;
use crate::codes;
use crate::hw::space::Iova;

codes! {
    /// The type of a fault.
    pub enum FaultType: u32, "fault type" {
        /// The tables lead nowhere.
        Translation = 1, "translation fault";
        /// The tables lead somewhere, and the access is not permitted.
        Protection = 2, "protection fault";
        /// The stream may not transfer.
        Stream = 3, "stream fault";
        /// The address is none that the engine may use.
        Address = 4, "address fault";
        /// Where the address leads is no memory.
        Memory = 5, "memory fault";
        /// The status word names no cause known to this project.
        Unexplained = 0xff, "unexplained fault";
    }
}

codes! {
    /// The stage of the translation that gave up.
    pub enum HwClass: u32, "fault class" {
        /// The stream's enable bit and control word.
        StreamControl = 1, "stream control";
        /// The comparison with the aperture.
        AddressFilter = 2, "address filter";
        /// The stream's table base.
        TableBase = 3, "table base";
        /// The L2 table.
        L2Table = 4, "l2 table";
        /// The L3 table.
        L3Table = 5, "l3 table";
        /// The permission of stream and leaf.
        Permission = 6, "permission";
        /// The access to memory that follows.
        MemoryAccess = 7, "memory access";
        /// The status word names no cause known to this project.
        Unexplained = 0xff, "unexplained";
    }
}

codes! {
    /// Why exactly a translation failed.
    pub enum HwError: u32, "fault cause" {
        /// The stream has no valid table base.
        NoTableBase = 1, "no table base";
        /// The L2 entry is not valid.
        NoL2Entry = 2, "no l2 entry";
        /// The leaf is not valid.
        NoL3Entry = 3, "no l3 entry";
        /// The L2 table is not in memory.
        L2TableUnreadable = 4, "l2 table unreadable";
        /// The L3 table is not in memory.
        L3TableUnreadable = 5, "l3 table unreadable";
        /// The L2 entry has bits that its format does not define.
        L2EntryMalformed = 6, "l2 entry malformed";
        /// The leaf has bits that its format does not define.
        L3EntryMalformed = 7, "l3 entry malformed";
        /// A read that is not permitted.
        ReadProtection = 8, "read not permitted";
        /// A write that is not permitted.
        WriteProtection = 9, "write not permitted";
        /// The access lies outside the part of the page that the leaf opens.
        SubPage = 10, "outside the open part of the page";
        /// The stream is not enabled.
        StreamDisabled = 11, "stream disabled";
        /// The stream's control word neither translates nor bypasses.
        StreamBlocked = 12, "stream blocked";
        /// The stream's control word asks for translation and bypass at once.
        StreamControlInvalid = 13, "stream control invalid";
        /// The address lies outside the aperture.
        OutsideAperture = 14, "address outside the aperture";
        /// The address has a high half.
        HighAddress = 15, "address above 32 bits";
        /// The address found, or passed on by a bypassing stream, is no memory.
        NoMemory = 16, "no memory at the physical address";
        /// The status word names no cause known to this project.
        Unexplained = 0xff, "unexplained";
    }
}

impl HwError {
    /// The sort of fault that this cause makes.
    pub const fn fault_type(self) -> FaultType {
        match self {
            Self::NoTableBase
            | Self::NoL2Entry
            | Self::NoL3Entry
            | Self::L2TableUnreadable
            | Self::L3TableUnreadable
            | Self::L2EntryMalformed
            | Self::L3EntryMalformed => FaultType::Translation,
            Self::ReadProtection | Self::WriteProtection | Self::SubPage => FaultType::Protection,
            Self::StreamDisabled | Self::StreamBlocked | Self::StreamControlInvalid => FaultType::Stream,
            Self::OutsideAperture | Self::HighAddress => FaultType::Address,
            Self::NoMemory => FaultType::Memory,
            Self::Unexplained => FaultType::Unexplained,
        }
    }

    /// The stage that gives up for this cause.
    pub const fn class(self) -> HwClass {
        match self {
            Self::StreamDisabled | Self::StreamBlocked | Self::StreamControlInvalid => HwClass::StreamControl,
            Self::OutsideAperture | Self::HighAddress => HwClass::AddressFilter,
            Self::NoTableBase => HwClass::TableBase,
            Self::NoL2Entry | Self::L2TableUnreadable | Self::L2EntryMalformed => HwClass::L2Table,
            Self::NoL3Entry | Self::L3TableUnreadable | Self::L3EntryMalformed => HwClass::L3Table,
            Self::ReadProtection | Self::WriteProtection | Self::SubPage => HwClass::Permission,
            Self::NoMemory => HwClass::MemoryAccess,
            Self::Unexplained => HwClass::Unexplained,
        }
    }

    /// The bits of the status word that stand for this cause alone.
    pub const fn bits(self) -> ErrorStatus {
        let none = ErrorStatus::new();
        match self {
            Self::NoTableBase => none.with_no_ttbr(true),
            Self::NoL2Entry => none.with_no_l2_entry(true),
            Self::NoL3Entry => none.with_no_l3_entry(true),
            Self::L2TableUnreadable => none.with_table_unreadable(true).with_no_l2_entry(true),
            Self::L3TableUnreadable => none.with_table_unreadable(true).with_no_l3_entry(true),
            Self::L2EntryMalformed => none.with_entry_malformed(true).with_no_l2_entry(true),
            Self::L3EntryMalformed => none.with_entry_malformed(true).with_no_l3_entry(true),
            Self::ReadProtection => none.with_read_protection(true),
            Self::WriteProtection => none.with_write_protection(true),
            Self::SubPage => none.with_sub_page(true),
            Self::StreamDisabled => none.with_stream_disabled(true),
            Self::StreamBlocked => none.with_stream_blocked(true),
            Self::StreamControlInvalid => none.with_stream_control_invalid(true),
            Self::OutsideAperture => none.with_outside_aperture(true),
            Self::HighAddress => none.with_high_address(true),
            Self::NoMemory => none.with_no_memory(true),
            Self::Unexplained => none,
        }
    }

    /// The status word of a fault for this cause.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane_uapi::hw::dart::{error::HwError, stream::StreamId};
    ///
    /// let status = HwError::NoL3Entry.raise(StreamId::ALL[3], true);
    /// assert_eq!(status.into_bits(), 0x8300_0404);
    /// assert_eq!(HwError::of(status), HwError::NoL3Entry);
    /// ```
    pub const fn raise(self, stream: StreamId, is_write: bool) -> ErrorStatus {
        self.bits().with_stream(stream.number()).with_write(is_write).with_fault(true)
    }

    /// The cause that a status word names.
    ///
    /// Bits that name no single cause known here, none at all included, are [`HwError::Unexplained`].
    pub fn of(status: ErrorStatus) -> Self {
        let cause = status.cause();
        // The published bit on its own is the leaf's.
        if cause == ErrorStatus::new().with_table_unreadable(true) {
            return Self::L3TableUnreadable;
        }
        Self::ALL.iter().copied().find(|error| error.bits() == cause).unwrap_or(Self::Unexplained)
    }
}

impl ErrorStatus {
    /// The word with everything removed that says who faulted rather than why.
    pub const fn cause(self) -> Self {
        self.with_stream(0).with_write(false).with_fault(false)
    }

    pub const fn stream_id(self) -> StreamId {
        StreamId::ALL[self.stream() as usize]
    }
}

/// The address of an access that faulted.
///
/// The registers have room for 64 bits, because one of the ways to fail is to have more than 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultAddress(pub u64);

impl FaultAddress {
    /// The address that the two error registers hold.
    pub const fn from_halves(low: u32, high: u32) -> Self {
        Self(((high as u64) << 32) | low as u64)
    }

    /// The low half, as the register holds it.
    pub const fn low(self) -> u32 {
        self.0 as u32
    }

    /// The high half, as the register holds it.
    pub const fn high(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The device address, unless there is a high half.
    pub const fn iova(self) -> Option<Iova> {
        if self.high() == 0 { Some(Iova(self.low())) } else { None }
    }
}

impl From<Iova> for FaultAddress {
    fn from(iova: Iova) -> Self {
        Self(iova.0.into())
    }
}
