//! The end of a block: sums become halves, where the output wants them.
//!
//! It comes right behind a block's last tap, while the sums are in the first cache, for all rows of the block at once.

use std::ops::Range;

use super::convert;
use super::lanes::LONGEST;
use super::window::Window;
use crate::engine::numerics::{output, sum};

/// Columns of the longest row of any tier.
const COLUMNS: usize = 8 * LONGEST;

/// Columns of a block that are neighbouring pixels of an output row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pixels {
    /// Columns of the block.
    pub(crate) columns: Range<usize>,
    /// The first of them, as a pixel of its channel.
    pub(crate) first: usize,
}

/// What becomes of sums.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    pub(crate) post_scale: u16,
    /// The same as a number.
    pub(crate) factor: f64,
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
    /// What becomes of them.
    pub(crate) port: Port,
    /// Channels of the rows, from the first on; rows beyond them are nobody's.
    pub(crate) channels: Range<usize>,
    /// Which columns are pixels.
    pub(crate) pixels: &'a [Pixels],
    /// Where they go.
    pub(crate) window: &'a mut Window<'w>,
}

/// Turns the sums of all rows into halves.
#[inline(always)]
pub(super) fn run(finish: &mut Finish<'_, '_>) {
    let Finish { columns, pixels, port, fates, ref channels, .. } = *finish;
    let infinite =
        [output::of(sum::infinity(true), port.post_scale), output::of(sum::infinity(false), port.post_scale)];
    // Where all columns are neighbouring pixels, they go there at once.
    let whole = match pixels {
        [Pixels { columns, first }] if columns.start == 0 && fates.is_empty() => {
            Some(*first..first + columns.len())
        }
        _ => None,
    };
    for (row, channel) in channels.clone().enumerate() {
        let sums = &finish.sums[row * columns..][..columns];
        if let Some(whole) = &whole {
            convert::narrow(sums, port.factor, finish.window.get(channel, whole));
            continue;
        }
        let mut rounded = [0; COLUMNS];
        let rounded = &mut rounded[..columns];
        convert::narrow(sums, port.factor, rounded);
        for (half, fate) in rounded.iter_mut().zip(fates.iter().skip(row * columns)) {
            *half = match fate {
                0 => *half,
                1 => infinite[1],
                _ => infinite[0],
            };
        }
        for Pixels { columns, first } in pixels {
            let to = finish.window.get(channel, &(*first..first + columns.len()));
            to.copy_from_slice(&rounded[columns.clone()]);
        }
    }
}
