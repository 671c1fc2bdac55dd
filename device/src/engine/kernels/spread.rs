//! A channel on its way into its plane: widened, between zeros, and dealt out to phases.
//!
//! A plane is small and there are many of them, so that all of its rows are written in one call.
#![expect(unsafe_code, reason = "whole vectors of rows that have them")]

use std::ops::Range;

use super::convert;
use super::lanes::{LONGEST, Lanes};

/// A channel, and the plane that it becomes (see `madd/planes.rs`).
#[derive(Debug)]
pub(crate) struct Spread<'a> {
    /// Rows and columns of the channel, and behind them whatever there is.
    pub(crate) channel: &'a [u16],
    pub(crate) extents: (usize, usize),
    /// Rows and columns of zeros before them.
    pub(crate) pads: (usize, usize),
    /// Rows and columns from one of a phase to the next.
    pub(crate) steps: (usize, usize),
    /// Phases by row and by column.
    pub(crate) phases: (usize, usize),
    /// Rows and columns of a phase.
    pub(crate) phase: (usize, usize),
    /// The rows that come now, zeros included.
    pub(crate) lines: Range<usize>,
    /// The plane, which is zero.
    pub(crate) plane: &'a mut [f32],
    /// Room for a row, where columns are dealt out.
    pub(crate) row: &'a mut Vec<f32>,
}

/// Writes rows of a plane.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes>(spread: &mut Spread<'_>) {
    let Spread { channel, extents: (height, width), pads, steps, phases, phase, .. } = *spread;
    let have = (phase.1 * steps.1).saturating_sub(pads.1).min(width);
    let lines = spread.lines.clone().filter(|line| line % steps.0 < phases.0);
    for (line, y) in lines.filter_map(|line| Some((line, line.checked_sub(pads.0)?))) {
        if y >= height {
            return;
        }
        let from = &channel[y * width..];
        let first = (line % steps.0 * phases.1 * phase.0 + line / steps.0) * phase.1;
        if steps.1 == 1 {
            // SAFETY: as the caller says.
            unsafe { few::<V>(from, &mut spread.plane[first + pads.1.min(phase.1)..][..have]) };
            continue;
        }
        spread.row.resize(have.next_multiple_of(steps.1), 0.0);
        // SAFETY: as the caller says.
        unsafe { convert::widen::<V>(&from[..have], &mut spread.row[..have]) };
        for number in 0..phases.1 {
            // The first column of the channel that belongs to this phase.
            let skipped = (number + steps.1 - pads.1 % steps.1) % steps.1;
            let to = first + number * phase.0 * phase.1 + (skipped + pads.1) / steps.1;
            let count = have.saturating_sub(skipped).div_ceil(steps.1);
            let to = spread.plane.get_mut(to..to + count).unwrap_or_default();
            every(&spread.row[..], steps.1, skipped, to);
        }
    }
}

/// Widens a row, a vector at a time; the last one in part.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
unsafe fn few<V: Lanes>(from: &[u16], to: &mut [f32]) {
    let whole = to.len() / V::COUNT * V::COUNT;
    let (many, to) = to.split_at_mut(whole);
    for (from, to) in from.chunks_exact(V::COUNT).zip(many.chunks_exact_mut(V::COUNT)) {
        // SAFETY: a whole vector of each; the rest as the caller says.
        unsafe { convert::widen_vector::<V>(from.as_ptr(), to.as_mut_ptr()) };
    }
    if to.is_empty() {
        return;
    }
    let mut last = [0; LONGEST];
    let from = &from[whole..];
    let halves = from.get(..V::COUNT).unwrap_or_else(|| {
        last[..from.len()].copy_from_slice(from);
        &last
    });
    // SAFETY: there are halves of a vector; the rest as the caller says.
    let numbers = unsafe { V::load_halves(halves.as_ptr()) };
    // SAFETY: so many numbers can be written.
    unsafe { numbers.store_some(to.as_mut_ptr(), (1 << to.len()) - 1) };
}

/// Every so many numbers, from some place on that is before the second of them.
#[inline(always)]
fn every(from: &[f32], step: usize, first: usize, to: &mut [f32]) {
    let to = to.iter_mut();
    match step {
        // Known strides become vector instructions.
        2 => to.zip(from.as_chunks::<2>().0).for_each(|(to, from)| *to = from[first]),
        3 => to.zip(from.as_chunks::<3>().0).for_each(|(to, from)| *to = from[first]),
        _ => to.zip(from.chunks_exact(step)).for_each(|(to, from)| *to = from[first]),
    }
}
