//! Windows: the largest by maxima of the planar engine, one axis after the other; the mean by a depthwise convolution.

use super::held::Held;
use super::{Lower, Why};
use crate::build::{Element, Limit};
use crate::model::network::evaluate::moving::count_factors;
use crate::model::network::operation::{Cut, Window};

/// Most elements of a window over rows and columns whose mean is taken at once.
const TOGETHER_MAX: usize = 31;

/// Most elements of a window along one axis whose ones may be halves.
const HALVES_MAX: usize = 16;

/// Most elements of a window whose sum the planar engine takes without a share before it. (Chosen) Such a sum is finite where the mean
/// is below 8188.
const WHOLE_MAX: usize = 8;

/// The factor of each element before the array adds them up, of which a mean is finite: one over their number as a power of two, but not
/// less than `least`.
///
/// With a small factor the sum is finite for larger means. But the array rounds products to multiples of 2^-16, so small elements
/// lose their digits. What is left of the share multiplies the sum.
fn share(elements: usize, least: f64) -> f64 {
    (-(elements as f64).log2().ceil()).exp2().max(least)
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
            self.along_axes(window, x, 0.0, Element::ADD)?
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
    /// The sum of a large window would need a small share in its ones, so such a mean is taken along columns first, and then along rows.
    fn mean(&mut self, window: &Window, x: &Held) -> Result<Held, Why> {
        let last = window.kernel.len() - 1;
        let (width, step, (left, right)) = (window.kernel[last], window.stride[last], window.padding[last]);
        let (height, rise, (top, bottom)) =
            if last == 0 { (1, 1, (0, 0)) } else { (window.kernel[0], window.stride[0], window.padding[0]) };
        if width * height > TOGETHER_MAX && width.min(height) > 1 {
            let along = |elements| share(elements, if elements > HALVES_MAX { 0.25 } else { 0.5 });
            let means = self.box_mean(x, (width, 1), (step, 1), [left, right, 0, 0], along(width))?;
            return self.box_mean(&means, (1, height), (1, rise), [0, 0, top, bottom], along(height));
        }
        let share = share(width * height, 0.25);
        self.box_mean(x, (width, height), (step, rise), [left, right, top, bottom], share)
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

    /// Joins the elements of the window along one moving axis after the other: their largest, or their mean if `element` adds.
    ///
    /// A mean is divided behind the sum of each axis, where small elements lose no digits. Before the sum of a long axis they have a share
    /// that keeps it finite.
    fn along_axes(&mut self, window: &Window, x: Held, outside: f64, element: Element) -> Result<Held, Why> {
        let still = x.dims.len() - window.kernel.len();
        let is_sum = element == Element::ADD;
        let mut held = x;
        // The factor of the sums along the axes so far.
        let mut rest = 1.0;
        for moving in 0..window.kernel.len() {
            let axis = still + moving;
            let (kernel, step) = (window.kernel[moving], window.stride[moving]);
            let count = window.positions[moving];
            let (before, behind) = window.padding[moving];
            let all = Cut { start: 0, step: step.cast_signed(), count };
            if kernel == 1 && (before, behind) == (0, 0) && all == Cut::all(held.dims[axis]) {
                continue;
            }
            if is_sum {
                let before = (-(kernel.div_ceil(WHOLE_MAX) as f64).log2().ceil()).exp2();
                held = self.scaled(held, rest * before)?;
                rest = 1.0 / (kernel as f64 * before);
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
        self.scaled(held, rest)
    }

    fn scaled(&mut self, held: Held, scale: f64) -> Result<Held, Why> {
        if scale == 1.0 { Ok(held) } else { self.affine(&held, scale, 0.0) }
    }
}
