//! Kernels and windows that move over the last axes.

use super::places::{Axis, Met, Moves, within};
use crate::model::network::array::{Array, elements};
use crate::model::network::fault::Fault;
use crate::model::network::operation::{Convolution, Window};

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
    // Channels are summed up as taps are: a kernel has all channels that it reads, and does not move along them.
    let channels = Axis { extent: reads, positions: 1, taps: reads, stride: 1, dilation: 1, before: 0 };
    let moving = (0..kernel.len()).map(|axis| Axis {
        extent: plane_in[axis],
        positions: plane_out[axis],
        taps: kernel[axis],
        stride: convolution.stride[axis],
        dilation: convolution.dilation[axis],
        before: convolution.padding[axis].0,
    });
    let moves = Moves::new(std::iter::once(channels).chain(moving));
    let (size_in, size_out) = (elements(plane_in)?, elements(plane_out)?);
    let taps = reads * elements(kernel)?;
    let mut values = vec![0.0; elements(&dims)?];
    let mut met = Met::new();
    for row in 0..moves.rows() {
        moves.meet(row, &mut met);
        for (plane, values) in values.chunks_mut(size_out).enumerate() {
            let (batch, output) = (plane / dims[1], plane % dims[1]);
            let sums = &mut values[row * moves.width()..][..moves.width()];
            sums.fill(bias.map_or(0.0, |bias| bias.values()[output]));
            let channel = batch * inputs + output / each * reads;
            let source = &x.values()[channel * size_in..][..reads * size_in];
            let weights = &weights.values()[output * taps..][..taps];
            moves.fold(&met, source, sums, |tap| {
                let weight = weights[tap];
                move |sum, x| sum + x * weight
            });
            if let Some(map) = convolution.activation {
                sums.iter_mut().for_each(|sum| *sum = super::map(map, *sum));
            }
        }
    }
    Array::new(dims, values)
}

pub(super) fn window(window: &Window, x: &Array, dims: Vec<usize>) -> Result<Array, Fault> {
    let still = x.dims().len() - window.kernel.len();
    let plane_in = &x.dims()[still..];
    let moves = Moves::new((0..window.kernel.len()).map(|axis| Axis {
        extent: plane_in[axis],
        positions: window.positions[axis],
        taps: window.kernel[axis],
        stride: window.stride[axis],
        dilation: window.dilation[axis],
        before: window.padding[axis].0,
    }));
    let (size_in, size_out) = (elements(plane_in)?, elements(&window.positions)?);
    elements(&window.kernel)?;
    if size_in == 0 {
        return Err(Fault::Empty { dims: x.dims().to_vec() });
    }
    // A sum of nothing is -0, as that of an empty iterator.
    let nothing = if window.maximum { f64::NEG_INFINITY } else { -0.0 };
    let mut values = vec![nothing; elements(&dims)?];
    let mut met = Met::new();
    for row in 0..moves.rows() {
        moves.meet(row, &mut met);
        for (source, values) in x.values().chunks(size_in).zip(values.chunks_mut(size_out)) {
            let row = &mut values[row * moves.width()..][..moves.width()];
            if window.maximum {
                moves.fold(&met, source, row, |_| f64::max);
            } else {
                moves.fold(&met, source, row, |_| |sum, x| sum + x);
            }
        }
    }
    if !window.maximum {
        let counts = Counts::of(window, plane_in);
        values.chunks_mut(size_out).for_each(|plane| counts.divide(plane));
    }
    Array::new(dims, values)
}

/// How many elements the mean at each position counts: a product of one number for each axis.
struct Counts {
    /// For each place along all moving axes but the last.
    outer: Vec<usize>,
    /// For each place along the last one.
    last: Vec<usize>,
}

impl Counts {
    fn of(window: &Window, extents: &[usize]) -> Self {
        let (mut outer, mut last) = (vec![1], vec![1]);
        for (axis, &extent) in extents.iter().enumerate() {
            let along = std::mem::replace(&mut last, counted(window, axis, extent));
            if axis > 0 {
                let products = |&all: &usize| along.iter().map(move |count| all.saturating_mul(*count));
                outer = outer.iter().flat_map(products).collect();
            }
        }
        Self { outer, last }
    }

    fn at(outer: usize, last: usize) -> f64 {
        outer.saturating_mul(last).max(1) as f64
    }

    fn divide(&self, sums: &mut [f64]) {
        for (sums, &outer) in sums.chunks_mut(self.last.len()).zip(&self.outer) {
            sums.iter_mut().zip(&self.last).for_each(|(sum, &last)| *sum /= Self::at(outer, last));
        }
    }
}

/// How many places of the window a mean counts at each position along `axis`.
fn counted(window: &Window, axis: usize, extent: usize) -> Vec<usize> {
    let (counted_before, counted_behind) = window.counted[axis];
    let before = window.padding[axis].0;
    let end = before.saturating_add(extent).saturating_add(counted_behind);
    let inside = before.saturating_sub(counted_before)..end;
    let at = |position: usize| {
        let from = position.saturating_mul(window.stride[axis]);
        within(&inside, from, window.dilation[axis], window.kernel[axis]).len()
    };
    (0..window.positions[axis]).map(at).collect()
}

/// The number of elements of a window.
pub fn taps(window: &Window) -> f64 {
    window.kernel.iter().fold(1_usize, |all, &taps| all.saturating_mul(taps)) as f64
}

/// The factor of a mean after its sum was divided by all elements of the window: for each position.
pub fn count_factors(window: &Window, extents: &[usize]) -> Result<Array, Fault> {
    let (taps, counts) = (taps(window), Counts::of(window, extents));
    let width = counts.last.len();
    Array::from_fn(window.positions.clone(), |at| {
        taps / Counts::at(counts.outer[at / width], counts.last[at % width])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::network::evaluate::unbounded;
    use crate::model::network::operation::Operation;

    /// Numbers whose sums depend on the order, among them zeros of both signs.
    fn mixed(dims: &[usize], seed: usize) -> Array {
        let value = |at: usize| match (at * 7919 + seed * 104_729) % 23 {
            0 => 0.0,
            1 => -0.0,
            rest => ((rest as f64) - 12.0) / 7.0 * 3_f64.powi((at % 5) as i32),
        };
        Array::from_fn(dims.to_vec(), value).unwrap()
    }

    fn bits(array: &Array) -> Vec<u64> {
        array.values().iter().map(|value| value.to_bits()).collect()
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

    /// One moving axis: elements, taps, stride, dilation, padding.
    type Along = (usize, usize, usize, usize, (usize, usize));

    const PLANES: [&[Along]; 10] = [
        &[(9, 12, 1, 1, (6, 6))],
        &[(9, 3, 1, 1, (1, 1))],
        &[(9, 9, 1, 1, (4, 4))],
        &[(20, 4, 3, 2, (5, 0))],
        &[(5, 1, 1, 1, (0, 0)), (4, 1, 1, 1, (0, 0))],
        &[(6, 3, 1, 1, (1, 1)), (7, 2, 2, 1, (0, 1))],
        &[(8, 3, 2, 2, (2, 1)), (3, 3, 1, 1, (2, 2))],
        &[(9, 3, 1, 2, (2, 2)), (4, 1, 1, 1, (0, 0))],
        &[(9, 3, 2, 1, (0, 2)), (1, 1, 1, 1, (0, 0))],
        &[(3, 2, 1, 1, (1, 0)), (4, 2, 2, 1, (1, 1)), (5, 3, 1, 2, (3, 2))],
    ];

    /// The element that each tap meets, in the order of the taps, of position `out`.
    fn met(plane: &[Along], kernel: &[usize], out: &[usize]) -> Vec<Option<usize>> {
        let place = |tap: Vec<usize>| {
            plane.iter().zip(tap).zip(out).try_fold(0, |place, ((along, tap), out)| {
                let at = (out * along.2 + tap * along.3).checked_sub(along.4.0)?;
                (at < along.0).then_some(place * along.0 + at)
            })
        };
        (0..kernel.iter().product()).map(|tap| place(coordinates(kernel, tap))).collect()
    }

    #[test]
    fn convolutions_sum_up_channels_and_taps_in_their_order() {
        for plane in PLANES {
            let kernel: Vec<usize> = plane.iter().map(|along| along.1).collect();
            let extents: Vec<usize> = plane.iter().map(|along| along.0).collect();
            let operation = Convolution {
                stride: plane.iter().map(|along| along.2).collect(),
                dilation: plane.iter().map(|along| along.3).collect(),
                padding: plane.iter().map(|along| along.4).collect(),
                groups: 2,
                activation: None,
            };
            let x = mixed(&[&[2, 4], &extents[..]].concat(), 1);
            let weights = mixed(&[&[6, 2], &kernel[..]].concat(), 2);
            let bias = mixed(&[6], 3);
            let seen = unbounded(&Operation::Convolution(operation), &[&x, &weights, &bias]).unwrap();
            let (size, taps) = (extents.iter().product::<usize>(), kernel.iter().product::<usize>());
            let exact = Array::from_fn(seen.dims().to_vec(), |at| {
                let at = coordinates(seen.dims(), at);
                let met = met(plane, &kernel, &at[2..]);
                let mut sum = bias.values()[at[1]];
                for read in 0..2 {
                    let source = &x.values()[(at[0] * 4 + at[1] / 3 * 2 + read) * size..];
                    let weights = &weights.values()[(at[1] * 2 + read) * taps..];
                    for (place, weight) in met.iter().zip(weights) {
                        sum = place.map_or(sum, |place| sum + source[place] * weight);
                    }
                }
                sum
            });
            assert_eq!(bits(&seen), bits(&exact.unwrap()), "{plane:?}");
        }
    }

    fn pool(plane: &[Along], maximum: bool, counted: (usize, usize)) -> Window {
        let positions = |&(extent, taps, stride, dilation, (before, behind)): &Along| {
            (extent + before + behind - (taps - 1) * dilation - 1) / stride + 1
        };
        Window {
            maximum,
            of_squares: false,
            kernel: plane.iter().map(|along| along.1).collect(),
            stride: plane.iter().map(|along| along.2).collect(),
            dilation: plane.iter().map(|along| along.3).collect(),
            padding: plane.iter().map(|along| along.4).collect(),
            positions: plane.iter().map(positions).collect(),
            counted: vec![counted; plane.len()],
        }
    }

    /// How many places the mean at position `out` counts, tap by tap.
    fn counted_one_by_one(window: &Window, plane: &[Along], out: &[usize]) -> usize {
        let is_counted = |tap: Vec<usize>| {
            plane.iter().enumerate().all(|(axis, along)| {
                let (before, behind) = window.counted[axis];
                let at = out[axis] * along.2 + tap[axis] * along.3;
                (along.4.0.saturating_sub(before)..along.4.0 + along.0 + behind).contains(&at)
            })
        };
        (0..window.kernel.iter().product())
            .filter(|&tap| is_counted(coordinates(&window.kernel, tap)))
            .count()
            .max(1)
    }

    #[test]
    fn windows_join_what_they_meet_in_its_order() {
        let cases = PLANES.iter().flat_map(|plane| [(0, 0), (1, 0), (9, 9)].map(|counted| (*plane, counted)));
        for (plane, counted) in cases {
            let extents: Vec<usize> = plane.iter().map(|along| along.0).collect();
            let size: usize = extents.iter().product();
            let x = mixed(&[&[2, 3], &extents[..]].concat(), 4);
            for maximum in [true, false] {
                let window = pool(plane, maximum, counted);
                let seen = unbounded(&Operation::Window(window.clone()), &[&x]).unwrap();
                let exact = Array::from_fn(seen.dims().to_vec(), |at| {
                    let at = coordinates(seen.dims(), at);
                    let source = &x.values()[(at[0] * 3 + at[1]) * size..];
                    let met = met(plane, &window.kernel, &at[2..]).into_iter().flatten().map(|at| source[at]);
                    if maximum {
                        met.fold(f64::NEG_INFINITY, f64::max)
                    } else {
                        met.sum::<f64>() / counted_one_by_one(&window, plane, &at[2..]) as f64
                    }
                });
                assert_eq!(bits(&seen), bits(&exact.unwrap()), "{plane:?} {counted:?} {maximum}");
            }
            let window = pool(plane, false, counted);
            let taps: usize = window.kernel.iter().product();
            let exact = Array::from_fn(window.positions.clone(), |at| {
                let out = coordinates(&window.positions, at);
                taps as f64 / counted_one_by_one(&window, plane, &out) as f64
            });
            assert_eq!(count_factors(&window, &extents), exact, "{plane:?} {counted:?}");
        }
    }

    /// Tap by tap these are 2^49 places.
    #[test]
    fn places_of_a_long_window_are_counted_without_a_look_at_each() {
        let plane = [(1 << 24, (1 << 24) + 1, 1, 1, (1 << 23, 1 << 23))];
        let window = pool(&plane, false, (0, 0));
        assert_eq!(window.positions, [(1 << 24)]);
        let factors = count_factors(&window, &[1 << 24]).unwrap();
        let least = ((1 << 24) + 1) as f64 / ((1 << 23) + 1) as f64;
        assert_eq!((factors.values()[0], factors.values()[1 << 23]), (least, 1.0 + 2_f64.powi(-24)));
    }
}
