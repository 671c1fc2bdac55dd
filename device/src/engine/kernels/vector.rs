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
    /// Coefficients, `[tap][lane]`, from the first lane that is wanted on.
    pub(crate) coefficients: &'a [u16],
    /// Lanes of a tap.
    pub(crate) lanes: usize,
    /// Operands with the last digit set.
    pub(crate) operands: &'a [f32],
    /// From which magnitude of its coefficient on a tap counts; empty if each does.
    pub(crate) least: &'a [f32],
    /// Sums in units, one vector of them.
    pub(crate) sums: &'a mut [i32],
}

/// Adds the taps, whose magnitudes add up to less than 64.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
pub(super) unsafe fn run<V: Fused>(stream: &mut Stream<'_>) {
    if stream.least.is_empty() {
        // SAFETY: as the caller says.
        unsafe { all::<V, false>(stream) }
    } else {
        // SAFETY: as the caller says.
        unsafe { all::<V, true>(stream) }
    }
}

/// # Safety
///
/// As for [`run`].
#[inline(always)]
unsafe fn all<V: Fused, const DROPS: bool>(stream: &mut Stream<'_>) {
    let Stream { coefficients, lanes, operands, least, ref mut sums } = *stream;
    let Some(last) = operands.len().checked_sub(1) else { return };
    assert!(coefficients.len() >= last * lanes + V::COUNT, "coefficients of all taps are there");
    assert!(!DROPS || least.len() == operands.len(), "each tap has its least coefficient");
    // SAFETY: as the caller says.
    let mut chains = [unsafe { V::splat(ANCHOR) }; CHAINS];
    let mut from = coefficients.as_ptr();
    let mut tap = |chain: &mut V, at: usize| {
        // SAFETY: there are coefficients of all taps.
        let coefficient = unsafe { V::load_halves(from) };
        from = from.wrapping_add(lanes);
        // SAFETY: as the caller says.
        let operand = unsafe { V::splat(operands[at]) };
        if DROPS {
            // SAFETY: as the caller says.
            let least = unsafe { V::splat(least[at]) };
            *chain = chain.plus_kept(coefficient, operand, coefficient.magnitude(), least);
        } else {
            *chain = chain.plus_product(coefficient, operand);
        }
    };
    let whole = operands.len() / CHAINS * CHAINS;
    for first in (0..whole).step_by(CHAINS) {
        for (i, chain) in chains.iter_mut().enumerate() {
            tap(chain, first + i);
        }
    }
    for at in whole..operands.len() {
        tap(&mut chains[0], at);
    }
    let to = sums[..V::COUNT].as_mut_ptr();
    for chain in chains {
        // SAFETY: the slice has a vector.
        unsafe { chain.add_units(to) };
    }
}
