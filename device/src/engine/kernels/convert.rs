//! Halves in, halves out: the two ends of a pass.
#![expect(unsafe_code, reason = "reads and writes whole vectors of slices")]

use super::lanes::{LONGEST, Lanes};
use crate::engine::numerics::double::{encode, settle};
use crate::engine::numerics::halves::SIGN;
use crate::engine::numerics::product::UNIT;

/// Reads halves as the array does, as many as both slices have.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
pub(super) unsafe fn widen<V: Lanes>(from: &[u16], to: &mut [f32]) {
    let length = from.len().min(to.len());
    let (from, to) = (&from[..length], &mut to[..length]);
    for (from, to) in from.chunks_exact(V::COUNT).zip(to.chunks_exact_mut(V::COUNT)) {
        // SAFETY: a whole vector of each; the rest as the caller says.
        unsafe { widen_vector::<V>(from.as_ptr(), to.as_mut_ptr()) };
    }
    if length.is_multiple_of(V::COUNT) {
        return;
    }
    if let Some(last) = length.checked_sub(V::COUNT) {
        // Once more, some of those before.
        // SAFETY: a whole vector of each; the rest as the caller says.
        unsafe { widen_vector::<V>(from[last..].as_ptr(), to[last..].as_mut_ptr()) };
    } else {
        let (mut halves, mut numbers) = ([0; LONGEST], [0.0; LONGEST]);
        halves[..length].copy_from_slice(from);
        // SAFETY: the arrays hold a vector of any tier; the rest as the caller says.
        unsafe { widen_vector::<V>(halves.as_ptr(), numbers.as_mut_ptr()) };
        to.copy_from_slice(&numbers[..length]);
    }
}

/// # Safety
///
/// The processor has the unit, and a vector can be read and written.
#[inline(always)]
unsafe fn widen_vector<V: Lanes>(from: *const u16, to: *mut f32) {
    // SAFETY: as the caller says.
    let numbers = unsafe { V::load_halves(from) };
    // SAFETY: as the caller says.
    unsafe { numbers.store(to) };
}

/// Sums in units become halves, as [`output`](crate::engine::numerics::output) has it, times a post-scale.
#[inline(always)]
pub(super) fn narrow(units: &[i32], post_scale: f64, to: &mut [u16]) {
    if post_scale == 1.0 {
        for (to, &units) in to.iter_mut().zip(units) {
            *to = rounded(units);
        }
    } else {
        let scale = f64::from(UNIT) * post_scale;
        for (to, &units) in to.iter_mut().zip(units) {
            let half = encode(settle(f64::from(units) * scale));
            // Zero has no sign here.
            *to = if half == SIGN { 0 } else { half };
        }
    }
}

/// So many units as a half, half away from zero.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a half has sixteen bits")]
fn rounded(units: i32) -> u16 {
    let magnitude = units.unsigned_abs();
    // A single takes 24 digits, and those behind the twelfth make no difference to a half.
    let cut = if magnitude >= 1 << 24 { magnitude & !0x7f } else { magnitude };
    let single = cut.cast_signed() as f32 * UNIT;
    let normal = single.to_bits().wrapping_add(0x1000).wrapping_sub(112 << 23) >> 13;
    // Below 2^-14, four units, a unit is 2^8 times the smallest half.
    let half = if magnitude < 4 { magnitude << 8 } else { normal };
    let sign = units.cast_unsigned() >> 16 & 0x8000;
    (sign | half) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::numerics::{halves, output, sum};

    #[test]
    fn units_become_the_halves_of_the_output_port() {
        let near = (0..31).flat_map(|digit| (-40..40).map(move |more| (1i32 << digit) + more));
        let spread = (0..1_000_000u32).map(|i| i.wrapping_mul(0x9e37_79b9).cast_signed());
        for units in near.chain(spread).filter(|&units| units > i32::MIN) {
            let expected = output::of(sum::in_units(i64::from(units)), halves::ONE);
            assert_eq!(rounded(units), expected, "{units}");
            let mut scaled = [0];
            for post_scale in [0x3a00u16, 0xc123, 0x0001, 0x7bff, 0x7c00, 0x8000] {
                narrow(&[units], f64::from(halves::value(post_scale)), &mut scaled);
                assert_eq!(scaled[0], output::of(sum::in_units(i64::from(units)), post_scale), "{units}");
            }
        }
    }
}
