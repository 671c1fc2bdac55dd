//! Coefficients: how outputs are dealt to the neural engines, and where what they need lies.
//!
//! A *plane* holds the coefficients of `L` outputs, `L` being the lanes of a neural engine. Plane `p` is held by
//! engine `p mod E` in slot `p div E`; the slots of an engine follow each other in its chunk (td 7.1). Behind the last
//! whole round of planes there may be fewer outputs than the engines have lanes. Compilers then deal them evenly, in
//! narrower planes, one for each engine: 96 outputs of sixteen engines with eight lanes are six for each (delta 5,
//! `chain_ffn`). Others may fill plane after plane and leave engines idle. Which of both it is shows in how many bytes
//! the channels bring. Either way the last plane may have fewer outputs than those before it; its rows are as wide as it
//! has outputs then, unless a task has written the coefficients: it writes them interleaved, and leaves room for all lanes
//! (td 7.3; both inferred).
//!
//! In front of the slots may lie an activation table; the slots of a group lie in front of those of the next, each
//! padded to 64 bytes then (delta 5.2, 5.5). That is known of programs with one slot a group; where there are more, the
//! slots may follow each other as in a task without groups, and the group is padded (inferred). `kernel_dma` reads the
//! registers about all this.

pub const TABLE_BYTES: u32 = 128;

/// To how much slots of groups, and chunks, are padded.
pub(super) const PADDED: u64 = 64;

/// The format of a coefficient in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Half,
    /// A byte without a sign.
    Unsigned,
    /// A byte with one.
    Signed,
}

/// How sparse coefficients are stored: in the order of input channels, in them of phases of the stride, in them of the
/// taps that a phase reads, in them of lanes. Masks of eight bits say which of these positions are there (delta 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sparse {
    /// Lanes for which the masks have bits: those of a plane, or more, of which the others are never there.
    pub mask_lanes: u32,
    /// Input channels of an output.
    pub channels: u32,
    /// Kernel columns and rows.
    pub kernel: (u32, u32),
    /// Horizontal and vertical stride.
    pub stride: (u32, u32),
    /// Deviation: inferred. The order was seen of one input channel, of 1x1 kernels, and of stride 2.
    pub is_inferred: bool,
}

impl Sparse {
    /// Positions of one input channel, for one lane.
    pub const fn positions(&self) -> u64 {
        let ((width, height), (across, down)) = (self.kernel, self.stride);
        let taps = (width.div_ceil(across) as u64).saturating_mul(height.div_ceil(down) as u64);
        taps.saturating_mul(across as u64).saturating_mul(down as u64)
    }

    /// Mask bytes of a slot.
    pub const fn masks(&self) -> u64 {
        let positions = self.positions().saturating_mul(self.channels as u64);
        positions.saturating_mul(self.mask_lanes as u64).div_ceil(8)
    }
}

/// The parts of a grouped task that are padded to 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Each slot (delta 5.2).
    Slots,
    /// Deviation: inferred. All slots of a group together.
    Groups,
}

/// The coefficients of a convolution, of each of its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub format: Format,
    /// A row of biases leads each slot.
    pub has_bias: bool,
    /// An activation table leads each chunk.
    pub has_table: bool,
    /// Neural engines that share the work.
    pub engines: u16,
    pub outputs: u32,
    /// Coefficients of one output.
    pub taps: u32,
    /// Outputs of a plane of the whole rounds.
    pub lanes: u32,
    /// Outputs of a plane behind them.
    pub last_lanes: u32,
    /// Rows of a plane that is not full have room for all its lanes.
    pub has_full_rows: bool,
    pub groups: u32,
    /// The parts that are padded if there are several groups.
    pub padding: Padding,
    /// How they are stored, if not one by one.
    pub sparse: Option<Sparse>,
    /// Bytes that the channels bring in all.
    pub bytes: u64,
}

/// Where the coefficients of some outputs lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub engine: u16,
    /// Their place in its chunk, if every slot has its size.
    pub offset: u64,
    /// The first output of the group.
    pub first: u32,
    pub lanes: u32,
    /// Coefficients from one row to the next: as many, or more.
    pub row: u32,
}

impl Kernel {
    /// Whole rounds: slots of full planes that each engine holds.
    fn rounds(&self) -> u32 {
        self.outputs.checked_div(self.lanes.saturating_mul(self.engines as u32)).unwrap_or(0)
    }

    /// Outputs in the whole rounds.
    pub(super) fn whole(&self) -> u32 {
        self.rounds().saturating_mul(self.lanes).saturating_mul(self.engines as u32)
    }

    /// Outputs behind the whole rounds.
    fn rest(&self) -> u32 {
        self.outputs.saturating_sub(self.whole())
    }

    pub fn slots(&self) -> u32 {
        let rest = self.rest().div_ceil(self.last_lanes.max(1));
        self.rounds().saturating_mul(self.engines.into()).saturating_add(rest)
    }

    pub fn slots_of(&self, engine: u16) -> u32 {
        self.rounds().saturating_add((self.last_of(engine) != 0).into())
    }

    /// Outputs behind the whole rounds that an engine holds.
    fn last_of(&self, engine: u16) -> u32 {
        let before = u32::from(engine).saturating_mul(self.last_lanes);
        self.rest().saturating_sub(before).min(self.last_lanes)
    }

    /// Outputs of the last plane, if they are fewer than those of the planes before it; else 0.
    pub(super) fn ragged(&self) -> u32 {
        self.rest().checked_rem(self.last_lanes).unwrap_or(0)
    }

    /// Outputs of a group that the engine with most of them holds.
    pub fn busiest(&self) -> u32 {
        self.rounds().saturating_mul(self.lanes).saturating_add(self.last_of(0))
    }

    /// A slot of a group, in the order of outputs.
    pub fn slot(&self, group: u32, index: u32) -> Slot {
        let engines = u32::from(self.engines).max(1);
        let round = index.checked_div(engines).unwrap_or(0);
        // Fewer than sixteen engines.
        let engine = u16::try_from(index.checked_rem(engines).unwrap_or(0)).unwrap_or(0);
        let is_last = round >= self.rounds();
        let lanes = if is_last { self.last_lanes } else { self.lanes };
        let first = if is_last {
            self.whole().saturating_add(u32::from(engine).saturating_mul(lanes))
        } else {
            index.saturating_mul(lanes)
        };
        let before = self.group_bytes(engine).saturating_mul(group.into());
        let inside = self.padded(self.slot_bytes(self.lanes)).saturating_mul(round.into());
        let offset = self.table_bytes().saturating_add(before).saturating_add(inside);
        let held = lanes.min(self.outputs.saturating_sub(first));
        Slot { engine, offset, first, lanes: held, row: if self.has_full_rows { lanes } else { held } }
    }

    /// Lanes of the planes in which the array gets the coefficients: what divides all planes.
    pub fn common_lanes(&self) -> u32 {
        let last = common_divisor(self.last_lanes, self.ragged());
        if self.whole() == 0 {
            last
        } else if self.rest() == 0 {
            self.lanes
        } else {
            common_divisor(self.lanes, last)
        }
    }

    /// Bytes of a table in front of a chunk.
    pub const fn table_bytes(&self) -> u64 {
        if self.has_table { TABLE_BYTES as u64 } else { 0 }
    }

    /// Bytes of a slot of so many lanes, as long as it is stored one by one.
    pub fn slot_bytes(&self, lanes: u32) -> u64 {
        let rows = u64::from(self.taps).saturating_add(self.has_bias.into());
        self.size(rows.saturating_mul(lanes.into()))
    }

    /// Bytes of so many coefficients.
    pub const fn size(&self, coefficients: u64) -> u64 {
        coefficients.saturating_mul(if matches!(self.format, Format::Half) { 2 } else { 1 })
    }

    /// Bytes to the next slot of a group.
    pub const fn padded(&self, bytes: u64) -> u64 {
        if self.groups > 1 && matches!(self.padding, Padding::Slots) { round_up(bytes) } else { bytes }
    }

    /// Whether it makes a difference to pad groups and not slots: some engine has several slots of one group,
    /// and their size is no multiple of 64 bytes.
    pub(super) fn shows_padding(&self) -> bool {
        let bytes = self.slot_bytes(self.lanes);
        self.groups > 1 && self.slots_of(0) > 1 && bytes != round_up(bytes)
    }

    fn group_bytes(&self, engine: u16) -> u64 {
        let whole = self.padded(self.slot_bytes(self.lanes)).saturating_mul(self.rounds().into());
        let last = match self.last_of(engine) {
            0 => 0,
            _ if self.has_full_rows => self.last_lanes,
            held => held,
        };
        let bytes = whole.saturating_add(self.padded(self.slot_bytes(last)));
        if self.groups > 1 { round_up(bytes) } else { bytes }
    }

    /// Bytes that an engine needs, if it needs any.
    pub(super) fn engine_bytes(&self, engine: u16) -> u64 {
        match self.group_bytes(engine).saturating_mul(self.groups.into()) {
            0 => 0,
            // Sparse slots have the length that they say; a header there has to be.
            _ if self.sparse.is_some() => self.table_bytes().saturating_add(3),
            bytes => self.table_bytes().saturating_add(bytes),
        }
    }
}

/// The next multiple of what slots of groups, and chunks, are padded to.
const fn round_up(bytes: u64) -> u64 {
    bytes.div_ceil(PADDED).saturating_mul(PADDED)
}

const fn common_divisor(a: u32, b: u32) -> u32 {
    let (mut a, mut b) = (a, b);
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: Kernel = Kernel {
        format: Format::Half,
        has_bias: false,
        has_table: false,
        engines: 16,
        outputs: 64,
        taps: 10,
        lanes: 4,
        last_lanes: 4,
        has_full_rows: false,
        groups: 1,
        padding: Padding::Slots,
        sparse: None,
        bytes: 0,
    };

    fn slots(kernel: &Kernel, group: u32) -> Vec<Slot> {
        (0..kernel.slots()).map(|index| kernel.slot(group, index)).collect()
    }

    #[test]
    fn slots_cover_each_output_once_in_order() {
        for (outputs, lanes, last_lanes, engines) in [
            (64, 4, 4, 16),
            (96, 8, 6, 16),
            (768, 32, 16, 16),
            (3, 1, 1, 4),
            (12, 4, 4, 2),
            (40, 4, 1, 8),
            (10, 4, 3, 4),
            (10, 4, 4, 4),
            (3, 4, 4, 2),
            (43, 4, 4, 8),
        ] {
            let kernel = Kernel { outputs, lanes, last_lanes, engines, ..KERNEL };
            let mut next = 0;
            for slot in slots(&kernel, 0) {
                assert_eq!(slot.first, next, "{kernel:?}");
                assert!(slot.lanes > 0 && slot.lanes % kernel.common_lanes() == 0, "{kernel:?}");
                next += slot.lanes;
            }
            assert_eq!(next, outputs);
            let of_engines: u32 = (0..engines).map(|engine| kernel.slots_of(engine)).sum();
            assert_eq!(of_engines, kernel.slots());
        }
    }

    /// td 7.1: 768 outputs of sixteen engines with 32 lanes.
    #[test]
    fn last_round_may_be_narrower() {
        let kernel = Kernel { outputs: 768, lanes: 32, last_lanes: 16, ..KERNEL };
        let third = slots(&kernel, 0).into_iter().filter(|slot| slot.engine == 3).collect::<Vec<_>>();
        let behind = kernel.slot_bytes(32);
        assert_eq!(
            third,
            [
                Slot { engine: 3, offset: 0, first: 96, lanes: 32, row: 32 },
                Slot { engine: 3, offset: behind, first: 512 + 48, lanes: 16, row: 16 }
            ]
        );
        assert_eq!((kernel.busiest(), kernel.common_lanes()), (48, 16));
    }

    /// Ten outputs of four engines with four lanes: three, three, three and one, or four, four, two and none.
    #[test]
    fn last_plane_may_have_fewer_outputs_and_rows_as_narrow() {
        let bytes = |last_lanes| {
            let kernel = Kernel { outputs: 10, engines: 4, last_lanes, ..KERNEL };
            [0, 1, 2, 3].map(|engine| kernel.engine_bytes(engine))
        };
        assert_eq!(bytes(3), [60, 60, 60, 20]);
        assert_eq!(bytes(4), [80, 80, 40, 0]);
        let written = Kernel { outputs: 10, engines: 4, has_full_rows: true, ..KERNEL };
        assert_eq!([1, 2, 3].map(|engine| written.engine_bytes(engine)), [80, 80, 0]);
        let last = written.slot(0, 2);
        assert_eq!((last.lanes, last.row), (2, 4));
    }

    /// The five published programs: 64 to 64 channels in four groups have 0x140 bytes for each group in a chunk of 0x500.
    #[test]
    fn slots_of_groups_are_padded_and_follow_each_other() {
        let kernel = Kernel { outputs: 16, taps: 144, lanes: 1, last_lanes: 1, groups: 4, ..KERNEL };
        assert_eq!(kernel.engine_bytes(0), 0x500);
        assert_eq!(kernel.slot(2, 5), Slot { engine: 5, offset: 0x280, first: 5, lanes: 1, row: 1 });
        let table = Kernel { has_table: true, ..kernel };
        assert_eq!((table.engine_bytes(0), table.slot(0, 0).offset), (0x580, 0x80));
    }

    /// 64 outputs of a group in four slots of 72 bytes for each engine.
    #[test]
    fn slots_of_a_group_that_is_padded_follow_each_other() {
        let each = Kernel { taps: 36, lanes: 1, last_lanes: 1, groups: 4, ..KERNEL };
        let together = Kernel { padding: Padding::Groups, ..each };
        assert_eq!((each.engine_bytes(0), together.engine_bytes(0)), (4 * 4 * 0x80, 4 * 0x140));
        let slot = Slot { engine: 5, offset: 0x140 + 3 * 72, first: 53, lanes: 1, row: 1 };
        assert_eq!(together.slot(1, 53), slot);
        assert_eq!(each.slot(1, 53), Slot { offset: 0x200 + 3 * 0x80, ..slot });
    }

    #[test]
    fn padding_shows_where_an_engine_has_several_slots_of_other_sizes_than_64_bytes() {
        let kernel = Kernel { taps: 36, lanes: 1, last_lanes: 1, groups: 4, ..KERNEL };
        assert!(kernel.shows_padding());
        assert!(!Kernel { taps: 32, ..kernel }.shows_padding(), "64 bytes");
        assert!(!Kernel { outputs: 16, ..kernel }.shows_padding(), "one slot");
        assert!(!Kernel { groups: 1, ..kernel }.shows_padding(), "one group");
    }

    #[test]
    fn sparse_positions_are_those_of_the_published_sizes() {
        let sparse = |mask_lanes, channels, kernel| Sparse {
            mask_lanes,
            channels,
            kernel: (kernel, kernel),
            stride: (2, 2),
            is_inferred: false,
        };
        assert_eq!(sparse(4, 64, 1).masks(), 128);
        assert_eq!(sparse(4, 64, 3).masks(), 512);
        assert_eq!(sparse(2, 1, 3).masks(), 4);
    }
}
