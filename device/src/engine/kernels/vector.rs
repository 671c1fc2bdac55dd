//! A matrix times a vector: coefficients that are used once.
//!
//! Where an output channel has one pixel, nothing is gained by packing coefficients. They are read once, where they are, as
//! halves, `[tap][lane]`. Sixteen or thirty-two lanes are neighbouring outputs, and the operand of a tap is
//! the same number for all of them. It is the operand whose last digit is set, which does as well as that of the coefficient.
//! The coefficients are also compared with the limit below which their products are dropped, and with the largest one so far:
//! magnitudes are whole numbers of sixteen bits, so that either takes one instruction for a whole register of them. From the
//! largest the caller learns whether the sums have stayed in the range of single precision. There are several chains of
//! sums, because an addition waits for the one before it.
#![expect(unsafe_code, reason = "vectors are read from slices and written to them")]

use super::lanes::{LONGEST, Outputs};
use super::measure::least;
use super::prefetch;

/// The most outputs that any tier streams together.
pub(crate) const MOST_OUTPUTS: usize = 2 * LONGEST;
/// Taps between one that is added and one whose coefficients are asked for: without that, large matrices take twice as long.
const AHEAD: usize = 128;

/// Some taps of neighbouring outputs.
#[derive(Debug)]
pub(crate) struct Stream<'a> {
    /// Coefficients, `[tap][lane]`, from the first lane that is wanted on.
    pub(crate) coefficients: &'a [u16],
    /// Lanes of a tap.
    pub(crate) lanes: usize,
    pub(crate) taps: &'a [Tap],
    /// Sums in units, of as many outputs as are streamed together.
    pub(crate) sums: &'a mut [i32],
}

/// An operand, and the coefficients that it drops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tap {
    /// With the last digit set, unless it is zero.
    pub(crate) operand: f32,
    /// The largest magnitude of a coefficient whose product is dropped, as the bits of a half, in both halves of the
    /// word; all bits are set if each product counts.
    pub(crate) most: u32,
}

impl Tap {
    /// The tap of an operand, which is a half.
    pub(crate) fn new(operand: f32) -> Self {
        /// The exponent field of a single is larger by this.
        const BIAS: u32 = 112;
        // The limit is a power of two that a half can have, and its bits less one are those of the number below it.
        let most = match least(operand).to_bits() >> 23 {
            0 => u32::MAX,
            field => (((field - BIAS) << 10) - 1) * 0x1_0001,
        };
        Self { operand: f32::from_bits(operand.to_bits() | u32::from(operand != 0.0)), most }
    }
}

/// Adds the taps to the sums; gives the largest magnitude of a coefficient, as the bits of a half.
///
/// The sums are right if the products' magnitudes add up to less than 64, and no coefficient has an exponent field of 31.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
pub(super) unsafe fn run<S: Outputs, const CHAINS: usize>(stream: &mut Stream<'_>) -> u16 {
    let Stream { coefficients, lanes, taps, ref mut sums } = *stream;
    let Some(last) = taps.len().checked_sub(1) else { return 0 };
    assert!(coefficients.len() >= last * lanes + S::OUTPUTS, "coefficients of all taps are there");
    assert!(sums.len() >= S::OUTPUTS, "there is a sum for each lane");
    let mut from = coefficients.as_ptr();
    // SAFETY: as the caller says.
    let mut chains = [unsafe { S::anchored() }; CHAINS];
    // SAFETY: the slice has a vector.
    let mut largest = S::magnitudes(unsafe { S::load(from) });
    let (many, few) = taps.as_chunks::<CHAINS>();
    for taps in many {
        for tap in 0..CHAINS {
            prefetch::read(from.wrapping_add((AHEAD + tap) * lanes));
        }
        for (chain, &tap) in chains.iter_mut().zip(taps) {
            // SAFETY: there are coefficients of all taps.
            unsafe { add(chain, &mut largest, from, tap) };
            from = from.wrapping_add(lanes);
        }
    }
    for (chain, &tap) in chains.iter_mut().zip(few) {
        // SAFETY: as above.
        unsafe { add(chain, &mut largest, from, tap) };
        from = from.wrapping_add(lanes);
    }
    for chain in chains {
        // SAFETY: there is a sum for each lane.
        unsafe { chain.add_units(sums.as_mut_ptr()) };
    }
    S::largest(largest)
}

/// Adds the products of a tap to a chain, and looks at its coefficients.
///
/// A function rather than a closure: a closure that is not inlined is compiled without the unit, and each instruction
/// becomes a call.
///
/// # Safety
///
/// The processor has the unit, and a vector of coefficients can be read.
#[inline(always)]
unsafe fn add<S: Outputs>(chain: &mut S, largest: &mut S::Halves, from: *const u16, tap: Tap) {
    // SAFETY: as the caller says.
    let magnitudes = S::magnitudes(unsafe { S::load(from) });
    *largest = S::larger(*largest, magnitudes);
    // SAFETY: as the caller says.
    *chain = unsafe { chain.plus_kept(from, magnitudes, tap) };
}

#[cfg(test)]
mod tests {
    use super::super::Tier;
    use super::*;
    use crate::engine::numerics::halves;
    use crate::engine::numerics::product;

    /// How many outputs each tier streams together.
    fn streams() -> impl Iterator<Item = (Tier, usize)> {
        let of_tier = |tier: Tier| {
            (1..=MOST_OUTPUTS).filter_map(move |outputs| {
                tier.code().streamed(|together| together == outputs).map(|outputs| (tier, outputs))
            })
        };
        Tier::ALL.into_iter().flat_map(of_tier)
    }

    /// The sums of some operands, each times some coefficients, and the largest coefficient.
    fn streamed(
        (tier, outputs): (Tier, usize),
        operands: &[u16],
        coefficients: &[u16],
        lanes: usize,
    ) -> (Vec<i32>, u16) {
        let taps: Vec<_> = operands.iter().map(|&operand| Tap::new(halves::value(operand))).collect();
        let mut sums = vec![7; outputs];
        let largest = tier.code().stream(&mut Stream { coefficients, lanes, taps: &taps, sums: &mut sums });
        (sums, largest)
    }

    #[test]
    fn products_of_every_exponent_are_those_of_the_definition() {
        // Coefficients of each exponent field whose product with the operand is less than 64, at both ends of its binade.
        for field in 0..32u16 {
            let operand = field << 10 | 0x155;
            let fits = |&half: &u16| (halves::value(half) * halves::value(operand)).abs() < 63.0;
            let ends = (0..31u16).flat_map(|field| [field << 10, field << 10 | 0x8001, field << 10 | 0x3ff]);
            let mut all: Vec<_> = ends.filter(fits).collect();
            all.resize(all.len().next_multiple_of(MOST_OUTPUTS), 0);
            for (tier, outputs) in streams() {
                for coefficients in all.chunks_exact(outputs) {
                    let expected = coefficients.iter().map(|&half| 7 + product::of(operand, half) as i32);
                    let largest = coefficients.iter().map(|half| half & 0x7fff).max();
                    let (sums, found) = streamed((tier, outputs), &[operand], coefficients, outputs);
                    assert!(sums.iter().copied().eq(expected), "{operand:#06x} {} {outputs}", tier.name());
                    assert_eq!(Some(found), largest);
                }
            }
        }
    }

    #[test]
    fn taps_of_any_number_are_all_added_and_lanes_beyond_those_of_the_sums_are_not() {
        for (count, (tier, outputs)) in (1..20).flat_map(|count| streams().map(move |stream| (count, stream)))
        {
            let operands = vec![halves::ONE; count];
            let lanes = 2 * outputs;
            let mut coefficients = vec![0x7bff; count * lanes];
            let of_lane = |lane| 0x8100 + lane as u16 * 0x80;
            for tap in coefficients.chunks_exact_mut(lanes) {
                (0..outputs).for_each(|lane| tap[lane] = of_lane(lane));
            }
            let (sums, largest) = streamed((tier, outputs), &operands, &coefficients, lanes);
            let expected =
                (0..outputs).map(|lane| 7 + count as i64 * product::of(halves::ONE, of_lane(lane)));
            assert!(sums.into_iter().map(i64::from).eq(expected), "{count} {} {outputs}", tier.name());
            assert_eq!(largest, of_lane(outputs - 1) & 0x7fff);
        }
    }
}
