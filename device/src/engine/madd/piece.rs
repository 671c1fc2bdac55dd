//! Pieces of a pass, computed: some outputs of a group at the places of some panels.
//!
//! The loops are those of every matrix multiplication that respects its caches. Some panels are filled with some
//! taps, which stay in the second cache. A panel is in the first while some tiles of coefficients, in the second as well,
//! are multiplied with it; those come from further away once for all these panels. Sums that have seen their last tap leave
//! at once.

use std::ops::Range;

use super::coefficients::{Packed, padded};
use super::cuts::Cuts;
use super::definition::Definition;
use super::layout::{Layout, Piece, Run};
use super::lines::Lines;
use super::shape::Shape;
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::{
    Block, Code, Finish, Gather, Guard, Offsets, Pixels, Port, SCALE, Source, Stretch, Strip, Window,
};
use crate::engine::numerics::{Numerics, halves, output, sum};

/// Where a reduction ends that brings no bias: adding it changes nothing, not even the sign of a zero.
pub(super) const NO_BIAS: f64 = -0.0;

/// What becomes of the sums of a pass, but for the bias.
pub(super) fn port(numerics: Numerics, shape: &Shape, post_scale: u16) -> Port {
    let is_m1 = numerics == Numerics::M1;
    Port {
        unscale: if is_m1 { 1.0 / SCALE } else { 1.0 },
        limit: if !is_m1 && shape.taps() > 1 { sum::LIMIT } else { f32::INFINITY },
        bias: NO_BIAS,
        post_scale: f64::from(halves::value(post_scale)),
    }
}

/// What all pieces of a pass have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass<'a> {
    pub(super) code: &'static Code,
    pub(super) numerics: Numerics,
    pub(super) layout: Layout,
    pub(super) offsets: &'a [Offsets],
    /// How far behind the first tap of an output each of the others is.
    pub(super) taps: &'a [usize],
    pub(super) cuts: &'a Cuts,
    /// The planes.
    pub(super) operands: &'a [f32],
    pub(super) coefficients: &'a Packed,
    /// The largest magnitude of the input, for `m1`.
    pub(super) largest: f32,
    pub(super) definition: Definition<'a>,
    pub(super) bias: Option<&'a [u16]>,
    pub(super) post_scale: u16,
    pub(super) port: Port,
}

/// Tiles of coefficients that are multiplied with one panel before the next.
const TILES: usize = 16;

/// Which sums of a worker are those of a tile.
#[derive(Clone, Copy, Debug)]
struct Sums {
    /// The first.
    at: usize,
    /// Columns of a row.
    columns: usize,
    /// Whether there are peaks.
    is_guarded: bool,
}

/// Room to work in, of one thread.
#[derive(Debug, Default)]
pub(super) struct Worker {
    /// `[panel][tap][column]`
    panels: Lines,
    stretches: Vec<Stretch>,
    /// Those of a panel whose cuts are not kept.
    pixels: Vec<Pixels>,
    /// Coefficients that are being packed.
    pub(super) strips: Vec<Strip>,
    pub(super) results: Results,
}

/// What becomes of it.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// `[panel][row][column]`
    sums: Lines,
    peaks: Lines,
    /// Those of an output that is computed by itself.
    pub(super) taps: Vec<(f32, f32)>,
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
impl Pass<'_> {
    fn shape(&self) -> &Shape {
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
        // Sums that end with the first taps need not be kept.
        let tiles = if self.offsets.len() == 1 { 1 } else { piece.panels.len() * self.tiles(piece).len() };
        worker.results.sums.resize(tiles * self.block());
        if self.tiles(piece).any(|tile| self.is_guarded(piece.group, tile)) {
            worker.results.peaks.resize(tiles * self.block());
        }
        for block in 0..self.offsets.len() {
            let taps = self.layout.taps_of(padded(self.numerics, self.shape().taps()), block);
            if self.layout.copied {
                self.copy(piece, taps.clone(), worker);
            }
            self.multiply(piece, (block, taps), window, worker, pace);
            if pace.is_over() {
                return;
            }
        }
    }

    /// Adds some taps to the sums of a piece; behind the last of them puts the outputs where they belong.
    fn multiply(
        &self,
        piece: &Piece,
        (number, taps): (usize, Range<usize>),
        window: &mut Window<'_>,
        worker: &mut Worker,
        pace: &mut Pace<'_>,
    ) {
        let Piece { group, ref panels, .. } = *piece;
        let (offsets, blocks) = (&self.offsets[number], self.offsets.len());
        let tiles = self.tiles(piece);
        let Worker { panels: copies, pixels: cut, results, .. } = worker;
        for first in tiles.clone().step_by(TILES) {
            for (i, panel) in panels.clone().enumerate() {
                let operands = if self.layout.copied {
                    let room = self.room(taps.len());
                    &copies[i * room..][..room]
                } else {
                    let plane = group * self.shape().group_channels * self.layout.planes.size();
                    &self.operands[plane + self.layout.first(panel)..]
                };
                let kernel = self.layout.kernel(panel);
                let block = kernel.rows * kernel.columns;
                let together = first..tiles.end.min(first + TILES);
                if pace.spend(together.len() * block * taps.len() / VECTOR) {
                    return;
                }
                let pixels = self.cuts.of(panel).unwrap_or_else(|| {
                    cut.clear();
                    cut.extend(self.layout.pixels(self.shape(), panel));
                    cut
                });
                for tile in together {
                    let at =
                        if blocks == 1 { 0 } else { (i * tiles.len() + tile - tiles.start) * self.block() };
                    let sums = &mut results.sums[at..at + block];
                    let is_guarded = self.is_guarded(group, tile);
                    let is_last = number + 1 == blocks;
                    if is_last && let [Pixels { columns, first }] = pixels {
                        window.prefetch(self.channels(piece, tile), &(*first..first + columns.len()));
                    }
                    kernel.run(&mut Block {
                        panel: operands,
                        offsets,
                        coefficients: self.coefficients.tile(group, tile, taps.clone()),
                        sums,
                        is_first: number == 0,
                        guard: is_guarded.then(|| Guard {
                            bounds: self.coefficients.bounds(group, tile),
                            peaks: &mut results.peaks[at..at + block],
                        }),
                    });
                    if is_last {
                        let sums = Sums { at, columns: kernel.columns, is_guarded };
                        self.finish((self.channels(piece, tile), pixels), sums, results, window, pace);
                    }
                    if pace.is_over() {
                        return;
                    }
                }
            }
        }
    }

    /// Puts the outputs of a tile where they belong.
    fn finish(
        &self,
        (channels, pixels): (Range<usize>, &[Pixels]),
        Sums { at, columns, is_guarded }: Sums,
        results: &mut Results,
        window: &mut Window<'_>,
        pace: &mut Pace<'_>,
    ) {
        self.code.finish(&mut Finish {
            sums: &results.sums[at..][..channels.len() * columns],
            columns,
            port: self.port,
            bias: self.bias,
            channels: channels.clone(),
            pixels,
            window,
        });
        if is_guarded {
            for (channel, peaks) in channels.zip(results.peaks[at..].chunks_exact(columns)) {
                self.repair((channel, peaks), pixels, &mut results.taps, window, pace);
            }
        }
    }

    /// The output channels of a tile.
    fn channels(&self, piece: &Piece, tile: usize) -> Range<usize> {
        let (first, rows) = (piece.group * self.shape().group_outputs, self.layout.kernel.rows);
        first + tile * rows..first + piece.outputs.end.min((tile + 1) * rows)
    }

    /// The tiles of a piece's outputs.
    fn tiles(&self, piece: &Piece) -> Range<usize> {
        let rows = self.layout.kernel.rows;
        piece.outputs.start / rows..piece.outputs.end.div_ceil(rows)
    }

    /// Whether an output of a tile might be one that the kernel cannot vouch for.
    fn is_guarded(&self, group: usize, tile: usize) -> bool {
        self.numerics == Numerics::M1
            && self.coefficients.may_saturate(group, tile, self.shape().taps(), self.largest)
    }

    /// Singles of a panel with so many taps, and room behind it for what is copied too far.
    fn room(&self, taps: usize) -> usize {
        (taps + 1) * self.layout.kernel.columns
    }

    /// Copies the operands of some taps into a worker's panels. What is in columns without a place is anybody's guess.
    fn copy(&self, piece: &Piece, taps: Range<usize>, worker: &mut Worker) {
        let (shape, planes, columns) = (self.shape(), self.layout.planes, self.layout.kernel.columns);
        let plane = piece.group * shape.group_channels * planes.size();
        let (room, real) = (self.room(taps.len()), taps.start..taps.end.min(shape.taps()));
        worker.panels.resize(piece.panels.len() * room);
        worker.stretches.clear();
        for (i, panel) in piece.panels.clone().enumerate() {
            for Run { columns, y, x } in self.layout.runs(shape, panel) {
                let at = plane + y * shape.stride_y * planes.pitch + x * shape.stride_x;
                worker.stretches.extend((0..columns.len()).step_by(self.code.lanes).map(|first| Stretch {
                    to: i * room + columns.start + first,
                    at: at + first * shape.stride_x,
                    length: self.code.lanes.min(columns.len() - first),
                }));
            }
        }
        let sources = &self.taps[real.clone()];
        if shape.stride_x == 1 {
            self.code.copy(&mut Gather {
                source: if self.layout.direct {
                    Source::Halves(self.definition.input, self.numerics != Numerics::M1)
                } else {
                    Source::Planes(self.operands)
                },
                taps: sources,
                stretches: &worker.stretches,
                columns,
                panels: &mut worker.panels,
            });
        } else {
            for (row, tap) in sources.iter().enumerate() {
                for &Stretch { to, at, length } in &worker.stretches {
                    let source = self.operands[at + tap..].iter().step_by(shape.stride_x);
                    let place = &mut worker.panels[to + row * columns..][..length];
                    place.iter_mut().zip(source).for_each(|(to, from)| *to = *from);
                }
            }
        }
        for panel in worker.panels.chunks_exact_mut(room) {
            panel[real.len() * columns..taps.len() * columns].fill(0.0);
        }
    }

    /// Computes again, by the definition, what the kernel could not vouch for in a row.
    fn repair(
        &self,
        (channel, peaks): (usize, &[f32]),
        pixels: &[Pixels],
        taps: &mut Vec<(f32, f32)>,
        window: &mut Window<'_>,
        pace: &mut Pace<'_>,
    ) {
        const LIMIT: f32 = sum::LIMIT * SCALE;
        if peaks.iter().fold(false, |found, &peak| found | (peak >= LIMIT)) {
            for &Pixels { ref columns, first } in pixels {
                let results = window.get(channel, &(first..first + columns.len()));
                for ((pixel, result), &peak) in (first..).zip(results).zip(&peaks[columns.clone()]) {
                    if peak >= LIMIT {
                        if pace.spend(self.shape().taps()) {
                            return;
                        }
                        let sum = self.definition.sum(self.numerics, channel, pixel, taps);
                        let bias = self.bias.map(|bias| bias[channel]);
                        *result = output::of(sum, bias, self.post_scale);
                    }
                }
            }
        }
    }
}
