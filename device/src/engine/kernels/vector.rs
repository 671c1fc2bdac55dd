//! A matrix times a vector: coefficients that are used once.
//!
//! Where an output channel has one pixel, nothing is gained by packing coefficients. They are read where they are, as halves,
//! `[tap][lane]`: a vector holds those of neighbouring outputs, and the operand is the same number for all of them. It
//! is the operand then whose last digit is set, which does as well. There are several chains of sums, because an
//! addition waits for the one before it.
#![expect(unsafe_code, reason = "vectors are read from slices and written to them")]

use super::lanes::{ANCHOR, Fused};

/// Chains of sums.
const CHAINS: usize = 4;

/// Some taps of neighbouring outputs.
#[derive(Debug)]
pub(crate) struct Stream<'a> {
    /// Coefficients, `[tap][lane]`, from the first lane that is wanted on. Their exponent fields are below 31.
    pub(crate) coefficients: &'a [u16],
    /// Lanes of a tap.
    pub(crate) lanes: usize,
    /// Operands with the last digit set.
    pub(crate) operands: &'a [f32],
    /// The taps whose products may be dropped.
    pub(crate) dropped: &'a [Tap],
    /// Sums in units, one vector of them.
    pub(crate) sums: &'a mut [i32],
}

/// A tap whose operand is so small that products of it may be dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tap {
    /// Among those that are added together.
    pub(crate) number: usize,
    /// The largest magnitude of a coefficient with which its product is dropped.
    pub(crate) most: f32,
}

/// Adds the taps, whose magnitudes add up to less than 64.
///
/// All products are added first, as if none was dropped, and what is too much is taken off: few operands are so small that
/// products of theirs are to be looked at.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
pub(super) unsafe fn run<V: Fused>(stream: &mut Stream<'_>) {
    let Stream { coefficients, lanes, operands, dropped, ref mut sums } = *stream;
    let Some(last) = operands.len().checked_sub(1) else { return };
    assert!(coefficients.len() >= last * lanes + V::COUNT, "coefficients of all taps are there");
    let mut from = coefficients.as_ptr();
    // SAFETY: as the caller says.
    let mut chains = [unsafe { V::splat(ANCHOR) }; CHAINS];
    let (many, few) = operands.as_chunks::<CHAINS>();
    for operands in many {
        for (chain, &operand) in chains.iter_mut().zip(operands) {
            // SAFETY: there are coefficients of all taps.
            *chain = unsafe { added(*chain, from, operand) };
            from = from.wrapping_add(lanes);
        }
    }
    for (chain, &operand) in chains.iter_mut().zip(few) {
        // SAFETY: as above.
        *chain = unsafe { added(*chain, from, operand) };
        from = from.wrapping_add(lanes);
    }
    for &Tap { number, most } in dropped {
        let from = coefficients[number * lanes..][..V::COUNT].as_ptr();
        // SAFETY: the slice has a vector.
        let coefficient = unsafe { V::load_ordinary(from) };
        // SAFETY: as the caller says.
        let operand = unsafe { V::splat(operands[number]) };
        // SAFETY: as the caller says.
        let most = unsafe { V::splat(most) };
        let chain = &mut chains[number % CHAINS];
        *chain = chain.less_upto(coefficient, operand, most);
    }
    let to = sums[..V::COUNT].as_mut_ptr();
    for chain in chains {
        // SAFETY: the slice has a vector.
        unsafe { chain.add_units(to) };
    }
}

/// A sum, and the product of a tap.
///
/// A function rather than a closure: a closure that is not inlined is compiled without the unit, and each instruction
/// becomes a call.
///
/// # Safety
///
/// The processor has the unit, and a vector of coefficients can be read.
#[inline(always)]
unsafe fn added<V: Fused>(sum: V, coefficients: *const u16, operand: f32) -> V {
    // SAFETY: as the caller says.
    let coefficients = unsafe { V::load_ordinary(coefficients) };
    // SAFETY: as the caller says.
    let operand = unsafe { V::splat(operand) };
    sum.plus_product(coefficients, operand)
}
