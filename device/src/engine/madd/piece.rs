//! Pieces of a pass, computed: one group of outputs at the places of some panels.
//!
//! The loops are those of every matrix multiplication that respects its caches. Some panels are filled with some
//! taps, which stay in the second cache. A panel is in the first while some tiles of coefficients, in the second as well,
//! are multiplied with it; those come from further away once for all these panels.

use std::ops::Range;

use super::coefficients::{Packed, padded};
use super::definition::Definition;
use super::layout::{Layout, TAPS};
use super::lines::Lines;
use super::shape::Shape;
use crate::engine::kernels::{Block, Code, Offsets, Port, SCALE};
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
    /// The planes.
    pub(super) operands: &'a [f32],
    pub(super) coefficients: &'a Packed,
    pub(super) definition: Definition<'a>,
    pub(super) bias: Option<&'a [u16]>,
    pub(super) post_scale: u16,
}

/// Panels that are worked on together.
pub(super) const PANELS: usize = 4;
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

    /// Computes a group's outputs at at most [`PANELS`] panels into `results`, `[panel][output][column]`.
    pub(super) fn run(&self, group: usize, panels: Range<usize>, worker: &mut Worker, results: &mut [u16]) {
        let sums = self.layout.sums(self.shape());
        worker.sums.resize(panels.len() * sums);
        worker.sums.fill(0.0);
        worker.peaks.resize(panels.len() * sums);
        worker.peaks.fill(0.0);
        for (block, offsets) in self.offsets.iter().enumerate() {
            let first = block * TAPS;
            let taps = TAPS.min(padded(self.numerics, self.shape().taps()) - first);
            if self.layout.copied {
                worker.panels.resize(panels.len() * taps * self.layout.kernel.columns);
                self.copy(group, panels.clone(), first, taps, &mut worker.panels);
            }
            self.multiply(group, panels.clone(), offsets, first..first + taps, worker);
        }
        let columns = self.layout.kernel.columns;
        for (at, results) in results.chunks_exact_mut(columns).enumerate() {
            let (panel, row) = (at / self.shape().group_outputs, at % self.shape().group_outputs);
            let output = group * self.shape().group_outputs + row;
            let of_row = panel * sums + row * columns..panel * sums + (row + 1) * columns;
            self.code.narrow(&worker.sums[of_row.clone()], self.port(output), results);
            if self.numerics == Numerics::M1 {
                self.repair(output, panels.start + panel, &worker.peaks[of_row], &mut worker.taps, results);
            }
        }
    }

    /// Adds some taps to the sums of some panels.
    fn multiply(
        &self,
        group: usize,
        panels: Range<usize>,
        offsets: &Offsets,
        taps: Range<usize>,
        worker: &mut Worker,
    ) {
        let (rows, columns) = (self.layout.kernel.rows, self.layout.kernel.columns);
        let sums = self.layout.sums(self.shape());
        let tiles = self.shape().group_outputs.div_ceil(rows);
        for first in (0..tiles).step_by(TILES) {
            for (i, panel) in panels.clone().enumerate() {
                let operands = if self.layout.copied {
                    &worker.panels[i * taps.len() * columns..][..taps.len() * columns]
                } else {
                    let plane = group * self.shape().group_channels * self.layout.planes.size();
                    &self.operands[plane + self.layout.first(panel)..]
                };
                for tile in first..tiles.min(first + TILES) {
                    let of_tile = i * sums + tile * rows * columns..i * sums + (tile + 1) * rows * columns;
                    let (coefficients, bounds) = self.coefficients.tile(group, tile, taps.clone());
                    self.layout.kernel.run(&mut Block {
                        panel: operands,
                        offsets,
                        coefficients,
                        bounds,
                        sums: &mut worker.sums[of_tile.clone()],
                        peaks: &mut worker.peaks[of_tile],
                    });
                }
            }
        }
    }

    /// Copies the operands of some taps into panels, `[panel][tap][column]`.
    fn copy(&self, group: usize, panels: Range<usize>, first: usize, taps: usize, place: &mut [f32]) {
        let (shape, planes, columns) = (self.shape(), self.layout.planes, self.layout.kernel.columns);
        let plane = group * shape.group_channels * planes.size();
        let real = taps.min(shape.taps() - first);
        for (panel, place) in panels.zip(place.chunks_exact_mut(taps * columns)) {
            let mut filled = 0;
            for run in self.layout.runs(shape, panel) {
                filled = run.columns.end;
                let at = plane + run.y * shape.stride_y * planes.pitch + run.x * shape.stride_x;
                for (row, tap) in place.chunks_exact_mut(columns).zip(first..first + real) {
                    let row = &mut row[run.columns.clone()];
                    let source = &self.operands[at + planes.tap(shape, tap)..];
                    if shape.stride_x == 1 {
                        row.copy_from_slice(&source[..row.len()]);
                    } else {
                        let source = source.iter().step_by(shape.stride_x);
                        row.iter_mut().zip(source).for_each(|(to, from)| *to = *from);
                    }
                }
            }
            place.chunks_exact_mut(columns).for_each(|row| row[filled..].fill(0.0));
            place[real * columns..].fill(0.0);
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
        output: usize,
        panel: usize,
        peaks: &[f32],
        taps: &mut Vec<(f32, f32)>,
        results: &mut [u16],
    ) {
        const LIMIT: f32 = sum::LIMIT * SCALE;
        if peaks.iter().fold(false, |found, &peak| found | (peak >= LIMIT)) {
            for run in self.layout.runs(self.shape(), panel) {
                let pixel = run.y * self.shape().out_width + run.x;
                for (i, column) in run.columns.enumerate().filter(|&(_, column)| peaks[column] >= LIMIT) {
                    let sum = self.definition.sum(self.numerics, output, pixel + i, taps);
                    results[column] = output::of(sum, self.bias(output), self.post_scale);
                }
            }
        }
    }

    /// Puts the results of an output at the places of a panel where they belong in its channel.
    pub(super) fn place(&self, panel: usize, results: &[u16], channel: &mut [u16]) {
        for run in self.layout.runs(self.shape(), panel) {
            let pixel = run.y * self.shape().out_width + run.x;
            channel[pixel..][..run.columns.len()].copy_from_slice(&results[run.columns]);
        }
    }
}
