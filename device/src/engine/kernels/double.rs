//! The kernel in double precision: what single precision has no room for.
//!
//! As in single precision, the running sum is where its last digit is a unit. Around 1.5 * 2^36 there is room for
//! whatever does not overflow.
//!
//! If a sum may reach 2^15, each of its taps has to be checked, and here the format itself checks. Scaled by 2^987 a unit is the
//! last digit of the largest doubles. A sum that starts 2^31 units below the infinity of doubles becomes infinite exactly
//! when it overflows above zero, and stays so. For overflow below zero the smallest value of the running sum is kept. An infinite sum
//! changes no more, so a small value that was seen came before the infinity.
#![expect(unsafe_code, reason = "reads and writes what `Block::fits` has seen to be there")]
#![expect(
    clippy::needless_range_loop,
    reason = "three iterators side by side are not unrolled, and the sums then stay in memory: five times as long"
)]

use super::block::{Adding, Block};
use super::lanes::{Doubles, LONGEST};

/// The middle of the range where nothing overflows, as bits.
const MIDDLE: u64 = (1.5 * 68_719_476_736.0_f64).to_bits();
/// Units from which on a sum is infinite.
const LIMIT: u64 = 1 << 31;
/// So many units below infinity, as bits.
const BELOW_INFINITY: u64 = f64::INFINITY.to_bits() - LIMIT;

/// The scale of coefficients where sums are watched: a unit becomes the last digit of the largest doubles.
pub(crate) const SCALE: f64 = f64::from_bits((1023 + 971 + 16) << 52);

/// Adds the taps to the sums of so many columns, for some rows and some vectors at a time, which fill the registers.
///
/// # Safety
///
/// The processor has the unit, and the block fits `rows` by `columns`, of which there are whole numbers of `ROWS` and of vectors.
#[inline(always)]
pub(super) unsafe fn run<D: Doubles, const ROWS: usize, const VECTORS: usize>(
    block: &mut Block<'_>,
    rows: usize,
    columns: usize,
) {
    let drops = !block.least.is_empty();
    let Block { panel, offsets, least, sums, adding } = block;
    let taps = |at: At, coefficients: &[f64]| Taps {
        panel: panel.as_ptr().wrapping_add(at.first),
        offsets: offsets.each().iter(),
        coefficients: coefficients.as_ptr().wrapping_add(at.row),
        least: least.as_ptr().wrapping_add(at.row),
        rows,
    };
    let parts = (0..rows).step_by(ROWS);
    for (row, first) in
        parts.flat_map(|row| (0..columns).step_by(VECTORS * D::COUNT).map(move |first| (row, first)))
    {
        let at = At { row, first, columns };
        match adding {
            Adding::Singles { .. } => {}
            Adding::Doubles { coefficients } => {
                let taps = taps(at, coefficients);
                if drops {
                    // SAFETY: as the caller says.
                    unsafe { plain::<D, ROWS, VECTORS, true>(at, taps, sums) }
                } else {
                    // SAFETY: as the caller says.
                    unsafe { plain::<D, ROWS, VECTORS, false>(at, taps, sums) }
                }
            }
            Adding::Watched { coefficients, fates } => {
                let taps = taps(at, coefficients);
                if drops {
                    // SAFETY: as the caller says.
                    unsafe { watched::<D, ROWS, VECTORS, true>(at, taps, sums, fates) }
                } else {
                    // SAFETY: as the caller says.
                    unsafe { watched::<D, ROWS, VECTORS, false>(at, taps, sums, fates) }
                }
            }
        }
    }
}

/// Some rows and some columns.
#[derive(Clone, Copy)]
struct At {
    /// The first row.
    row: usize,
    /// The first column.
    first: usize,
    /// Columns of a row.
    columns: usize,
}

impl At {
    /// Where the sum of a row and the first column of a vector is.
    #[inline(always)]
    fn place<D: Doubles>(self, row: usize, v: usize) -> usize {
        (self.row + row) * self.columns + self.first + v * D::COUNT
    }
}

/// # Safety
///
/// As for [`run`].
#[inline(always)]
unsafe fn plain<D: Doubles, const ROWS: usize, const VECTORS: usize, const DROPS: bool>(
    at: At,
    mut taps: Taps<'_>,
    units: &mut [i32],
) {
    // SAFETY: as the caller says.
    let middle = unsafe { D::splat(f64::from_bits(MIDDLE)) };
    let mut sums = [[middle; VECTORS]; ROWS];
    while let Some(offset) = taps.next() {
        // SAFETY: the largest offset leaves room for all columns, and each tap has a coefficient for each row.
        let operands = unsafe { operands::<D, VECTORS>(offset) };
        for row in 0..ROWS {
            for v in 0..VECTORS {
                // SAFETY: as above.
                sums[row][v] = unsafe { taps.added::<D, DROPS>(row, sums[row][v], operands[v]) };
            }
        }
        taps.advance();
    }
    let ends = sums;
    for (row, sums) in ends.iter().enumerate() {
        for (v, sum) in sums.iter().enumerate() {
            let place = at.place::<D>(row, v);
            let mut numbers = [0.0; LONGEST];
            // SAFETY: the array holds a vector of any tier.
            unsafe { sum.store(numbers.as_mut_ptr()) };
            for (to, number) in units[place..place + D::COUNT].iter_mut().zip(numbers) {
                *to = to.wrapping_add(low(number.to_bits().wrapping_sub(MIDDLE)));
            }
        }
    }
}

/// # Safety
///
/// As for [`run`].
#[inline(always)]
unsafe fn watched<D: Doubles, const ROWS: usize, const VECTORS: usize, const DROPS: bool>(
    at: At,
    mut taps: Taps<'_>,
    units: &mut [i32],
    fates: &mut [i32],
) {
    // SAFETY: as the caller says.
    let mut starts = [[unsafe { D::splat(0.0) }; VECTORS]; ROWS];
    for (row, starts) in starts.iter_mut().enumerate() {
        for (v, start) in starts.iter_mut().enumerate() {
            // SAFETY: there is a sum for each row and column.
            *start = unsafe { D::above(BELOW_INFINITY, units.as_ptr().wrapping_add(at.place::<D>(row, v))) };
        }
    }
    // Operands that are read or written in a loop of their own lie in memory: the sums stay in registers as copies.
    let (mut sums, mut smallest) = (starts, starts);
    while let Some(offset) = taps.next() {
        // SAFETY: the largest offset leaves room for all columns, and each tap has a coefficient for each row.
        let operands = unsafe { operands::<D, VECTORS>(offset) };
        for row in 0..ROWS {
            for v in 0..VECTORS {
                // SAFETY: as above.
                sums[row][v] = unsafe { taps.added::<D, DROPS>(row, sums[row][v], operands[v]) };
                smallest[row][v] = smallest[row][v].smaller(sums[row][v]);
            }
        }
        taps.advance();
    }
    let lowest = f64::from_bits(BELOW_INFINITY - LIMIT);
    let (ends, least) = (sums, smallest);
    for (row, (sums, smallest)) in ends.iter().zip(&least).enumerate() {
        for (v, (sum, smallest)) in sums.iter().zip(smallest).enumerate() {
            let place = at.place::<D>(row, v);
            let (mut ends, mut least) = ([0.0; LONGEST], [0.0; LONGEST]);
            // SAFETY: the array holds a vector of any tier.
            unsafe { sum.store(ends.as_mut_ptr()) };
            // SAFETY: as above.
            unsafe { smallest.store(least.as_mut_ptr()) };
            let places = units[place..place + D::COUNT].iter_mut().zip(&mut fates[place..place + D::COUNT]);
            for ((to, fate), (end, least)) in places.zip(ends.into_iter().zip(least)) {
                *to = low(end.to_bits().wrapping_sub(BELOW_INFINITY));
                let now = if least <= lowest { -1 } else { i32::from(end == f64::INFINITY) };
                *fate = if *fate == 0 { now } else { *fate };
            }
        }
    }
}

/// The lower half.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "units wrap around")]
fn low(bits: u64) -> i32 {
    bits as i32
}

/// # Safety
///
/// The processor has the unit, and `VECTORS` vectors can be read.
#[inline(always)]
unsafe fn operands<D: Doubles, const VECTORS: usize>(from: *const f32) -> [D; VECTORS] {
    // SAFETY: as the caller says.
    let mut operands = [unsafe { D::widen(from) }; VECTORS];
    for (v, operand) in operands.iter_mut().enumerate().skip(1) {
        // SAFETY: as the caller says.
        *operand = unsafe { D::widen(from.wrapping_add(v * D::COUNT)) };
    }
    operands
}

/// The taps of some columns, one after the other.
struct Taps<'a> {
    panel: *const f32,
    offsets: std::slice::Iter<'a, usize>,
    coefficients: *const f64,
    least: *const f32,
    /// Rows that have a coefficient for each tap.
    rows: usize,
}

impl Taps<'_> {
    /// Where the operands of the next tap are.
    #[inline(always)]
    fn next(&mut self) -> Option<*const f32> {
        self.offsets.next().map(|&offset| self.panel.wrapping_add(offset))
    }

    /// A sum, and the product of a row's coefficient.
    ///
    /// # Safety
    ///
    /// The processor has the unit, and the row has a coefficient.
    #[inline(always)]
    unsafe fn added<D: Doubles, const DROPS: bool>(&self, row: usize, sum: D, operand: D) -> D {
        // SAFETY: as the caller says.
        let coefficient = unsafe { *self.coefficients.wrapping_add(row) };
        // SAFETY: as the caller says.
        let coefficient = unsafe { D::splat(coefficient) };
        if !DROPS {
            return sum.plus_product(operand, coefficient);
        }
        // SAFETY: as the caller says.
        let least = unsafe { *self.least.wrapping_add(row) };
        // SAFETY: as the caller says.
        let least = unsafe { D::splat(f64::from(least)) };
        sum.plus_kept(operand, coefficient, operand.magnitude(), least)
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.coefficients = self.coefficients.wrapping_add(self.rows);
        self.least = self.least.wrapping_add(self.rows);
    }
}
