//! Pieces of a pass whose groups have one output, such as a depthwise convolution.
//!
//! A block is one row of sums then, and those of neighbouring panels make one long row. There is little to compute for each of
//! them, so each decision is made once for the whole row, and the row is stored as a whole.

use std::ops::Range;

use super::layout::Piece;
use super::piece::{PassContext, Worker};
use super::tile::{Operands, Sums};
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::{Adding, Block, Window};

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
impl PassContext<'_> {
    /// Adds some taps to the sums of a piece; behind the last of them puts the outputs where they belong.
    pub(super) fn multiply_row(
        &self,
        piece: &Piece,
        (number, taps): (usize, Range<usize>),
        window: &mut Window<'_>,
        worker: &mut Worker,
        pace: &mut Pace<'_>,
    ) {
        let Piece { group, ref panels, .. } = *piece;
        let tile = self.tiles(piece).start;
        let channels = self.channels(piece, tile);
        let Worker { planes, pixels, stages, results, .. } = worker;
        let (is_watched, columns) = (stages.is_watched(tile), self.layout.kernel.columns);
        let planes = self.planes_of(group, planes);
        let coefficients = self.coefficients.tile(group, tile, taps);
        let offsets = &self.offsets[number];
        let stage = stages.of(tile, number);
        if let Some(chunks) = stages.chunks(stage).filter(|_| !is_watched) {
            let least = if stage.drops {
                let room = (&mut results.least, &mut results.least_of);
                self.least(room, (tile, number), coefficients)
            } else {
                &[]
            };
            let begin = (number == 0).then(|| self.begin(channels.start));
            let adding = || Adding::Singles { coefficients, begin, chunks, parted: None, ahead: 0 };
            for (panel, sums) in panels.clone().zip(results.sums.numbers_mut().chunks_exact_mut(columns)) {
                if pace.spend(columns * coefficients.len() / VECTOR) {
                    return;
                }
                let panel_operands = &planes[self.layout.first(panel)..];
                let block = &mut Block { panel: panel_operands, offsets, least, sums, adding: adding() };
                self.layout.kernel(panel).run(block);
            }
        } else {
            for (at, panel) in (0..).step_by(columns).zip(panels.clone()) {
                let kernel = self.layout.kernel(panel);
                if pace.spend(columns * coefficients.len() / VECTOR) {
                    return;
                }
                let sums = Sums { at, columns: kernel.columns };
                let panel = &planes[self.layout.first(panel)..];
                let channels = channels.clone();
                let block = Operands { channels, panel, offsets, coefficients, exponents: None };
                self.add(kernel, block, (stages, tile, number), sums, results, pace);
            }
        }
        if number + 1 == self.offsets.len() {
            let sums = Sums { at: 0, columns: self.layout.columns(panels) };
            self.finish((channels, self.pixels(panels, pixels)), sums, is_watched, results, window);
        }
    }
}
