//! Eight lanes for any processor: plain arithmetic, in a form that compilers turn into whatever vectors there are.
//!
//! Not every processor multiplies and adds with one rounding, and where none does it would take a function of some
//! hundred instructions. Doubles do without: a product of two halves, with one more digit for the ties, is exact in them.
#![expect(unsafe_code, reason = "reading and writing by pointer, as the other tiers do")]

use std::array;

use super::convert::rounded;
use super::lanes::{Doubles, Lanes};
use crate::engine::numerics::bounds::Bounds;

/// Eight singles.
#[derive(Clone, Copy)]
pub(super) struct Portable([f32; 8]);

#[derive(Clone, Copy)]
pub(super) struct PortableDoubles([f64; 4]);

/// A half as the array reads it.
#[inline(always)]
fn widened(half: u16) -> f32 {
    let magnitude = u32::from(half & 0x7fff) << 13;
    let number = if half & 0x7c00 == 0 {
        // The leading digit that a subnormal number does not have is taken away again.
        (f32::from_bits(magnitude + (113 << 23)) - f32::from_bits(113 << 23)).to_bits()
    } else {
        magnitude + (112 << 23)
    };
    f32::from_bits(number | u32::from(half & 0x8000) << 16)
}

impl Lanes for Portable {
    const COUNT: usize = 8;

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: eight numbers can be read, as the caller says.
        Self(unsafe { from.cast::<[f32; 8]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn load_halves(from: *const u16) -> Self {
        // SAFETY: eight halves can be read, as the caller says.
        Self(unsafe { from.cast::<[u16; 8]>().read_unaligned() }.map(widened))
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: eight numbers can be written, as the caller says.
        unsafe { to.cast::<[f32; 8]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn narrow(units: *const i32, bounds: Bounds, to: *mut u16) {
        // SAFETY: eight numbers can be read, as the caller says.
        let units = unsafe { units.cast::<[i32; 8]>().read_unaligned() };
        // SAFETY: eight halves can be written, as the caller says.
        unsafe { to.cast::<[u16; 8]>().write_unaligned(units.map(|units| bounds.of(rounded(units)))) }
    }

    #[inline(always)]
    fn odd(self) -> Self {
        Self(self.0.map(|number| f32::from_bits(number.to_bits() | u32::from(number != 0.0))))
    }
}

impl PortableDoubles {
    #[inline(always)]
    fn both(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        // Both arrays are as long as the new one.
        Self(array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

impl Doubles for PortableDoubles {
    const COUNT: usize = 4;

    #[inline(always)]
    unsafe fn splat(number: f64) -> Self {
        Self([number; 4])
    }

    #[inline(always)]
    unsafe fn widen(from: *const f32) -> Self {
        // SAFETY: four numbers can be read, as the caller says.
        Self(unsafe { from.cast::<[f32; 4]>().read_unaligned() }.map(f64::from))
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: four numbers can be written, as the caller says.
        unsafe { to.cast::<[f64; 4]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    fn plus_product(self, a: Self, b: Self) -> Self {
        self.both(a.both(b, |a, b| a * b), |sum, product| sum + product)
    }

    #[inline(always)]
    fn plus_kept(self, a: Self, b: Self, magnitude: Self, least: Self) -> Self {
        let kept = magnitude.both(least, |magnitude, least| if magnitude >= least { 1.0 } else { 0.0 });
        self.plus_product(a.both(kept, |a, kept| a * kept), b)
    }

    #[inline(always)]
    fn magnitude(self) -> Self {
        Self(self.0.map(f64::abs))
    }

    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        self.both(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    unsafe fn above(anchor: u64, units: *const i32) -> Self {
        // SAFETY: four numbers can be read, as the caller says.
        let units = unsafe { units.cast::<[i32; 4]>().read_unaligned() };
        Self(units.map(|units| f64::from_bits(anchor.wrapping_add_signed(i64::from(units)))))
    }
}
