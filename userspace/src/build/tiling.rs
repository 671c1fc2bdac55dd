//! Tiling: a layer with an operand that the pool does not hold becomes several tasks, each over a tile of it.
//!
//! A single operand of the bound or more (2 MB on the M1) does not stay on chip: compilers cut it and stream the pieces
//! (seed 003). Here coefficients are cut by output channels, and activations by rows; a tile is half the pool, so that
//! the next one can fill while the array works on this one. Each output is computed by one task from all of its taps, in
//! the order that an uncut task has, so the result is the same to the bit.

use std::ops::Range;

use ane_uapi::hw::sram::Hierarchy;
use ane_uapi::hw::sram::residency::Residency;

use super::convolution::{Channels, Convolution, Padding, Weights};
use super::parts::windows_outputs_max;
use super::pass::ENGINES;
use super::shape::{HALF, Shape};

/// The sizes of a convolution that its tiles follow from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) input: Shape,
    pub(super) output: Shape,
    /// Bytes of one output's coefficients.
    pub(super) coefficient_bytes: u64,
}

impl Sizes {
    const fn weight_bytes(&self) -> u64 {
        self.coefficient_bytes * self.output.c as u64
    }

    const fn streams(hierarchy: &Hierarchy, bytes: u64) -> bool {
        matches!(hierarchy.residency(bytes), Residency::Streamed { .. })
    }

    /// The output channels of each task.
    ///
    /// All of them in one if they fit, or if the result's channels become columns: a part in width cannot be written.
    pub(super) fn outputs(&self, hierarchy: &Hierarchy, convolution: &Convolution<'_>) -> Vec<Range<u32>> {
        let (all, kernel_rows) = (self.output.c, convolution.kernel.1);
        let most = if convolution.tail.transpose { all } else { self.outputs_max(hierarchy, kernel_rows) };
        if all <= most {
            return tiles(all, all).collect();
        }
        let Channels::Grouped(groups) = convolution.channels else {
            return tiles(all, whole_units(most, ENGINES)).collect();
        };
        let group = self.of_group(groups);
        let each = group.output.c;
        let most_of_group = group.outputs_max(hierarchy, kernel_rows);
        if each <= most_of_group {
            // Whole groups, whose inputs can be cut out.
            return tiles(all, whole_units(most, each)).collect();
        }
        // A group that does not fit is cut like a convolution of its own.
        let starts = (0..all).step_by(each.max(1) as usize);
        let of_group = |start| {
            let parts = tiles(each, whole_units(most_of_group, ENGINES));
            parts.map(move |part| start + part.start..start + part.end)
        };
        starts.flat_map(of_group).collect()
    }

    /// The most outputs of one task, as far as its coefficients and its windows go.
    fn outputs_max(&self, hierarchy: &Hierarchy, kernel_rows: u32) -> u32 {
        let all = self.output.c;
        let rows = kernel_rows.min(self.input.h);
        let windows = windows_outputs_max(self.input.c, rows, self.input.w.max(self.output.w));
        // The tiler was measured to take coefficients whole up to its margin above the bound.
        if self.weight_bytes() < hierarchy.split_bytes().into() && all <= windows {
            return all;
        }
        let fitting = u64::from(hierarchy.tile_bytes()) / self.coefficient_bytes.max(1);
        u32::try_from(fitting).unwrap_or(u32::MAX).min(windows)
    }

    /// The sizes of one group of so many.
    fn of_group(&self, groups: u32) -> Self {
        let part = |shape: Shape| Shape { c: shape.c / groups.max(1), ..shape };
        Self { input: part(self.input), output: part(self.output), ..*self }
    }

    pub(super) fn rows(
        &self,
        hierarchy: &Hierarchy,
        convolution: &Convolution<'_>,
    ) -> impl Iterator<Item = Range<u32>> + use<> {
        let bytes = |shape: Shape| HALF * shape.elements();
        let row = |shape: Shape| HALF * u64::from(shape.c) * u64::from(shape.w);
        let all = self.output.h;
        let whole = [self.input, self.output].iter().all(|&shape| !Self::streams(hierarchy, bytes(shape)));
        let tile = u64::from(hierarchy.tile_bytes());
        // Rows of the input that a tile may have, and those of the output that they make.
        let (kernel, stride) = (u64::from(convolution.kernel.1), u64::from(convolution.stride.1));
        let from_input = (tile / row(self.input).max(1)).saturating_sub(kernel) / stride.max(1) + 1;
        let of_output = tile / row(self.output).max(1);
        let fitting = u32::try_from(from_input.min(of_output).max(1)).unwrap_or(all);
        tiles(all, if whole { all } else { fitting })
    }
}

fn tiles(all: u32, each: u32) -> impl Iterator<Item = Range<u32>> {
    (0..all).step_by(each.max(1) as usize).map(move |start| start..all.min(start.saturating_add(each)))
}

/// As many outputs as fit, and a multiple of the unit: one unit at least.
const fn whole_units(fitting: u32, unit: u32) -> u32 {
    if fitting < unit { unit } else { fitting / unit * unit }
}

/// One task of a convolution: the parts of input, coefficients and output that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) channels: Range<u32>,
    pub(super) input_rows: Range<u32>,
    /// Rows of padding before the first of them and behind the last.
    pub(super) padding: Padding,
    pub(super) groups: Channels,
}

impl Part {
    /// The part of `input` that output channels `outputs` need in rows `rows`.
    pub(super) fn of(
        convolution: &Convolution<'_>,
        input: Shape,
        outputs: &Range<u32>,
        rows: &Range<u32>,
    ) -> Self {
        let Padding { top, .. } = convolution.padding;
        let (kernel, stride) = (convolution.kernel.1, convolution.stride.1);
        // In rows of the padded input.
        let (first, end) = (rows.start * stride, (rows.end - 1) * stride + kernel);
        let input_rows = first.saturating_sub(top)..end.saturating_sub(top).min(input.h);
        let padding = Padding {
            top: top.saturating_sub(first),
            bottom: end.saturating_sub(top + input.h),
            ..convolution.padding
        };
        let (channels, groups) = match convolution.channels {
            Channels::Dense => (0..input.c, Channels::Dense),
            Channels::Unicast(reads) => {
                (outputs.start * reads..outputs.end * reads, Channels::Unicast(reads))
            }
            Channels::Grouped(groups) => {
                let (inputs, each) = (input.c / groups, convolution.outputs / groups);
                // A part of a group reads all that the group does.
                let (first, end) = (outputs.start / each, outputs.end.div_ceil(each));
                let groups = match end - first {
                    1 => Channels::Dense,
                    groups => Channels::Grouped(groups),
                };
                (first * inputs..end * inputs, groups)
            }
        };
        Self { channels, input_rows, padding, groups }
    }
}

impl<'a> Weights<'a> {
    /// The coefficients of some outputs, of which each has `taps`.
    pub(super) fn of(self, outputs: &Range<u32>, taps: u64) -> Self {
        // The caller has seen that there are as many as the outputs take.
        let range = (u64::from(outputs.start) * taps) as usize..(u64::from(outputs.end) * taps) as usize;
        match self {
            Self::Half(values) => Self::Half(&values[range]),
            Self::Bytes(values) => Self::Bytes(&values[range]),
        }
    }

    pub(super) const fn size(self) -> u64 {
        match self {
            Self::Half(_) => HALF,
            Self::Bytes(_) => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::hal::Generation;

    use super::*;

    const M1: fn() -> Hierarchy = || Hierarchy::of(Generation::H13);

    fn plain(outputs: u32, kernel: (u32, u32)) -> Convolution<'static> {
        Convolution::new(outputs, kernel, Weights::Half(&[]))
    }

    #[test]
    fn weight_of_32_megabytes_is_cut_into_tiles_of_half_the_pool() {
        let layer =
            Sizes { input: Shape::new(4096, 1, 1), output: Shape::new(4096, 1, 1), coefficient_bytes: 8192 };
        let parts = layer.outputs(&M1(), &plain(4096, (1, 1)));
        assert_eq!((parts.len(), parts[0].clone(), parts[31].clone()), (32, 0..128, 3968..4096));
        assert_eq!(layer.rows(&M1(), &plain(4096, (1, 1))).count(), 1);
    }

    #[test]
    fn layer_below_the_bound_is_one_task() {
        let shape = Shape::new(512, 32, 32);
        let layer = Sizes { input: shape, output: shape, coefficient_bytes: 1024 };
        assert_eq!(layer.outputs(&M1(), &plain(512, (1, 1))).len(), 1);
        assert_eq!(layer.rows(&M1(), &plain(512, (1, 1))).count(), 1);
    }

    #[test]
    fn rows_of_a_tile_with_those_that_its_kernel_reaches_fit_in_half_the_pool() {
        let shape = Shape::new(512, 64, 64);
        let layer = Sizes { input: shape, output: Shape::new(8, 64, 64), coefficient_bytes: 9216 };
        let convolution = Convolution { padding: Padding::all(1), ..plain(8, (3, 3)) };
        let parts: Vec<_> = layer.rows(&M1(), &convolution).collect();
        assert_eq!(parts[0], 0..14, "sixteen rows of 64 KB are a megabyte");
        let part = |rows: &Range<u32>| Part::of(&convolution, shape, &(0..8), rows);
        let padding = |part: &Part| (part.padding.top, part.padding.bottom);
        let first = part(&parts[0]);
        assert_eq!((first.input_rows.clone(), padding(&first)), (0..15, (1, 0)));
        let second = part(&parts[1]);
        assert_eq!((second.input_rows.clone(), padding(&second)), (13..29, (0, 0)));
        let last = part(parts.last().expect("there are some"));
        assert_eq!((last.input_rows.end, padding(&last)), (64, (0, 1)));
    }

    #[test]
    fn parts_of_groups_are_whole_groups_with_their_inputs() {
        let convolution = Convolution { channels: Channels::Grouped(4), ..plain(32, (1, 1)) };
        let part = |outputs| Part::of(&convolution, Shape::new(16, 1, 1), &outputs, &(0..1));
        assert_eq!((part(8..24).channels, part(8..24).groups), (4..12, Channels::Grouped(2)));
        assert_eq!((part(8..16).channels, part(8..16).groups), (4..8, Channels::Dense));
    }

    #[test]
    fn part_of_a_group_reads_what_the_group_reads() {
        let convolution = Convolution { channels: Channels::Grouped(4), ..plain(32, (1, 1)) };
        let part = Part::of(&convolution, Shape::new(16, 1, 1), &(10..14), &(0..1));
        assert_eq!((part.channels, part.groups), (4..8, Channels::Dense));
    }

    /// The outputs of each task for a product of as many inputs as outputs in so many groups.
    fn outputs_of_groups(extent: u32, groups: u32) -> Vec<Range<u32>> {
        let shape = Shape::new(extent, 1, 1);
        let layer = Sizes { input: shape, output: shape, coefficient_bytes: 2 * u64::from(extent / groups) };
        layer.outputs(&M1(), &Convolution { channels: Channels::Grouped(groups), ..plain(extent, (1, 1)) })
    }

    #[test]
    fn groups_that_fit_stay_whole_and_others_are_cut_like_dense_ones() {
        // Groups of half a megabyte, two in a tile.
        assert_eq!(outputs_of_groups(4096, 8), [0..1024, 1024..2048, 2048..3072, 3072..4096]);
        assert_eq!(outputs_of_groups(4096, 1).len(), 32);
        let parts = outputs_of_groups(4096, 2);
        // A group of 8 MB, by 256 outputs of 4 KB each.
        assert_eq!((parts.len(), parts[7].clone(), parts[8].clone()), (16, 1792..2048, 2048..2304));
    }
}
