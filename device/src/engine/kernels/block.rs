//! The arguments of a kernel: operands, coefficients, and the place of the sums.

use super::apart::Parted;

/// Where the operands of each tap lie in a panel.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    each: Vec<usize>,
    largest: usize,
}

impl Offsets {
    /// Replaces all.
    pub(crate) fn set(&mut self, each: impl IntoIterator<Item = usize>) {
        self.each.clear();
        self.each.extend(each);
        self.largest = self.each.iter().copied().max().unwrap_or_default();
    }

    /// One for each tap.
    pub(super) fn each(&self) -> &[usize] {
        &self.each
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
    pub(crate) offsets: &'a Offsets,
    /// From which magnitude of its operand on a tap of a row counts, `[tap][row]`; empty if each counts.
    pub(crate) least: &'a [f32],
    /// The sums so far, `[row][column]`, in units. They wrap around.
    pub(crate) sums: &'a mut [i32],
    /// How the taps are added.
    pub(crate) adding: Adding<'a>,
}

/// A way to add products, with the coefficients `[tap][row]` as it takes them.
#[derive(Debug)]
pub(crate) enum Adding<'a> {
    /// In single precision, so many taps at a time: the magnitudes of so many products of any output add up to less than 64.
    Singles {
        /// With the last digit set.
        coefficients: &'a [f32],
        /// The first values of each row's sums, if these are their first taps; the old contents of the sums do
        /// not matter then.
        begin: Option<&'a [i32]>,
        /// How many taps; in all they are those of the block.
        chunks: &'a [usize],
        /// The taps with products that are dropped and those without, if they are told apart.
        parted: Option<&'a Parted>,
        /// How far behind these coefficients those of the next block begin, which are asked for meanwhile.
        ahead: usize,
    },
    /// In double precision, where no sum comes to the limit on its way.
    Doubles {
        /// As [`exact`](super::exact) makes them.
        coefficients: &'a [f64],
    },
    /// The same, tap by tap under the eyes of the limit.
    Watched {
        /// As [`exact`](super::exact) makes them, scaled by [`SCALE`](super::SCALE).
        coefficients: &'a [f64],
        /// The infinite sums, `[row][column]`: the sign of each, or zero.
        fates: &'a mut [i32],
    },
}

impl Block<'_> {
    /// Whether a kernel of that size stays inside of all operands.
    pub(super) fn fits(&self, rows: usize, columns: usize) -> bool {
        let taps = self.offsets.each.len();
        let reaches = |needed: Option<usize>, have: usize| needed.is_some_and(|needed| needed <= have);
        let block = rows.checked_mul(columns);
        let coefficients = taps.checked_mul(rows);
        reaches(self.offsets.largest.checked_add(columns), self.panel.len())
            && reaches(block, self.sums.len())
            && (self.least.is_empty() || reaches(coefficients, self.least.len()))
            && match &self.adding {
                Adding::Singles { coefficients: all, begin, chunks, parted, .. } => {
                    reaches(coefficients, all.len())
                        && begin.is_none_or(|begin| begin.len() == rows)
                        && chunks.iter().sum::<usize>() == taps
                        && parted.is_none_or(|parted| parted.is_of(taps, rows))
                }
                Adding::Doubles { coefficients: all } => reaches(coefficients, all.len()),
                Adding::Watched { coefficients: all, fates } => {
                    reaches(coefficients, all.len()) && reaches(block, fates.len())
                }
            }
    }
}
