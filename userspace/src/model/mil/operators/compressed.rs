//! Constants that are stored in fewer bits, brought back before the run.

use super::{Call, Made, mode, one};
use crate::model::layers::Layers;
use crate::model::network::array::elements;
use crate::model::network::operation::JoinKind;
use crate::model::network::{Array, Kind, ValueId};
use crate::model::problem::Why;

pub(super) fn call(call: &mut Call<'_>) -> Made {
    match call.operator {
        "constexpr_affine_dequantize" => {
            let data = known(call, "quantized_data")?;
            let axis = call.integer("axis", 0)?;
            let rank = data.dims().len();
            let mut value = call.constant(data);
            for (name, kind) in [("zero_point", JoinKind::Subtract), ("scale", JoinKind::Multiply)] {
                let operand = known(call, name)?;
                let mut dims = vec![1; rank];
                if !operand.dims().is_empty() {
                    dims[call.axis(axis, rank)?] = operand.values().len();
                }
                let operand = call.constant(operand.reshaped(dims)?);
                value = call.join(kind, value, operand)?;
            }
            one(value)
        }
        "constexpr_lut_to_dense" => table(call),
        "constexpr_sparse_to_dense" => {
            let (mask, data) = (known(call, "mask")?, known(call, "nonzero_data")?);
            let dims = shape(call)?;
            let bits = bits(mask.values(), 1, elements(&dims)?)?;
            let mut rest = data.values().iter();
            let values = bits.into_iter().map(|bit| if bit == 1 { rest.next().copied() } else { Some(0.0) });
            let values: Option<Vec<f64>> = values.collect();
            let values = values.ok_or_else(|| mode("the mask has more ones than there are numbers"))?;
            one(constant(call, dims, values)?)
        }
        _ => Ok(None),
    }
}

fn known(call: &mut Call<'_>, name: &'static str) -> Result<Array, Why> {
    call.array(name)?.ok_or_else(|| mode(format!("operand {name:?} is missing")))
}

fn shape(call: &mut Call<'_>) -> Result<Vec<usize>, Why> {
    let shape = known(call, "shape")?;
    Ok(shape.values().iter().map(|&extent| extent as usize).collect())
}

fn constant(call: &mut Call<'_>, dims: Vec<usize>, values: Vec<f64>) -> Result<ValueId, Why> {
    let array = Array::new(dims, values)?;
    Ok(call.network.constant(call.name, array, Kind::Real))
}

/// Each element is an index into a list of 2, 4, 16, 64 or 256 numbers; indices are packed, the lowest bits first.
fn table(call: &mut Call<'_>) -> Made {
    let (indices, list) = (known(call, "indices")?, known(call, "lut")?);
    if !call.arguments.contains_key("shape") {
        return Err(mode("the form with indices in the shape of the result is not mapped"));
    }
    let dims = shape(call)?;
    let width = list.values().len();
    if ![2, 4, 16, 64, 256].contains(&width) {
        return Err(mode(format!("a list of {width} numbers is not mapped")));
    }
    let places = bits(indices.values(), width.ilog2() as usize, elements(&dims)?)?;
    let values = places.into_iter().map(|place| list.values().get(place).copied().unwrap_or(0.0)).collect();
    one(constant(call, dims, values)?)
}

/// `count` whole numbers of `bits` bits each from bytes.
fn bits(bytes: &[f64], bits: usize, count: usize) -> Result<Vec<usize>, Why> {
    if bytes.len() != (count * bits).div_ceil(8) {
        return Err(mode(format!("{} bytes do not hold {count} times {bits} bits", bytes.len())));
    }
    let bit = |at: usize| bytes[at / 8] as usize >> (at % 8) & 1;
    Ok((0..count)
        .map(|index| (0..bits).fold(0, |value, place| value | bit(index * bits + place) << place))
        .collect())
}
