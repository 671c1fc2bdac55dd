//! How a pass is cut into pieces of work for the kernels.
//!
//! A panel is as many neighbouring places as a kernel has columns, and a piece some panels for some outputs of a group.
//! Where the last panel has few places left, a narrow kernel does it; where there are few panels, the outputs are cut into
//! bands, for all threads to have work. Places are output pixels. Where an output shares its operands with few others, copying them into a panel would cost more than using
//! them; kernels then read the planes themselves, and places run on through the margin from one row to the next, where
//! the results of those few in the margin are dropped.

use std::ops::Range;

use super::coefficients::padded;
use super::planes::Planes;
use super::shape::Shape;
use crate::engine::kernels::{Code, Kernel, Offsets};
use crate::engine::numerics::Numerics;

/// Taps that are worked on at a time: a panel of them stays in the first cache. A multiple of the block of `fast`.
pub(super) const TAPS: usize = 256;
/// Outputs of a group from which on operands are copied.
const COPY_FROM: usize = 8;
/// What the longest vectors of any tier divide.
const VECTOR: usize = 16;
/// Panels that are worked on together.
pub(super) const PANELS: usize = 4;
/// Pieces for each thread: enough that none waits long for the last of another, and not more, as each band copies its panels
/// anew.
const PIECES: usize = 2;
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
    /// Panels of a group.
    panels: usize,
    /// Outputs of a band.
    band: usize,
    /// Places from one output row to the next.
    pitch: usize,
    /// Places in all.
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

/// Neighbouring places of an output row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Columns of the panel.
    pub(super) columns: Range<usize>,
    /// Output row, and the first of its columns.
    pub(super) y: usize,
    /// As above.
    pub(super) x: usize,
}

#[expect(clippy::arithmetic_side_effects, reason = "sizes are those of a checked shape")]
impl Layout {
    pub(super) fn new(
        code: &Code,
        numerics: Numerics,
        shape: &Shape,
        planes: Planes,
        threads: usize,
    ) -> Self {
        let (kernel, narrow) = match (numerics, shape.group_outputs) {
            (Numerics::M1, 1) => (code.m1_row, code.m1_row),
            (Numerics::M1, _) => (code.m1, code.m1_narrow),
            (_, 1) => (code.fast_row, code.fast_row),
            _ => (code.fast, code.fast_narrow),
        };
        let steps = shape.stride_y == 1 && shape.stride_x == 1;
        let copied = !steps || shape.group_outputs >= COPY_FROM;
        let pitch = if copied { shape.out_width } else { planes.pitch };
        let places = (shape.out_height - 1) * pitch + shape.out_width;
        let (kernels, pads) = ([shape.kernel_height, shape.kernel_width], [shape.pad_y, shape.pad_x]);
        let same = [planes.rows, planes.pitch] == [shape.height, shape.width];
        let direct =
            copied && steps && kernels == [1, 1] && pads == [0, 0] && same && places.is_multiple_of(VECTOR);
        let panels = places.div_ceil(kernel.columns);
        let tiles = shape.group_outputs.div_ceil(kernel.rows);
        let bands = match threads {
            1 => 1,
            _ => (threads * PIECES).div_ceil(shape.groups * panels.div_ceil(PANELS)).min(tiles / BAND).max(1),
        };
        let band = tiles.div_ceil(bands) * kernel.rows;
        Self { kernel, narrow, planes, copied, direct, panels, band, pitch, places }
    }

    /// The kernel that works on a panel.
    pub(super) fn kernel(&self, panel: usize) -> &Kernel {
        if self.places - self.first(panel) <= self.narrow.columns { &self.narrow } else { &self.kernel }
    }

    /// Singles that the planes need, with room behind them for a panel that runs on.
    pub(super) fn operands(&self) -> usize {
        if self.direct {
            return 0;
        }
        self.planes.channels * self.planes.size() + self.kernel.columns
    }

    /// All pieces of the pass, and where the results of each begin, if they lie one behind the other.
    pub(super) fn pieces(&self, shape: &Shape) -> impl Iterator<Item = Piece> + use<> {
        let (groups, outputs, panels, band) = (shape.groups, shape.group_outputs, self.panels, self.band);
        (0..groups).flat_map(move |group| {
            (0..panels).step_by(PANELS).flat_map(move |first| {
                (0..outputs).step_by(band).map(move |output| Piece {
                    group,
                    panels: first..panels.min(first + PANELS),
                    outputs: output..outputs.min(output + band),
                })
            })
        })
    }

    /// Halves that the results of a piece take.
    pub(super) fn halves(&self, piece: &Piece) -> usize {
        piece.panels.len() * piece.outputs.len() * self.kernel.columns
    }

    /// Halves that the results of all pieces take.
    pub(super) fn all_halves(&self, shape: &Shape) -> usize {
        shape.outputs() * self.panels * self.kernel.columns
    }

    /// Where the results of an output of a group are among those of all pieces: panels, and the place of each.
    pub(super) fn results(
        &self,
        shape: &Shape,
        group: usize,
        output: usize,
    ) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (outputs, columns, panels) = (shape.group_outputs, self.kernel.columns, self.panels);
        let first = output / self.band * self.band;
        let (band, row) = (self.band.min(outputs - first), output - first);
        (0..panels).map(move |panel| {
            let start = panel / PANELS * PANELS;
            let together = PANELS.min(panels - start);
            // Pieces of the panels before, bands before, panels before in the piece.
            let before =
                group * panels * outputs + start * outputs + together * first + (panel - start) * band;
            (panel, (before + row) * columns)
        })
    }

    /// Writes down how far behind the place of an output's first tap the others are.
    pub(super) fn taps(&self, shape: &Shape, taps: &mut Vec<usize>) {
        taps.clear();
        taps.extend((0..shape.taps()).map(|tap| self.planes.tap(shape, tap)));
    }

    /// Writes down where the operands are, for each so many taps.
    pub(super) fn offsets(&self, numerics: Numerics, shape: &Shape, offsets: &mut Vec<Offsets>) {
        let blocks = shape.taps().div_ceil(TAPS);
        offsets.resize_with(blocks, Offsets::default);
        for (block, offsets) in offsets.iter_mut().enumerate() {
            let taps = block * TAPS..padded(numerics, shape.taps().min((block + 1) * TAPS));
            if self.copied {
                offsets.set((0..taps.len()).map(|tap| tap * self.kernel.columns));
            } else {
                // Taps that only fill up a tile read what is there; their coefficients are zero, and an infinity
                // that they find has the output computed again, as one of any tap.
                offsets.set(taps.map(|tap| self.planes.tap(shape, tap.min(shape.taps() - 1))));
            }
        }
    }

    /// First place of a panel.
    pub(super) fn first(&self, panel: usize) -> usize {
        panel * self.kernel.columns
    }

    /// The places of a panel that are output pixels, row by row; in one piece where the rows of a plane are, too.
    pub(super) fn runs(&self, shape: &Shape, panel: usize) -> impl Iterator<Item = Run> + use<> {
        if self.direct {
            return self.cut(self.places, self.places, panel);
        }
        self.cut(self.pitch, shape.out_width, panel)
    }

    /// The columns of a panel that are output pixels, and the first of these pixels.
    pub(super) fn pixels(
        &self,
        shape: &Shape,
        panel: usize,
    ) -> impl Iterator<Item = (Range<usize>, usize)> + use<> {
        let width = shape.out_width;
        let runs = if self.copied {
            self.cut(self.places, self.places, panel)
        } else {
            self.cut(self.pitch, width, panel)
        };
        runs.map(move |run| (run.columns, run.y * width + run.x))
    }

    fn cut(&self, pitch: usize, width: usize, panel: usize) -> impl Iterator<Item = Run> + use<> {
        let first = self.first(panel);
        let end = self.places.min(first + self.kernel.columns);
        (first / pitch..=(end - 1) / pitch).filter_map(move |y| {
            let (start, end) = (first.max(y * pitch), end.min(y * pitch + width));
            (start < end).then(|| Run { columns: start - first..end - first, y, x: start - y * pitch })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::{Convolution, Reads};
    use super::super::{Numerics, Tier};
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
        let layout = Layout::new(Tier::Portable.code(), Numerics::Fast, &shape, planes, threads);
        (shape, layout)
    }

    #[test]
    fn results_of_an_output_are_found_where_its_pieces_put_them() {
        for (outputs, height, width, threads) in
            [(200, 3, 7, 4), (9, 40, 41, 2), (64, 1, 5, 3), (300, 9, 9, 1)]
        {
            let (shape, layout) = layout(outputs, height, width, 3, threads);
            let columns = layout.kernel.columns;
            let mut written = vec![None; layout.all_halves(&shape) / columns];
            let mut row = 0;
            for piece in layout.pieces(&shape) {
                for panel in piece.panels.clone() {
                    for output in piece.outputs.clone() {
                        written[row] = Some((panel, output));
                        row += 1;
                    }
                }
            }
            assert_eq!(row, written.len());
            for output in 0..outputs as usize {
                for (panel, at) in layout.results(&shape, 0, output) {
                    assert_eq!(written[at / columns], Some((panel, output)), "{outputs} {threads}");
                }
            }
        }
    }

    #[test]
    fn pass_with_few_panels_is_cut_into_bands_for_several_threads_only() {
        let bands = |threads| {
            let (shape, layout) = layout(256, 5, 5, 3, threads);
            layout.pieces(&shape).filter(|piece| piece.panels.start == 0).count()
        };
        assert_eq!(bands(1), 1);
        assert!(bands(2) > 1);
    }

    #[test]
    fn columns_of_all_panels_are_each_pixel_once() {
        for (height, width, kernel) in [(3, 7, 3), (5, 32, 1), (4, 16, 1), (9, 1, 2)] {
            let (shape, layout) = layout(40, height, width, kernel, 1);
            let pixels: Vec<_> = (0..layout.panels)
                .flat_map(|panel| layout.pixels(&shape, panel))
                .flat_map(|(columns, first)| (0..columns.len()).map(move |i| first + i))
                .collect();
            assert_eq!(pixels, (0..shape.pixels()).collect::<Vec<_>>(), "{height} {width} {kernel}");
        }
    }
}
