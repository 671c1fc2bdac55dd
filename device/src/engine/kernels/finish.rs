//! The end of a block: sums become halves, where the output wants them.
//!
//! It comes right behind a block's last tap, while the sums are in the first cache, for all rows of the block at once.

use std::ops::Range;

use super::convert::{self, Port};
use super::lanes::{LONGEST, Lanes};
use super::window::Window;
use crate::engine::numerics::halves;

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

/// Sums of a block at their end, and where they go.
#[derive(Debug)]
pub(crate) struct Finish<'a, 'w> {
    /// `[row][column]`.
    pub(crate) sums: &'a [f32],
    /// Columns of a row.
    pub(crate) columns: usize,
    /// What becomes of them, but for the bias.
    pub(crate) port: Port,
    /// The bias of each channel, if there is one.
    pub(crate) bias: Option<&'a [u16]>,
    /// Channels of the rows, from the first on; rows beyond them are nobody's.
    pub(crate) channels: Range<usize>,
    /// Which columns are pixels.
    pub(crate) pixels: &'a [Pixels],
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
    let Finish { columns, pixels, ref channels, .. } = *finish;
    let mut port = finish.port;
    let is_plain = finish.bias.is_none() && port.is_plain();
    // Where whole vectors go to neighbouring pixels, they go there at once.
    let whole = match pixels {
        [Pixels { columns, first }] if columns.start == 0 && columns.end.is_multiple_of(V::COUNT) => {
            Some(*first..first + columns.len())
        }
        _ => None,
    };
    for (row, channel) in finish.sums.chunks_exact(columns).zip(channels.clone()) {
        if let Some(bias) = finish.bias {
            port.bias = f64::from(halves::value(bias[channel]));
        }
        if let Some(whole) = &whole {
            // SAFETY: as the caller says.
            unsafe { convert::narrow::<V>(row, &port, is_plain, finish.window.get(channel, whole)) };
            continue;
        }
        let mut rounded = [0; COLUMNS];
        // SAFETY: as the caller says.
        unsafe { convert::narrow::<V>(row, &port, is_plain, &mut rounded) };
        for Pixels { columns, first } in pixels {
            let to = finish.window.get(channel, &(*first..first + columns.len()));
            to.copy_from_slice(&rounded[columns.clone()]);
        }
    }
}
