//! How a pass is cut into pieces of work for the kernels.
//!
//! A panel is as many neighbouring places as a kernel has columns, and a piece some panels for some outputs of a group.
//! Where the last panel has few places left, a narrow kernel does it; where there are few panels, the outputs are cut into
//! bands, for all threads to have work.
//!
//! Places are output pixels. Where an output shares its operands with few others, copying them into a panel would cost more
//! than using them; kernels then read the planes themselves, and places run on through the margin from one row to the next,
//! where the results of those few in the margin are dropped.

use std::ops::{Range, RangeInclusive};

use super::planes::Planes;
use super::shape::Shape;
use crate::engine::kernels::{Code, GRANULE, Kernel, Offsets, Pixels, Window};

/// Taps that are worked on at a time, at most: a panel of them stays in the first cache.
const TAPS: usize = 256;
/// Outputs of a group from which on operands are copied.
const COPY_FROM: usize = 8;
/// A multiple of the longest vectors of every tier.
const VECTOR: usize = 16;
/// Panels that are worked on together, at least and at most: the more, the less often coefficients come from further away.
const PANELS: RangeInclusive<usize> = 4..=8;
/// Singles that stay in the second cache beside panels: sums that are kept, or coefficients.
const NEAR: usize = 1 << 17;
/// Places from which on it is worth to look for coefficients with products that are dropped.
const LOOK_FROM: usize = 24;
/// Pieces that each thread should have at least. Bands make them where there are few panels, and not more, as each band
/// copies its panels anew.
const PIECES: usize = 2;
/// Groups that each thread should have at least, where each is a piece; and products of those that it takes at a time.
const GROUPS: usize = 4;
const SHARE: usize = 1 << 16;
/// Tiles of rows that a band has at least: copying the panel for each band has to be worth it.
const BAND: usize = 8;

/// Kernel, panels and places of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) kernel: Kernel,
    /// The kernel for a last panel of few places.
    narrow: Kernel,
    pub(super) planes: Planes,
    /// Whether operands are copied into panels.
    pub(super) copied: bool,
    /// Whether they come from the input as it is: there is nothing around it, and whole vectors end with it.
    pub(super) direct: bool,
    /// Whether each group is a piece, whose planes are filled where it is computed: they are still near then.
    pub(super) own: bool,
    /// Pieces that are a thread's share at a time.
    share: usize,
    /// Taps that are worked on at a time.
    block: usize,
    /// Panels of a group.
    panels: usize,
    /// The least and the largest number of panels that are worked on together.
    together: (usize, usize),
    /// Whether the last of them are as few as it takes for each thread to have some.
    evenly: bool,
    /// Threads that share the pass.
    threads: usize,
    /// Outputs of a band.
    band: usize,
    /// Places from one output row to the next.
    pitch: usize,
    places: usize,
}

/// Some panels of a group, and some of its outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) group: usize,
    pub(super) panels: Range<usize>,
    /// Among the group's; they start with a tile of rows.
    pub(super) outputs: Range<usize>,
}

/// The work that a thread takes at a time: a piece, or the same piece of several groups, which are whole then.
#[derive(Debug)]
pub(super) struct Share<'a> {
    groups: Range<usize>,
    panels: Range<usize>,
    outputs: Range<usize>,
    window: Window<'a>,
}

impl<'a> Iterator for Share<'a> {
    type Item = (Piece, Window<'a>);

    /// The next piece, with its part of the output.
    fn next(&mut self) -> Option<Self::Item> {
        let group = self.groups.next()?;
        let (panels, outputs) = (self.panels.clone(), self.outputs.clone());
        let window = self.window.take_rows(outputs.len());
        Some((Piece { group, panels, outputs }, window))
    }
}

/// Neighbouring places of an output row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Columns of the panel.
    pub(super) columns: Range<usize>,
    /// Output row, and the first of its columns.
    pub(super) y: usize,
    pub(super) x: usize,
}

#[expect(clippy::arithmetic_side_effects, reason = "sizes are those of a checked shape")]
impl Layout {
    pub(super) fn new(code: &Code, shape: &Shape, planes: Planes, threads: usize) -> Self {
        let (kernel, narrow) =
            if shape.group_outputs == 1 { (code.row, code.short) } else { (code.many, code.narrow) };
        let copied = shape.group_outputs >= COPY_FROM;
        let pitch = if copied { shape.out_width } else { planes.pitch };
        let places = (shape.out_height - 1) * pitch + shape.out_width;
        let direct = copied && shape.is_pointwise() && places.is_multiple_of(VECTOR);
        let blocks = shape.taps().div_ceil(TAPS);
        let block = shape.taps().div_ceil(blocks).next_multiple_of(GRANULE);
        let panels = places.div_ceil(kernel.columns);
        let tiles = shape.group_outputs.div_ceil(kernel.rows);
        // Where there is but one block, sums do not have to be kept.
        let kept = if blocks == 1 { 0 } else { tiles * kernel.rows * kernel.columns };
        let most = NEAR.checked_div(kept).unwrap_or(usize::MAX).clamp(*PANELS.start(), *PANELS.end());
        // Where coefficients are near, they may come for each panel anew.
        let coefficients = tiles * kernel.rows * shape.taps();
        let least = if coefficients <= NEAR { 1 } else { *PANELS.start() };
        let bands = match threads {
            1 => 1,
            _ => (threads * PIECES).div_ceil(shape.groups * panels.div_ceil(least)).min(tiles / BAND).max(1),
        };
        let band = tiles.div_ceil(bands) * kernel.rows;
        let own = !copied
            && blocks == 1
            && shape.groups >= threads * GROUPS
            && shape.group_channels * planes.size() <= NEAR;
        let together = if own { (panels, panels) } else { (least, most) };
        let products = shape.pixels() * shape.group_outputs * shape.taps();
        let share = if own { (SHARE / products).clamp(1, shape.groups / (threads * GROUPS)) } else { 1 };
        Self {
            kernel,
            narrow,
            planes,
            copied,
            direct,
            own,
            share,
            block,
            panels,
            together,
            evenly: bands == 1 && !own,
            threads,
            band,
            pitch,
            places,
        }
    }

    /// The kernel that works on a panel.
    pub(super) fn kernel(&self, panel: usize) -> &Kernel {
        if self.places - self.first(panel) <= self.narrow.columns { &self.narrow } else { &self.kernel }
    }

    /// Whether coefficients with products that are dropped are looked for, so that only these products cost something.
    pub(super) const fn looks_for_dropped(&self) -> bool {
        self.copied && self.kernel.has_singles && self.places >= LOOK_FROM
    }

    /// Panels of a group.
    pub(super) const fn panels(&self) -> usize {
        self.panels
    }

    /// Singles that the planes need, with room behind them for a panel that runs on.
    pub(super) fn operands(&self) -> usize {
        if self.direct || self.own {
            return 0;
        }
        self.room(self.planes.channels)
    }

    /// The same for so many channels.
    pub(super) fn room(&self, channels: usize) -> usize {
        channels * self.planes.size() + self.kernel.columns
    }

    /// All of the pass as threads take it, each share with the part of the output that it computes.
    pub(super) fn shares_of<'a>(
        &self,
        shape: &Shape,
        output: &'a mut [u16],
    ) -> impl Iterator<Item = Share<'a>> + use<'a> {
        let (layout, width) = (*self, shape.out_width);
        let (groups, outputs) = (shape.groups, shape.group_outputs);
        let mut rest = Window::new(output, shape.pixels());
        (0..groups).step_by(self.share).flat_map(move |first| {
            let groups = first..groups.min(first + layout.share);
            let mut of_groups = rest.take_rows(groups.len() * outputs);
            layout.shares().flat_map(move |panels| {
                let places = layout.first(panels.start)..layout.first(panels.end);
                let mut of_panels = of_groups.take_columns(layout.pixels_in(width, places));
                let (groups, band) = (groups.clone(), layout.band(&panels, outputs));
                (0..outputs).step_by(band).map(move |output| {
                    let outputs = output..outputs.min(output + band);
                    let window = of_panels.take_rows(groups.len() * outputs.len());
                    Share { groups: groups.clone(), panels: panels.clone(), outputs, window }
                })
            })
        })
    }

    /// The panels of a group as they are worked on together: fewer towards the end, so that no thread waits long for the
    /// last of another. What is left then is shared in bands.
    fn shares(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (Self { panels, threads, evenly, .. }, (least, most)) = (*self, self.together);
        std::iter::successors(Some(0..0), move |last| {
            let rest = panels - last.end;
            let together = if evenly && (least + least / 2..=threads * least).contains(&rest) {
                rest.div_ceil(threads)
            } else {
                (rest / threads).clamp(least, most).min(rest)
            };
            (rest > 0).then(|| last.end..last.end + together)
        })
        .skip(1)
    }

    /// Outputs of a band of these panels. Those few that are left at the end are shared by all threads.
    fn band(&self, panels: &Range<usize>, outputs: usize) -> usize {
        let rows = self.kernel.rows;
        let each = outputs.div_ceil(rows).div_ceil(self.threads).max(BAND) * rows;
        let is_rest = panels.end == self.panels && panels.len() < self.together.0;
        if is_rest { each.min(self.band) } else { self.band }
    }

    /// How many of some places are output pixels.
    fn pixels_in(&self, width: usize, places: Range<usize>) -> usize {
        let before = |place: usize| {
            let place = place.min(self.places);
            place / self.pitch * width + (place % self.pitch).min(width)
        };
        before(places.end) - before(places.start)
    }

    /// Writes down how far behind the place of an output's first tap the others are.
    pub(super) fn taps(&self, shape: &Shape, taps: &mut Vec<usize>) {
        taps.clear();
        for channel in 0..shape.group_channels {
            for ky in 0..shape.kernel_height {
                let plane = channel * self.planes.size();
                taps.extend((0..shape.kernel_width).map(|kx| plane + self.planes.distance(ky, kx)));
            }
        }
    }

    /// Writes down where the operands of these [`taps`](Self::taps) are, for each block of them.
    pub(super) fn offsets(&self, taps: &[usize], offsets: &mut Vec<Offsets>) {
        offsets.resize_with(self.blocks(taps.len()), Offsets::default);
        for (taps, offsets) in taps.chunks(self.block).zip(offsets) {
            if self.copied {
                offsets.set((0..taps.len()).map(|tap| tap * self.kernel.columns));
            } else {
                offsets.set(taps.iter().copied());
            }
        }
    }

    /// How many blocks so many taps are.
    pub(super) fn blocks(&self, taps: usize) -> usize {
        taps.div_ceil(self.block)
    }

    /// The taps of a block, of so many in all.
    pub(super) fn taps_of(&self, all: usize, block: usize) -> Range<usize> {
        block * self.block..all.min((block + 1) * self.block)
    }

    /// First place of a panel.
    pub(super) fn first(&self, panel: usize) -> usize {
        panel * self.kernel.columns
    }

    /// Whether a kernel computes one output: the panels of a piece then make one long row.
    pub(super) const fn is_row(&self) -> bool {
        self.kernel.rows == 1
    }

    /// The places of a panel that are output pixels, row by row; in one piece where the rows of a plane are, too.
    pub(super) fn runs(&self, shape: &Shape, panel: usize) -> impl Iterator<Item = Run> + use<> {
        let (pitch, width) =
            if self.direct { (self.places, self.places) } else { (self.pitch, shape.out_width) };
        self.cut(pitch, width, &(panel..panel + 1))
    }

    /// The columns of neighbouring panels that are output pixels.
    pub(super) fn pixels(
        &self,
        shape: &Shape,
        panels: &Range<usize>,
    ) -> impl Iterator<Item = Pixels> + use<> {
        let width = shape.out_width;
        let (pitch, cut) = if self.copied { (self.places, self.places) } else { (self.pitch, width) };
        let runs = self.cut(pitch, cut, panels);
        runs.map(move |run| Pixels { columns: run.columns, first: run.y * width + run.x })
    }

    /// How many columns of neighbouring panels have a place.
    pub(super) fn columns(&self, panels: &Range<usize>) -> usize {
        self.places.min(self.first(panels.end)) - self.first(panels.start)
    }

    fn cut(&self, pitch: usize, width: usize, panels: &Range<usize>) -> impl Iterator<Item = Run> + use<> {
        let first = self.first(panels.start);
        let end = first + self.columns(panels);
        (first / pitch..=(end - 1) / pitch).filter_map(move |y| {
            let (start, end) = (first.max(y * pitch), end.min(y * pitch + width));
            (start < end).then(|| Run { columns: start - first..end - first, y, x: start - y * pitch })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tier;
    use super::super::shape::{Convolution, Reads};
    use super::*;

    /// Outputs, output rows and columns, kernel size, threads.
    fn layout(outputs: u32, height: u32, width: u32, kernel: u32, threads: usize) -> (Shape, Layout) {
        let pass = Convolution {
            channels: 3,
            height,
            width,
            outputs,
            out_height: height,
            out_width: width,
            kernel_height: kernel,
            kernel_width: kernel,
            stride_y: 1,
            stride_x: 1,
            pad_y: kernel / 2,
            pad_x: kernel / 2,
            reads: Reads::Dense,
            lanes: 4,
        };
        let shape = Shape::new(&pass).unwrap();
        let planes = Planes::new(&shape).unwrap();
        let layout = Layout::new(Tier::Portable.code(), &shape, planes, threads);
        (shape, layout)
    }

    #[test]
    fn pieces_write_each_output_once_at_the_places_of_their_panels() {
        for (outputs, height, width, kernel, threads) in
            [(200, 3, 7, 3, 4), (9, 40, 41, 3, 2), (64, 1, 5, 1, 3), (300, 9, 9, 3, 1), (2, 40, 3, 3, 2)]
        {
            let (shape, layout) = layout(outputs, height, width, kernel, threads);
            let mut written = vec![0; shape.outputs() * shape.pixels()];
            for (piece, mut window) in layout.shares_of(&shape, &mut written).flatten() {
                for panel in piece.panels {
                    for Pixels { columns, first } in layout.pixels(&shape, &(panel..panel + 1)) {
                        for output in piece.outputs.clone() {
                            let pixels = window.get(output, &(first..first + columns.len()));
                            pixels.iter_mut().for_each(|times| *times += 1);
                        }
                    }
                }
            }
            assert_eq!(written, vec![1; written.len()], "{outputs} {threads}");
        }
    }

    #[test]
    fn pass_with_few_panels_is_cut_into_bands_for_several_threads_only() {
        let bands = |threads| {
            let (shape, layout) = layout(256, 2, 4, 3, threads);
            let mut output = vec![0; shape.outputs() * shape.pixels()];
            layout
                .shares_of(&shape, &mut output)
                .flatten()
                .filter(|(piece, _)| piece.panels.start == 0)
                .count()
        };
        assert_eq!(bands(1), 1);
        assert!(bands(2) > 1);
    }

    #[test]
    fn panels_that_are_left_at_the_end_are_cut_into_bands_for_several_threads_only() {
        let bands = |threads| {
            let (shape, mut layout) = layout(256, 28, 28, 3, threads);
            // As with many channels, whose coefficients are far away.
            layout.together = (4, 8);
            layout.panels = 17;
            let mut output = vec![0; shape.outputs() * shape.pixels()];
            let pieces: Vec<_> =
                layout.shares_of(&shape, &mut output).flatten().map(|(piece, _)| piece).collect();
            let of_panels = |first| pieces.iter().filter(|piece| piece.panels.start == first).count();
            (of_panels(0), of_panels(16))
        };
        assert_eq!(bands(1), (1, 1));
        assert_eq!(bands(2), (1, 2));
    }

    #[test]
    fn last_panels_are_dealt_out_evenly() {
        let pieces = |panels, evenly| {
            let (_, mut layout) = layout(256, 28, 28, 3, 2);
            (layout.together, layout.panels, layout.evenly) = ((4, 4), panels, evenly);
            layout.shares().map(|panels| panels.len()).collect::<Vec<_>>()
        };
        assert_eq!(pieces(22, true), [4, 4, 4, 4, 3, 3]);
        assert_eq!(pieces(22, false), [4, 4, 4, 4, 4, 2]);
        // What is left behind whole pieces is little.
        assert_eq!(pieces(9, true), [4, 4, 1]);
    }

    #[test]
    fn columns_of_all_panels_are_each_pixel_once() {
        for (height, width, kernel) in [(3, 7, 3), (5, 32, 1), (4, 16, 1), (9, 1, 2)] {
            let (shape, layout) = layout(40, height, width, kernel, 1);
            let pixels: Vec<_> = (0..layout.panels)
                .flat_map(|panel| layout.pixels(&shape, &(panel..panel + 1)))
                .flat_map(|Pixels { columns, first }| first..first + columns.len())
                .collect();
            assert_eq!(pixels, (0..shape.pixels()).collect::<Vec<_>>(), "{height} {width} {kernel}");
        }
    }
}
