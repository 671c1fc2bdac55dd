//! The narrow arithmetic of `m1` by means of singles: products of eleven digits, sums of twelve.
//!
//! A single rounds to its own 24 digits, and to fewer where a much larger number of the right size, the *guide*, is added
//! and taken away again. What is the right size follows from the exponent, and there are two places where that is not all:
//!
//! * A product below 2^-14 rounds as a denormal half does, on the grid of the products just above, and becomes zero unless
//!   it rounds up to 2^-14. From 2^-14 (1 - 2^-11) on it does.
//! * The next product is added to a sum as it is if it is zero; every other product has the sum rounded to twelve digits.
//!
//! Both are settled by the guide at no cost. It is made from the product's magnitude and a little more: 2^-25, so that
//! exactly the products that survive come to 2^-14 or more. Below each larger power of two that is half of a last digit at
//! most, so that a product that it lifts to the power rounds up to it anyhow. Scaled by 2^15, what survives has an exponent
//! that begins with the bits 100, and all else one that begins with 011, as the little more is 2^-10 then. With these bits
//! turned over, the guide of what survives is of the right size, and that of all else so large that nothing is left of
//! the product. One of the bits, as a gate, makes the power of two of the next add small enough to do nothing.
//!
//! A tile costs 31 operations on vectors. Four to a product: the guide (two), the rounding (two). Four for the second
//! add, five for a later one: the larger magnitude, its power of two, both operands aligned, their sum. One for the sum
//! of the tiles.

use super::lanes::{EXPONENT, Lanes};

/// What coefficients are scaled by, and with them products and sums. A product's guide is 2^13 times the product, and that
/// of 2^-14, the smallest product that survives, has the exponent whose bits begin with 011: 2^-31.
pub(crate) const SCALE: f32 = power(-30);
/// What magnitudes of coefficients are larger than scaled coefficients by: unscaled they are 2^15 times as large as they
/// say they are.
pub(crate) const MAGNITUDE: f32 = power(45);

/// What makes a product survive that rounds up to 2^-14, times 2^15.
const LITTLE: f32 = power(-10);
/// Turns the highest bits of the exponent over, and makes one and a half of one: far from either power of two, whatever
/// is added to a guide stays between them.
const FLIPPED: u32 = 0x7040_0000;
/// Times a number of eleven digits, this is one whose last digit is that of twelve digits of the number, and it remains so
/// whatever of a smaller magnitude is added.
const ALIGN_ELEVEN: f32 = 4097.0;
/// The same for a power of two, or one and a half times one, and magnitudes below the next.
const ALIGN: f32 = 5120.0;

/// Two to the power of a small exponent.
const fn power(exponent: i8) -> f32 {
    f32::from_bits(((127 + exponent as i32) as u32) << 23)
}

/// Operands, and their magnitudes.
#[derive(Clone, Copy)]
pub(super) struct Operand<V> {
    number: V,
    magnitude: V,
}

impl<V: Lanes> Operand<V> {
    #[inline(always)]
    pub(super) fn new(number: V) -> Self {
        Self { number, magnitude: number.magnitude() }
    }

    /// The products with coefficients, rounded and flushed as [`product`](crate::engine::numerics::product) has it.
    #[inline(always)]
    pub(super) fn times(self, coefficient: V, magnitude: V) -> Product<V> {
        let little = magnitude.number(LITTLE);
        let guide = little.plus_product(self.magnitude, magnitude).masked(EXPONENT, FLIPPED);
        Product { rounded: guide.plus_product(self.number, coefficient).sub(guide), guide }
    }
}

/// Products as the narrow adder takes them.
#[derive(Clone, Copy)]
pub(super) struct Product<V> {
    rounded: V,
    guide: V,
}

impl<V: Lanes> Product<V> {
    /// What a tile starts with.
    #[inline(always)]
    pub(super) fn first(self) -> V {
        self.rounded
    }

    /// The 12-bit add of the second product to the first, which has eleven digits as well.
    #[inline(always)]
    pub(super) fn add_second(sum: V, product: Self) -> V {
        let larger = sum.peak(product.rounded);
        Self::aligned(sum, product, larger, larger.number(ALIGN_ELEVEN))
    }

    /// The 12-bit add of a later product to a sum.
    #[inline(always)]
    pub(super) fn add_later(sum: V, product: Self) -> V {
        let power = sum.larger_power(product.rounded, product.guide);
        Self::aligned(sum, product, power, power.number(ALIGN))
    }

    #[inline(always)]
    fn aligned(sum: V, product: Self, larger: V, align: V) -> V {
        sum.plus_product(larger, align).add(product.rounded.minus_product(larger, align))
    }
}
