//! Chunks of coefficients as the engines fetch them (td 7.1, delta 5).
//!
//! A chunk is a table if one goes with the coefficients, then the slots of its engine, group after group. Coefficients
//! are noise; what matters is that each is where the layout has one.

use super::task::half;
use crate::random::Random;

/// How coefficients are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoefficientFormat {
    /// Halves.
    Half,
    /// Bytes without sign.
    Unsigned,
    /// Bytes with one.
    Signed,
    /// Halves without the zeros; positions are counted for so many lanes.
    Sparse(u32),
}

/// The kernel that an output has.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Channels that an output reads.
    pub channels: u32,
    /// Columns and rows.
    pub extent: (u32, u32),
    /// Stride in columns and rows.
    pub stride: (u32, u32),
}

/// How the coefficients of a task lie.
#[derive(Clone, Copy, Debug)]
pub struct Packing {
    /// Lanes of a plane, as the register says.
    pub lanes: u32,
    pub engines: u32,
    /// Outputs of a group.
    pub outputs: u32,
    pub groups: u32,
    /// Whether the slots of a group lie back to back, and only the group is padded.
    pub pads_groups: bool,
    /// The coefficients of an output; as wide as a row of coefficients.
    pub kernel: Kernel,
    /// Whether a bias row leads each slot.
    pub has_bias: bool,
    /// How coefficients are written.
    pub format: CoefficientFormat,
}

impl Packing {
    /// Whether there are so few outputs that planes are narrower than the lanes: each engine has as many, rounded up.
    pub const fn is_narrow(self) -> bool {
        self.outputs.div_ceil(self.engines) < self.lanes
    }

    /// Whether the last plane has fewer outputs than those before it.
    pub const fn is_ragged(self) -> bool {
        !self.outputs.is_multiple_of(self.width())
    }

    /// Whether the outputs of the last round of planes could be dealt to all engines, in narrower planes: td
    /// 7.1 says that this may be so, but not when.
    pub const fn is_open(self) -> bool {
        let left = self.outputs % (self.lanes * self.engines);
        self.outputs > left && left != 0 && left.is_multiple_of(self.engines)
    }

    /// Whether it makes a difference to pad groups and not slots: an engine has several slots of a group.
    pub fn shows_padding(self) -> bool {
        self.groups > 1 && self.slots(0) > 1 && !self.slot_bytes(self.width()).is_multiple_of(64)
    }

    /// Whether slots or groups may be padded, and no size of a chunk shows which.
    pub fn hides_padding(self) -> bool {
        let sizes = |pads_groups| {
            let packing = Self { pads_groups, ..self };
            (0..self.engines).map(move |engine| packing.chunk_bytes(engine))
        };
        self.shows_padding() && sizes(false).eq(sizes(true))
    }

    /// Lanes of a plane.
    pub const fn width(self) -> u32 {
        if self.is_narrow() { self.outputs.div_ceil(self.engines) } else { self.lanes }
    }

    /// Engines that hold a plane.
    pub fn used(self) -> u32 {
        self.engines.min(self.outputs.div_ceil(self.width()))
    }

    /// Rows of coefficients of a slot.
    const fn taps(self) -> u32 {
        self.kernel.channels * self.kernel.extent.0 * self.kernel.extent.1
    }

    /// Slots of a group that an engine holds.
    fn slots(self, engine: u32) -> u32 {
        self.outputs.div_ceil(self.width()).saturating_sub(engine).div_ceil(self.engines)
    }

    /// Bytes of a slot of so many lanes, unless it is sparse.
    const fn slot_bytes(self, lanes: u32) -> u32 {
        let size = if matches!(self.format, CoefficientFormat::Unsigned | CoefficientFormat::Signed) {
            1
        } else {
            2
        };
        lanes * (self.taps() + self.has_bias as u32) * size
    }

    /// Bytes of an engine's chunk behind its table, unless it is sparse; slots of groups count as full.
    pub fn chunk_bytes(self, engine: u32) -> u32 {
        let (slots, slot) = (self.slots(engine), self.slot_bytes(self.width()));
        match (self.groups, self.pads_groups) {
            (1, _) => slots * slot,
            (groups, true) => groups * (slots * slot).next_multiple_of(64),
            (groups, false) => groups * slots * slot.next_multiple_of(64),
        }
    }

    pub fn chunk(self, engine: u32, table: Option<&[u16]>, random: &mut Random) -> Vec<u8> {
        let mut chunk: Vec<u8> =
            table.unwrap_or_default().iter().flat_map(|halfword| halfword.to_le_bytes()).collect();
        for _ in 0..self.groups {
            for plane in (engine..self.outputs.div_ceil(self.width())).step_by(self.engines as usize) {
                if self.groups > 1 && (plane == engine || !self.pads_groups) {
                    chunk.resize(chunk.len().next_multiple_of(64), 0);
                }
                let lanes = self.width().min(self.outputs - plane * self.width());
                self.slot(lanes, &mut chunk, random);
            }
        }
        chunk
    }

    fn slot(self, lanes: u32, chunk: &mut Vec<u8>, random: &mut Random) {
        let mut halves = |chunk: &mut Vec<u8>, count| {
            for _ in 0..count {
                chunk.extend(half(random).to_le_bytes());
            }
        };
        if self.has_bias {
            halves(chunk, lanes);
        }
        match self.format {
            CoefficientFormat::Half => halves(chunk, lanes * self.taps()),
            CoefficientFormat::Unsigned | CoefficientFormat::Signed => {
                chunk.extend((0..lanes * self.taps()).map(|_| random.word() as u8));
            }
            CoefficientFormat::Sparse(counted) => {
                let body = self.body(lanes, counted, random);
                chunk.extend((body.len() as u16).to_le_bytes());
                chunk.push(0);
                chunk.extend(body);
            }
        }
    }

    /// The positions of a sparse slot, each by whether the kernel has it.
    fn positions(self, lanes: u32, counted: u32) -> Vec<bool> {
        let Kernel { channels, extent: (columns, rows), stride: (right, down) } = self.kernel;
        let mut positions = Vec::new();
        for _ in 0..channels {
            for phase in 0..right * down {
                for tap in 0..columns.div_ceil(right) * rows.div_ceil(down) {
                    let x = tap % columns.div_ceil(right) * right + phase % right;
                    let y = tap / columns.div_ceil(right) * down + phase / right;
                    positions.extend((0..counted).map(|lane| lane < lanes && x < columns && y < rows));
                }
            }
        }
        positions
    }

    fn body(self, lanes: u32, counted: u32, random: &mut Random) -> Vec<u8> {
        let mut body = Vec::new();
        for eight in self.positions(lanes, counted).chunks(8) {
            let there = |(bit, &has): (usize, &bool)| u8::from(has && random.below(2) == 0) << bit;
            let mask: u8 = eight.iter().enumerate().map(there).sum();
            body.push(mask);
            for _ in 0..mask.count_ones() {
                body.extend(half(random).to_le_bytes());
            }
        }
        body
    }
}
