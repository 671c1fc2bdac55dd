//! Kernels and windows that move over the last axes.

use crate::model::network::array::{Array, elements};
use crate::model::network::fault::Fault;
use crate::model::network::operation::{Convolution, Window};

/// Places along the moving axes: which input element each output and tap has, if it is inside.
struct Moves<'a> {
    extents: &'a [usize],
    stride: &'a [usize],
    dilation: &'a [usize],
    padding: &'a [(usize, usize)],
}

impl Moves<'_> {
    /// The place of tap `tap` at output `out` in one plane of the input, by coordinates.
    fn place(&self, out: &[usize], tap: &[usize]) -> Option<usize> {
        let mut place = 0;
        for axis in 0..self.extents.len() {
            let at = out[axis] * self.stride[axis] + tap[axis] * self.dilation[axis];
            let at = at.checked_sub(self.padding[axis].0).filter(|&at| at < self.extents[axis])?;
            place = place * self.extents[axis] + at;
        }
        Some(place)
    }
}

/// The coordinates of element `at`.
fn coordinates(dims: &[usize], mut at: usize) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for axis in (0..dims.len()).rev() {
        index[axis] = at % dims[axis];
        at /= dims[axis];
    }
    index
}

pub(super) fn convolution(
    convolution: &Convolution,
    x: &Array,
    weights: &Array,
    bias: Option<&Array>,
    dims: Vec<usize>,
) -> Result<Array, Fault> {
    let (plane_in, plane_out) = (&x.dims()[2..], &dims[2..]);
    let kernel = &weights.dims()[2..];
    let (inputs, reads) = (x.dims()[1], weights.dims()[1]);
    let each = weights.dims()[0] / convolution.groups;
    let moves = Moves {
        extents: plane_in,
        stride: &convolution.stride,
        dilation: &convolution.dilation,
        padding: &convolution.padding,
    };
    let (size_in, size_out) = (elements(plane_in)?, elements(plane_out)?);
    let taps = elements(kernel)?;
    // The same for each pair of channels.
    let mut places = Vec::with_capacity(size_out * taps);
    let kernels: Vec<Vec<usize>> = (0..taps).map(|tap| coordinates(kernel, tap)).collect();
    for out in 0..size_out {
        let out = coordinates(plane_out, out);
        places.extend(kernels.iter().map(|tap| moves.place(&out, tap)));
    }
    let mut values = vec![0.0; elements(&dims)?];
    for (plane, sums) in values.chunks_mut(size_out).enumerate() {
        let (batch, output) = (plane / dims[1], plane % dims[1]);
        let start = bias.map_or(0.0, |bias| bias.values()[output]);
        sums.fill(start);
        for read in 0..reads {
            let channel = batch * inputs + output / each * reads + read;
            let source = &x.values()[channel * size_in..][..size_in];
            let weights = &weights.values()[(output * reads + read) * taps..][..taps];
            for (sum, places) in sums.iter_mut().zip(places.chunks(taps)) {
                for (place, weight) in places.iter().zip(weights) {
                    if let Some(place) = place {
                        *sum += source[*place] * weight;
                    }
                }
            }
        }
        if let Some(map) = convolution.activation {
            sums.iter_mut().for_each(|sum| *sum = super::map(map, *sum));
        }
    }
    Array::new(dims, values)
}

pub(super) fn window(window: &Window, x: &Array, dims: Vec<usize>) -> Result<Array, Fault> {
    let still = x.dims().len() - window.kernel.len();
    let (plane_in, plane_out) = (&x.dims()[still..], &dims[still..]);
    let moves = Moves {
        extents: plane_in,
        stride: &window.stride,
        dilation: &window.dilation,
        padding: &window.padding,
    };
    let (size_in, size_out) = (elements(plane_in)?, elements(plane_out)?);
    let taps = elements(&window.kernel)?;
    let mut values = Vec::with_capacity(elements(&dims)?);
    for source in x.values().chunks(size_in.max(1)) {
        for out in 0..size_out {
            let out = coordinates(plane_out, out);
            let there = (0..taps).filter_map(|tap| moves.place(&out, &coordinates(&window.kernel, tap)));
            let seen = there.map(|place| source[place]);
            values.push(if window.maximum {
                seen.fold(f64::NEG_INFINITY, f64::max)
            } else {
                seen.sum::<f64>() / counted(window, plane_in, &out) as f64
            });
        }
    }
    Array::new(dims, values)
}

/// How many elements the mean at output `out` counts.
pub fn counted(window: &Window, extents: &[usize], out: &[usize]) -> usize {
    let along = |axis: usize| {
        let (before, behind) = window.counted[axis];
        let inside = |tap: &usize| {
            let at = out[axis] * window.stride[axis] + tap * window.dilation[axis];
            let first = window.padding[axis].0.saturating_sub(before);
            (first..window.padding[axis].0 + extents[axis] + behind).contains(&at)
        };
        (0..window.kernel[axis]).filter(inside).count()
    };
    (0..extents.len()).map(along).product::<usize>().max(1)
}

/// The factor of a mean after its sum was divided by all elements of the window: for each position.
pub fn count_factors(window: &Window, extents: &[usize]) -> Result<Array, Fault> {
    let taps: usize = window.kernel.iter().product();
    Array::from_fn(window.positions.clone(), |at| {
        let out = coordinates(&window.positions, at);
        taps as f64 / counted(window, extents, &out) as f64
    })
}
