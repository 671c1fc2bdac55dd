//! Eight lanes for any processor: plain arithmetic, in a form that compilers turn into whatever vectors there are.
#![expect(unsafe_code, reason = "reading and writing by pointer, as the other tiers do")]

use std::array;

use half::f16;

use super::lanes::{Lanes, POWER};
use crate::engine::numerics::halves;

/// Eight numbers.
#[derive(Clone, Copy)]
pub(super) struct Portable([f32; 8]);

impl Portable {
    #[inline(always)]
    fn each(self, f: impl Fn(f32) -> f32) -> Self {
        Self(self.0.map(f))
    }

    #[inline(always)]
    fn both(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        // Both arrays are as long as the new one.
        Self(array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

impl Lanes for Portable {
    const COUNT: usize = 8;

    #[inline(always)]
    unsafe fn splat(number: f32) -> Self {
        Self([number; 8])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: eight numbers can be read, as the caller says.
        Self(unsafe { from.cast::<[f32; 8]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn load_halves(from: *const u16) -> Self {
        // SAFETY: eight halves can be read, as the caller says.
        Self(unsafe { from.cast::<[u16; 8]>().read_unaligned() }.map(halves::value))
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: eight numbers can be written, as the caller says.
        unsafe { to.cast::<[f32; 8]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn store_halves(self, to: *mut u16) {
        let halves = self.0.map(|number| f16::from_f32(number).to_bits());
        // SAFETY: eight halves can be written, as the caller says.
        unsafe { to.cast::<[u16; 8]>().write_unaligned(halves) }
    }

    #[inline(always)]
    fn number(self, number: f32) -> Self {
        Self([number; 8])
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.both(other, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.both(other, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.both(other, |a, b| a * b)
    }

    #[inline(always)]
    fn plus_product(self, a: Self, b: Self) -> Self {
        self.add(a.mul(b))
    }

    #[inline(always)]
    fn minus_product(self, a: Self, b: Self) -> Self {
        self.sub(a.mul(b))
    }

    #[inline(always)]
    fn peak(self, other: Self) -> Self {
        self.both(other, |a, b| if b.abs() > a.abs() { b.abs() } else { a.abs() })
    }

    #[inline(always)]
    fn flush(self) -> Self {
        self.each(halves::flush)
    }

    #[inline(always)]
    fn or_zero(self) -> Self {
        self.each(halves::or_zero)
    }

    #[inline(always)]
    fn limited(self, limit: Self) -> Self {
        self.both(
            limit,
            |number, limit| {
                if number.abs() >= limit { f32::INFINITY.copysign(number) } else { number }
            },
        )
    }

    #[inline(always)]
    fn magnitude(self) -> Self {
        self.each(f32::abs)
    }

    #[inline(always)]
    fn masked(self, mask: u32, flipped: u32) -> Self {
        self.each(|number| f32::from_bits(number.to_bits() & mask ^ flipped))
    }

    #[inline(always)]
    fn larger_power(self, other: Self, gate: Self) -> Self {
        self.peak(other)
            .both(gate, |larger, gate| f32::from_bits(larger.to_bits() & (gate.to_bits() | POWER)))
    }
}
