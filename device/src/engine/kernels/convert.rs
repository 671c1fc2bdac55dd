//! Halves in, halves out: the two ends of a pass.
#![expect(unsafe_code, reason = "reads and writes whole vectors of slices")]

use super::lanes::{LONGEST, Lanes};
use crate::engine::numerics::double::settle;
use crate::engine::numerics::halves;

/// Reads halves as numbers, as many as both slices have; denormal ones as +0 if asked.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
pub(super) unsafe fn widen<V: Lanes>(from: &[u16], flush: bool, to: &mut [f32]) {
    let length = from.len().min(to.len());
    let (from, to) = (&from[..length], &mut to[..length]);
    for (from, to) in from.chunks_exact(V::COUNT).zip(to.chunks_exact_mut(V::COUNT)) {
        // SAFETY: a whole vector of each; the rest as the caller says.
        unsafe { widen_vector::<V>(from.as_ptr(), flush, to.as_mut_ptr()) };
    }
    if length.is_multiple_of(V::COUNT) {
        return;
    }
    if let Some(last) = length.checked_sub(V::COUNT) {
        // Once more, some of those before.
        // SAFETY: a whole vector of each; the rest as the caller says.
        unsafe { widen_vector::<V>(from[last..].as_ptr(), flush, to[last..].as_mut_ptr()) };
    } else {
        let (mut halves, mut numbers) = ([0; LONGEST], [0.0; LONGEST]);
        halves[..length].copy_from_slice(from);
        // SAFETY: the arrays hold a vector of any tier; the rest as the caller says.
        unsafe { widen_vector::<V>(halves.as_ptr(), flush, numbers.as_mut_ptr()) };
        to.copy_from_slice(&numbers[..length]);
    }
}

/// # Safety
///
/// The processor has the unit, and a vector can be read and written.
#[inline(always)]
unsafe fn widen_vector<V: Lanes>(from: *const u16, flush: bool, to: *mut f32) {
    // SAFETY: as the caller says.
    let numbers = unsafe { V::load_halves(from) };
    let numbers = if flush { numbers.flush() } else { numbers };
    // SAFETY: as the caller says.
    unsafe { numbers.store(to) };
}

/// What becomes of the sums of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    /// What the sums have to be multiplied with first, a power of two.
    pub(crate) unscale: f32,
    /// From which magnitude on they are infinite.
    pub(crate) limit: f32,
    /// Is added; -0 cannot come of it, since no sum is -0, so that +0 stands for none.
    pub(crate) bias: f64,
    /// Multiplies.
    pub(crate) post_scale: f64,
}

impl Port {
    /// Whether nothing is added and nothing multiplied, which needs no double precision.
    pub(super) fn is_plain(&self) -> bool {
        self.bias == 0.0 && self.bias.is_sign_negative() && self.post_scale == 1.0
    }
}

/// Turns sums into halves, whole vectors of them, as [`output`](crate::engine::numerics::output) has it.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
pub(super) unsafe fn narrow<V: Lanes>(sums: &[f32], port: &Port, is_plain: bool, to: &mut [u16]) {
    for (sums, to) in sums.chunks_exact(V::COUNT).zip(to.chunks_exact_mut(V::COUNT)) {
        // SAFETY: a whole vector of sums; the rest as the caller says.
        let sums = unsafe { V::load(sums.as_ptr()) };
        let mut rounded = sums.mul(sums.number(port.unscale)).or_zero().limited(sums.number(port.limit));
        if !is_plain {
            let mut numbers = [0.0; LONGEST];
            // SAFETY: the array holds a vector of any tier.
            unsafe { rounded.store(numbers.as_mut_ptr()) };
            for number in &mut numbers {
                let biased = settle(f64::from(*number) + port.bias);
                *number = halves::round_to_odd(settle(biased * port.post_scale));
            }
            // SAFETY: as above.
            rounded = unsafe { V::load(numbers.as_ptr()) };
        }
        // SAFETY: a whole vector of halves.
        unsafe { rounded.store_halves(to.as_mut_ptr()) };
    }
}
