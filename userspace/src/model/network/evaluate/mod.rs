//! The meaning of each operation, in double precision and element by element.
//!
//! It computes what is known before the run, and what the engine's results are compared with. Nothing here knows how
//! the engine does it.

mod maps;
pub mod moving;
mod places;

use super::array::{Array, broadcast, stretched, strides};
use super::fault::Fault;
use super::operation::{Cut, Join, JoinKind, Map, Normalise, Operation, Post, Reduce, ReduceKind};
use super::shape;

pub use maps::map;

/// Most products of one layer, and of all layers of a model that are computed before the run: some seconds, or half a minute where
/// memory is slow.
pub(super) const PRODUCTS_MAX: u64 = 1 << 32;

/// Products that take as long as one value of the error function, whose series and fraction have some hundred steps.
const ERROR_FUNCTION: usize = 64;

/// The work of a layer, in products. It is at least the elements of its result, and what it reads or picks to make them. Extents
/// beside one of 0 count too, as indices of a layer without elements do.
pub(super) fn work(operation: &Operation, operands: &[&[usize]], dims: &[usize]) -> u64 {
    // Of a reduction the elements that it reads count.
    let of = if matches!(operation, Operation::Reduce(_)) { operands[0] } else { dims };
    let each: &[usize] = match operation {
        Operation::Convolution(_) => &operands[1][1..],
        Operation::Product | Operation::Linear(_) => operands[0].last_chunk::<1>().map_or(&[], |last| last),
        Operation::Window(window) => &window.kernel,
        Operation::Map(Map::Erf | Map::Gelu) => &[ERROR_FUNCTION],
        _ => &[],
    };
    of.iter().chain(each).fold(1, |all: u64, &extent| all.saturating_mul(extent.max(1) as u64))
}

/// The result of `operation`.
///
/// # Errors
///
/// [`Fault`], as for the extents of the result.
pub fn evaluate(operation: &Operation, operands: &[&Array]) -> Result<Array, Fault> {
    let extents: Vec<&[usize]> = operands.iter().map(|operand| operand.dims()).collect();
    let products = work(operation, &extents, &shape::infer(operation, &extents)?);
    if products > PRODUCTS_MAX {
        return Err(Fault::Work { products });
    }
    unbounded(operation, operands)
}

/// The same, however long it takes.
///
/// # Errors
///
/// [`Fault`], as for the extents of the result.
pub(crate) fn unbounded(operation: &Operation, operands: &[&Array]) -> Result<Array, Fault> {
    let extents: Vec<&[usize]> = operands.iter().map(|operand| operand.dims()).collect();
    let dims = shape::infer(operation, &extents)?;
    let first = operands[0];
    match operation {
        Operation::Map(map) => Ok(first.map(|x| maps::map(*map, x))),
        Operation::Join(join) => self::join(*join, first, operands[1]),
        Operation::Select => {
            let stretch = |operand: &Array| operand.gather(&dims, 0, &stretched(operand.dims(), &dims));
            let [condition, a, b] = [stretch(first)?, stretch(operands[1])?, stretch(operands[2])?];
            let choose =
                |at: usize| if condition.values()[at] != 0.0 { a.values()[at] } else { b.values()[at] };
            Array::from_fn(dims, choose)
        }
        Operation::Convolution(convolution) => {
            moving::convolution(convolution, first, operands[1], operands.get(2).copied(), dims)
        }
        Operation::Product => product(first, operands[1], dims),
        Operation::Linear(linear) => {
            let sums = product(first, operands[1], dims)?.map(|sum| linear.scale * sum);
            let sums = match operands.get(2) {
                Some(bias) => both(&sums, bias, |sum, bias| sum + bias)?,
                None => sums,
            };
            Ok(match linear.activation {
                Some(map) => sums.map(|sum| maps::map(map, sum)),
                None => sums,
            })
        }
        Operation::Reduce(reduce) => self::reduce(reduce, first, dims),
        Operation::Normalise(normalise) => self::normalise(normalise, first),
        Operation::Window(window) => moving::window(window, first, dims),
        Operation::Reshape(dims) => first.reshaped(dims.clone()),
        Operation::Permute(order) => {
            let own = strides(first.dims());
            let steps: Vec<isize> = order.iter().map(|&axis| own[axis].cast_signed()).collect();
            first.gather(&dims, 0, &steps)
        }
        Operation::Cut(cuts) => cut(cuts, first, &dims),
        &Operation::Concat(axis) => concat(operands, axis, dims),
        Operation::Expand(_) => first.gather(&dims, 0, &stretched(first.dims(), &dims)),
        Operation::Pad { sides, value } => {
            let before: Vec<usize> = sides.iter().map(|side| side.0).collect();
            Ok(spread(first, dims, *value, &before, &vec![1; sides.len()]))
        }
        Operation::Take { axis, indices } => {
            let own = strides(first.dims());
            let (inner, outer) = (own[*axis], own[*axis] * first.dims()[*axis]);
            Array::from_fn(dims, |at| {
                let (rest, inside) = (at / inner, at % inner);
                let (before, index) = (rest / indices.len(), rest % indices.len());
                first.values()[before * outer + indices[index] * inner + inside]
            })
        }
        Operation::Stretch(factors) => Ok(spread(first, dims, 0.0, &vec![0; factors.len()], factors)),
    }
}

/// Both arrays element by element, stretched as NumPy does.
///
/// # Errors
///
/// [`Fault::Broadcast`], [`Fault::Elements`].
pub(crate) fn both(a: &Array, b: &Array, function: impl Fn(f64, f64) -> f64) -> Result<Array, Fault> {
    let dims = broadcast(a.dims(), b.dims())?;
    let a = a.gather(&dims, 0, &stretched(a.dims(), &dims))?;
    let b = b.gather(&dims, 0, &stretched(b.dims(), &dims))?;
    Array::from_fn(dims, |at| function(a.values()[at], b.values()[at]))
}

fn join(join: Join, a: &Array, b: &Array) -> Result<Array, Fault> {
    both(a, b, |a, b| {
        let value = match join.kind {
            JoinKind::Add => a + b,
            JoinKind::Subtract => a - b,
            JoinKind::Multiply => a * b,
            JoinKind::Divide => a / b,
            JoinKind::Maximum => a.max(b),
            JoinKind::Minimum => a.min(b),
            JoinKind::Power => a.powf(b),
        };
        if join.relu { value.max(0.0) } else { value }
    })
}

fn reduce(reduce: &Reduce, x: &Array, dims: Vec<usize>) -> Result<Array, Fault> {
    let kept = stretched(&dims, x.dims());
    let count: usize = reduce.axes.iter().map(|&axis| x.dims()[axis]).product();
    let empty = match reduce.kind {
        ReduceKind::Sum | ReduceKind::Mean => 0.0,
        ReduceKind::Maximum => f64::NEG_INFINITY,
        ReduceKind::Minimum => f64::INFINITY,
    };
    let mut left = vec![empty; super::array::elements(&dims)?];
    let mut walk = super::array::Walk::new(x.dims(), 0, &kept);
    for &value in x.values() {
        let value = if reduce.square { value * value } else { value };
        let place = &mut left[walk.next_place()];
        *place = match reduce.kind {
            ReduceKind::Sum | ReduceKind::Mean => *place + value,
            ReduceKind::Maximum => place.max(value),
            ReduceKind::Minimum => place.min(value),
        };
    }
    let finish = |value: f64| {
        let value =
            if reduce.kind == ReduceKind::Mean { value / count as f64 } else { value } + reduce.epsilon;
        match reduce.post {
            Post::None => value,
            Post::Reciprocal => value.recip(),
            Post::ReciprocalSquareRoot => value.sqrt().recip(),
        }
    };
    Array::new(dims, left.into_iter().map(finish).collect())
}

fn normalise(normalise: &Normalise, x: &Array) -> Result<Array, Fault> {
    let &Normalise { ref axes, epsilon } = normalise;
    let mut dims = x.dims().to_vec();
    axes.iter().for_each(|&axis| dims[axis] = 1);
    let mean =
        Reduce { kind: ReduceKind::Mean, axes: axes.clone(), square: false, epsilon: 0.0, post: Post::None };
    let centred = both(x, &reduce(&mean, x, dims.clone())?, |x, mean| x - mean)?;
    let deviation = Reduce { square: true, epsilon, post: Post::ReciprocalSquareRoot, ..mean };
    let factor = reduce(&deviation, &centred, dims)?;
    both(&centred, &factor, |x, factor| x * factor)
}

fn product(a: &Array, b: &Array, dims: Vec<usize>) -> Result<Array, Fault> {
    let rank = dims.len();
    let (m, n) = (dims[rank - 2], dims[rank - 1]);
    let k = a.dims()[a.dims().len() - 1];
    let batches = &dims[..rank - 2];
    let steps = |operand: &Array| stretched(&operand.dims()[..operand.dims().len() - 2], batches);
    let (steps_a, steps_b) = (steps(a), steps(b));
    let mut walk_a = super::array::Walk::new(batches, 0, &steps_a);
    let mut walk_b = super::array::Walk::new(batches, 0, &steps_b);
    let mut values = Vec::with_capacity(super::array::elements(&dims)?);
    for _ in 0..batches.iter().product() {
        let a = &a.values()[walk_a.next_place() * m * k..][..m * k];
        let b = &b.values()[walk_b.next_place() * k * n..][..k * n];
        for row in 0..m {
            let (row, mut sums) = (&a[row * k..][..k], vec![0.0; n]);
            for (x, weights) in row.iter().zip(b.chunks(n.max(1))) {
                sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += x * weight);
            }
            values.extend(sums);
        }
    }
    Array::new(dims, values)
}

fn cut(cuts: &[Cut], x: &Array, dims: &[usize]) -> Result<Array, Fault> {
    let own = strides(x.dims());
    if dims.contains(&0) {
        // Then a part may begin anywhere.
        return Array::new(dims.to_vec(), Vec::new());
    }
    let base = cuts.iter().zip(&own).map(|(cut, stride)| cut.start * stride).sum();
    let steps: Vec<isize> =
        cuts.iter().zip(&own).map(|(cut, &stride)| cut.step.wrapping_mul(stride.cast_signed())).collect();
    x.gather(dims, base, &steps)
}

fn concat(operands: &[&Array], axis: usize, dims: Vec<usize>) -> Result<Array, Fault> {
    let outer: usize = dims[..axis].iter().product();
    let mut values = Vec::with_capacity(super::array::elements(&dims)?);
    for before in 0..outer {
        for operand in operands {
            let each: usize = operand.dims()[axis..].iter().product();
            values.extend_from_slice(&operand.values()[before * each..][..each]);
        }
    }
    Array::new(dims, values)
}

/// `x` in a tensor of `value`, from `before` on and by `factors`.
fn spread(x: &Array, dims: Vec<usize>, value: f64, before: &[usize], factors: &[usize]) -> Array {
    let own = strides(&dims);
    let base = before.iter().zip(&own).map(|(before, stride)| before * stride).sum();
    let steps: Vec<isize> =
        factors.iter().zip(&own).map(|(factor, stride)| (factor * stride).cast_signed()).collect();
    let mut values = vec![value; own.first().map_or(1, |stride| stride * dims[0])];
    let mut walk = super::array::Walk::new(x.dims(), base, &steps);
    for &element in x.values() {
        values[walk.next_place()] = element;
    }
    Array::new(dims, values).unwrap_or_else(|_| Array::scalar(value))
}
