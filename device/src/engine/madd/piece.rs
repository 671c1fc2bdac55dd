//! Pieces of a pass, computed: some outputs of a group at the places of some panels.
//!
//! The loops are those of every matrix multiplication that respects its caches. Some panels are filled with some
//! taps, which stay in the second cache. A panel is in the first while some tiles of coefficients, in the second as well,
//! are multiplied with it; those come from further away once for all these panels. Sums that have seen their last tap leave
//! at once.

use std::ops::Range;

use super::abreast;
use super::coefficients::Packed;
use super::cuts::Cuts;
use super::definition::Definition;
use super::layout::{Layout, Piece, Run};
use super::lines::Lines;
use super::planes::Planes;
use super::shape::Shape;
use super::stages::{Measured, Stages};
use super::tile::{Operands, Results, Sums};
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::{
    Code, Exponents, Extent, Gather, Offsets, Pixels, Port, Source, Stretch, Strip, TOGETHER, Window,
};
use crate::engine::numerics::sum::{Tap, in_units};

/// The common part of all pieces of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassContext<'a> {
    pub(super) code: &'static Code,
    pub(super) layout: Layout,
    pub(super) offsets: &'a [Offsets],
    /// How far behind the first tap of an output each of the others is.
    pub(super) taps: &'a [usize],
    pub(super) cuts: &'a Cuts,
    pub(super) operands: &'a [f32],
    pub(super) coefficients: &'a Packed,
    /// The measures of each channel of the input.
    pub(super) channels: &'a [Extent],
    pub(super) definition: Definition<'a>,
    /// The first values of each output channel's sums, where none can come to the limit, and zeros behind for a
    /// tile that runs on.
    pub(super) begins: &'a [i32],
    pub(super) port: Port,
}

/// Tiles of coefficients that are multiplied with one panel before the next.
const TILES: usize = 16;

/// Room to work in, of one thread.
#[derive(Debug, Default)]
pub(super) struct Worker {
    /// `[panel][tap][column]`
    panels: Lines,
    /// The planes of a group and the measures of its channels, where they are made for a piece.
    pub(super) planes: Lines,
    channels: Vec<Extent>,
    /// A row on its way into planes.
    pub(super) row: Vec<f32>,
    stretches: Vec<Stretch>,
    /// The exponents of the operands of each tap, `[panel][tap]`.
    exponents: Vec<Exponents>,
    /// Pixels of a panel whose cuts are not kept.
    pub(super) pixels: Vec<Pixels>,
    /// How the tiles of a piece are added.
    pub(super) stages: Stages,
    /// Coefficients that are being packed.
    pub(super) strips: Vec<Strip>,
    /// Taps of an output that is computed by itself.
    pub(super) taps: Vec<Tap>,
    pub(super) results: Results,
    /// For channels that are computed abreast.
    pub(super) abreast: abreast::Room,
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
impl PassContext<'_> {
    pub(super) fn shape(&self) -> &Shape {
        self.definition.shape
    }

    /// Sums of a tile.
    fn block(&self) -> usize {
        self.layout.kernel.rows * self.layout.kernel.columns
    }

    /// Computes a piece into its part of the output.
    pub(super) fn run(
        &self,
        piece: &Piece,
        window: &mut Window<'_>,
        worker: &mut Worker,
        pace: &mut Pace<'_>,
    ) {
        let tiles = self.tiles(piece);
        let Self { ref layout, coefficients, .. } = *self;
        if layout.own && !self.fill(piece.group, worker, pace) {
            return;
        }
        let each = self.shape().group_channels;
        let channels =
            if layout.own { &worker.channels } else { &self.channels[piece.group * each..][..each] };
        let measured = Measured { shape: self.shape(), layout, coefficients, channels };
        worker.stages.set(measured, piece.group, tiles.clone(), |tile| {
            let biases =
                self.channels(piece, tile).map(|channel| self.definition.begin(channel).unsigned_abs());
            in_units(biases.max().unwrap_or_default().try_into().unwrap_or(i64::MAX))
        });
        let may_drop = self.layout.looks_for_dropped() && worker.stages.may_drop();
        worker.results.least_of = None;
        // Sums that end with the first taps need not be kept, but those of a row go together.
        let is_kept = self.offsets.len() > 1 || self.layout.is_row();
        let kept = if is_kept { piece.panels.len() * tiles.len() } else { 1 };
        worker.results.sums.resize(kept * self.block());
        if worker.stages.are_watched() {
            worker.results.fates.resize(kept * self.block());
        }
        for block in 0..self.offsets.len() {
            let taps = self.layout.taps_of(self.shape().taps(), block);
            if self.layout.copied {
                self.copy(piece, taps.clone(), worker);
            }
            if may_drop {
                self.look(piece.panels.len(), taps.len(), worker);
            }
            if self.layout.is_row() {
                self.multiply_row(piece, (block, taps), window, worker, pace);
            } else {
                self.multiply(piece, (block, taps, may_drop), window, worker, pace);
            }
            if pace.is_over() {
                return;
            }
        }
    }

    /// Fills the planes of a group and measures its channels; false if that is not wanted any more.
    fn fill(&self, group: usize, worker: &mut Worker, pace: &mut Pace<'_>) -> bool {
        let (shape, Self { code, layout, definition, .. }) = (self.shape(), self);
        let (channels, size) = (shape.group_channels, shape.height * shape.width);
        worker.planes.resize(layout.room(channels));
        let (planes, behind) = worker.planes.singles_mut().split_at_mut(channels * layout.planes.size());
        behind.fill(0.0);
        let first = group * channels;
        let share = Planes::share(first, planes);
        layout.planes.fill(code, shape, definition.input, share, &mut worker.row, pace);
        worker.channels.clear();
        for channel in definition.input[first * size..].chunks_exact(size).take(channels) {
            if pace.spend(size / VECTOR) {
                break;
            }
            worker.channels.push(code.measure(channel));
        }
        worker.channels.len() == channels
    }

    /// Adds some taps to the sums of a piece; behind the last of them puts the outputs where they belong.
    fn multiply(
        &self,
        piece: &Piece,
        (number, taps, may_drop): (usize, Range<usize>, bool),
        window: &mut Window<'_>,
        worker: &mut Worker,
        pace: &mut Pace<'_>,
    ) {
        let Piece { group, ref panels, .. } = *piece;
        let (offsets, blocks) = (&self.offsets[number], self.offsets.len());
        let is_last = number + 1 == blocks;
        let tiles = self.tiles(piece);
        let Worker { panels: copies, planes, exponents, pixels: cut, stages, results, .. } = worker;
        let planes = self.planes_of(group, planes);
        for first in tiles.clone().step_by(TILES) {
            for (i, panel) in panels.clone().enumerate() {
                let operands = if self.layout.copied {
                    let room = self.room(taps.len());
                    &copies.singles()[i * room..][..room]
                } else {
                    &planes[self.layout.first(panel)..]
                };
                let kernel = self.layout.kernel(panel);
                let block = kernel.rows * kernel.columns;
                let together = first..tiles.end.min(first + TILES);
                if pace.spend(together.len() * block * taps.len() / VECTOR) {
                    return;
                }
                let pixels = is_last.then(|| self.pixels(&(panel..panel + 1), cut));
                for tile in together {
                    let at =
                        if blocks == 1 { 0 } else { (i * tiles.len() + tile - tiles.start) * self.block() };
                    let sums = Sums { at, columns: kernel.columns };
                    let channels = self.channels(piece, tile);
                    if let Some([Pixels { columns, first }]) = pixels {
                        window.prefetch(channels.clone(), &(*first..first + columns.len()));
                    }
                    let block = Operands {
                        channels: channels.clone(),
                        panel: operands,
                        offsets,
                        coefficients: self.coefficients.tile(group, tile, taps.clone()),
                        exponents: may_drop.then(|| {
                            let dropped = self.coefficients.exponents(group, tile, taps.start);
                            [dropped, &exponents[i * taps.len()..]]
                        }),
                    };
                    self.add(kernel, block, (stages, tile, number), sums, results, pace);
                    if let Some(pixels) = pixels {
                        self.finish((channels, pixels), sums, stages.is_watched(tile), results, window);
                    }
                    if pace.is_over() {
                        return;
                    }
                }
            }
        }
    }

    /// The planes of a group, its own ones or those of all.
    pub(super) fn planes_of<'a>(&'a self, group: usize, own: &'a Lines) -> &'a [f32] {
        if self.layout.own {
            return own.singles();
        }
        let plane = group * self.shape().group_channels * self.layout.planes.size();
        self.operands.get(plane..).unwrap_or_default()
    }

    /// The columns of neighbouring panels that are pixels, with room for a cut that is not kept.
    pub(super) fn pixels<'a>(&'a self, panels: &Range<usize>, room: &'a mut Vec<Pixels>) -> &'a [Pixels] {
        self.cuts.of(panels.start).unwrap_or_else(|| {
            room.clear();
            room.extend(self.layout.pixels(self.shape(), panels));
            room
        })
    }

    /// The output channels of a tile.
    pub(super) fn channels(&self, piece: &Piece, tile: usize) -> Range<usize> {
        let (first, rows) = (piece.group * self.shape().group_outputs, self.layout.kernel.rows);
        first + tile * rows..first + piece.outputs.end.min((tile + 1) * rows)
    }

    /// The tiles of a piece's outputs.
    pub(super) fn tiles(&self, piece: &Piece) -> Range<usize> {
        let rows = self.layout.kernel.rows;
        piece.outputs.start / rows..piece.outputs.end.div_ceil(rows)
    }

    /// Singles of a panel with so many taps, and room behind it for what is copied too far.
    fn room(&self, taps: usize) -> usize {
        (taps + 1) * self.layout.kernel.columns
    }

    /// Finds the exponents of the operands of so many taps of a worker's panels.
    fn look(&self, panels: usize, taps: usize, worker: &mut Worker) {
        let (room, columns) = (self.room(taps), self.layout.kernel.columns);
        worker.exponents.resize(panels * taps + TOGETHER, 0);
        let panels = worker.panels.singles().chunks_exact(room);
        for (panel, exponents) in panels.zip(worker.exponents.chunks_exact_mut(taps)) {
            self.code.exponents(&panel[..taps * columns], exponents);
        }
    }

    /// Copies the operands of some taps into a worker's panels. Columns without a place are zero.
    fn copy(&self, piece: &Piece, taps: Range<usize>, worker: &mut Worker) {
        let (shape, planes, columns) = (self.shape(), self.layout.planes, self.layout.kernel.columns);
        let plane = piece.group * shape.group_channels * planes.size();
        let room = self.room(taps.len());
        worker.panels.resize(piece.panels.len() * room);
        worker.stretches.clear();
        for (i, panel) in piece.panels.clone().enumerate() {
            for Run { columns, y, x } in self.layout.runs(shape, panel) {
                let at = plane + y * planes.pitch + x;
                worker.stretches.extend(
                    (0..columns.len())
                        .step_by(self.code.lanes)
                        .map(|first| Stretch { to: i * room + columns.start + first, at: at + first }),
                );
            }
        }
        self.code.copy(&mut Gather {
            source: if self.layout.direct {
                Source::Halves(self.definition.input)
            } else {
                Source::Planes(self.operands)
            },
            taps: &self.taps[taps.clone()],
            stretches: &worker.stretches,
            columns,
            panels: worker.panels.singles_mut(),
        });
        let panels = worker.panels.singles_mut().chunks_exact_mut(room);
        for (panel, operands) in piece.panels.clone().zip(panels) {
            let have = self.layout.columns(&(panel..panel + 1));
            if have < columns {
                operands.chunks_exact_mut(columns).for_each(|row| row[have..].fill(0.0));
            }
        }
    }
}
