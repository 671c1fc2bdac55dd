//! Parts: an operation whose operands have more channels than windows hold becomes several passes.
//!
//! A window holds at least one row of one tile column of *all* channels (td 4.2), so channels alone can fill the chip. Where
//! channels do not meet, each pass takes some of them, and no element is computed in another way.

use std::ops::Range;

use super::error::Result;
use super::graph::{Graph, Tensor};
use super::shape::{CHIP_ALIGN, HALF, Shape};

/// Columns of the widest tile of a planar pass (td 4.1), and of a neural one.
pub(crate) const PLANAR_TILE: u32 = 512;
pub(super) const NEURAL_TILE: u32 = 128;

/// Most bytes of one row of all operands of a pass. (Chosen) Three quarters of the chip: the rest is for tensors that stay
/// there between tasks.
const ROW_BYTES_MAX: u64 = 3 << 19;

/// Channels or columns of a part are a multiple of this: columns begin at a multiple of 64 bytes, and so many channels are
/// whole planes of a tensor that is interleaved later.
const UNIT: u32 = 32;

/// The most channels of a planar pass over so many operands, of which the widest has so many columns.
pub(crate) fn channels_max(operands: usize, columns: u32) -> u32 {
    channels_beside(operands, columns.min(PLANAR_TILE))
}

/// All windows of a pass are as wide as the widest tile.
fn channels_beside(operands: usize, tile: u32) -> u32 {
    let channel = (HALF * u64::from(tile)).next_multiple_of(CHIP_ALIGN);
    let each = channel * operands.max(1) as u64;
    u32::try_from(ROW_BYTES_MAX / each.max(1)).unwrap_or(u32::MAX)
}

/// The most outputs of a convolution's task whose windows have so many rows and columns of all inputs.
pub(super) fn windows_outputs_max(inputs: u32, rows: u32, columns: u32) -> u32 {
    let channel =
        u64::from(rows.max(1)) * (HALF * u64::from(columns.min(NEURAL_TILE))).next_multiple_of(CHIP_ALIGN);
    let left = ROW_BYTES_MAX.saturating_sub(channel * u64::from(inputs));
    u32::try_from(left / channel.max(1)).unwrap_or(u32::MAX)
}

impl Graph {
    /// Whether one task makes so many outputs of so many inputs, and exchanges them for the columns.
    pub(crate) fn turns_at_once(&self, inputs: usize, outputs: usize, columns: usize) -> bool {
        let tile =
            |extent: usize| (HALF * extent.min(NEURAL_TILE as usize) as u64).next_multiple_of(CHIP_ALIGN);
        let [from, to] = [(inputs, columns), (columns, outputs)]
            .map(|(lines, columns)| (lines as u64).saturating_mul(tile(columns)));
        let coefficients = (HALF * inputs as u64).saturating_mul(outputs as u64);
        from.saturating_add(to) <= ROW_BYTES_MAX && coefficients < self.hierarchy.split_bytes().into()
    }
}

/// The channels of each pass over operands of these shapes, whose tiles are at most `tile` columns wide.
///
/// Operands of one channel stretch to those of the others.
pub(super) fn parts(shapes: &[Shape], tile: u32) -> Vec<Range<u32>> {
    let all = shapes.iter().map(|shape| shape.c).max().unwrap_or(1);
    let widest = shapes.iter().map(|shape| shape.w).max().unwrap_or(1);
    let long = shapes.iter().filter(|shape| shape.c > 1).count();
    equal_parts(all, channels_beside(long, widest.min(tile)))
}

/// At most `most` in each part.
fn equal_parts(all: u32, most: u32) -> Vec<Range<u32>> {
    if all <= most {
        return std::iter::once(0..all).collect();
    }
    let most = (most / UNIT * UNIT).max(UNIT);
    let each = all.div_ceil(all.div_ceil(most)).next_multiple_of(UNIT);
    (0..all).step_by(each as usize).map(|start| start..all.min(start + each)).collect()
}

/// The channels and the columns of each pass that exchanges them. In the result, those are columns and these channels.
pub(super) fn turned_parts(shape: Shape) -> (Vec<Range<u32>>, Vec<Range<u32>>) {
    let tile = |extent: u32| HALF * u64::from(extent.min(NEURAL_TILE));
    let (each_channel, each_column) = (tile(shape.w), tile(shape.c));
    if u64::from(shape.c) * each_channel + u64::from(shape.w) * each_column <= ROW_BYTES_MAX {
        return (equal_parts(shape.c, shape.c), equal_parts(shape.w, shape.w));
    }
    let most = |each: u64| u32::try_from(ROW_BYTES_MAX / 2 / each.max(1)).unwrap_or(u32::MAX);
    (equal_parts(shape.c, most(each_channel)), equal_parts(shape.w, most(each_column)))
}

impl Graph {
    /// Runs an operation over each part of its operands. One of a single channel stretches, and is given whole.
    pub(super) fn each_part<const N: usize>(
        &mut self,
        channels: &[Range<u32>],
        operands: [Tensor; N],
        mut run: impl FnMut(&mut Self, [Tensor; N]) -> Result<()>,
    ) -> Result<()> {
        for channels in channels {
            let mut part = operands;
            for tensor in &mut part {
                let shape = self.shape(*tensor)?;
                if shape.c > 1 {
                    *tensor = self.slice(*tensor, channels.clone(), 0..shape.h)?;
                }
            }
            run(self, part)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of each part.
    fn ends(parts: &[Range<u32>]) -> Vec<u32> {
        parts.iter().map(|part| part.end).collect()
    }

    #[test]
    fn operands_that_fit_are_one_part() {
        let shape = Shape::new(512, 8, 2048);
        assert_eq!(ends(&parts(&[shape, shape, shape], PLANAR_TILE)), [512]);
    }

    #[test]
    fn parts_are_nearly_equal_and_all_channels_are_in_one() {
        let shape = Shape::new(1030, 1, 768);
        assert_eq!(parts(&[shape, shape, shape], PLANAR_TILE), [0..352, 352..704, 704..1030]);
    }

    #[test]
    fn transposition_is_cut_along_the_axis_that_is_too_long() {
        let (channels, columns) = turned_parts(Shape::new(7000, 4, 128));
        assert_eq!((ends(&channels), ends(&columns)), (vec![2336, 4672, 7000], vec![128]));
        let (channels, columns) = turned_parts(Shape::new(768, 12, 512));
        assert_eq!((ends(&channels), ends(&columns)), (vec![768], vec![512]));
    }

    #[test]
    fn operand_of_one_channel_takes_no_room_of_the_others() {
        let shape = Shape::new(1024, 1, 768);
        assert_eq!(ends(&parts(&[shape, Shape { c: 1, ..shape }], PLANAR_TILE)), [1024]);
    }
}
