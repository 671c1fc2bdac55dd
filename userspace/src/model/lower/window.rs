//! Windows: the largest by maxima of the planar engine, one axis after the other; the mean by a depthwise convolution.

use super::held::Held;
use super::{Lower, Why};
use crate::build::{Element, Limit};
use crate::model::network::evaluate::moving::{count_factors, taps};
use crate::model::network::operation::{Cut, Window};

/// Most elements of a window over rows and columns whose mean is taken at once. (Chosen) Each of 16 ones is a sixteenth.
const TOGETHER_MAX: usize = 16;

/// One over so many elements, as a power of two that each is multiplied with before they are added up, and the rest, which the sum is
/// multiplied with. A sum without the first may be infinite where the mean is not; a power of two is exact.
pub(super) fn shares(taps: f64) -> (f64, f64) {
    // Halves hold smaller ones with fewer digits.
    let share = (-taps.log2().ceil()).max(-14.0).exp2();
    (share, 1.0 / (taps * share))
}

/// Without the array, each element of the window along an axis is a task.
fn is_few_tasks(window: &Window) -> Result<(), Why> {
    match window.kernel.iter().find(|&&kernel| kernel as u64 > super::TASKS_MAX) {
        Some(&kernel) => Err(Why::Tasks { tasks: kernel as u64, most: super::TASKS_MAX }),
        None => Ok(()),
    }
}

impl Lower<'_> {
    pub(super) fn window(&mut self, window: &Window, x: Held) -> Result<Held, Why> {
        if !self.fits_array(window, &x) {
            is_few_tasks(window)?;
        }
        if window.maximum {
            return self.along_axes(window, x, f64::NEG_INFINITY, Element::MAXIMUM);
        }
        let extents = x.dims[x.dims.len() - window.kernel.len()..].to_vec();
        let means = if self.fits_array(window, &x) {
            self.mean(window, &x)?
        } else {
            let (share, rest) = shares(taps(window));
            let small = self.affine(&x, share, 0.0)?;
            let sums = self.along_axes(window, small, 0.0, Element::ADD)?;
            if rest == 1.0 { sums } else { self.affine(&sums, rest, 0.0)? }
        };
        let factors = count_factors(window, &extents)?;
        if factors.values().iter().all(|&factor| factor == 1.0) {
            return Ok(means);
        }
        let rank = means.dims.len();
        let missing = rank - factors.dims().len();
        let column = means.column.and_then(|column| column.checked_sub(missing));
        let column = column.filter(|&axis| factors.dims()[axis] > 1);
        let factors = self.array(&factors, column)?.with_rank(rank);
        self.combine(&means, &factors, Element::MULTIPLY)
    }

    /// The mean of all elements of the window, those on padding too, by the array.
    ///
    /// The array rounds each product to a multiple of 2^-16. With a small share in its ones it would round an element of a large
    /// window to few digits, so such a mean is taken along columns first, and then along rows.
    fn mean(&mut self, window: &Window, x: &Held) -> Result<Held, Why> {
        let last = window.kernel.len() - 1;
        let (width, step, (left, right)) = (window.kernel[last], window.stride[last], window.padding[last]);
        if last == 0 {
            return self.box_mean(x, (width, 1), (step, 1), [left, right, 0, 0]);
        }
        let (height, rise, (top, bottom)) = (window.kernel[0], window.stride[0], window.padding[0]);
        if width * height > TOGETHER_MAX && width.min(height) > 1 {
            let means = self.box_mean(x, (width, 1), (step, 1), [left, right, 0, 0])?;
            return self.box_mean(&means, (1, height), (1, rise), [0, 0, top, bottom]);
        }
        self.box_mean(x, (width, height), (step, rise), [left, right, top, bottom])
    }

    fn fits_array(&self, window: &Window, x: &Held) -> bool {
        if window.of_squares {
            return false;
        }
        let fits = |axis: usize| {
            let (before, behind) = window.padding[axis];
            window.kernel[axis] as u64 <= Limit::Kernel.max()
                && window.stride[axis] as u64 <= Limit::Stride.max()
                && window.dilation[axis] == 1
                && before.max(behind) < window.kernel[axis]
        };
        let moving = window.kernel.len();
        moving <= 2 && x.dims.len() == moving + 2 && (0..moving).all(fits)
    }

    /// Joins the elements of the window along one moving axis after the other.
    fn along_axes(&mut self, window: &Window, x: Held, outside: f64, element: Element) -> Result<Held, Why> {
        let still = x.dims.len() - window.kernel.len();
        let mut held = x;
        for moving in 0..window.kernel.len() {
            let axis = still + moving;
            let (kernel, step) = (window.kernel[moving], window.stride[moving]);
            let count = window.positions[moving];
            let (before, behind) = window.padding[moving];
            let all = Cut { start: 0, step: step.cast_signed(), count };
            if kernel == 1 && (before, behind) == (0, 0) && all == Cut::all(held.dims[axis]) {
                continue;
            }
            held = self.column_beside(&held, &[axis])?;
            if (before, behind) != (0, 0) {
                let mut sides = vec![(0, 0); held.dims.len()];
                sides[axis] = (before, behind);
                held = self.pad(held, &sides, outside)?;
            }
            let part = |tap: usize| Cut { start: tap * window.dilation[moving], ..all };
            let mut joined = held.part(axis, part(0));
            for tap in 1..kernel {
                joined = self.combine(&joined, &held.part(axis, part(tap)), element)?;
            }
            held = joined;
        }
        Ok(held)
    }
}
