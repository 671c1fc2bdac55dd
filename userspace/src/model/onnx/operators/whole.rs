//! Casts to whole numbers that the run computes, and from them.
//!
//! The engine has halves alone, which hold each whole number up to 2048. What is true or false, and what a cast cuts the
//! fraction off, is a whole number in a half already. Such numbers may be moved and cast back; they are not computed with.

use super::{Call, Made, one, tensor};
use crate::model::layers::Layers;
use crate::model::network::Kind;
use crate::model::network::operation::Map;
use crate::model::problem::Why;

/// The standard's numbers of types that hold every whole number of halves, with its sign.
const WIDE: [i64; 2] = [6, 7];

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    let operator = call.node.operator.as_str();
    if operator != "Cast" && operator != "CastLike" {
        return Ok(None);
    }
    let x = call.x(0)?;
    if call.network.known(x).is_some() {
        return Ok(None);
    }
    let halves = call.network.halves_of(x);
    // A cast of whole numbers is one of the halves that hold them.
    call.inputs[0] = halves.or(call.inputs[0]);
    let to = call.integer("to", 0)?;
    let is_whole = u64::try_from(to).ok().and_then(tensor::kind) == Some(Kind::Integer);
    let x = call.x(0)?;
    if operator != "Cast" || !is_whole || call.kind(x) == Kind::Integer {
        return Ok(None);
    }
    let is_truth = call.kind(x) == Kind::Bool;
    if !is_truth && !WIDE.contains(&to) {
        return Err(Why::Mode(format!(
            "a cast of computed numbers to type {to}: only those to int32 and int64 have room for every half"
        )));
    }
    let whole = if is_truth || halves.is_some() { x } else { call.map(Map::Truncate, x)? };
    one(call.network.whole(whole))
}
