//! Windows: the largest by maxima of the planar engine, one axis after the other; the mean by a depthwise convolution.

use super::held::Held;
use super::{Lower, Why};
use crate::build::{Element, Limit};
use crate::model::network::evaluate::moving::{count_factors, taps};
use crate::model::network::operation::{Cut, Window};

impl Lower<'_> {
    pub(super) fn window(&mut self, window: &Window, x: Held) -> Result<Held, Why> {
        if window.maximum {
            return self.along_axes(window, x, f64::NEG_INFINITY, Element::MAXIMUM);
        }
        let taps = taps(window);
        let extents = x.dims[x.dims.len() - window.kernel.len()..].to_vec();
        let sums = if self.fits_array(window, &x) {
            let moving = window.kernel.len();
            let rows = |list: &[usize]| if moving == 2 { list[0] } else { 1 };
            let (top, bottom) = if moving == 2 { window.padding[0] } else { (0, 0) };
            let (left, right) = window.padding[moving - 1];
            let kernel = (window.kernel[moving - 1], rows(&window.kernel));
            let stride = (window.stride[moving - 1], rows(&window.stride));
            self.box_sum(&x, kernel, stride, [left, right, top, bottom], 1.0 / taps)?
        } else {
            let sums = self.along_axes(window, x, 0.0, Element::ADD)?;
            self.affine(&sums, 1.0 / taps, 0.0)?
        };
        let factors = count_factors(window, &extents)?;
        if factors.values().iter().all(|&factor| factor == 1.0) {
            return Ok(sums);
        }
        let rank = sums.dims.len();
        let missing = rank - factors.dims().len();
        let column = sums.column.and_then(|column| column.checked_sub(missing));
        let column = column.filter(|&axis| factors.dims()[axis] > 1);
        let factors = self.array(&factors, column)?.with_rank(rank);
        self.combine(&sums, &factors, Element::MULTIPLY)
    }

    fn fits_array(&self, window: &Window, x: &Held) -> bool {
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
            if kernel as u64 > super::TASKS_MAX {
                return Err(Why::Tasks { tasks: kernel as u64, most: super::TASKS_MAX });
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
