//! The sums of a tile: how they begin, how taps are added to them, and how they leave as outputs.
//!
//! How the taps are added is decided here for good: in single precision if that has room for what the numbers add up to, and in
//! double precision otherwise, under the eyes of the limit where a sum may come to it. Taps without a product that is dropped
//! are told from those that have one.

use std::ops::Range;

use super::lines::Lines;
use super::piece::PassContext;
use super::stages::Stages;
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::{
    Adding, Block, Exponents, Finish, Kernel, Offsets, Parted, Pixels, SCALE, Window, any_in_common,
};
use crate::engine::numerics::sum;

/// The operands of some taps of a tile.
#[derive(Clone, Debug)]
pub(super) struct Operands<'a> {
    /// The output channels of the tile.
    pub(super) channels: Range<usize>,
    pub(super) panel: &'a [f32],
    pub(super) offsets: &'a Offsets,
    pub(super) coefficients: &'a [f32],
    /// The exponents that taps drop and those of their operands, if they are known.
    pub(super) exponents: Option<[&'a [Exponents]; 2]>,
}

/// The sums of a tile among those of a worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sums {
    pub(super) at: usize,
    /// Columns of a row.
    pub(super) columns: usize,
}

/// The results of a piece.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// `[panel][row][column]`, in units.
    pub(super) sums: Lines,
    /// The infinite sums, where that is possible.
    pub(super) fates: Lines,
    /// Some taps of a tile, for sums in double precision.
    exact: Vec<f64>,
    /// For the same taps: the smallest magnitude of an operand that is not dropped.
    pub(super) least: Vec<f32>,
    /// The tile and the block of which it is.
    pub(super) least_of: Option<(usize, usize)>,
    parted: Parted,
    /// A row of outputs before its pixels are taken out.
    halves: Vec<u16>,
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
impl PassContext<'_> {
    /// The first values of the sums of each row of a tile, where none of them can come to the limit: the bias
    /// of its channel. Rows without a channel have any values.
    pub(super) fn begin(&self, first: usize) -> &[i32] {
        &self.begins[first..][..self.layout.kernel.rows]
    }

    /// Has the sums of a tile begin with the bias of its channels.
    pub(super) fn start(&self, channels: Range<usize>, sums: Sums, is_watched: bool, results: &mut Results) {
        let Sums { at, columns } = sums;
        let block = at..at + self.layout.kernel.rows * columns;
        let (sums, fates) = (results.sums.numbers_mut(), results.fates.numbers_mut());
        let (real, rest) = sums[block.clone()].split_at_mut(channels.len() * columns);
        rest.fill(0);
        for (channel, row) in channels.clone().zip(real.chunks_exact_mut(columns)) {
            row.fill(self.definition.begin(channel).try_into().unwrap_or_default());
        }
        if is_watched {
            let (real, rest) = fates[block].split_at_mut(channels.len() * columns);
            // Rows that are nobody's are not waited for.
            rest.fill(1);
            for (channel, row) in channels.zip(real.chunks_exact_mut(columns)) {
                let bias = self.definition.begin(channel);
                let is_infinite = bias.unsigned_abs() >= sum::LIMIT.unsigned_abs();
                row.fill(if is_infinite { bias.signum() as i32 } else { 0 });
            }
        }
    }

    /// Adds some taps to the sums of a tile.
    pub(super) fn add(
        &self,
        kernel: &Kernel,
        block: Operands<'_>,
        (stages, tile, number): (&Stages, usize, usize),
        sums: Sums,
        results: &mut Results,
        pace: &mut Pace<'_>,
    ) {
        let stage = stages.of(tile, number);
        let Operands { channels, panel, offsets, coefficients, exponents } = block;
        let begin = (number == 0).then(|| self.begin(channels.start));
        if number == 0 && (stages.is_watched(tile) || stages.chunks(stage).is_none()) {
            self.start(channels, sums, stages.is_watched(tile), results);
        }
        let Sums { at, columns } = sums;
        let block = at..at + kernel.rows * columns;
        let Results { sums, fates, exact, least, least_of, parted, .. } = results;
        let sums = &mut sums.numbers_mut()[block.clone()];
        let fates = if stages.is_watched(tile) { &mut fates.numbers_mut()[block] } else { &mut [] };
        let mut is_near = false;
        if !fates.is_empty() {
            // Nothing changes an output any more that is infinite.
            let Some(peak) = self.code.peak(sums, fates) else { return };
            is_near = stage.may_overflow(peak);
        }
        let chunks = stages.chunks(stage).filter(|_| !is_near);
        // The next tile's coefficients lie behind this one's.
        let ahead = self.coefficients.size();
        let (least, adding) = match chunks {
            Some(chunks) => {
                let told_apart = exponents.filter(|_| stage.drops);
                let parted =
                    told_apart.and_then(|exponents| self.code.part(coefficients, exponents, chunks, parted));
                let all_drop = parted.and_then(Parted::limits_of_all);
                let least = if stage.drops && told_apart.is_none() {
                    self.least((least, least_of), (tile, number), coefficients)
                } else {
                    all_drop.unwrap_or_default()
                };
                let parted = parted.filter(|_| all_drop.is_none());
                (least, Adding::Singles { coefficients, begin, chunks, parted, ahead })
            }
            None => {
                // A vector has half as many numbers, and each product takes two instructions where it is watched.
                pace.spend(3 * coefficients.len() * columns / VECTOR);
                exact.resize(coefficients.len(), 0.0);
                self.code.exact(coefficients, if is_near { SCALE } else { 1.0 }, exact);
                // Products that are large enough for this are hardly ever dropped, and to look for them here takes less than there.
                let taps = coefficients.len() / kernel.rows;
                let may_drop = stage.drops && exponents.is_none_or(|sets| any_in_common(sets, taps));
                let least =
                    if may_drop { self.least((least, least_of), (tile, number), coefficients) } else { &[] };
                let is_sure = exponents.is_some() || self.code.drops(kernel, panel, offsets, least);
                let coefficients = &*exact;
                let adding = if is_near {
                    Adding::Watched { coefficients, fates }
                } else {
                    Adding::Doubles { coefficients }
                };
                (if is_sure { least } else { &[] }, adding)
            }
        };
        kernel.run(&mut Block { panel, offsets, least, sums, adding });
    }

    /// From which magnitude of an operand on each of these coefficients counts.
    pub(super) fn least<'a>(
        &self,
        (least, of): (&'a mut Vec<f32>, &mut Option<(usize, usize)>),
        tile_and_block: (usize, usize),
        coefficients: &[f32],
    ) -> &'a [f32] {
        if *of != Some(tile_and_block) {
            least.resize(coefficients.len(), 0.0);
            self.code.least(coefficients, least);
            *of = Some(tile_and_block);
        }
        least
    }

    /// Puts the outputs of a tile where they belong.
    pub(super) fn finish(
        &self,
        (channels, pixels): (Range<usize>, &[Pixels]),
        Sums { at, columns }: Sums,
        is_watched: bool,
        results: &mut Results,
        window: &mut Window<'_>,
    ) {
        let block = at..at + channels.len() * columns;
        self.code.finish(&mut Finish {
            sums: &results.sums.numbers_mut()[block.clone()],
            fates: if is_watched { &results.fates.numbers_mut()[block] } else { &[] },
            columns,
            port: self.port,
            channels,
            pixels,
            halves: &mut results.halves,
            window,
        });
    }
}
