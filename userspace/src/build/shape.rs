//! Shapes, and how a tensor of a shape lies in memory and on chip.
//!
//! In memory each row starts at a multiple of 64 bytes and a plane is its rows (td 6). On chip each row of a channel
//! starts at a multiple of 16, and the rows of all channels lie side by side (td 4.2), with a gap behind them where
//! rows would share banks otherwise.

use ane_uapi::hw::sram::Hierarchy;
use ane_uapi::hw::sram::stride::Costs;

use super::error::{Limit, Result};

pub(super) const HALF: u64 = 2;

/// The engine ignores the low six bits of an address in memory (td 4.5).
pub(super) const MEMORY_ALIGN: u64 = 64;

/// The engine ignores the low four bits of an address on chip (td 4.2).
pub(super) const CHIP_ALIGN: u64 = 16;

/// Extents of a tensor; width is the fastest axis, and there is one batch.
///
/// More than one batch is not offered: no source says what neural tasks do with it (td 11.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Channels.
    pub c: u32,
    /// Rows.
    pub h: u32,
    /// Columns.
    pub w: u32,
}

impl Shape {
    /// `c` channels of `h` rows and `w` columns.
    pub const fn new(c: u32, h: u32, w: u32) -> Self {
        Self { c, h, w }
    }

    /// Number of elements; 2^64 - 1 stands for more than there are numbers.
    pub const fn elements(self) -> u64 {
        (self.c as u64 * self.h as u64).saturating_mul(self.w as u64)
    }

    pub const fn transposed(self) -> Self {
        Self { c: self.w, h: self.h, w: self.c }
    }

    pub(super) const fn transposed_if(self, transpose: bool) -> Self {
        if transpose { self.transposed() } else { self }
    }

    /// The shape of both operands together, where an extent of 1 stretches to that of the other.
    pub(super) fn broadcast(self, other: Self) -> Option<Self> {
        let axis = |a: u32, b: u32| match (a, b) {
            (1, extent) | (extent, 1) => Some(extent),
            _ => (a == b).then_some(a),
        };
        Some(Self { c: axis(self.c, other.c)?, h: axis(self.h, other.h)?, w: axis(self.w, other.w)? })
    }

    /// Refuses what the registers for extents have no room for.
    pub(super) fn check(self, operation: &'static str) -> Result<Self> {
        Limit::Channels.check(operation, self.c)?;
        Limit::Rows.check(operation, self.h)?;
        Limit::Columns.check(operation, self.w)?;
        Ok(self)
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}x{}", self.c, self.h, self.w)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InMemory {
    /// Channels side by side in one plane.
    pub(super) interleave: u32,
    pub(super) row: u64,
    pub(super) plane: u64,
    pub(super) bytes: u64,
}

impl InMemory {
    pub(super) fn of(shape: Shape, interleave: u32) -> Self {
        let row = (HALF * u64::from(shape.w) * u64::from(interleave)).next_multiple_of(MEMORY_ALIGN);
        let plane = row * u64::from(shape.h);
        Self { interleave, row, plane, bytes: plane * u64::from(shape.c.div_ceil(interleave)) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OnChip {
    pub(super) channel: u64,
    pub(super) row: u64,
    pub(super) bytes: u64,
}

impl OnChip {
    pub(super) fn dense(shape: Shape) -> Self {
        let channel = (HALF * u64::from(shape.w)).next_multiple_of(CHIP_ALIGN);
        let row = channel * u64::from(shape.c);
        Self { channel, row, bytes: row * u64::from(shape.h) }
    }

    /// With rows that lie in different banks.
    pub(super) fn spread(shape: Shape, hierarchy: &Hierarchy) -> Self {
        let dense = Self::dense(shape);
        let row = row_stride(hierarchy, shape, dense.channel, dense.row);
        Self { row, bytes: row * u64::from(shape.h), ..dense }
    }
}

/// The stride of rows that `dense` has side by side, so that those which are fetched together lie in different banks.
///
/// Strides beyond the bound of the search do not fit on chip either; the caller finds that.
pub(super) fn row_stride(hierarchy: &Hierarchy, shape: Shape, channel: u64, dense: u64) -> u64 {
    let costs = Costs::of_tensor(hierarchy, shape.c, shape.h, shape.w, channel);
    let chosen = u32::try_from(dense).ok().and_then(|least| hierarchy.choose_stride(least, &costs));
    chosen.map_or(dense, |stride| stride.bytes.into())
}
