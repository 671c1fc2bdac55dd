//! Reductions.

use super::{Call, Made, one};
use crate::model::layers::Layers;
use crate::model::network::operation::{Cut, JoinKind, Map, Post, Reduce, ReduceKind};
use crate::model::network::{Kind, Operation, ValueId};
use crate::model::problem::Why;

/// Most factors of a product over axes: each is a task.
const FACTORS_MAX: usize = 256;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    let rank = match call.optional(0) {
        Some(x) => call.network.dims(x).len(),
        None => 0,
    };
    let global = |call: &mut Call<'_, '_>, kind| {
        let x = call.x(0)?;
        one(reduced(call, x, kind, (2..rank).collect())?)
    };
    match call.node.operator.as_str() {
        "GlobalAveragePool" => return global(call, ReduceKind::Mean),
        "GlobalMaxPool" => return global(call, ReduceKind::Maximum),
        name if !name.starts_with("Reduce") => return Ok(None),
        _ => {}
    }
    let given = match call.integers("axes")? {
        Some(axes) => axes,
        None => call.list_or(1, Vec::new)?,
    };
    let x = call.x(0)?;
    let (keeps_all, keeps_axes) =
        (call.integer("noop_with_empty_axes", 0)? != 0, call.integer("keepdims", 1)? != 0);
    if given.is_empty() && keeps_all {
        return one(pointwise(call, x)?);
    }
    let mut axes = if given.is_empty() {
        (0..rank).collect()
    } else {
        given.iter().map(|&axis| call.axis(axis, rank)).collect::<Result<Vec<_>, _>>()?
    };
    axes.sort_unstable();
    axes.dedup();
    let value = match call.node.operator.as_str() {
        "ReduceSum" => reduced(call, x, ReduceKind::Sum, axes.clone())?,
        "ReduceMean" => reduced(call, x, ReduceKind::Mean, axes.clone())?,
        "ReduceMax" => extreme(call, x, ReduceKind::Maximum, axes.clone())?,
        "ReduceMin" => extreme(call, x, ReduceKind::Minimum, axes.clone())?,
        "ReduceSumSquare" => squares(call, x, axes.clone(), Post::None)?,
        "ReduceL1" => {
            let magnitudes = call.map(Map::Abs, x)?;
            reduced(call, magnitudes, ReduceKind::Sum, axes.clone())?
        }
        "ReduceL2" => {
            // The sum of squares may exceed a half where its root does not.
            let factor = squares(call, x, axes.clone(), Post::ReciprocalSquareRoot)?;
            call.map(Map::Reciprocal, factor)?
        }
        "ReduceLogSum" => {
            let sum = reduced(call, x, ReduceKind::Sum, axes.clone())?;
            call.map(Map::Ln, sum)?
        }
        "ReduceLogSumExp" => log_sum_exp(call, x, axes.clone())?,
        "ReduceProd" => product(call, x, &axes)?,
        _ => return Ok(None),
    };
    let value = match call.network.known(value) {
        // A mean of whole numbers is one, too.
        Some(array) if call.kind(x) == Kind::Integer => {
            let array = array.map(f64::trunc);
            call.constant(array, Kind::Integer)
        }
        _ => value,
    };
    if keeps_axes {
        return one(value);
    }
    let dims = call.dims(value);
    let left = dims.iter().enumerate().filter(|(axis, _)| !axes.contains(axis)).map(|(_, &extent)| extent);
    let left = left.collect();
    one(call.reshape(value, left)?)
}

/// Without axes, what is left is the function of each element.
fn pointwise(call: &mut Call<'_, '_>, x: ValueId) -> Result<ValueId, Why> {
    match call.node.operator.as_str() {
        "ReduceSumSquare" => call.map(Map::Square, x),
        "ReduceL1" | "ReduceL2" => call.map(Map::Abs, x),
        "ReduceLogSum" => call.map(Map::Ln, x),
        _ => Ok(x),
    }
}

/// A plain reduction.
pub(super) fn reduced(
    call: &mut Call<'_, '_>,
    x: ValueId,
    kind: ReduceKind,
    axes: Vec<usize>,
) -> Result<ValueId, Why> {
    if axes.is_empty() {
        return Ok(x);
    }
    let reduce = Reduce { kind, axes, square: false, epsilon: 0.0, post: Post::None };
    call.add(Operation::Reduce(reduce), &[x])
}

/// The largest or the smallest; of no truths, the largest is false and the smallest is true.
fn extreme(call: &mut Call<'_, '_>, x: ValueId, kind: ReduceKind, axes: Vec<usize>) -> Result<ValueId, Why> {
    let value = reduced(call, x, kind, axes)?;
    let is_of_none = call.kind(x) == Kind::Bool && call.dims(x).contains(&0);
    if is_of_none { call.map(Map::Clip(0.0, 1.0), value) } else { Ok(value) }
}

fn squares(call: &mut Call<'_, '_>, x: ValueId, axes: Vec<usize>, post: Post) -> Result<ValueId, Why> {
    let reduce = Reduce { kind: ReduceKind::Sum, axes, square: true, epsilon: 0.0, post };
    call.add(Operation::Reduce(reduce), &[x])
}

/// A row relative to its largest element, so that no exponential overflows.
pub(super) struct Below {
    pub(super) largest: ValueId,
    /// The elements less the largest.
    pub(super) below: ValueId,
    /// The logarithm of the sum of their exponentials.
    pub(super) logarithm: ValueId,
}

pub(super) fn below_largest(call: &mut Call<'_, '_>, x: ValueId, axes: Vec<usize>) -> Result<Below, Why> {
    let largest = reduced(call, x, ReduceKind::Maximum, axes.clone())?;
    let below = call.join(JoinKind::Subtract, x, largest)?;
    let powers = call.map(Map::Exp, below)?;
    let sum = reduced(call, powers, ReduceKind::Sum, axes)?;
    let logarithm = call.map(Map::Ln, sum)?;
    Ok(Below { largest, below, logarithm })
}

fn log_sum_exp(call: &mut Call<'_, '_>, x: ValueId, axes: Vec<usize>) -> Result<ValueId, Why> {
    let Below { largest, logarithm, .. } = below_largest(call, x, axes)?;
    call.join(JoinKind::Add, logarithm, largest)
}

fn product(call: &mut Call<'_, '_>, x: ValueId, axes: &[usize]) -> Result<ValueId, Why> {
    let mut product = x;
    for &axis in axes {
        let extent = call.network.dims(product)[axis];
        if extent > FACTORS_MAX && call.network.known(x).is_none() {
            return Err(Why::Tasks { tasks: extent as u64, most: FACTORS_MAX as u64 });
        }
        if extent == 0 {
            let mut dims = call.dims(product);
            dims[axis] = 1;
            product = call.network.filled(call.name, dims, call.kind(x), |_| 1.0)?;
            continue;
        }
        let all = product;
        let part = |start| Cut { start, step: 1, count: 1 };
        product = call.cut(all, axis, part(0))?;
        for start in 1..extent {
            let factor = call.cut(all, axis, part(start))?;
            product = call.join(JoinKind::Multiply, product, factor)?;
        }
    }
    Ok(product)
}
