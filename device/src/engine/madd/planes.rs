//! The input as the kernels read it: singles, with the padding around each channel.
//!
//! Every channel becomes a plane that holds what the kernel window may touch and nothing else, zeros included, so that
//! a tap is a fixed distance from the place of its output.
//!
//! Where outputs are several rows or columns of the input apart, a plane is dealt out to *phases*: with a stride of 2, even and
//! odd rows and columns, four phases in all. Neighbouring outputs read neighbours in a phase, so that kernels see a stride of 1
//! whatever the stride is.

use super::shape::Shape;
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::{Code, Spread};

/// Singles that planes may take beyond four for each of the input's numbers. Real passes stay far below; padding
/// that would blow up the input is not worth a fast path.
const SPARE: usize = 1 << 22;
/// Singles of planes that are worth a thread's while.
const MANY: usize = 1 << 14;
/// Numbers of a channel that are widened before the next look whether they are still wanted. Whole vectors.
const STRIP: usize = 1 << 18;

/// Rows and columns of a plane, and how many of them there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Planes {
    pub(super) channels: usize,
    /// Rows of a phase.
    pub(super) rows: usize,
    /// Columns of a phase.
    pub(super) pitch: usize,
    /// Rows and columns of the input from one of a phase to the next.
    steps: (usize, usize),
    /// Phases by row and by column; where a stride leaves rows or columns out, those have none.
    phases: (usize, usize),
}

impl Planes {
    /// The planes of a pass, unless padding would make them far larger than its input.
    pub(super) fn new(shape: &Shape) -> Option<Self> {
        let reach = |outputs: usize, stride: usize, kernel: usize| {
            outputs.checked_sub(1)?.checked_mul(stride)?.checked_add(kernel)
        };
        // A single row or column of outputs has no next one.
        let step = |outputs: usize, stride: usize| if outputs == 1 { 1 } else { stride };
        let steps = (step(shape.out_height, shape.stride_y), step(shape.out_width, shape.stride_x));
        let phases = (steps.0.min(shape.kernel_height), steps.1.min(shape.kernel_width));
        let rows = reach(shape.out_height, steps.0, shape.kernel_height)?.div_ceil(steps.0);
        let pitch = reach(shape.out_width, steps.1, shape.kernel_width)?.div_ceil(steps.1);
        let channels = shape.groups.checked_mul(shape.group_channels)?;
        let inputs = channels.checked_mul(shape.height)?.checked_mul(shape.width)?;
        let most = inputs.checked_mul(4)?.checked_add(SPARE)?;
        let total = channels.checked_mul(rows)?.checked_mul(pitch)?;
        let total = total.checked_mul(phases.0)?.checked_mul(phases.1)?;
        (total <= most).then_some(Self { channels, rows, pitch, steps, phases })
    }
}

/// The planes of some channels.
#[derive(Debug)]
pub(super) struct PlaneShare<'a> {
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
        self.phases.0 * self.phases.1 * self.phase()
    }

    /// Singles of a phase.
    fn phase(&self) -> usize {
        self.rows * self.pitch
    }

    /// How far behind an output's first operand of a channel another one is, so many rows and columns of the input further.
    pub(super) fn distance(&self, row: usize, column: usize) -> usize {
        let (by_row, by_column) = self.steps;
        let phase = row % by_row * self.phases.1 + column % by_column;
        phase * self.phase() + row / by_row * self.pitch + column / by_column
    }

    /// The planes of neighbouring channels, as one share.
    pub(super) const fn share<'a>(first: usize, planes: &'a mut [f32]) -> PlaneShare<'a> {
        PlaneShare { first, planes }
    }

    /// Hands out the planes in shares for threads.
    pub(super) fn shares<'a>(
        &self,
        planes: &'a mut [f32],
    ) -> impl Iterator<Item = PlaneShare<'a>> + Send + use<'a> {
        let channels = (MANY / self.size()).max(1);
        // Behind the planes lie zeros, which panels that run on read.
        let whole = self.channels * self.size();
        let (planes, behind) = planes.split_at_mut(whole.min(planes.len()));
        behind.fill(0.0);
        let shares = planes.chunks_mut(channels * self.size()).enumerate();
        shares.map(move |(i, planes)| PlaneShare { first: i * channels, planes })
    }

    /// Fills the planes of some channels; `row` is room to work in.
    pub(super) fn fill(
        &self,
        code: &Code,
        shape: &Shape,
        input: &[u16],
        share: PlaneShare<'_>,
        row: &mut Vec<f32>,
        pace: &mut Pace<'_>,
    ) {
        let size = shape.height * shape.width;
        let unpadded = self.steps == (1, 1) && [shape.pad_x, shape.pad_y] == [0, 0];
        let whole = unpadded && self.pitch == shape.width && self.rows <= shape.height;
        for (i, plane) in share.planes.chunks_exact_mut(self.size()).enumerate() {
            let channel = &input[(share.first + i) * size..];
            if whole {
                for (from, to) in channel.chunks(STRIP).zip(plane.chunks_mut(STRIP)) {
                    if pace.spend(to.len() / VECTOR) {
                        return;
                    }
                    code.widen(from, to);
                }
                continue;
            }
            plane.fill(0.0);
            let (lines, columns) = (self.rows * self.steps.0, self.pitch * self.steps.1);
            let together = (STRIP / columns).max(1);
            for first in (0..lines).step_by(together) {
                let lines = first..lines.min(first + together);
                if pace.spend(lines.len() * (columns / VECTOR + 1)) {
                    return;
                }
                code.spread(&mut Spread {
                    channel,
                    extents: (shape.height, shape.width),
                    pads: (shape.pad_y, shape.pad_x),
                    steps: self.steps,
                    phases: self.phases,
                    phase: (self.rows, self.pitch),
                    lines,
                    plane,
                    row,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tier;
    use super::super::shape::{Convolution, Reads};
    use super::*;
    use crate::engine::numerics::halves;

    #[test]
    fn operand_of_a_tap_is_at_its_distance_from_the_place_of_the_output() {
        for (extents, kernel, stride, pad) in [
            ((7, 9), (3, 3), (1, 1), (1, 1)),
            ((7, 9), (3, 3), (2, 2), (1, 1)),
            ((8, 8), (2, 3), (3, 2), (0, 2)),
            ((9, 6), (1, 1), (2, 3), (0, 0)),
            ((5, 20), (5, 1), (7, 4), (2, 0)),
        ] {
            let outputs =
                |extent: u32, kernel: u32, stride: u32, pad: u32| (extent + 2 * pad - kernel) / stride + 1;
            let pass = Convolution {
                channels: 2,
                height: extents.0,
                width: extents.1,
                outputs: 2,
                out_height: outputs(extents.0, kernel.0, stride.0, pad.0),
                out_width: outputs(extents.1, kernel.1, stride.1, pad.1),
                kernel_height: kernel.0,
                kernel_width: kernel.1,
                stride_y: stride.0,
                stride_x: stride.1,
                pad_y: pad.0,
                pad_x: pad.1,
                reads: Reads::Unicast { channels: 1 },
                lanes: 1,
            };
            let shape = Shape::new(&pass).unwrap();
            let planes = Planes::new(&shape).unwrap();
            let input: Vec<u16> = (0..2 * extents.0 * extents.1).map(|i| 0x3c00 + i as u16).collect();
            let mut all = vec![-1.0; planes.channels * planes.size()];
            let watch = crate::engine::cancel::Watch::idle();
            for share in planes.shares(&mut all) {
                planes.fill(
                    Tier::Portable.code(),
                    &shape,
                    &input,
                    share,
                    &mut Vec::new(),
                    &mut Pace::new(&watch),
                );
            }
            for (group, pixel) in (0..2).flat_map(|group| (0..shape.pixels()).map(move |at| (group, at))) {
                let (y, x) = (pixel / shape.out_width, pixel % shape.out_width);
                for tap in 0..shape.taps() {
                    let (ky, kx) = (tap / shape.kernel_width, tap % shape.kernel_width);
                    let at = group * planes.size() + y * planes.pitch + x + planes.distance(ky, kx);
                    let wanted = shape.operand(group, pixel, tap).map_or(0.0, |at| halves::value(input[at]));
                    assert_eq!(all[at], wanted, "{pass:?} {group} {pixel} {tap}");
                }
            }
        }
    }
}
