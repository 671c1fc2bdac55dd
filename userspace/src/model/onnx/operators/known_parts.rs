//! Parts of computed tensors that known indices pick or put.
//!
//! With the axes that the indices name as one, parts are rows, and a row is picked by its number. Rows that are put lie behind
//! those of the data; then each row of the result is picked from both. Elements only move, so nothing is rounded.

use super::Call;
use super::single_elements::{Parts, parts};
use crate::model::layers::Layers;
use crate::model::network::{Array, Fault, Operation, ValueId};
use crate::model::problem::Why;

pub(super) fn picked(call: &mut Call<'_, '_>, indices: &Array) -> Result<ValueId, Why> {
    if call.integer("batch_dims", 0)? != 0 {
        return Err(Call::mode("batch_dims is not mapped"));
    }
    let data = call.x(0)?;
    let Parts { starts, length, dims } = parts(&call.dims(data), indices)?;
    let rows = in_rows(call, data, length)?;
    let indices = starts.iter().map(|start| start / length.max(1)).collect();
    let taken = call.add(Operation::Take { axis: 0, indices }, &[rows])?;
    call.reshape(taken, dims)
}

pub(super) fn put(call: &mut Call<'_, '_>, indices: &Array) -> Result<ValueId, Why> {
    let reduction = call.text("reduction", "none")?;
    if reduction != "none" {
        return Err(Call::mode(format!("reduction {reduction:?} of computed data is not mapped")));
    }
    let (data, updates) = (call.x(0)?, call.x(2)?);
    let whole = call.dims(data);
    let Parts { starts, length, dims } = parts(&whole, indices)?;
    if call.dims(updates) != dims {
        return Err(Fault::Broadcast { first: call.dims(updates), second: dims }.into());
    }
    let (old, new) = (in_rows(call, data, length)?, in_rows(call, updates, length)?);
    let count = call.dims(old)[0];
    let mut rows: Vec<usize> = (0..count).collect();
    // Of several parts that are put to one place, the last one stays.
    for (at, start) in starts.iter().enumerate() {
        rows[start / length.max(1)] = count + at;
    }
    let both = call.add(Operation::Concat(0), &[old, new])?;
    let taken = call.add(Operation::Take { axis: 0, indices: rows }, &[both])?;
    call.reshape(taken, whole)
}

/// A tensor as rows of so many elements.
fn in_rows(call: &mut Call<'_, '_>, x: ValueId, length: usize) -> Result<ValueId, Why> {
    let all: usize = call.dims(x).iter().product();
    let rows = all.checked_div(length).ok_or_else(|| Fault::Empty { dims: call.dims(x) })?;
    call.reshape(x, vec![rows, length])
}
