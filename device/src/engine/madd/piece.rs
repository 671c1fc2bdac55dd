//! Pieces of a pass, computed: some outputs of a group at the places of some panels.
//!
//! The loops are those of every matrix multiplication that respects its caches. Some panels are filled with some
//! taps, which stay in the second cache. A panel is in the first while some tiles of coefficients, in the second as well,
//! are multiplied with it; those come from further away once for all these panels.

use std::ops::Range;

use super::coefficients::{Packed, padded};
use super::definition::Definition;
use super::layout::{Layout, Piece, TAPS};
use super::lines::Lines;
use super::shape::Shape;
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::{Block, Code, Gather, Guard, Offsets, Port, SCALE, Source, Stretch};
use crate::engine::numerics::{Numerics, halves, output, sum};

/// Where a reduction ends that brings no bias: adding it changes nothing, not even the sign of a zero.
pub(super) const NO_BIAS: f64 = -0.0;

/// What all pieces of a pass have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass<'a> {
    pub(super) code: &'static Code,
    pub(super) numerics: Numerics,
    pub(super) layout: Layout,
    pub(super) offsets: &'a [Offsets],
    /// How far behind the first tap of an output each of the others is.
    pub(super) taps: &'a [usize],
    /// The planes.
    pub(super) operands: &'a [f32],
    pub(super) coefficients: &'a Packed,
    /// The largest magnitude of the input, for `m1`.
    pub(super) largest: f32,
    pub(super) definition: Definition<'a>,
    pub(super) bias: Option<&'a [u16]>,
    pub(super) post_scale: u16,
}

/// Tiles of coefficients that are multiplied with one panel before the next.
const TILES: usize = 16;

/// Room to work in, of one thread.
#[derive(Debug, Default)]
pub(super) struct Worker {
    /// `[panel][tap][column]`
    panels: Lines,
    /// `[panel][row][column]`
    sums: Lines,
    peaks: Lines,
    taps: Vec<(f32, f32)>,
    stretches: Vec<Stretch>,
    /// The results, where they are not kept for all pieces.
    pub(super) halves: Vec<u16>,
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

    /// Sums of a panel of a piece: whole tiles of rows.
    fn sums(&self, piece: &Piece) -> usize {
        piece.outputs.len().next_multiple_of(self.layout.kernel.rows) * self.layout.kernel.columns
    }

    /// Computes a piece into `results`, `[panel][output][column]`.
    pub(super) fn run(&self, piece: &Piece, worker: &mut Worker, results: &mut [u16], pace: &mut Pace<'_>) {
        let sums = self.sums(piece);
        worker.sums.resize(piece.panels.len() * sums);
        worker.sums.fill(0.0);
        if self.tiles(piece).any(|tile| self.is_guarded(piece.group, tile)) {
            worker.peaks.resize(piece.panels.len() * sums);
            worker.peaks.fill(0.0);
        }
        for (block, offsets) in self.offsets.iter().enumerate() {
            let first = block * TAPS;
            let taps = first..first + TAPS.min(padded(self.numerics, self.shape().taps()) - first);
            if self.layout.copied {
                self.copy(piece, taps.clone(), worker);
            }
            self.multiply(piece, offsets, taps, worker, pace);
            if pace.is_over() {
                return;
            }
        }
        let columns = self.layout.kernel.columns;
        let mut rows = results.chunks_exact_mut(columns);
        for (i, panel) in piece.panels.clone().enumerate() {
            // A narrow panel has narrow rows of sums.
            let columns = self.layout.kernel(panel).columns;
            for (row, results) in rows.by_ref().take(piece.outputs.len()).enumerate() {
                let output = piece.group * self.shape().group_outputs + piece.outputs.start + row;
                let tile = (piece.outputs.start + row) / self.layout.kernel.rows;
                let of_row = i * sums + row * columns..i * sums + (row + 1) * columns;
                self.code.narrow(&worker.sums[of_row.clone()], self.port(output), &mut results[..columns]);
                if self.is_guarded(piece.group, tile) {
                    self.repair((output, panel), &worker.peaks[of_row], &mut worker.taps, results, pace);
                    if pace.is_over() {
                        return;
                    }
                }
            }
        }
    }

    /// Adds some taps to the sums of a piece.
    fn multiply(
        &self,
        piece: &Piece,
        offsets: &Offsets,
        taps: Range<usize>,
        worker: &mut Worker,
        pace: &mut Pace<'_>,
    ) {
        let Piece { group, ref panels, .. } = *piece;
        let (rows, sums) = (self.layout.kernel.rows, self.sums(piece));
        let tiles = self.tiles(piece);
        for first in tiles.clone().step_by(TILES) {
            for (i, panel) in panels.clone().enumerate() {
                let operands = if self.layout.copied {
                    let room = self.room(taps.len());
                    &worker.panels[i * room..][..room]
                } else {
                    let plane = group * self.shape().group_channels * self.layout.planes.size();
                    &self.operands[plane + self.layout.first(panel)..]
                };
                let kernel = self.layout.kernel(panel);
                let block = rows * kernel.columns;
                let together = first..tiles.end.min(first + TILES);
                if pace.spend(together.len() * block * taps.len() / VECTOR) {
                    return;
                }
                for tile in together {
                    let at = i * sums + (tile - tiles.start) * block;
                    kernel.run(&mut Block {
                        panel: operands,
                        offsets,
                        coefficients: self.coefficients.tile(group, tile, taps.clone()),
                        sums: &mut worker.sums[at..at + block],
                        guard: self.is_guarded(group, tile).then(|| Guard {
                            bounds: self.coefficients.bounds(group, tile),
                            peaks: &mut worker.peaks[at..at + block],
                        }),
                    });
                }
            }
        }
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
            worker.stretches.extend(self.layout.runs(shape, panel).map(|run| Stretch {
                to: i * room + run.columns.start,
                at: plane + run.y * shape.stride_y * planes.pitch + run.x * shape.stride_x,
                length: run.columns.len(),
            }));
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

    fn bias(&self, output: usize) -> Option<u16> {
        self.bias.map(|bias| bias[output])
    }

    fn port(&self, output: usize) -> Port {
        let is_m1 = self.numerics == Numerics::M1;
        Port {
            unscale: if is_m1 { 1.0 / SCALE } else { 1.0 },
            limited: !is_m1 && self.shape().taps() > 1,
            bias: self.bias(output).map_or(NO_BIAS, |bias| f64::from(halves::value(bias))),
            post_scale: f64::from(halves::value(self.post_scale)),
        }
    }

    /// Computes again, by the definition, what the kernel could not vouch for.
    fn repair(
        &self,
        (output, panel): (usize, usize),
        peaks: &[f32],
        taps: &mut Vec<(f32, f32)>,
        results: &mut [u16],
        pace: &mut Pace<'_>,
    ) {
        const LIMIT: f32 = sum::LIMIT * SCALE;
        if peaks.iter().fold(false, |found, &peak| found | (peak >= LIMIT)) {
            for (columns, pixel) in self.layout.pixels(self.shape(), panel) {
                for (i, column) in columns.enumerate().filter(|&(_, column)| peaks[column] >= LIMIT) {
                    if pace.spend(self.shape().taps()) {
                        return;
                    }
                    let sum = self.definition.sum(self.numerics, output, pixel + i, taps);
                    results[column] = output::of(sum, self.bias(output), self.post_scale);
                }
            }
        }
    }

    /// Puts the results of an output at the places of a panel where they belong in its channel.
    pub(super) fn place(&self, panel: usize, results: &[u16], channel: &mut [u16]) {
        for (columns, pixel) in self.layout.pixels(self.shape(), panel) {
            copy(&mut channel[pixel..][..columns.len()], &results[columns]);
        }
    }
}

/// Copies a row of halves; those of a whole panel without asking somebody else to do it.
fn copy(to: &mut [u16], from: &[u16]) {
    match (<&mut [u16; 32]>::try_from(&mut *to), <&[u16; 32]>::try_from(from)) {
        (Ok(to), Ok(from)) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}
