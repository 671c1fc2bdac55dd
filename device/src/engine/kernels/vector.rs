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
    let mut taps =
        Taps { from: coefficients.as_ptr(), lanes, operands: operands.iter(), least: least.iter() };
    // SAFETY: as the caller says.
    let mut chains = [unsafe { V::splat(ANCHOR) }; CHAINS];
    for _ in 0..operands.len() / CHAINS {
        for chain in &mut chains {
            // SAFETY: there are coefficients of all taps.
            *chain = unsafe { taps.added::<V, DROPS>(*chain) };
        }
    }
    for _ in 0..operands.len() % CHAINS {
        // SAFETY: as above.
        chains[0] = unsafe { taps.added::<V, DROPS>(chains[0]) };
    }
    let to = sums[..V::COUNT].as_mut_ptr();
    for chain in chains {
        // SAFETY: the slice has a vector.
        unsafe { chain.add_units(to) };
    }
}

/// The taps that are still to be added.
struct Taps<'a> {
    from: *const u16,
    lanes: usize,
    operands: std::slice::Iter<'a, f32>,
    least: std::slice::Iter<'a, f32>,
}

impl Taps<'_> {
    /// A sum, and the product of the next tap.
    ///
    /// A method rather than a closure: a closure that is not inlined is compiled without the unit, and each instruction
    /// becomes a call.
    ///
    /// # Safety
    ///
    /// The processor has the unit, and a vector of coefficients can be read.
    #[inline(always)]
    unsafe fn added<V: Fused, const DROPS: bool>(&mut self, sum: V) -> V {
        // SAFETY: as the caller says.
        let coefficient = unsafe { V::load_halves(self.from) };
        self.from = self.from.wrapping_add(self.lanes);
        // SAFETY: as the caller says.
        let operand = unsafe { V::splat(self.operands.next().copied().unwrap_or_default()) };
        if DROPS {
            // SAFETY: as the caller says.
            let least = unsafe { V::splat(self.least.next().copied().unwrap_or_default()) };
            sum.plus_kept(coefficient, operand, coefficient.magnitude(), least)
        } else {
            sum.plus_product(coefficient, operand)
        }
    }
}
