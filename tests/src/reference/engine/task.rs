//! The registers of one task, by the names of td 4.

use std::collections::BTreeMap;

use super::operands::{Extents, Repetition};

/// The engine that a task runs on, and what it does there (td 4.1, Cfg bits 4 to 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Neural,
    Copy,
    Binary,
    Normalise,
    Reduce,
    BinaryReduce,
}

impl Class {
    pub(super) fn has_source2(self) -> bool {
        matches!(self, Self::Binary | Self::Normalise | Self::BinaryReduce)
    }

    pub(super) fn reduces(self) -> bool {
        matches!(self, Self::Reduce | Self::BinaryReduce)
    }
}

/// How wide the elements of a port are (delta 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// A byte with a sign (td 4.1, format 0).
    Byte,
    /// A byte without a sign (td 4.1, format 1).
    Unsigned,
    Half,
}

impl Width {
    /// The element type of a format of ChCfg; 3 is none, and refused before.
    fn of(format: u32) -> Self {
        match format {
            0 => Self::Byte,
            1 => Self::Unsigned,
            _ => Self::Half,
        }
    }

    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Byte | Self::Unsigned => 1,
            Self::Half => 2,
        }
    }
}

/// One task: the register file it sees, its header and its base addresses.
#[derive(Debug)]
pub(super) struct EngineTask<'a> {
    pub(super) registers: &'a BTreeMap<u32, u32>,
    pub(super) header: &'a [u32],
    pub(super) bars: &'a [u32; 32],
}

impl EngineTask<'_> {
    /// A register; one that was never written holds 0.
    pub(super) fn word(&self, address: u32) -> u32 {
        self.registers.get(&address).copied().unwrap_or(0)
    }

    /// Bits `high..=low` of a register.
    pub(super) fn field(&self, address: u32, high: u32, low: u32) -> u32 {
        (self.word(address) >> low) & (u32::MAX >> (31 - (high - low)))
    }

    /// One bit of a register.
    pub(super) fn bit(&self, address: u32, bit: u32) -> bool {
        self.field(address, bit, bit) == 1
    }

    /// The base address that a header field selects. Reading: with the enable bit clear, no base is added.
    pub(super) fn bar(&self, word: usize, low: u32) -> u64 {
        let field = self.header[word] >> low;
        if field & 0x20 == 0 { 0 } else { u64::from(self.bars[(field & 0x1F) as usize]) }
    }

    /// The base address of the coefficients; BAR 1 with the enable bit clear (td 4.7).
    pub(super) fn coefficient_bar(&self) -> u64 {
        let word = self.header[9];
        u64::from(self.bars[if word & 0x20 == 0 { 1 } else { (word & 0x1F) as usize }])
    }

    /// The class, if it is one of the six.
    pub(super) fn class(&self) -> Option<Class> {
        match self.field(0x34, 6, 4) {
            0 => Some(Class::Neural),
            2 => Some(Class::Copy),
            3 => Some(Class::Binary),
            4 => Some(Class::Normalise),
            5 => Some(Class::Reduce),
            6 => Some(Class::BinaryReduce),
            _ => None,
        }
    }

    pub(super) fn input(&self) -> Extents {
        Extents { c: self.field(0x0C, 16, 0), h: self.field(0x00, 30, 16), w: self.field(0x00, 14, 0) }
    }

    pub(super) fn output(&self) -> Extents {
        Extents { c: self.field(0x10, 16, 0), h: self.field(0x14, 30, 16), w: self.field(0x14, 14, 0) }
    }

    /// The extents of source 1 as it is stored: the input's, one where a planar task broadcasts it, channels and columns
    /// exchanged where it lies transposed (td 4.1, PlanarMap; delta C2).
    pub(super) fn source1(&self, class: Class) -> Extents {
        if class == Class::Neural {
            return self.input();
        }
        let extents = self.broadcast(0);
        if self.source1_transposed() { extents.transposed() } else { extents }
    }

    /// The extents of source 2 of a planar task as it is stored. The normaliser's has a second row, its factors; where it
    /// lies transposed there, each column is a channel (delta C3).
    pub(super) fn source2(&self, class: Class) -> Extents {
        let extents = self.broadcast(4);
        match (class, self.source2_transposed()) {
            (Class::Normalise, true) => Extents { h: 2, w: 1, ..extents }.transposed(),
            (Class::Normalise, false) => Extents { h: 2, ..extents },
            (_, true) => extents.transposed(),
            (_, false) => extents,
        }
    }

    pub(super) fn source1_transposed(&self) -> bool {
        self.bit(0x30, 8)
    }

    pub(super) fn source2_transposed(&self) -> bool {
        self.bit(0x30, 9)
    }

    pub(super) fn source_width(&self) -> Width {
        Width::of(self.field(0x08, 1, 0))
    }

    pub(super) fn source2_width(&self) -> Width {
        Width::of(self.field(0x08, 3, 2))
    }

    pub(super) fn result_width(&self) -> Width {
        Width::of(self.field(0x08, 5, 4))
    }

    /// The repetitions of the task: all depths of a group, then those of the next.
    pub(super) fn repetitions(&self) -> impl Iterator<Item = Repetition> + use<> {
        let (groups, depths) = (self.field(0x24, 12, 0), self.word(0x04));
        (0..groups).flat_map(move |group| (0..depths).map(move |depth| Repetition { group, depth }))
    }

    /// Whether source 1 comes through tile DMA.
    pub(super) fn source_in_memory(&self) -> bool {
        matches!(self.source_type(), 1 | 2)
    }

    /// Whether the result leaves through tile DMA.
    pub(super) fn result_in_memory(&self) -> bool {
        matches!(self.result_type(), 1 | 2)
    }

    fn broadcast(&self, first_bit: u32) -> Extents {
        let Extents { c, h, w } = self.input();
        let one_if = |bit, extent| if self.bit(0x30, first_bit + bit) { 1 } else { extent };
        Extents { c: one_if(3, c), h: one_if(1, h), w: one_if(0, w) }
    }

    /// Elements in a row of one streamed tile (td 4.1 ShMin, 4.2).
    pub(super) fn tile_width(&self, class: Class) -> u32 {
        if class == Class::Neural { 128 >> self.field(0x34, 14, 12) } else { 1 << self.field(0x2C, 3, 0) }
    }

    pub(super) fn tile_height(&self) -> u32 {
        self.field(0x28, 14, 0)
    }

    pub(super) fn source_type(&self) -> u32 {
        self.field(0x4804, 1, 0)
    }

    pub(super) fn result_type(&self) -> u32 {
        self.field(0x4830, 1, 0)
    }

    /// Whether either of two bits puts source 2 in memory; `refusals` checks that they agree where there is a
    /// source 2.
    pub(super) fn source2_in_memory(&self) -> bool {
        self.bit(0x34, 1) || self.bit(0x4804, 24)
    }

    /// Whether a neural task multiplies with coefficients.
    pub(super) fn uses_coefficients(&self) -> bool {
        self.field(0xC804, 3, 0) == 0
    }

    /// Whether a neural task ends in an activation table.
    pub(super) fn uses_table(&self) -> bool {
        self.field(0xC804, 17, 16) == 2
    }
}
