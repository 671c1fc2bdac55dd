//! What a kernel is handed: operands, coefficients, and where the sums are.

use crate::engine::numerics::tile::TAPS;

/// Where the operands of each tap lie in a panel.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    each: Vec<usize>,
    /// Of how many there is an operand; what is behind them fills up the last tile of `m1`.
    real: usize,
    largest: usize,
}

impl Offsets {
    /// Replaces all; so many of them have an operand.
    pub(crate) fn set(&mut self, real: usize, each: impl IntoIterator<Item = usize>) {
        self.real = real;
        self.each.clear();
        self.each.extend(each);
        self.largest = self.each.iter().copied().max().unwrap_or_default();
    }

    /// One for each tap.
    pub(super) fn each(&self) -> &[usize] {
        &self.each
    }

    /// Those of each tile of `m1`, and that of a last tile with one tap: nothing has to be added to its product.
    pub(super) fn tiles(&self) -> (&[[usize; TAPS]], Option<&[usize; 1]>) {
        let (tiles, _) = self.each.as_chunks();
        match tiles.split_last() {
            Some((last, tiles)) if self.real % TAPS == 1 => (tiles, last.first_chunk()),
            _ => (tiles, None),
        }
    }
}

/// So many rows of so many columns of sums, and some taps of each.
///
/// A row shares its coefficients and a column its operands; which of them is an output channel and which a pixel
/// is not the kernel's business.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    /// Operands of the columns: those of tap `t` are at `offsets[t]` and behind it.
    pub(crate) panel: &'a [f32],
    /// Where.
    pub(crate) offsets: &'a Offsets,
    /// Coefficients, `[tap][row]`; for `m1`, `[tap][row and row]`, see [`MAGNITUDE`](super::MAGNITUDE).
    pub(crate) coefficients: &'a [f32],
    /// The sums so far, `[row][column]`.
    pub(crate) sums: &'a mut [f32],
    /// Whether these are the first taps; what sums and peaks were before is nothing then.
    pub(crate) is_first: bool,
    /// For `m1`, unless it is known that no sum comes near the limit.
    pub(crate) guard: Option<Guard<'a>>,
}

/// What tells sums that are not to be trusted.
#[derive(Debug)]
pub(crate) struct Guard<'a> {
    /// The largest magnitude among the coefficients of each row.
    pub(crate) bounds: &'a [f32],
    /// The largest magnitude that each sum had on its way, or more if a product may have been too large for a half. From
    /// the limit on the sum is not to be trusted.
    pub(crate) peaks: &'a mut [f32],
}

impl Block<'_> {
    /// Whether a kernel of that size, with so many coefficients for each tap, stays inside everything.
    pub(super) fn fits(&self, rows: usize, columns: usize, each: usize) -> bool {
        let taps = self.offsets.each.len();
        let reaches = |needed: Option<usize>, have: usize| needed.is_some_and(|needed| needed <= have);
        reaches(self.offsets.largest.checked_add(columns), self.panel.len())
            && reaches(taps.checked_mul(each), self.coefficients.len())
            && reaches(rows.checked_mul(columns), self.sums.len())
            && self.guard.as_ref().is_none_or(|guard| {
                reaches(rows.checked_mul(columns), guard.peaks.len()) && rows <= guard.bounds.len()
            })
    }
}
