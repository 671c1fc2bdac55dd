//! The input as the kernels read it: singles, with the padding around each channel.
//!
//! Every channel becomes a plane that holds what the kernel window may touch and nothing else, zeros included, so that
//! a tap is a fixed distance from the place of its output.

use super::shape::Shape;
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::Code;

/// Singles that planes may take beyond four for each of the input's numbers. Real passes stay far below; padding
/// that would blow up the input is not worth a fast path.
const SPARE: usize = 1 << 22;
/// Singles of planes that are worth a thread's while.
const MANY: usize = 1 << 14;
/// What the longest vectors of any tier divide.
const LONGEST: usize = 16;
/// Numbers of a channel that are widened before the next look whether they are still wanted. Whole vectors.
const STRIP: usize = 1 << 18;

/// Rows and columns of a plane, and how many of them there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Planes {
    pub(super) channels: usize,
    pub(super) rows: usize,
    pub(super) pitch: usize,
}

impl Planes {
    /// The planes of a pass, unless padding would make them far larger than its input.
    pub(super) fn new(shape: &Shape) -> Option<Self> {
        let reach = |outputs: usize, stride: usize, kernel: usize| {
            outputs.checked_sub(1)?.checked_mul(stride)?.checked_add(kernel)
        };
        let rows = reach(shape.out_height, shape.stride_y, shape.kernel_height)?;
        let pitch = reach(shape.out_width, shape.stride_x, shape.kernel_width)?;
        let channels = shape.groups.checked_mul(shape.group_channels)?;
        let inputs = channels.checked_mul(shape.height)?.checked_mul(shape.width)?;
        let most = inputs.checked_mul(4)?.checked_add(SPARE)?;
        let total = channels.checked_mul(rows)?.checked_mul(pitch)?;
        (total <= most).then_some(Self { channels, rows, pitch })
    }
}

/// The planes of some channels.
#[derive(Debug)]
pub(super) struct Share<'a> {
    /// The first channel.
    first: usize,
    planes: &'a mut [f32],
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "`Planes::new` has counted them"
)]
impl Planes {
    /// Singles of a plane.
    pub(super) fn size(&self) -> usize {
        self.rows * self.pitch
    }

    /// Hands out the planes in shares for threads.
    pub(super) fn shares<'a>(
        &self,
        planes: &'a mut [f32],
    ) -> impl Iterator<Item = Share<'a>> + Send + use<'a> {
        let channels = (MANY / self.size()).max(1);
        // What is behind the planes is none, and read by panels that run on.
        let whole = self.channels * self.size();
        let (planes, behind) = planes.split_at_mut(whole.min(planes.len()));
        behind.fill(0.0);
        let shares = planes.chunks_mut(channels * self.size()).enumerate();
        shares.map(move |(i, planes)| Share { first: i * channels, planes })
    }

    /// Fills the planes of some channels.
    pub(super) fn fill(
        &self,
        code: &Code,
        shape: &Shape,
        input: &[u16],
        share: Share<'_>,
        pace: &mut Pace<'_>,
    ) {
        let channels = input.chunks_exact(shape.height * shape.width).skip(share.first);
        for (channel, plane) in channels.zip(share.planes.chunks_exact_mut(self.size())) {
            let unpadded = shape.pad_x == 0 && shape.pad_y == 0;
            if unpadded && self.pitch == shape.width && self.rows <= shape.height {
                for (from, to) in channel.chunks(STRIP).zip(plane.chunks_mut(STRIP)) {
                    if pace.spend(to.len() / VECTOR) {
                        return;
                    }
                    code.widen(from, to);
                }
                continue;
            }
            let left = shape.pad_x.min(self.pitch);
            let have = (self.pitch - left).min(shape.width);
            for row in 0..self.rows {
                if pace.spend(self.pitch / VECTOR + 1) {
                    return;
                }
                let (place, behind) = plane[row * self.pitch..].split_at_mut(left);
                place.fill(0.0);
                let source = row.checked_sub(shape.pad_y).filter(|&y| y < shape.height);
                let Some(y) = source else {
                    behind[..self.pitch - left].fill(0.0);
                    continue;
                };
                // Whole vectors, as far as there is room for them; what they bring too many is written over.
                let from = &channel[y * shape.width..];
                let many = have.next_multiple_of(LONGEST).min(from.len()).min(behind.len());
                code.widen(&from[..many], &mut behind[..many]);
                behind[have..self.pitch - left].fill(0.0);
            }
        }
    }
}
