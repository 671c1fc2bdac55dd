//! Residency: which operands stay in the pool, which stream, and which results get a buffer of their own.
//!
//! All of it is decided before a program runs, from sizes alone: each operand by itself against one bound, never their
//! sum, and never by the order in which they are used (seed 003).

use super::Hierarchy;

/// The operands of a layer, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    pub input: u64,
    pub weight: u64,
    pub output: u64,
}

impl Operands {
    /// The largest of the three, which alone decides.
    pub const fn largest(&self) -> u64 {
        let largest = if self.input > self.weight { self.input } else { self.weight };
        if largest > self.output { largest } else { self.output }
    }
}

/// The way in which the engine reads an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residency {
    /// It stays in the pool as a whole.
    Resident,
    /// It is cut into tiles that stream from DRAM.
    Streamed { tiles: u64 },
}

/// Where a convolution's result is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputBuffer {
    /// In the default buffer that all share.
    Default,
    /// In `<layer>/conv_res_l2_buf`, a part of the same pool.
    Dedicated,
}

/// How the residency gate is read.
///
/// Listing 21.4 and the prose beside it say opposite things (facts M, X-13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GateReading {
    /// The listing: above the threshold the default buffer.
    #[default]
    Listing,
    /// The prose and table 21.5: above the threshold a buffer of its own; 0 stands for never.
    Prose,
}

/// The place of coefficients in the kernel store, a budget apart from the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelStore {
    /// They lie in it at once.
    Dense,
    Streamed,
    /// One task cannot bring them; they are divided over several.
    TooLarge,
}

impl Hierarchy {
    /// The residency of an operand of `bytes` bytes: at the bound or above, it streams.
    ///
    /// ```
    /// use ane_uapi::hw::hal::Generation;
    /// use ane_uapi::hw::sram::{Hierarchy, residency::Residency, tensor_bytes};
    ///
    /// let m1 = Hierarchy::of(Generation::H13);
    /// assert_eq!(m1.residency(tensor_bytes(512 * 32 * 32)), Residency::Resident);
    /// assert_eq!(m1.residency(tensor_bytes(512 * 64 * 64)), Residency::Streamed { tiles: 4 });
    /// ```
    pub const fn residency(&self, bytes: u64) -> Residency {
        if bytes < self.operand_bytes as u64 {
            Residency::Resident
        } else {
            Residency::Streamed { tiles: bytes.div_ceil(self.tile_bytes() as u64) }
        }
    }

    /// The residency of a layer: the largest of its operands decides.
    pub const fn layer(&self, operands: Operands) -> Residency {
        self.residency(operands.largest())
    }

    /// Bytes by which a convolution's output is judged: one granule for each destination slot (listing 21.4).
    pub const fn output_footprint(&self, slots: u32) -> u64 {
        self.granule as u64 * slots as u64
    }

    /// Where the result of a convolution with `slots` destination slots is put together.
    pub const fn output_buffer(&self, slots: u32, reading: GateReading) -> OutputBuffer {
        let is_above = self.output_footprint(slots) > self.residency_threshold as u64;
        let is_dedicated = match reading {
            GateReading::Listing => !(self.residency_gate && is_above),
            GateReading::Prose => self.residency_gate && self.residency_threshold != 0 && is_above,
        };
        if is_dedicated { OutputBuffer::Dedicated } else { OutputBuffer::Default }
    }

    /// Bytes of coefficients that the kernel store takes as dense ones, by its mode.
    pub const fn kernel_store_bytes(&self) -> u32 {
        if self.extended_kernel { self.streamed_kernel_bytes } else { self.dense_kernel_bytes }
    }

    /// The place of `bytes` bytes of coefficients.
    pub const fn kernel_store(&self, bytes: u64) -> KernelStore {
        if bytes <= self.kernel_store_bytes() as u64 {
            KernelStore::Dense
        } else if bytes <= self.streamed_kernel_bytes as u64 {
            KernelStore::Streamed
        } else {
            KernelStore::TooLarge
        }
    }
}
