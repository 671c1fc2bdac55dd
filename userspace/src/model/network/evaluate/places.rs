//! Which elements a kernel meets at each position, one moving axis at a time.
//!
//! A table of all positions and taps together would be far larger than the tensors. Along one axis, the elements that a tap meets, or
//! a position, are a range; and where an element lies is a sum over the axes.

use std::ops::Range;

/// One moving axis: at position `p`, tap `t` meets element `p * stride + t * dilation - before`, if it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// Elements.
    pub extent: usize,
    pub positions: usize,
    pub taps: usize,
    pub stride: usize,
    pub dilation: usize,
    /// Places before the first element.
    pub before: usize,
}

/// What one tap meets at all positions, or one position with all taps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The positions, or the taps, that meet an element.
    over: Range<usize>,
    /// The element that the first of them meets.
    element: usize,
}

/// Of `count` places, `step` apart from `from` on, those inside.
pub(super) fn within(inside: &Range<usize>, from: usize, step: usize, count: usize) -> Range<usize> {
    let first = |place: usize| place.saturating_sub(from).div_ceil(step).min(count);
    let end = first(inside.end);
    first(inside.start).min(end)..end
}

impl Axis {
    /// An axis along which nothing moves.
    const STILL: Self = Self { extent: 1, positions: 1, taps: 1, stride: 1, dilation: 1, before: 0 };

    fn run(&self, from: usize, step: usize, count: usize) -> Run {
        let inside = self.before..self.before.saturating_add(self.extent);
        let over = within(&inside, from, step, count);
        // An empty run begins nowhere, and its element means nothing.
        let place = over.start.saturating_mul(step).saturating_add(from);
        Run { over, element: place.saturating_sub(self.before) }
    }

    fn taps_at(&self, position: usize) -> Run {
        self.run(position.saturating_mul(self.stride), self.dilation, self.taps)
    }

    fn positions_of(&self, tap: usize) -> Run {
        self.run(tap.saturating_mul(self.dilation), self.stride, self.positions)
    }

    /// Whether each position has the element of the same place and no other.
    fn is_idle(&self) -> bool {
        let same = self.extent == self.positions && (self.stride == 1 || self.extent == 1);
        same && self.taps == 1 && self.before == 0
    }

    /// This axis and the next one as a single axis, where they can be one.
    fn joined(&self, inner: &Self) -> Option<Self> {
        if self.is_idle() && self.extent == 1 {
            return Some(*inner);
        }
        let fits = inner.is_idle() && (self.stride == 1 || inner.extent == 1);
        let longer = |count: usize| count.checked_mul(inner.extent).filter(|_| fits);
        Some(Self {
            extent: longer(self.extent)?,
            positions: longer(self.positions)?,
            dilation: longer(self.dilation)?,
            before: longer(self.before)?,
            ..*self
        })
    }
}

/// A kernel that moves over a plane of any number of axes. A line is what has one place along all axes but the last; a row is a line of
/// results.
#[derive(Debug)]
pub(super) struct Moves {
    outer: Vec<Axis>,
    last: Axis,
    /// Along the last axis: of each tap, or of each position.
    runs: Vec<Run>,
    by_tap: bool,
}

/// So many results side by side are computed faster together than one after the other. (Chosen)
const WIDE: usize = 8;

/// Most runs in a table that is longer than it has to be: some megabytes.
const TABLE_MAX: usize = 1 << 16;

/// The taps of the outer axes that meet something in one row.
pub(super) type Met = Vec<(Axis, Run)>;

impl Moves {
    /// Axes along which nothing moves become part of the ones before, so that lines are long.
    pub(super) fn new(axes: impl IntoIterator<Item = Axis>) -> Self {
        let mut outer: Vec<Axis> = Vec::new();
        for axis in axes {
            match outer.pop() {
                Some(last) => match last.joined(&axis) {
                    Some(joined) => outer.push(joined),
                    None => outer.extend([last, axis]),
                },
                None => outer.push(axis),
            }
        }
        let last = outer.pop().unwrap_or(Axis::STILL);
        // The long loop is the inner one, and the table the smaller one. But results side by side are computed at once, so a few
        // of them are enough where the table stays small.
        let by_tap = last.taps <= last.positions || last.positions >= WIDE && last.taps <= TABLE_MAX;
        let runs = if by_tap {
            (0..last.taps).map(|tap| last.positions_of(tap)).collect()
        } else {
            (0..last.positions).map(|position| last.taps_at(position)).collect()
        };
        Self { outer, last, runs, by_tap }
    }

    pub(super) fn rows(&self) -> usize {
        self.outer.iter().map(|axis| axis.positions).product()
    }

    /// Results in a row.
    pub(super) fn width(&self) -> usize {
        self.last.positions
    }

    /// Finds what the outer axes meet in row `row`.
    pub(super) fn meet(&self, mut row: usize, met: &mut Met) {
        met.clear();
        for axis in self.outer.iter().rev() {
            met.push((*axis, axis.taps_at(row % axis.positions)));
            row /= axis.positions;
        }
        met.reverse();
    }

    /// Changes each result of a row by what its taps meet in a plane, in the order of the taps. `change` gives for a tap what it does to a
    /// result with an element.
    #[inline]
    pub(super) fn fold<F: Fn(f64, f64) -> f64>(
        &self,
        met: &[(Axis, Run)],
        plane: &[f64],
        row: &mut [f64],
        change: impl Fn(usize) -> F,
    ) {
        let Axis { extent, taps, .. } = self.last;
        each_line(met, 0, 0, &mut |line, kernel| {
            let line = &plane[line * extent..][..extent];
            self.fold_line(line, row, |tap| change(kernel * taps + tap));
        });
    }

    #[inline]
    fn fold_line<F: Fn(f64, f64) -> f64>(&self, line: &[f64], row: &mut [f64], change: impl Fn(usize) -> F) {
        let Axis { stride, dilation, .. } = self.last;
        for (each, Run { over, element }) in self.runs.iter().enumerate() {
            if over.is_empty() {
                continue;
            }
            let elements = &line[*element..];
            if !self.by_tap {
                let taps = over.clone().zip(elements.iter().step_by(dilation));
                row[each] = taps.fold(row[each], |result, (tap, &x)| change(tap)(result, x));
                continue;
            }
            let (row, change) = (&mut row[over.clone()], change(each));
            // Neighbours are apart, so that the compiler takes several at once.
            if stride == 1 {
                row.iter_mut().zip(elements).for_each(|(result, &x)| *result = change(*result, x));
            } else {
                let elements = elements.iter().step_by(stride);
                row.iter_mut().zip(elements).for_each(|(result, &x)| *result = change(*result, x));
            }
        }
    }
}

/// Names each line of a plane that the outer axes meet, and the line of the kernel that meets it, in the order of the kernel.
fn each_line(met: &[(Axis, Run)], line: usize, kernel: usize, visit: &mut impl FnMut(usize, usize)) {
    let Some(((axis, run), rest)) = met.split_first() else { return visit(line, kernel) };
    for (at, tap) in run.over.clone().enumerate() {
        let element = run.element + at * axis.dilation;
        each_line(rest, line * axis.extent + element, kernel * axis.taps + tap, visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_what_each_pair_of_a_position_and_a_tap_meets() {
        let axes = [
            Axis { extent: 7, positions: 5, taps: 3, stride: 1, dilation: 1, before: 0 },
            Axis { extent: 7, positions: 6, taps: 4, stride: 2, dilation: 3, before: 5 },
            Axis { extent: 2, positions: 9, taps: 9, stride: 1, dilation: 1, before: 8 },
            Axis { extent: 0, positions: 3, taps: 2, stride: 1, dilation: 1, before: 2 },
            Axis { extent: 3, positions: 2, taps: 2, stride: 4, dilation: usize::MAX, before: 1 },
        ];
        for axis in axes {
            let meets = |position: usize, tap: usize| {
                let place = position as u128 * axis.stride as u128 + tap as u128 * axis.dilation as u128;
                let element = place.checked_sub(axis.before as u128)?;
                (element < axis.extent as u128).then_some(element as usize)
            };
            for position in 0..axis.positions {
                let run = axis.taps_at(position);
                for tap in 0..axis.taps {
                    let here =
                        run.over.contains(&tap).then(|| run.element + (tap - run.over.start) * axis.dilation);
                    assert_eq!(here, meets(position, tap), "{axis:?} {position} {tap}");
                    let run = axis.positions_of(tap);
                    let steps = run.over.contains(&position).then(|| position - run.over.start);
                    let here = steps.map(|steps| run.element + steps * axis.stride);
                    assert_eq!(here, meets(position, tap), "{axis:?} {position} {tap}");
                }
            }
        }
    }

    /// A position and a tap each for these would be 52 GB.
    #[test]
    fn tables_are_as_long_as_the_shorter_of_positions_and_taps() {
        let axis = Axis { extent: 8192, positions: 8186, taps: 7, stride: 1, dilation: 1, before: 0 };
        let moves = Moves::new([axis; 2]);
        assert_eq!((moves.rows(), moves.width(), moves.runs.len()), (8186, 8186, 7));
        let long = Axis { extent: 1 << 26, positions: 2, taps: (1 << 26) - 1, ..axis };
        assert_eq!(Moves::new([long]).runs.len(), 2);
    }

    #[test]
    fn axes_along_which_nothing_moves_become_part_of_others() {
        let idle = |extent| Axis { extent, positions: extent, ..Axis::STILL };
        let moving = Axis { extent: 9, positions: 7, taps: 3, stride: 1, dilation: 1, before: 0 };
        let joined = |axes: &[Axis]| {
            let moves = Moves::new(axes.iter().copied());
            (moves.outer.len(), moves.last)
        };
        assert_eq!(joined(&[idle(3), idle(5)]), (0, Axis { dilation: 5, ..idle(15) }));
        assert_eq!(joined(&[idle(1), moving]), (0, moving));
        assert_eq!(joined(&[idle(2), moving]), (1, moving));
        let wide = Axis { extent: 45, positions: 35, dilation: 5, ..moving };
        assert_eq!(joined(&[moving, idle(5)]), (0, wide));
        let wider = Axis { stride: 2, ..moving };
        assert_eq!(joined(&[wider, idle(5)]), (1, idle(5)));
        assert_eq!(joined(&[wider, idle(1)]), (0, wider));
        assert_eq!(joined(&[Axis { before: usize::MAX / 2, ..moving }, idle(5)]), (1, idle(5)));
    }
}
