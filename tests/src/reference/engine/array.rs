//! The multiply-accumulate array: one output's reduction in each of the three modes.

use super::Mode;
use super::numbers::{defined, exponent_of, power_of_two, round_half, round_to_multiple};

/// Whether a product is rounded to a half before the first stage (numerics 3). One switch; the flush stays.
pub const PRODUCT_ROUNDS: bool = true;
/// Taps of one tile of the first stage.
const TILE: usize = 4;
/// Taps of one block of the fast mode.
const BLOCK: usize = 32;
/// From this magnitude on, a reduction of two or more taps is infinite (numerics 4).
const LIMIT: f64 = 32768.0;

/// One operand and its coefficient, both halves.
pub type Tap = (f64, f64);

/// The reduction of one output, taps in ascending order of channel, kernel row and kernel column.
pub fn reduce(mode: Mode, taps: &[Tap]) -> f64 {
    match mode {
        Mode::M1 => measured(taps),
        Mode::Fast => limit(taps.len(), defined(f64::from(fast(taps)))),
        Mode::Exact => limit(taps.len(), defined(exact(taps))),
    }
}

fn limit(taps: usize, sum: f64) -> f64 {
    if taps >= 2 && sum.abs() >= LIMIT { f64::INFINITY.copysign(sum) } else { sum }
}

/// What the M1 was seen to do: tiles of four with 12-bit adds, then a single.
fn measured(taps: &[Tap]) -> f64 {
    let mut accumulator = 0.0_f32;
    for tile in taps.chunks(TILE) {
        let products = tile.iter().map(|&tap| product(tap));
        let sum = products.reduce(add_in_twelve_bits).expect("a tile has a tap");
        accumulator = defined(f64::from(accumulator + sum as f32)) as f32;
        accumulator = limit(taps.len(), f64::from(accumulator)) as f32;
    }
    f64::from(accumulator)
}

/// Operand times coefficient, rounded to a half; a denormal one is +0 (numerics 5).
fn product((operand, coefficient): Tap) -> f64 {
    let exact = defined(operand * coefficient);
    flush(if PRODUCT_ROUNDS { round_half(exact) } else { exact })
}

/// A number, or +0 where a half would be denormal.
fn flush(value: f64) -> f64 {
    if value != 0.0 && value.abs() < power_of_two(-14) { 0.0 } else { value }
}

/// One add of the first stage: both operands on the grid of the larger one's exponent, twelve bits (numerics 3).
pub fn add_in_twelve_bits(a: f64, b: f64) -> f64 {
    if a == 0.0 {
        return b;
    }
    if b == 0.0 {
        return a;
    }
    if a.is_infinite() || b.is_infinite() {
        return defined(a + b);
    }
    let grid = exponent_of(a).max(exponent_of(b)) - 11;
    round_to_multiple(a, grid) + round_to_multiple(b, grid)
}

/// Blocks of 32, two chains of fused multiply-adds in each.
fn fast(taps: &[Tap]) -> f32 {
    let mut accumulator = 0.0_f32;
    for block in taps.chunks(BLOCK) {
        let mut chains = [0.0_f32; 2];
        for position in 0..BLOCK {
            let (operand, coefficient) = block.get(position).copied().unwrap_or((0.0, 0.0));
            let chain = &mut chains[position % 2];
            *chain = (flush(operand) as f32).mul_add(flush(coefficient) as f32, *chain);
        }
        accumulator += chains[0] + chains[1];
    }
    accumulator
}

/// The oracle: nothing is rounded that a double can hold.
fn exact(taps: &[Tap]) -> f64 {
    taps.iter().fold(0.0, |sum, &(operand, coefficient)| sum + flush(operand) * flush(coefficient))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ones(values: &[f64]) -> Vec<Tap> {
        values.iter().map(|&value| (value, 1.0)).collect()
    }

    #[test]
    fn twelve_bit_add_rounds_both_operands_to_the_grid_of_the_larger() {
        // On the grid of 4096 a step is 2: one is a tie and goes to the even multiple.
        assert_eq!(add_in_twelve_bits(4096.0, 1.0), 4096.0);
        assert_eq!(add_in_twelve_bits(4096.0, 3.0), 4100.0);
        assert_eq!(add_in_twelve_bits(2048.0, 1.0), 2049.0);
        // The carry stays: thirteen bits.
        assert_eq!(add_in_twelve_bits(4095.0, 4094.0), 8189.0);
    }

    #[test]
    fn zero_aligns_nothing() {
        assert_eq!(add_in_twelve_bits(0.0, 8189.0), 8189.0);
        assert_eq!(add_in_twelve_bits(8189.0, -0.0), 8189.0);
    }

    #[test]
    fn infinity_survives_until_it_meets_its_opposite() {
        let up = f64::INFINITY;
        assert_eq!(add_in_twelve_bits(up, -5.0), up);
        assert_eq!(add_in_twelve_bits(up, -up), 0.0);
        assert_eq!(reduce(Mode::M1, &ones(&[30000.0, 30000.0, 0.0, 0.0, -1.0])), up);
        assert_eq!(reduce(Mode::M1, &ones(&[up, 0.0, 0.0, 0.0, -up, 0.0, 0.0, 0.0, 7.0])), 7.0);
    }

    #[test]
    fn interior_partial_overflows_where_the_other_modes_only_look_at_the_end() {
        let taps = ones(&[30000.0, 5000.0, 0.0, 0.0, -30000.0]);
        assert_eq!(reduce(Mode::M1, &taps), f64::INFINITY);
        assert_eq!(reduce(Mode::Fast, &taps), 5000.0);
        assert_eq!(reduce(Mode::Exact, &taps), 5000.0);
    }

    #[test]
    fn zero_times_infinity_costs_one_product_in_m1_and_the_sum_elsewhere() {
        let taps = [(f64::INFINITY, 0.0), (2.0, 3.0)];
        assert_eq!(reduce(Mode::M1, &taps), 6.0);
        assert_eq!([reduce(Mode::Fast, &taps), reduce(Mode::Exact, &taps)], [0.0, 0.0]);
    }

    #[test]
    fn fast_adds_even_and_odd_positions_apart() {
        // 2^24 and ones: a chain that holds the large one loses each one it meets, the other keeps them.
        let mut values = vec![1.0; 32];
        (values[0], values[1]) = (0.0, 0.0);
        let mut taps = ones(&values);
        taps[0] = (16384.0, 1024.0);
        taps[31] = (-16384.0, 1024.0);
        // Even chain: 2^24 absorbs fifteen ones. Odd chain: fourteen ones first, then -2^24.
        assert_eq!(reduce(Mode::Fast, &taps), 14.0);
        assert_eq!(reduce(Mode::Exact, &taps), 29.0);
    }

    #[test]
    fn product_that_is_denormal_is_zero() {
        let tiny = power_of_two(-15);
        for mode in [Mode::M1, Mode::Fast, Mode::Exact] {
            assert_eq!(reduce(mode, &ones(&[tiny, tiny])), 0.0, "{mode:?}");
        }
        // The operand may be denormal as long as the product is not; the other modes look at the operand.
        assert_eq!(reduce(Mode::M1, &[(tiny, 4.0)]), 4.0 * tiny);
        assert_eq!(reduce(Mode::Exact, &[(tiny, 4.0)]), 0.0);
    }
}
