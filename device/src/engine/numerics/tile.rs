//! The narrow adder: what happens to the four products of a tile.
//!
//! The adder aligns both operands to the larger one and keeps twelve digits, one more than fp16 has. That is
//! the least that reproduces every published probe (numerics 2, 3).

use super::halves;

/// Taps that are added before the accumulator sees them.
pub const TAPS: usize = 4;
/// Digits behind the leading one that the adder keeps of the larger operand.
const FRACTION_BITS: i32 = 11;

/// The 12-bit add.
///
/// Both operands are rounded to the grid of the larger one, ties to even, and the sum is exact: it may have a
/// thirteenth digit, which stays until the next add. A zero aligns nothing (chosen). Zeros keep no sign worth
/// speaking of: the accumulator starts at +0, and no sum that it takes part in is -0.
#[must_use]
pub fn add(a: f32, b: f32) -> f32 {
    if a == 0.0 {
        return b;
    }
    if b == 0.0 {
        return a;
    }
    if a.is_infinite() || b.is_infinite() {
        return halves::or_zero(a + b);
    }
    let grid = grid(a.abs().max(b.abs()));
    let aligned = |operand: f32| (operand / grid).round_ties_even() * grid;
    aligned(a) + aligned(b)
}

/// The value of the last of twelve digits of `magnitude`, which is a normal single.
fn grid(magnitude: f32) -> f32 {
    const EXPONENT: u32 = 0x7f80_0000;
    let power = f32::from_bits(magnitude.to_bits() & EXPONENT);
    power / 2f32.powi(FRACTION_BITS)
}

/// The sum of a tile: its first product, and the others added in order.
#[must_use]
pub fn sum(products: impl IntoIterator<Item = f32>) -> f32 {
    products.into_iter().reduce(add).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_operand_is_rounded_to_the_grid_of_the_larger() {
        // At 4096 the grid is 2: one is a tie and goes to zero, three to four.
        assert_eq!(add(4096.0, 1.0), 4096.0);
        assert_eq!(add(4096.0, 3.0), 4100.0);
        assert_eq!(add(-4094.0, 1.0), -4093.0);
    }

    #[test]
    fn carry_stays_until_the_next_add_rounds_it() {
        let carried = add(4095.0, 4094.0);
        assert_eq!(carried, 8189.0);
        assert_eq!(add(carried, 0.0), 8189.0);
        // Grid 2: 8189 is a tie between 8188 and 8190 and goes to the even multiple.
        assert_eq!(add(carried, 2.0), 8190.0);
    }

    #[test]
    fn opposite_infinities_give_positive_zero() {
        assert_eq!(add(f32::INFINITY, f32::NEG_INFINITY).to_bits(), 0);
        assert_eq!(add(f32::NEG_INFINITY, 1.0), f32::NEG_INFINITY);
    }
}
