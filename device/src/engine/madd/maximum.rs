//! The channel maximum.
//!
//! Halves are compared as integers: with the magnitude's bits of a negative number turned over, their order as
//! signed numbers is that of the numbers they stand for, and +0 comes behind -0.

use super::shape::Shape;
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::numerics::halves::{INFINITY, entered};

const SIGN: u16 = 0x8000;

/// A half as a signed number of the same order; NaN as +infinity.
fn key(bits: u16) -> i16 {
    let bits = entered(bits);
    (bits ^ (((bits & SIGN) >> 15).wrapping_neg() >> 1)).cast_signed()
}

/// The half that a key stands for.
fn half(key: i16) -> u16 {
    let bits = key.cast_unsigned();
    bits ^ (((bits & SIGN) >> 15).wrapping_neg() >> 1)
}

/// The largest operand of each pixel of a group.
#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
pub(super) fn of_group(shape: &Shape, group: usize, input: &[u16], channel: &mut [u16], pace: &mut Pace<'_>) {
    // Until the end it holds keys.
    channel.fill(key(INFINITY | SIGN).cast_unsigned());
    for tap in 0..shape.taps() {
        let (rest, kx) = (tap / shape.kernel_width, tap % shape.kernel_width);
        let (plane, ky) = (rest / shape.kernel_height, rest % shape.kernel_height);
        let plane = (group * shape.group_channels + plane) * shape.height;
        for (y, row) in channel.chunks_exact_mut(shape.out_width).enumerate() {
            if pace.spend(row.len() / VECTOR + 1) {
                return;
            }
            let from = (y * shape.stride_y + ky).checked_sub(shape.pad_y).filter(|&from| from < shape.height);
            match from {
                Some(from) => of_row(shape, kx, &input[(plane + from) * shape.width..][..shape.width], row),
                None => row.iter_mut().for_each(|place| raise(place, 0)),
            }
        }
    }
    channel.iter_mut().for_each(|place| *place = half(place.cast_signed()));
}

/// The larger of each pixel of a row and its operand in a row of the input, `kx` columns on; padding is zero.
#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]
fn of_row(shape: &Shape, kx: usize, from: &[u16], row: &mut [u16]) {
    // The first pixel whose operand is no longer before a column.
    let first = |column: usize| column.saturating_sub(kx).div_ceil(shape.stride_x).min(shape.out_width);
    let (start, end) = (first(shape.pad_x), first(shape.width + shape.pad_x));
    row[..start].iter_mut().for_each(|place| raise(place, 0));
    row[end..].iter_mut().for_each(|place| raise(place, 0));
    if start == end {
        return;
    }
    let places = row[start..end].iter_mut();
    let from = &from[start * shape.stride_x + kx - shape.pad_x..];
    if shape.stride_x == 1 {
        places.zip(from).for_each(|(place, &operand)| raise(place, operand));
    } else {
        places.zip(from.iter().step_by(shape.stride_x)).for_each(|(place, &operand)| raise(place, operand));
    }
}

/// Puts the larger of a key and an operand's into the key's place.
fn raise(place: &mut u16, operand: u16) {
    *place = place.cast_signed().max(key(operand)).cast_unsigned();
}
