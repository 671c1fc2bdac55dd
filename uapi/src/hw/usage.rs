//! Usage codes: the role under which a buffer is mapped, and what follows from it.
//!
//! The host maps each buffer under a number that names its role. The role says which way data flows, the
//! way gives a protection class, and the class is what the mapping code hands down. On the M1 all of it
//! comes to the same leaf: a configuration bit turns the read-only class into read-write, and leaves carry
//! no permission anyway. Protection of inputs is the driver's business, which is why the code has to stay
//! with the mapping for its life.

use bitfield_struct::bitfield;
use thiserror::Error;

use crate::codes;
use crate::register::UnknownCode;

/// Marks a buffer that the firmware owns; clients may not use such a code (seed 000, after table 28.5).
pub const FIRMWARE_BIT: u32 = 0x1000;

codes! {
    /// The role of a buffer (seed 000, table 28.5; the classes are measured).
    #[derive(PartialOrd, Ord)]
    pub enum Usage: u32, "usage code" {
        /// A client's input tensor.
        Input = 1, "input tensor";
        /// A client's output tensor.
        Output = 2, "output tensor";
        /// A result on its way to a later task.
        Intermediate = 7, "intermediate";
        /// Kernels and weights.
        Weights = 8, "weights";
        /// Program text, task descriptors, and the working set.
        Program = 9, "program";
        /// Program constants and scratch.
        Constants = 11, "constants";
        /// The surface shared with the firmware from power-on.
        SharedSurface = 0x1019, "firmware shared surface";
        /// The firmware's resident heap.
        ResidentHeap = 0x101a, "firmware resident heap";
    }
}

/// The nine buffers of one load of a matrix multiplication with activation, in the order of seed 000, table
/// 28.6: input, output, weights, text, constants, intermediate, working set, and the firmware's two.
pub const MATMUL_LOAD: [Usage; 9] = [
    Usage::Input,
    Usage::Output,
    Usage::Weights,
    Usage::Program,
    Usage::Constants,
    Usage::Intermediate,
    Usage::Program,
    Usage::SharedSurface,
    Usage::ResidentHeap,
];

/// A client may not map a buffer under this code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadUsage {
    #[error(transparent)]
    Unknown(UnknownCode),
    #[error("usage code {code:#x} ({0}) belongs to the firmware", code = *.0 as u32)]
    FirmwareOnly(Usage),
}

impl Usage {
    /// The role that a client's code names.
    pub fn for_client(code: u32) -> Result<Self, BadUsage> {
        let usage = Self::try_from(code).map_err(BadUsage::Unknown)?;
        if usage.is_firmware() { Err(BadUsage::FirmwareOnly(usage)) } else { Ok(usage) }
    }

    /// True if the firmware owns the buffer.
    pub const fn is_firmware(self) -> bool {
        self as u32 & FIRMWARE_BIT != 0
    }

    /// The way data flows.
    ///
    /// Given for inputs and outputs. All others map as read-write on every chip, so they are not read-only:
    /// those that the engine writes are [`Direction::Both`], the rest [`Direction::Unspecified`] (Derived
    /// from their class).
    pub const fn direction(self) -> Direction {
        match self {
            Self::Input => Direction::DeviceReads,
            Self::Output => Direction::DeviceWrites,
            Self::Intermediate | Self::Program | Self::Constants => Direction::Both,
            Self::Weights | Self::SharedSurface | Self::ResidentHeap => Direction::Unspecified,
        }
    }

    /// The class under which the buffer maps on a controller with the given configuration bit.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane_uapi::hw::usage::{MappingClass, ProtectionClass, ReadOnly, Usage};
    ///
    /// let m1 = Usage::Input.class(ReadOnly::Collapsed);
    /// assert_eq!(m1, MappingClass::Client(ProtectionClass::ReadWrite));
    /// assert_eq!(Usage::ResidentHeap.class(ReadOnly::Collapsed), MappingClass::Firmware);
    /// ```
    pub const fn class(self, read_only: ReadOnly) -> MappingClass {
        if self.is_firmware() {
            MappingClass::Firmware
        } else {
            MappingClass::Client(self.direction().class().on(read_only))
        }
    }
}

/// The direction of data between a buffer and the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    DeviceReads,
    DeviceWrites,
    /// The engine does both.
    Both,
    /// Nothing is said.
    Unspecified,
}

impl Direction {
    /// The protection class, before the controller's configuration has its say; only 1, 2 and 3 occur.
    pub const fn class(self) -> ProtectionClass {
        match self {
            Self::DeviceWrites => ProtectionClass::DeviceWrite,
            Self::DeviceReads => ProtectionClass::ReadOnly,
            Self::Both | Self::Unspecified => ProtectionClass::ReadWrite,
        }
    }
}

codes! {
    /// The access rights of a mapping, as the mapping code numbers them (seed 000, below table 28.5; measured).
    pub enum ProtectionClass: u8, "protection class" {
        /// The engine writes.
        DeviceWrite = 1, "device write";
        /// The engine reads.
        ReadOnly = 2, "read only";
        /// The engine does both.
        ReadWrite = 3, "read write";
    }
}

impl ProtectionClass {
    /// The class that is left on a controller with the given configuration bit.
    pub const fn on(self, read_only: ReadOnly) -> Self {
        match (self, read_only) {
            (Self::ReadOnly, ReadOnly::Collapsed) => Self::ReadWrite,
            _ => self,
        }
    }
}

/// The controller's configuration bit that decides on class 2.
///
/// That the bit exists is known, its place is not; so it is part of a chip's description and of no register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadOnly {
    /// The M1: read-only becomes read-write (measured).
    Collapsed,
    /// A controller without the bit: read-only stays.
    Kept,
}

/// The class under which a buffer maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MappingClass {
    /// A client's or a program's.
    Client(ProtectionClass),
    Firmware,
}

impl MappingClass {
    /// The protection that the mapping code gives to each page; the firmware's class is read-write (Chosen).
    pub const fn protection(self) -> Protection {
        match self {
            Self::Client(class) => Protection::of(class),
            Self::Firmware => Protection::of(ProtectionClass::ReadWrite),
        }
    }
}

/// The protection word of a page: the class in its low bits, three auxiliary bits above.
///
/// The classes 1, 2 and 3 are these two low bits (Derived from their meanings). The engine's driver never
/// sets an auxiliary bit: none was seen in 26 178 mappings (seed 000; measured).
#[bitfield(u64)]
#[derive(PartialEq, Eq, Hash)]
pub struct Protection {
    pub device_writes: bool,
    pub device_reads: bool,
    __: bool,
    /// Becomes bit 62 of a leaf.
    pub auxiliary_3: bool,
    /// Becomes bit 60 of a leaf.
    pub auxiliary_4: bool,
    /// Becomes bit 59 of a leaf.
    pub auxiliary_5: bool,
    #[bits(58)]
    __: u64,
}

impl Protection {
    /// The bits of the word that have a meaning.
    pub const KNOWN: u64 = 0b11_1011;

    pub const fn of(class: ProtectionClass) -> Self {
        Self::from_bits(class as u64)
    }

    /// The class; `None` where neither low bit is set.
    pub fn class(self) -> Option<ProtectionClass> {
        ProtectionClass::try_from((self.into_bits() & 0b11) as u8).ok()
    }

    /// True if an auxiliary bit is set.
    pub const fn has_auxiliary(self) -> bool {
        self.auxiliary_3() || self.auxiliary_4() || self.auxiliary_5()
    }
}
