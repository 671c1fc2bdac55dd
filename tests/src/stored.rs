//! How a store rounds, for tests that compute what they expect.

use half::f16;

/// The half nearest to a number that a single holds with a bit to spare; a tie goes away from zero.
///
/// The last bit of the single, set, takes an exact tie up and moves nothing else.
pub fn stored(number: f64) -> f16 {
    f16::from_f32(f32::from_bits((number as f32).to_bits() | 1))
}
