//! Places of the largest and the smallest element along an axis.
//!
//! Elements less the largest are zero where they are the largest, exactly: two halves that differ have a difference that is no
//! zero. A step makes 1 of that zero, and 0 of everything else. Times a number for each place that falls from the first
//! to the last, the largest product says the first place. All of these numbers are whole, so halves hold them up to 2048.

use super::reduce::reduced;
use super::{Call, Made, one};
use crate::model::layers::Layers;
use crate::model::network::operation::{JoinKind, Map, ReduceKind};
use crate::model::network::{Array, Kind};

/// Most places along the axis: halves hold each whole number up to here.
const PLACES_MAX: usize = 2048;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    let kind = match call.node.operator.as_str() {
        "ArgMax" => ReduceKind::Maximum,
        "ArgMin" => ReduceKind::Minimum,
        _ => return Ok(None),
    };
    let x = call.x(0)?;
    let dims = call.dims(x);
    let axis = call.axis(call.integer("axis", 0)?, dims.len())?;
    let (takes_last, keeps) = (call.integer("select_last_index", 0)? != 0, call.integer("keepdims", 1)? != 0);
    let places = dims[axis];
    if places > PLACES_MAX {
        return Err(Call::mode(format!(
            "{places} places along axis {axis}: halves hold whole numbers up to {PLACES_MAX}"
        )));
    }
    let best = reduced(call, x, kind, vec![axis])?;
    let below = call.join(JoinKind::Subtract, x, best)?;
    let is_best = call.map(Map::Step { below: 0.0, zero: 1.0, above: 0.0 }, below)?;
    let mut shape = vec![1; dims.len()];
    shape[axis] = places;
    // From the last on, counted from 1: no product of a place that is not the best is as large.
    let number = |place: usize| if takes_last { place + 1 } else { places - place };
    let numbers = Array::from_fn(shape, |place| number(place) as f64)?;
    let numbers = call.constant(numbers, Kind::Real);
    let numbered = call.join(JoinKind::Multiply, is_best, numbers)?;
    let largest = reduced(call, numbered, ReduceKind::Maximum, vec![axis])?;
    let mut place = if takes_last {
        call.affine(largest, 1.0, -1.0)?
    } else {
        call.affine(largest, -1.0, places as f64)?
    };
    if !keeps {
        let left = (0..dims.len()).filter(|&other| other != axis).map(|other| dims[other]).collect();
        place = call.reshape(place, left)?;
    }
    if let Some(array) = call.network.known(place).cloned() {
        return one(call.constant(array, Kind::Integer));
    }
    one(call.network.whole(place))
}
