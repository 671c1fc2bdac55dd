//! Rows of a table by indices that only the run knows, such as the embedding of token ids.
//!
//! The engine has no such operation; a product has the same result. A row of the left matrix has a 1 at the place of its
//! index and 0 elsewhere: the difference of the index and each place, through a step. Each sum has one element that is not
//! zero, so it is exact as far as the accumulator is. Halves hold indices up to 2048, so a table has at most as many rows.
//! An index outside of the table gives zeros: a task cannot refuse. `OneHot` is the left matrix by itself.

use super::linear::scaled_product;
use super::{Call, Made, one};
use crate::model::layers::Layers;
use crate::model::network::operation::{JoinKind, Map};
use crate::model::network::{Array, Kind, Operation, ValueId};
use crate::model::problem::Why;
use crate::tensor::nearest_half;

/// Most rows of a table.
const ROWS_MAX: usize = 2048;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    if call.node.operator != "OneHot" {
        return Ok(None);
    }
    let x = call.x(0)?;
    let (is_known, halves) = (call.network.known(x).is_some(), call.network.halves_of(x));
    let depth = call.number(1)? as usize;
    if depth == 0 || (depth > ROWS_MAX && !is_known) {
        return Err(Call::mode(format!("depth {depth} is not 1 to {ROWS_MAX}: halves hold no higher index")));
    }
    let &[off, on] = call.known(2)?.values() else {
        return Err(Call::mode("the values are not two, for off and on"));
    };
    let kind = call.kind(call.x(2)?);
    if kind != Kind::Real && !is_known {
        return Err(Call::mode("values that are no real numbers are not mapped"));
    }
    let own = call.dims(x);
    let axis = call.axis(call.integer("axis", -1)?, own.len() + 1)?;
    // Only the whole part of an index counts.
    let indices = match halves {
        Some(halves) => halves,
        None => call.map(Map::Truncate, x)?,
    };
    let ones = ones(call, indices, depth)?;
    let last = call.reshape(ones, [own.as_slice(), &[depth]].concat())?;
    let mut order: Vec<usize> = (0..own.len()).collect();
    order.insert(axis, own.len());
    let moved = call.add(Operation::Permute(order), &[last])?;
    let made = call.add_as(Operation::Map(Map::Affine { scale: on - off, offset: off }), &[moved], kind)?;
    one(made)
}

/// The power of two that brings the largest element that a half holds to 2^14, or up to its double, as far as halves hold its reciprocal.
///
/// The array is infinite from 2^15 on, and rounds products to multiples of 2^-16. Each sum is one element of the table, so a table may
/// fill that range.
fn filling(table: &Array) -> f64 {
    let magnitudes = table.values().iter().map(|value| value.abs()).filter(|&value| value < 65520.0);
    let largest = magnitudes.fold(0.0, f64::max);
    (14.0 - largest.log2().floor()).clamp(-1.0, 14.0).exp2()
}

/// Refuses a table of whole numbers that halves do not hold: a row would be another one's.
fn is_held(table: &Array) -> Result<(), Why> {
    let is_other = |&&value: &&f64| nearest_half(value).to_f64() != value;
    match table.values().iter().find(is_other) {
        Some(value) => Err(Call::mode(format!("a table has the whole number {value:.0}, which no half is"))),
        None => Ok(()),
    }
}

/// The parts of `table` along `axis` that `indices`, whole numbers in halves, name. They are of the table's kind.
pub(super) fn rows(
    call: &mut Call<'_, '_>,
    table: ValueId,
    axis: usize,
    indices: ValueId,
) -> Result<ValueId, Why> {
    let (dims, own, kind) = (call.dims(table), call.dims(indices), call.kind(table));
    // A table of whole numbers that the run computes is in halves.
    let table = call.network.halves_of(table).unwrap_or(table);
    let rows = dims[axis];
    if rows > ROWS_MAX {
        let (name, result) = (call.network.values[indices].name.clone(), call.name.to_owned());
        let dims = [&dims[..axis], own.as_slice(), &dims[axis + 1..]].concat();
        return Err(Why::Rows { rows, most: ROWS_MAX, name, result, dims });
    }
    let ones = ones(call, indices, rows)?;
    // The axis of the rows first, as that of a matrix.
    let mut order: Vec<usize> = (0..dims.len()).collect();
    order.remove(axis);
    order.insert(0, axis);
    let first = call.add(Operation::Permute(order), &[table])?;
    let (before, behind) = (&dims[..axis], &dims[axis + 1..]);
    let width = before.iter().chain(behind).product();
    let matrix = call.reshape(first, vec![rows, width])?;
    let taken = match call.network.known(matrix).cloned() {
        Some(known) => {
            call.network.has_room(known.dims())?;
            call.network.count_looks(known.values().len())?;
            if kind == Kind::Integer {
                is_held(&known)?;
            }
            let scale = filling(&known);
            let within = call.constant(known.map(|value| value * scale), Kind::Real);
            scaled_product(call, ones, within, scale.recip())?
        }
        None => call.add(Operation::Product, &[ones, matrix])?,
    };
    let apart = call.reshape(taken, [own.as_slice(), before, behind].concat())?;
    let (count, moved) = (own.len(), before.len());
    let back = (count..count + moved).chain(0..count).chain(count + moved..count + dims.len() - 1);
    let moved = Operation::Permute(back.collect());
    match kind {
        Kind::Bool => call.add_as(moved, &[apart], kind),
        Kind::Real => call.add(moved, &[apart]),
        Kind::Integer => {
            let halves = call.add(moved, &[apart])?;
            Ok(call.network.whole(halves))
        }
    }
}

/// A row for each index, with a 1 at its place and 0 elsewhere.
fn ones(call: &mut Call<'_, '_>, indices: ValueId, rows: usize) -> Result<ValueId, Why> {
    let count = call.dims(indices).iter().product();
    let column = call.reshape(indices, vec![count, 1])?;
    // Below zero they count from the end.
    let is_below = call.map(Map::Step { below: 1.0, zero: 0.0, above: 0.0 }, column)?;
    let added = call.affine(is_below, rows as f64, 0.0)?;
    let counted = call.join(JoinKind::Add, column, added)?;
    let places = Array::from_fn(vec![1, rows], |place| place as f64)?;
    let places = call.constant(places, Kind::Real);
    let apart = call.join(JoinKind::Subtract, counted, places)?;
    call.map(Map::Step { below: 0.0, zero: 1.0, above: 0.0 }, apart)
}
