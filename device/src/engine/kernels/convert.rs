//! Halves in, halves out: the two ends of a pass.
#![expect(unsafe_code, reason = "reads and writes whole vectors of slices")]

use super::finish::Port;
use super::lanes::{HALF_DIGIT, LAST_DIGITS, LONGEST, Lanes, SINGLES_HOLD};
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
pub(super) unsafe fn widen_vector<V: Lanes>(from: *const u16, to: *mut f32) {
    // SAFETY: as the caller says.
    let numbers = unsafe { V::load_halves(from) };
    // SAFETY: as the caller says.
    unsafe { numbers.store(to) };
}

/// Sums in units become halves, as [`output`](crate::engine::numerics::output) has it: times a post-scale, and within bounds; as many as
/// both slices have.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
pub(super) unsafe fn narrow<V: Lanes>(units: &[i32], port: Port, to: &mut [u16]) {
    let Port { factor, bounds, .. } = port;
    if factor == 1.0 {
        let length = units.len().min(to.len()) / V::COUNT * V::COUNT;
        let (units, few_units) = units.split_at(length);
        let (to, few) = to.split_at_mut(length);
        for (units, to) in units.chunks_exact(V::COUNT).zip(to.chunks_exact_mut(V::COUNT)) {
            // SAFETY: a whole vector of each; the rest as the caller says.
            unsafe { V::narrow(units.as_ptr(), bounds, to.as_mut_ptr()) };
        }
        for (to, &units) in few.iter_mut().zip(few_units) {
            *to = bounds.of(rounded(units));
        }
    } else {
        let scale = f64::from(UNIT) * factor;
        for (to, &units) in to.iter_mut().zip(units) {
            let half = encode(settle(f64::from(units) * scale));
            // Zero has no sign here.
            *to = bounds.of(if half == SIGN { 0 } else { half });
        }
    }
}

/// So many units as a half, half away from zero.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a half has sixteen bits")]
pub(super) fn rounded(units: i32) -> u16 {
    let magnitude = units.unsigned_abs();
    // A single takes 24 digits, and those behind the twelfth make no difference to a half.
    let is_large = magnitude > SINGLES_HOLD.unsigned_abs();
    let cut = if is_large { magnitude & !LAST_DIGITS.unsigned_abs() } else { magnitude };
    let single = cut.cast_signed() as f32 * UNIT;
    let normal = single.to_bits().wrapping_add(HALF_DIGIT.unsigned_abs()).wrapping_sub(112 << 23) >> 13;
    // Below 2^-14, four units, a unit is 2^8 times the smallest half.
    let half = if magnitude < 4 { magnitude << 8 } else { normal };
    let sign = units.cast_unsigned() >> 16 & 0x8000;
    (sign | half) as u16
}

#[cfg(test)]
mod tests {
    use super::super::{Finish, Pixels, Port, Tier, Window};
    use super::*;
    use crate::engine::numerics::bounds::Bounds;
    use crate::engine::numerics::{halves, output, sum};

    #[test]
    fn units_become_the_halves_of_the_output_port() {
        let near = (0..31).flat_map(|digit| (-40..40).map(move |more| (1i32 << digit) + more));
        let spread = (0..1_000_000u32).map(|i| i.wrapping_mul(0x9e37_79b9).cast_signed());
        for units in near.chain(spread).filter(|&units| units > i32::MIN) {
            let of = |post_scale| output::of(sum::in_units(i64::from(units)), post_scale);
            assert_eq!(rounded(units), of(halves::ONE), "{units}");
            for post_scale in [0x3a00u16, 0xc123, 0x0001, 0x7bff, 0x7c00, 0x8000] {
                let finished = finished(Tier::Portable, &[units], post_scale, Bounds::NONE);
                assert_eq!(finished, [of(post_scale)], "{units}");
            }
        }
    }

    /// Units of one row, as a tier turns them into halves.
    fn finished(tier: Tier, units: &[i32], post_scale: u16, bounds: Bounds) -> Vec<u16> {
        let mut output = vec![0; units.len()];
        tier.code().finish(&mut Finish {
            sums: units,
            fates: &[],
            columns: units.len(),
            port: Port { post_scale, factor: f64::from(halves::value(post_scale)), bounds },
            channels: 0..1,
            pixels: &[Pixels { columns: 0..units.len(), first: 0 }],
            halves: &mut Vec::new(),
            window: &mut Window::new(&mut output, units.len()),
        });
        output
    }

    #[test]
    fn every_tier_rounds_units_alike_where_all_of_a_vector_are_small_and_where_one_is_not() {
        let small = (0..1 << 20).map(|i: i32| i.wrapping_mul(0x9e37_79b9_u32.cast_signed()) >> 7);
        let powers = (0..24).flat_map(|digit| (-40..40).map(move |more| (1i32 << digit) + more));
        let units: Vec<i32> = small.chain(powers.clone()).chain(powers.map(|units| -units)).collect();
        let with_large: Vec<i32> = units
            .iter()
            .enumerate()
            .map(|(i, &units)| if i % 8 == 3 { units << 7 | 0x41 } else { units })
            .collect();
        for tier in Tier::ALL.into_iter().filter(|tier| tier.is_available()) {
            for units in [&units[..], &with_large, &[i32::MIN + 1; 37], &units[..5]] {
                for bounds in [Bounds::NONE, Bounds::RELU, Bounds { low: 0x3800, high: 0x4600 }] {
                    let expected: Vec<u16> = units.iter().map(|&units| bounds.of(rounded(units))).collect();
                    assert!(finished(tier, units, halves::ONE, bounds) == expected, "{}", tier.name());
                }
            }
        }
    }
}
