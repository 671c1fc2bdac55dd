//! Sine and cosine, which positions are made of.

use super::{Call, Made, one};
use crate::model::layers::Layers;
use crate::model::network::operation::Map;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    let map = match call.node.operator.as_str() {
        "Sin" => Map::Sine,
        "Cos" => Map::Cosine,
        _ => return Ok(None),
    };
    let x = call.x(0)?;
    one(call.map(map, x)?)
}
