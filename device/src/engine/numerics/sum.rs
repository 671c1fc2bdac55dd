//! A whole reduction: from the taps of one output to its sum, in each of the three modes.

use super::double::settle;
use super::{Numerics, halves, product, tile};

/// Magnitude from which a sum of two or more taps is infinite, 2^15 (numerics 4).
pub const LIMIT: f32 = 32768.0;
/// Taps in a block of `fast`.
pub const BLOCK: usize = 32;

/// The sum of operand times coefficient over all taps, in ascending order.
///
/// Both are numbers as they were read, see [`halves::value`]; a tap in the padding has the operand +0.
#[must_use]
pub fn of(numerics: Numerics, taps: &[(f32, f32)]) -> f64 {
    match numerics {
        Numerics::M1 => f64::from(m1(taps)),
        Numerics::Fast => limited(f64::from(fast(taps)), taps.len()),
        Numerics::Exact => limited(exact(taps), taps.len()),
    }
}

fn m1(taps: &[(f32, f32)]) -> f32 {
    let mut accumulator = 0.0;
    for tile in taps.chunks(tile::TAPS) {
        let sum = tile::sum(tile.iter().map(|&(operand, coefficient)| product::of(operand, coefficient)));
        accumulator = limit(halves::or_zero(accumulator + sum), taps.len());
    }
    accumulator
}

fn fast(taps: &[(f32, f32)]) -> f32 {
    // The product of two halves is exact in single precision, so that multiplying and adding rounds as seldom
    // as a fused multiply-add.
    let fused = |sum: f32, &(operand, coefficient): &(f32, f32)| {
        sum + halves::flush(operand) * halves::flush(coefficient)
    };
    taps.chunks(BLOCK).fold(0.0, |accumulator, block| {
        let even = block.iter().step_by(2).fold(0.0, fused);
        let odd = block.iter().skip(1).step_by(2).fold(0.0, fused);
        accumulator + (even + odd)
    })
}

fn exact(taps: &[(f32, f32)]) -> f64 {
    taps.iter().fold(0.0, |sum, &(operand, coefficient)| {
        sum + f64::from(halves::flush(operand)) * f64::from(halves::flush(coefficient))
    })
}

fn limit(sum: f32, taps: usize) -> f32 {
    if taps > 1 && sum.abs() >= LIMIT { f32::INFINITY.copysign(sum) } else { sum }
}

/// What `fast` and `exact` make of a sum at its end.
#[must_use]
pub fn limited(sum: f64, taps: usize) -> f64 {
    let sum = settle(sum);
    if taps > 1 && sum.abs() >= f64::from(LIMIT) { f64::INFINITY.copysign(sum) } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinity_stays_unless_it_meets_the_opposite_one() {
        let taps = |products: &[f32]| products.iter().map(|&x| (x, 1.0)).collect::<Vec<_>>();
        let beyond = [30000.0, 10000.0, 0.0, 0.0, -30000.0, 0.0, 0.0, 0.0];
        assert_eq!(m1(&taps(&beyond)), f32::INFINITY);
        let back = [30000.0, 10000.0, 0.0, 0.0, f32::NEG_INFINITY, 0.0, 0.0, 0.0];
        assert_eq!(m1(&taps(&back)).to_bits(), 0);
    }

    #[test]
    fn short_block_of_fast_is_as_if_padded() {
        let mut taps = vec![(1.5, -2.0); 35];
        let short = fast(&taps);
        taps.resize(64, (0.0, 0.0));
        assert_eq!(fast(&taps).to_bits(), short.to_bits());
    }

    #[test]
    fn denormals_are_zero_in_fast_and_exact() {
        let denormal = halves::value(0x03ff);
        for numerics in [Numerics::Fast, Numerics::Exact] {
            assert_eq!(of(numerics, &[(denormal, 1024.0), (1024.0, denormal)]), 0.0);
        }
    }
}
