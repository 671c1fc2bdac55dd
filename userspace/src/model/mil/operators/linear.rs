//! Matrix products and convolutions.

use super::{Call, Made, mode, one};
use crate::model::einsum::einsum;
use crate::model::layers::Layers;
use crate::model::network::ValueId;
use crate::model::network::operation::JoinKind;
use crate::model::onnx::operators::Setting::{self, Integer, Integers, Text};
use crate::model::problem::Why;

pub(super) fn call(call: &mut Call<'_>) -> Made {
    match call.operator {
        "linear" => {
            let (x, weight) = (call.x()?, call.tensor("weight")?);
            let weight = call.turned(weight)?;
            let product = call.onnx_one("MatMul", &[x, weight], &[])?;
            match call.optional("bias")? {
                Some(bias) => one(call.join(JoinKind::Add, product, bias)?),
                None => one(product),
            }
        }
        "matmul" => {
            let (mut x, mut y) = (call.x()?, call.tensor("y")?);
            if call.truth("transpose_x")? {
                x = call.turned(x)?;
            }
            if call.truth("transpose_y")? {
                y = call.turned(y)?;
            }
            one(call.onnx_one("MatMul", &[x, y], &[])?)
        }
        "conv" => {
            let (x, weight, bias) = (call.x()?, call.tensor("weight")?, call.optional("bias")?);
            let moving = call.rank(x).saturating_sub(2);
            let settings =
                [sides(call, moving)?, vec![("group", Integer(call.integer("groups", 1)?))]].concat();
            let operands: Vec<ValueId> = [Some(x), Some(weight), bias].into_iter().flatten().collect();
            one(call.onnx_one("Conv", &operands, &settings)?)
        }
        "conv_transpose" => transposed(call),
        "cumsum" => {
            let x = call.x()?;
            let axis = call.integer("axis", 0)?;
            let (open, back) = (call.truth("exclusive")?, call.truth("reverse")?);
            let axis = call.whole([axis]);
            let settings = [("exclusive", Integer(open.into())), ("reverse", Integer(back.into()))];
            one(call.onnx_one("CumSum", &[x, axis], &settings)?)
        }
        "einsum" => {
            let (values, equation) = (call.several("values")?, call.text("equation", "")?);
            one(einsum(call, &equation, &values)?)
        }
        "scaled_dot_product_attention" => attention(call),
        _ => Ok(None),
    }
}

/// How a kernel lies over its operand, as ONNX's attributes have it.
pub(super) fn sides(call: &mut Call<'_>, moving: usize) -> Result<Vec<(&'static str, Setting)>, Why> {
    let mut settings = Vec::new();
    let pad = call.list("pad")?;
    match call.text("pad_type", "valid")?.as_str() {
        "valid" => {}
        "same" => settings.push(("auto_pad", Text("SAME_UPPER"))),
        "same_lower" => settings.push(("auto_pad", Text("SAME_LOWER"))),
        "custom" => {
            let pad = pad.unwrap_or_else(|| vec![0; 2 * moving]);
            if pad.len() != 2 * moving {
                return Err(mode(format!("pad is {pad:?} for {moving} moving axes")));
            }
            // Before and behind of each axis; ONNX has all before, then all behind.
            let side = |behind: usize| pad.iter().skip(behind).step_by(2).copied();
            settings.push(("pads", Integers(side(0).chain(side(1)).collect())));
        }
        other => return Err(mode(format!("pad_type {other:?} is not mapped"))),
    }
    if let Some(strides) = call.list("strides")? {
        settings.push(("strides", Integers(strides)));
    }
    if let Some(dilations) = call.list("dilations")? {
        settings.push(("dilations", Integers(dilations)));
    }
    Ok(settings)
}

fn transposed(call: &mut Call<'_>) -> Made {
    let (x, weight, bias) = (call.x()?, call.tensor("weight")?, call.optional("bias")?);
    call.array("weight")?;
    call.array("bias")?;
    let moving = call.rank(x).saturating_sub(2);
    let settings = [sides(call, moving)?, vec![("group", Integer(call.integer("groups", 1)?))]].concat();
    let operands: Vec<ValueId> = [Some(x), Some(weight), bias].into_iter().flatten().collect();
    let shape = call.list("output_shape")?;
    let y = call.onnx_one("ConvTranspose", &operands, &settings)?;
    let made: Vec<i64> = call.dims(y).iter().map(|&extent| extent as i64).collect();
    match shape {
        // Where the rows that are added or left out lie, the language does not say.
        Some(shape) if shape != made => {
            Err(mode(format!("output_shape is {shape:?}, and padding and stride make {made:?}")))
        }
        _ => one(y),
    }
}

fn attention(call: &mut Call<'_>) -> Made {
    let operands = [call.tensor("query")?, call.tensor("key")?, call.tensor("value")?];
    let mask = call.optional("attn_mask")?;
    one(call.compose().attention(operands, mask)?)
}
