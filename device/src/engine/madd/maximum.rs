//! The channel maximum.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape"
)]

use super::shape::Shape;
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::{Code, LOWEST, half};

/// Operands that do not lie side by side are brought together, so many at a time.
const TOGETHER: usize = 64;

/// The largest operand of each pixel of a group.
pub(super) fn of_group(
    code: &Code,
    shape: &Shape,
    group: usize,
    input: &[u16],
    channel: &mut [u16],
    pace: &mut Pace<'_>,
) {
    // Until the end it holds keys.
    channel.fill(LOWEST);
    if shape.is_pointwise() {
        // Each channel is one long row.
        let pixels = channel.len();
        let all = &input[group * shape.group_channels * pixels..][..shape.group_channels * pixels];
        for plane in all.chunks_exact(pixels) {
            if pace.spend(pixels / VECTOR + 1) {
                return;
            }
            code.raise(channel, plane);
        }
    } else {
        of_windows(code, shape, group, input, channel, pace);
    }
    channel.iter_mut().for_each(|place| *place = half(*place));
}

/// The largest key of each pixel's window.
fn of_windows(
    code: &Code,
    shape: &Shape,
    group: usize,
    input: &[u16],
    channel: &mut [u16],
    pace: &mut Pace<'_>,
) {
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
                Some(from) => {
                    of_row(code, shape, kx, &input[(plane + from) * shape.width..][..shape.width], row);
                }
                None => raise_to_zero(code, row),
            }
        }
    }
}

/// The larger of each pixel of a row and its operand in a row of the input, `kx` columns on; padding is zero.
fn of_row(code: &Code, shape: &Shape, kx: usize, from: &[u16], row: &mut [u16]) {
    // The first pixel whose operand is no longer before a column.
    let first = |column: usize| column.saturating_sub(kx).div_ceil(shape.stride_x).min(shape.out_width);
    let (start, end) = (first(shape.pad_x), first(shape.width + shape.pad_x));
    raise_to_zero(code, &mut row[..start]);
    raise_to_zero(code, &mut row[end..]);
    if start == end {
        return;
    }
    let places = &mut row[start..end];
    let from = &from[start * shape.stride_x + kx - shape.pad_x..];
    if shape.stride_x == 1 {
        code.raise(places, from);
    } else {
        let mut operands = [0; TOGETHER];
        for (places, from) in places.chunks_mut(TOGETHER).zip(from.chunks(TOGETHER * shape.stride_x)) {
            operands.iter_mut().zip(from.iter().step_by(shape.stride_x)).for_each(|(to, &from)| *to = from);
            code.raise(places, &operands);
        }
    }
}

/// Compares keys with padding.
fn raise_to_zero(code: &Code, keys: &mut [u16]) {
    keys.chunks_mut(TOGETHER).for_each(|keys| code.raise(keys, &[0; TOGETHER]));
}
