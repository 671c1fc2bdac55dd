//! The end of a block: sums become halves, where the output wants them.
//!
//! It comes right behind a block's last tap, while the sums are in the first cache, for all rows of the block at once.
#![expect(unsafe_code, reason = "vectors are written to slices")]

use std::ops::Range;

use super::convert;
use super::lanes::Lanes;
use super::window::Window;
use crate::engine::numerics::bounds::Bounds;
use crate::engine::numerics::{output, sum};

/// Columns of a block that are neighbouring pixels of an output row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pixels {
    /// Columns of the block.
    pub(crate) columns: Range<usize>,
    /// The first of them, as a pixel of its channel.
    pub(crate) first: usize,
}

/// The scale and the bounds of results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    pub(crate) post_scale: u16,
    /// The same as a number.
    pub(crate) factor: f64,
    /// Within which the results are kept.
    pub(crate) bounds: Bounds,
}

/// Sums of a block at their end, and where they go.
#[derive(Debug)]
pub(crate) struct Finish<'a, 'w> {
    /// `[row][column]`, in units.
    pub(crate) sums: &'a [i32],
    /// The signs of those that are infinite, and zero for the others; empty if none is.
    pub(crate) fates: &'a [i32],
    /// Columns of a row.
    pub(crate) columns: usize,
    /// The scale and the bounds of their results.
    pub(crate) port: Port,
    /// Channels of the rows, from the first on; rows beyond them belong to no channel.
    pub(crate) channels: Range<usize>,
    /// The columns that are pixels.
    pub(crate) pixels: &'a [Pixels],
    /// Room for the halves of a row.
    pub(crate) halves: &'a mut Vec<u16>,
    /// Where they go.
    pub(crate) window: &'a mut Window<'w>,
}

/// Turns the sums of all rows into halves.
///
/// # Safety
///
/// The processor has the unit.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes>(finish: &mut Finish<'_, '_>) {
    let Finish { columns, pixels, port, fates, ref channels, .. } = *finish;
    // Where all columns are neighbouring pixels, they go there at once.
    let whole = match pixels {
        [Pixels { columns, first }] if columns.start == 0 && fates.is_empty() => {
            Some(*first..first + columns.len())
        }
        _ => None,
    };
    let infinite = if fates.is_empty() {
        [0; 2]
    } else {
        [false, true]
            .map(|is_negative| port.bounds.of(output::of(sum::infinity(is_negative), port.post_scale)))
    };
    for (row, channel) in channels.clone().enumerate() {
        let sums = &finish.sums[row * columns..][..columns];
        if let Some(whole) = &whole {
            // SAFETY: as the caller says.
            unsafe { convert::narrow::<V>(sums, port, finish.window.get(channel, whole)) };
            continue;
        }
        finish.halves.resize(columns, 0);
        // SAFETY: as the caller says.
        unsafe { convert::narrow::<V>(sums, port, finish.halves) };
        if !fates.is_empty() {
            put_infinite(&fates[row * columns..][..columns], infinite, finish.halves);
        }
        for Pixels { columns, first } in pixels {
            let to = finish.window.get(channel, &(*first..first + columns.len()));
            to.copy_from_slice(&finish.halves[columns.clone()]);
        }
    }
}

/// Puts infinities, with a plus and with a minus, where a sum came to the limit. Where that is is hard to guess for a processor, so it
/// does not have to.
#[inline(always)]
fn put_infinite(fates: &[i32], [plus, minus]: [u16; 2], to: &mut [u16]) {
    for (half, &fate) in to.iter_mut().zip(fates) {
        *half = match fate {
            0 => *half,
            1 => plus,
            _ => minus,
        };
    }
}
