//! Reductions, normalisations and softmax.

use super::{Call, Made, mode, one};
use crate::model::layers::Layers;
use crate::model::network::operation::{JoinKind, Post, Reduce, ReduceKind};
use crate::model::network::{Kind, Operation, ValueId};
use crate::model::onnx::operators::Setting::{Integer, Integers, Single};
use crate::model::problem::Why;

pub(super) fn call(call: &mut Call<'_>) -> Made {
    if let Some(operator) = reduction(call.operator) {
        let x = call.x()?;
        let axes = match call.list("axes")? {
            Some(axes) => axes,
            None => (0..call.rank(x) as i64).collect(),
        };
        let keeps = call.truth("keep_dims")?;
        let settings = [("axes", Integers(axes)), ("keepdims", Integer(keeps.into()))];
        return one(call.onnx_one(operator, &[x], &settings)?);
    }
    match call.operator {
        "reduce_argmax" | "reduce_argmin" => {
            let operator = if call.operator == "reduce_argmax" { "ArgMax" } else { "ArgMin" };
            let (x, axis) = (call.x()?, call.integer("axis", -1)?);
            // Places are no larger than any type that this may name.
            call.text("output_dtype", "int32")?;
            let settings = [("axis", Integer(axis)), ("keepdims", Integer(call.truth("keep_dims")?.into()))];
            one(call.onnx_one(operator, &[x], &settings)?)
        }
        "softmax" => {
            let (x, axis) = (call.x()?, call.integer("axis", -1)?);
            one(call.onnx_one("Softmax", &[x], &[("axis", Integer(axis))])?)
        }
        "layer_norm" => layer(call),
        "batch_norm" => {
            let (x, mean, variance) = (call.x()?, call.tensor("mean")?, call.tensor("variance")?);
            let channels = call.dims(mean);
            let (gamma, beta) =
                (or_all(call, "gamma", &channels, 1.0)?, or_all(call, "beta", &channels, 0.0)?);
            let epsilon = call.number("epsilon", 1e-5)?;
            let operands = [x, gamma, beta, mean, variance];
            one(call.onnx_one("BatchNormalization", &operands, &[("epsilon", Single(epsilon))])?)
        }
        "instance_norm" => {
            let x = call.x()?;
            let channels = vec![call.dims(x).get(1).copied().unwrap_or(1)];
            let (gamma, beta) =
                (or_all(call, "gamma", &channels, 1.0)?, or_all(call, "beta", &channels, 0.0)?);
            let epsilon = call.number("epsilon", 1e-5)?;
            one(call.onnx_one("InstanceNormalization", &[x, gamma, beta], &[("epsilon", Single(epsilon))])?)
        }
        "l2_norm" => {
            let (x, epsilon) = (call.x()?, call.number("epsilon", 1e-6)?);
            let rank = call.rank(x);
            let axes = rank.checked_sub(3).ok_or_else(|| mode("the operand has fewer than three axes"))?;
            let reduce = Reduce {
                kind: ReduceKind::Sum,
                axes: (axes..rank).collect(),
                square: true,
                epsilon,
                post: Post::ReciprocalSquareRoot,
            };
            let factor = call.add(Operation::Reduce(reduce), &[x])?;
            one(call.join(JoinKind::Multiply, x, factor)?)
        }
        "local_response_norm" => {
            let (x, size) = (call.x()?, call.integer("size", 1)?);
            let (alpha, beta) = (call.number("alpha", 1e-4)?, call.number("beta", 0.75)?);
            let settings = [
                ("size", Integer(size)),
                ("alpha", Single(alpha)),
                ("beta", Single(beta)),
                ("bias", Single(call.number("k", 1.0)?)),
            ];
            one(call.onnx_one("LRN", &[x], &settings)?)
        }
        _ => Ok(None),
    }
}

fn reduction(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "reduce_sum" => "ReduceSum",
        "reduce_mean" => "ReduceMean",
        "reduce_max" => "ReduceMax",
        "reduce_min" => "ReduceMin",
        "reduce_prod" => "ReduceProd",
        "reduce_l1_norm" => "ReduceL1",
        "reduce_l2_norm" => "ReduceL2",
        "reduce_log_sum" => "ReduceLogSum",
        "reduce_log_sum_exp" => "ReduceLogSumExp",
        "reduce_sum_square" => "ReduceSumSquare",
        _ => return None,
    })
}

/// An operand, or the same value for each of `dims`.
fn or_all(call: &mut Call<'_>, name: &'static str, dims: &[usize], value: f64) -> Result<ValueId, Why> {
    if let Some(given) = call.optional(name)? {
        return Ok(given);
    }
    Ok(call.network.filled(call.name, dims.to_vec(), Kind::Real, |_| value)?)
}

/// Mean and deviation over any axes; factor and addend have the extents of these.
fn layer(call: &mut Call<'_>) -> Made {
    let x = call.x()?;
    let dims = call.dims(x);
    let axes = match call.list("axes")? {
        Some(axes) => call.axes(&axes, dims.len())?,
        None => (0..dims.len()).collect(),
    };
    let epsilon = call.number("epsilon", 1e-5)?;
    let shape: Vec<usize> = dims
        .iter()
        .enumerate()
        .map(|(axis, &extent)| if axes.contains(&axis) { extent } else { 1 })
        .collect();
    let mut result = call.compose().normalised(x, axes, epsilon, true)?;
    for (name, kind) in [("gamma", JoinKind::Multiply), ("beta", JoinKind::Add)] {
        if let Some(operand) = call.optional(name)? {
            let operand = call.reshape(operand, shape.clone())?;
            result = call.join(kind, result, operand)?;
        }
    }
    one(result)
}
