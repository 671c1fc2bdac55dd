//! Elements that indices pick one by one, or put.
//!
//! The engine has no such operation. Exporters leave them in tables of positions, where data and indices are known before the
//! run. Of computed data, whole parts are picked and put by known indices (`known_parts`); the rest is refused.

use super::{Call, Made, known_parts, one};
use crate::model::layers::Layers;
use crate::model::network::{Array, Fault, array};
use crate::model::problem::Why;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    let operator = call.node.operator.as_str();
    if !["GatherElements", "GatherND", "Scatter", "ScatterElements", "ScatterND"].contains(&operator) {
        return Ok(None);
    }
    let indices = call.known(1)?.clone();
    let is_known =
        |index: usize| call.optional(index).is_none_or(|value| call.network.known(value).is_some());
    match operator {
        "GatherND" if !is_known(0) => return one(known_parts::picked(call, &indices)?),
        "ScatterND" if !(is_known(0) && is_known(2)) => return one(known_parts::put(call, &indices)?),
        _ => {}
    }
    let data = call.known(0)?.clone();
    let made = match operator {
        "GatherElements" => {
            let places = places_along(call, &data, &indices, along(call, &data)?)?;
            Array::from_fn(indices.dims().to_vec(), |at| data.values()[places[at]])?
        }
        "GatherND" => {
            if call.integer("batch_dims", 0)? != 0 {
                return Err(Call::mode("batch_dims is not mapped"));
            }
            let Parts { starts, length, dims } = parts(data.dims(), &indices)?;
            Array::from_fn(dims, |at| data.values()[starts[at / length] + at % length])?
        }
        "ScatterND" => {
            let Parts { starts, length, dims } = parts(data.dims(), &indices)?;
            put(call, &data, &dims, |at| starts[at / length] + at % length)?
        }
        _ => {
            let places = places_along(call, &data, &indices, along(call, &data)?)?;
            put(call, &data, indices.dims(), |at| places[at])?
        }
    };
    let kind = call.kind(call.x(0)?);
    one(call.constant(made, kind))
}

/// The axis along which indices count.
fn along(call: &Call<'_, '_>, data: &Array) -> Result<usize, Why> {
    call.axis(call.integer("axis", 0)?, data.dims().len())
}

/// The data with the elements of operand 2, which are as many as `dims` say, put to their places, the last one last.
fn put(
    call: &Call<'_, '_>,
    data: &Array,
    dims: &[usize],
    place: impl Fn(usize) -> usize,
) -> Result<Array, Why> {
    let updates = call.known(2)?;
    if updates.dims() != dims {
        return Err(Fault::Broadcast { first: updates.dims().to_vec(), second: dims.to_vec() }.into());
    }
    let join: fn(f64, f64) -> f64 = match call.text("reduction", "none")?.as_str() {
        "none" => |_, new| new,
        "add" => |old, new| old + new,
        "mul" => |old, new| old * new,
        "max" => f64::max,
        "min" => f64::min,
        other => return Err(Call::mode(format!("reduction {other:?} is not mapped"))),
    };
    let mut values = data.values().to_vec();
    for (at, &new) in updates.values().iter().enumerate() {
        let old = &mut values[place(at)];
        *old = join(*old, new);
    }
    Ok(Array::new(data.dims().to_vec(), values)?)
}

/// Where the elements are whose place along one axis an index says, and along the others the index' own.
fn places_along(call: &Call<'_, '_>, data: &Array, indices: &Array, axis: usize) -> Result<Vec<usize>, Why> {
    let (dims, own) = (data.dims(), indices.dims());
    let fits = |(at, (inner, outer)): (usize, (&usize, &usize))| at == axis || inner <= outer;
    if own.len() != dims.len() || !own.iter().zip(dims).enumerate().all(fits) {
        return Err(Fault::Broadcast { first: dims.to_vec(), second: own.to_vec() }.into());
    }
    call.network.count_looks(own.len() * indices.values().len())?;
    let (steps, own_steps) = (array::strides(dims), array::strides(own));
    let place = |(at, &index): (usize, &f64)| {
        let along = counted(index, dims[axis], dims)? * steps[axis];
        let others = (0..dims.len()).filter(|&other| other != axis);
        Ok(others.map(|other| at / own_steps[other] % own[other] * steps[other]).sum::<usize>() + along)
    };
    indices.values().iter().enumerate().map(place).collect()
}

/// Parts of an array, each of as many elements.
pub(super) struct Parts {
    pub(super) starts: Vec<usize>,
    pub(super) length: usize,
    /// Extents of all parts together.
    pub(super) dims: Vec<usize>,
}

/// The parts that the last axis of `indices` names by their places along the first of `dims`.
pub(super) fn parts(dims: &[usize], indices: &Array) -> Result<Parts, Why> {
    let own = indices.dims();
    let (&named, outer) = own.split_last().ok_or_else(|| Call::mode("the indices have no axis"))?;
    let inner = dims.get(named..).filter(|_| named > 0);
    let inner = inner.ok_or_else(|| Fault::Broadcast { first: dims.to_vec(), second: own.to_vec() })?;
    let steps = array::strides(dims);
    let start = |tuple: &[f64]| {
        let along =
            tuple.iter().enumerate().map(|(at, &index)| Ok(counted(index, dims[at], dims)? * steps[at]));
        along.sum::<Result<usize, Why>>()
    };
    let starts = indices.values().chunks_exact(named).map(start).collect::<Result<_, _>>()?;
    Ok(Parts { starts, length: inner.iter().product(), dims: [outer, inner].concat() })
}

/// An index, counted from the end if below zero.
fn counted(index: f64, extent: usize, dims: &[usize]) -> Result<usize, Why> {
    let value = array::whole(index)?;
    let counted = if value < 0 { value.saturating_add(extent as i64) } else { value };
    let counted = usize::try_from(counted).ok().filter(|&counted| counted < extent);
    counted.ok_or_else(|| Fault::Wrong { what: "index", value, dims: dims.to_vec() }.into())
}
