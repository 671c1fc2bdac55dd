//! Taps with products that are dropped, apart from the rest.
//!
//! A product whose exponents are small enough is dropped, and to look at each product doubles the work. But most taps of a tile have no
//! such product with any operand of a panel. The exponent of a coefficient says which exponents of operands it drops. So a tap is told
//! by two sets of exponents: those that any of its coefficients drops, and those of its operands. The order of taps does not matter
//! to a sum that cannot come to the limit: those without such a product are added first, and of the others each product is looked at.
//!
//! Exponents that add up to less than -18 need no look: a product that small is rounded to zero anyway.
#![expect(
    unsafe_code,
    reason = "vectors are read from slices, and lists written without a look at their ends"
)]

use super::lanes::{Fused, LONGEST};
use super::measure;
use crate::engine::numerics::product::DROPPED;

/// Exponents from -14, bit 0, to 1. Larger ones have no part in a product that is dropped.
pub(crate) type Exponents = u16;

/// Taps that are looked at together: so many sets can be read behind the last tap, too.
pub(crate) const TOGETHER: usize = 64;
/// The exponents of operands that the smallest coefficients drop, whose products may still be half a unit: with -14 these are -3,
/// where the sum is [`DROPPED`], and -4.
const OF_SMALLEST: u32 = 0b11 << 10;
const _: () = assert!(DROPPED == -17, "the rule of products");

/// The taps of a block, chunk by chunk: first those that drop no product, then the others.
#[derive(Debug, Default)]
pub(crate) struct Parted {
    /// How many there are, each of which is in one of the lists.
    taps: usize,
    kept: Vec<u32>,
    dropping: Vec<u32>,
    /// From which magnitude of its operand on each row of the latter counts.
    least: Vec<f32>,
    rows: usize,
    /// Where each chunk ends in both lists.
    ends: Vec<[usize; 2]>,
}

/// The taps of a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartedChunk<'a> {
    /// Those that drop no product.
    pub(super) kept: &'a [u32],
    /// The others.
    pub(super) dropping: &'a [u32],
    /// From which magnitude of its operand on each row of these counts, `[tap][row]`.
    pub(super) least: &'a [f32],
}

impl Parted {
    /// The limits of all coefficients of the block, if each tap drops a product: nothing is gained by lists then.
    pub(crate) fn limits_of_all(&self) -> Option<&[f32]> {
        let [kept, dropping] = *self.ends.last()?;
        (kept == 0).then(|| &self.least[..dropping * self.rows])
    }

    /// Whether these are so many taps of so many rows: the lists name no other tap then.
    pub(super) const fn is_of(&self, taps: usize, rows: usize) -> bool {
        self.taps == taps && self.rows == rows
    }

    /// The taps of each chunk.
    #[inline(always)]
    pub(super) fn chunks(&self) -> impl Iterator<Item = PartedChunk<'_>> {
        let begins = std::iter::once(&[0; 2]).chain(&self.ends);
        begins.zip(&self.ends).map(|(begin, end)| PartedChunk {
            kept: &self.kept[begin[0]..end[0]],
            dropping: &self.dropping[begin[1]..end[1]],
            least: &self.least[begin[1] * self.rows..end[1] * self.rows],
        })
    }
}

/// How far the exponent of a number is above -14. Numbers below 2^-14 have that exponent.
#[inline(always)]
fn above(magnitude: u32) -> u32 {
    const FIELD: u32 = 127 - 14;
    (magnitude >> 23).max(FIELD) - FIELD
}

/// The bits of a number without its sign.
#[inline(always)]
fn magnitude(number: f32) -> u32 {
    number.to_bits() & !(1 << 31)
}

/// For each tap the exponents of operands that any of its coefficients drops, `[tap][row]`; zeros drop none.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the largest one is twelve bits long")]
pub(super) fn dropped<const ROWS: usize>(coefficients: &[f32], to: &mut [Exponents]) {
    for (tap, to) in coefficients.as_chunks::<ROWS>().0.iter().zip(to) {
        let of_one = |&number: &f32| {
            let magnitude = magnitude(number);
            if magnitude == 0 { 0 } else { OF_SMALLEST.wrapping_shr(above(magnitude)) }
        };
        *to = tap.iter().map(of_one).fold(0, |all, exponents| all | exponents) as Exponents;
    }
}

/// The exponents of the operands of each tap, `[tap][column]`, but zeros.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "larger exponents do not count")]
pub(super) fn exponents<const COLUMNS: usize>(operands: &[f32], to: &mut [Exponents]) {
    for (tap, to) in operands.as_chunks::<COLUMNS>().0.iter().zip(to) {
        let bit = |&number: &f32| {
            let magnitude = magnitude(number);
            let bit = 1u32.wrapping_shl(above(magnitude));
            if magnitude == 0 { 0 } else { bit }
        };
        *to = tap.iter().map(bit).fold(0, |all, bit| all | bit) as Exponents;
    }
}

/// Whether any of so many taps drops a product, by the exponents that they drop and those of their operands.
pub(crate) fn any_in_common([dropped, operands]: [&[Exponents]; 2], taps: usize) -> bool {
    let pairs = dropped.iter().zip(operands).take(taps);
    pairs.fold(0, |common, (dropped, operands)| common | dropped & operands) != 0
}

/// Parts the taps of some chunks, with these coefficients, by the exponents that they drop and those of their operands. Gives
/// whether any drops a product.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a block has less than 2^32 taps")]
pub(super) unsafe fn part<V: Fused, const ROWS: usize>(
    coefficients: &[f32],
    dropped: &[Exponents],
    operands: &[Exponents],
    chunks: &[usize],
    parted: &mut Parted,
) -> bool {
    const { assert!(V::COUNT <= LONGEST, "there is room behind the last tap") };
    let taps = chunks.iter().sum::<usize>();
    let read = taps + TOGETHER;
    assert!(dropped.len() >= read && operands.len() >= read, "each tap has its exponents");
    let room = read + LONGEST;
    for list in [&mut parted.kept, &mut parted.dropping] {
        if list.len() < room {
            list.resize(room, 0);
        }
    }
    (parted.taps, parted.rows) = (taps, ROWS);
    parted.ends.clear();
    let (mut kept, mut dropping, mut first) = (0, 0, 0);
    for &length in chunks {
        let end = first + length;
        while first < end {
            let together = TOGETHER.min(end - first);
            let all = u64::MAX >> (TOGETHER - together);
            let at = |sets: &[Exponents]| sets.as_ptr().wrapping_add(first);
            // SAFETY: as the caller says; behind the last tap as many can be read.
            let which = unsafe { V::common(at(dropped), at(operands)) } & all;
            let to = [
                parted.kept.as_mut_ptr().wrapping_add(kept),
                parted.dropping.as_mut_ptr().wrapping_add(dropping),
            ];
            // SAFETY: as the caller says; both lists have room for all taps, and for what is written behind them.
            unsafe { V::list(all & !which, first as u32, to[0]) };
            // SAFETY: as above.
            unsafe { V::list(which, first as u32, to[1]) };
            let count = which.count_ones() as usize;
            dropping += count;
            kept += together - count;
            first += together;
        }
        parted.ends.push([kept, dropping]);
    }
    let limits = dropping * ROWS;
    if parted.least.len() < limits {
        parted.least.resize(limits, 0.0);
    }
    let coefficients = coefficients.as_chunks::<ROWS>().0;
    for (&tap, limits) in parted.dropping[..dropping].iter().zip(parted.least.as_chunks_mut::<ROWS>().0) {
        measure::all_least(&coefficients[tap as usize], limits);
    }
    dropping > 0
}

#[cfg(test)]
mod tests {
    use super::super::Tier;
    use super::*;
    use crate::engine::numerics::halves::value;

    fn tiers() -> impl Iterator<Item = Tier> {
        [Tier::Avx512, Tier::Avx2].into_iter().filter(|tier| tier.is_available())
    }

    /// A product of two numbers with these exponents, the largest there is.
    fn product(a: i32, b: i32) -> i64 {
        let half = |exponent: i32| ((exponent + 15) as u16) << 10 | 0x3ff;
        let units = (value(half(a)) as f64 * value(half(b)) as f64 * 65536.0).round();
        units as i64
    }

    /// What a tap drops with this coefficient in one row and zeros in the others.
    fn of_tap(tier: Tier, coefficient: f32, row: usize) -> Exponents {
        let mut tap = vec![0.0; tier.code().many.rows];
        tap[row] = coefficient;
        let mut found = [0xffff];
        tier.code().dropped(&tap, &mut found);
        found[0]
    }

    #[test]
    fn tap_drops_the_exponents_of_products_that_are_dropped_and_not_rounded_to_zero() {
        for tier in tiers() {
            for own in -14..=15 {
                let found = of_tap(tier, -1.5 * 2f32.powi(own), 1);
                for operand in -14..=15 {
                    let is_dropped = own + operand <= DROPPED && product(own, operand) != 0;
                    let bit = 1u32 << (operand + 14);
                    assert_eq!(u32::from(found) & bit != 0, is_dropped, "{own} {operand} {}", tier.name());
                }
            }
        }
    }

    #[test]
    fn zeros_drop_nothing_and_small_numbers_have_the_lowest_exponent() {
        for tier in tiers() {
            let numbers = [0.0, -0.0, 2f32.powi(-24), -2f32.powi(-14)];
            let found = numbers.map(|number| of_tap(tier, number, 0));
            assert_eq!(found, [0, 0, 0xc00, 0xc00], "{}", tier.name());
        }
    }

    #[test]
    fn tap_drops_what_any_of_its_coefficients_drops() {
        for tier in tiers() {
            let rows = tier.code().many.rows;
            let tile: Vec<f32> = (0..3 * rows).map(|at| 2f32.powi(-(at as i32 % 15))).collect();
            let mut found = [0; 3];
            tier.code().dropped(&tile, &mut found);
            let of_rows = |tap: usize| (0..rows).map(move |row| (row, tap * rows + row));
            let all = |tap| of_rows(tap).fold(0, |all, (row, at)| all | of_tap(tier, tile[at], row));
            assert_eq!(found, [0, 1, 2].map(all), "{}", tier.name());
        }
    }

    #[test]
    fn exponents_of_a_tap_are_none_of_its_zeros() {
        for tier in tiers() {
            let columns = tier.code().many.columns;
            let mut panel = vec![8.0; 4 * columns];
            panel[0] = -0.375;
            panel[2] = 0.0;
            panel[columns + 1] = 2f32.powi(-20);
            panel[columns + 2] = -1.0;
            panel[2 * columns..3 * columns].fill(-0.0);
            let mut found = vec![0; 4];
            tier.code().exponents(&panel, &mut found);
            assert_eq!(found, [1 << 12, 1 | 1 << 14, 0, 0], "{}", tier.name());
        }
    }

    #[test]
    fn each_tap_of_a_chunk_is_in_one_list_by_what_it_drops() {
        const CHUNKS: [usize; 3] = [TOGETHER + 8, 1, 2 * TOGETHER + 7];
        const TAPS: usize = 3 * TOGETHER + 16;
        for tier in tiers() {
            // What lies behind the last tap is nobody's.
            let mut operands = [0xffff; TAPS + TOGETHER];
            let mut dropped = [0xffff; TAPS + TOGETHER];
            operands[..TAPS].fill(0b1100);
            let rows = tier.code().many.rows;
            let coefficients: Vec<f32> = (0..TAPS * rows).map(|at| 2f32.powi(-(at as i32 % 15))).collect();
            let mut parted = Parted::default();
            for drops in [|_| false, |_| true, |tap: usize| tap % 7 < 3 || (40..90).contains(&tap)] {
                for (tap, set) in dropped.iter_mut().enumerate().take(TAPS) {
                    *set = if drops(tap) { 0b0110 } else { 0b0011 };
                }
                let is_any = (0..TAPS).any(drops);
                let found = tier.code().part(&coefficients, [&dropped, &operands], &CHUNKS, &mut parted);
                assert_eq!(found.is_some(), is_any, "{}", tier.name());
                assert!(parted.is_of(TAPS, rows));
                let all =
                    (0..TAPS).all(drops).then(|| coefficients.iter().map(|&number| measure::least(number)));
                let limits = parted.limits_of_all().map(<[f32]>::to_vec);
                assert_eq!(limits, all.map(Iterator::collect), "{}", tier.name());
                let mut first = 0;
                let mut lists = parted.chunks();
                for length in CHUNKS {
                    let of_chunk = |is_dropping| {
                        let taps = (first..first + length).filter(move |&tap| drops(tap) == is_dropping);
                        taps.map(|tap| tap as u32).collect::<Vec<_>>()
                    };
                    let PartedChunk { kept, dropping, least } = lists.next().unwrap();
                    assert_eq!((kept, dropping), (&*of_chunk(false), &*of_chunk(true)), "{}", tier.name());
                    let of_tap = |&tap: &u32| coefficients[tap as usize * rows..][..rows].iter();
                    let limits = dropping.iter().flat_map(of_tap).map(|&number| measure::least(number));
                    assert!(limits.eq(least.iter().copied()), "{}", tier.name());
                    first += length;
                }
                assert!(lists.next().is_none());
            }
        }
    }
}
