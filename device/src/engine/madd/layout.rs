//! How a pass is cut into pieces of work for the kernels.
//!
//! A piece is a group of outputs and a panel: as many neighbouring places as a kernel has columns. Places are output
//! pixels. Where an output shares its operands with few others, copying them into a panel would cost more than using
//! them; kernels then read the planes themselves, and places run on through the margin from one row to the next, where
//! the results of those few in the margin are dropped.

use std::ops::Range;

use super::coefficients::padded;
use super::planes::Planes;
use super::shape::Shape;
use crate::engine::kernels::{Code, Kernel, Offsets};
use crate::engine::numerics::Numerics;

/// Taps that are worked on at a time: a panel of them stays in the first cache. A multiple of the block of `fast`.
pub(super) const TAPS: usize = 256;
/// Outputs of a group from which on operands are copied.
const COPY_FROM: usize = 8;

/// Kernel, panels and places of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) kernel: Kernel,
    pub(super) planes: Planes,
    /// Whether operands are copied into panels.
    pub(super) copied: bool,
    /// Panels of a group.
    pub(super) panels: usize,
    /// Places from one output row to the next.
    pitch: usize,
    /// Places in all.
    places: usize,
}

/// Neighbouring places of an output row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Columns of the panel.
    pub(super) columns: Range<usize>,
    /// Output row, and the first of its columns.
    pub(super) y: usize,
    /// As above.
    pub(super) x: usize,
}

#[expect(clippy::arithmetic_side_effects, reason = "sizes are those of a checked shape")]
impl Layout {
    pub(super) fn new(code: &Code, numerics: Numerics, shape: &Shape, planes: Planes) -> Self {
        let kernel = match (numerics, shape.group_outputs) {
            (Numerics::M1, 1) => code.m1_row,
            (Numerics::M1, _) => code.m1,
            (_, 1) => code.fast_row,
            _ => code.fast,
        };
        let steps = shape.stride_y == 1 && shape.stride_x == 1;
        let copied = !steps || shape.group_outputs >= COPY_FROM;
        let pitch = if copied { shape.out_width } else { planes.pitch };
        let places = (shape.out_height - 1) * pitch + shape.out_width;
        Self { kernel, planes, copied, panels: places.div_ceil(kernel.columns), pitch, places }
    }

    /// Singles that the planes need, with room behind them for a panel that runs on.
    pub(super) fn operands(&self) -> usize {
        self.planes.channels * self.planes.size() + self.kernel.columns
    }

    /// Pieces of the pass.
    pub(super) fn pieces(&self, shape: &Shape) -> usize {
        shape.groups * self.panels
    }

    /// Sums of a piece: whole tiles of rows.
    pub(super) fn sums(&self, shape: &Shape) -> usize {
        shape.group_outputs.next_multiple_of(self.kernel.rows) * self.kernel.columns
    }

    /// Halves of a piece.
    pub(super) fn halves(&self, shape: &Shape) -> usize {
        shape.group_outputs * self.kernel.columns
    }

    /// Writes down where the operands are, for each so many taps.
    pub(super) fn offsets(&self, numerics: Numerics, shape: &Shape, offsets: &mut Vec<Offsets>) {
        let blocks = shape.taps().div_ceil(TAPS);
        offsets.resize_with(blocks, Offsets::default);
        for (block, offsets) in offsets.iter_mut().enumerate() {
            let taps = block * TAPS..padded(numerics, shape.taps().min((block + 1) * TAPS));
            if self.copied {
                offsets.set((0..taps.len()).map(|tap| tap * self.kernel.columns));
            } else {
                // Taps that only fill up a tile read what is there; their coefficients are zero, and an infinity
                // that they find has the output computed again, as one of any tap.
                offsets.set(taps.map(|tap| self.planes.tap(shape, tap.min(shape.taps() - 1))));
            }
        }
    }

    /// First place of a panel.
    pub(super) fn first(&self, panel: usize) -> usize {
        panel * self.kernel.columns
    }

    /// The places of a panel that are output pixels.
    pub(super) fn runs(&self, shape: &Shape, panel: usize) -> impl Iterator<Item = Run> {
        let (pitch, width) = (self.pitch, shape.out_width);
        let first = self.first(panel);
        let end = self.places.min(first + self.kernel.columns);
        (first / pitch..=(end - 1) / pitch).filter_map(move |y| {
            let (start, end) = (first.max(y * pitch), end.min(y * pitch + width));
            (start < end).then(|| Run { columns: start - first..end - first, y, x: start - y * pitch })
        })
    }
}
