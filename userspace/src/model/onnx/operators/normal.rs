//! Normalisations and softmax: means, deviations, exponentials.

use super::reduce::{Below, below_largest, reduced};
use super::{Call, Made, one};
use crate::model::layers::Layers;
use crate::model::network::operation::{JoinKind, Map, Post, Reduce, ReduceKind};
use crate::model::network::{Kind, Operation, ValueId};
use crate::model::problem::Why;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    match call.node.operator.as_str() {
        "Softmax" => {
            let Row { x, axis, dims } = row(call)?;
            let made = softmax(call, x, axis)?;
            one(call.reshape(made, dims)?)
        }
        "LogSoftmax" => {
            let Row { x, axis, dims } = row(call)?;
            // Differences from the largest are small, where the elements themselves may leave no bits for a logarithm.
            let Below { below, logarithm, .. } = below_largest(call, x, vec![axis])?;
            let made = call.join(JoinKind::Subtract, below, logarithm)?;
            one(call.reshape(made, dims)?)
        }
        "BatchNormalization" => batch(call),
        "InstanceNormalization" => {
            let x = call.x(0)?;
            let dims = call.dims(x);
            let normal = normalised(call, x, (2..dims.len()).collect(), true)?;
            let (scale, offset) = (per_channel(call, 1, dims.len())?, per_channel(call, 2, dims.len())?);
            one(scaled(call, normal, Some(scale), Some(offset))?)
        }
        "LayerNormalization" => layer(call, true),
        "RMSNormalization" => layer(call, false),
        "GroupNormalization" => group(call),
        "MeanVarianceNormalization" => {
            let x = call.x(0)?;
            let rank = call.dims(x).len();
            let axes = call.integers("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
            let axes = axes.iter().map(|&axis| call.axis(axis, rank)).collect::<Result<Vec<_>, _>>()?;
            one(call.compose().normalised(x, axes, 1e-9, true)?)
        }
        "LpNormalization" => {
            let x = call.x(0)?;
            let axis = call.axis(call.integer("axis", -1)?, call.dims(x).len())?;
            let (operand, square, post) = match call.integer("p", 2)? {
                1 => (call.map(Map::Abs, x)?, false, Post::Reciprocal),
                2 => (x, true, Post::ReciprocalSquareRoot),
                p => return Err(Call::mode(format!("p of {p} is not 1 or 2"))),
            };
            let reduce = Reduce { kind: ReduceKind::Sum, axes: vec![axis], square, epsilon: 0.0, post };
            let factor = call.add(Operation::Reduce(reduce), &[operand])?;
            one(call.join(JoinKind::Multiply, x, factor)?)
        }
        _ => Ok(None),
    }
}

/// The axis that a softmax runs along.
struct Row {
    x: ValueId,
    axis: usize,
    /// Extents of the result.
    dims: Vec<usize>,
}

/// One axis from opset 13 on. Before, all axes from the given one on are joined to one row.
fn row(call: &mut Call<'_, '_>) -> Result<Row, Why> {
    let x = call.x(0)?;
    let dims = call.dims(x);
    let is_joined = call.opset < 13;
    let axis = call.axis(call.integer("axis", if is_joined { 1 } else { -1 })?, dims.len())?;
    let (outer, inner) = dims.split_at(axis);
    if is_joined && inner.iter().skip(1).any(|&extent| extent != 1) {
        let x = call.reshape(x, vec![outer.iter().product(), inner.iter().product()])?;
        return Ok(Row { x, axis: 1, dims });
    }
    Ok(Row { x, axis, dims })
}

/// Exponentials below the largest, over their sum.
pub(super) fn softmax(call: &mut Call<'_, '_>, x: ValueId, axis: usize) -> Result<ValueId, Why> {
    Ok(call.compose().softmax(x, axis)?)
}

fn batch(call: &mut Call<'_, '_>) -> Made {
    if call.integer("training_mode", 0)? != 0 {
        return Err(Call::mode("training_mode is not mapped: it returns statistics of the batch"));
    }
    let outputs = call.node.outputs.iter().filter(|name| !name.is_empty()).count();
    if call.opset < 14 && outputs > 1 {
        return Err(Call::mode(format!(
            "{outputs} results are those of training; a model that is run has one"
        )));
    }
    let epsilon = call.single("epsilon", 1e-5)?;
    let x = call.x(0)?;
    let [scale, offset, mean, variance] =
        [call.known(1)?, call.known(2)?, call.known(3)?, call.known(4)?].map(|array| array.values().to_vec());
    let dims = call.dims(x);
    // Before opset 9 there may be statistics for each place of each channel.
    let by_channel = call.integer("spatial", 1)? != 0;
    let mut own = dims.get(1..).unwrap_or_default().to_vec();
    if by_channel {
        own.iter_mut().skip(1).for_each(|extent| *extent = 1);
    }
    let count: usize = own.iter().product();
    if [&scale, &offset, &mean, &variance].iter().any(|list| list.len() != count) {
        let of = if by_channel { "channel" } else { "place of each channel, as spatial = 0 says" };
        return Err(Call::mode(format!("statistics are not one for each {of}")));
    }
    let factors: Vec<f64> =
        scale.iter().zip(&variance).map(|(scale, of)| scale / (of + epsilon).sqrt()).collect();
    let offsets: Vec<f64> = offset
        .iter()
        .zip(mean.iter().zip(&factors))
        .map(|(offset, (mean, factor))| offset - mean * factor)
        .collect();
    let array = |values| crate::model::network::Array::new(own.clone(), values);
    let (factors, offsets) = (array(factors)?, array(offsets)?);
    let factors = call.constant(factors, Kind::Real);
    let offsets = call.constant(offsets, Kind::Real);
    let scaled = call.join(JoinKind::Multiply, x, factors)?;
    one(call.join(JoinKind::Add, scaled, offsets)?)
}

/// Operand `index` as one value for each of axis 1.
fn per_channel(call: &mut Call<'_, '_>, index: usize, rank: usize) -> Result<ValueId, Why> {
    let value = call.x(index)?;
    let mut dims = vec![1; rank];
    if let Some(channels) = dims.get_mut(1) {
        *channels = call.dims(value).iter().product();
    }
    call.reshape(value, dims)
}

fn normalised(call: &mut Call<'_, '_>, x: ValueId, axes: Vec<usize>, centre: bool) -> Result<ValueId, Why> {
    let epsilon = call.single("epsilon", 1e-5)?;
    Ok(call.compose().normalised(x, axes, epsilon, centre)?)
}

fn scaled(
    call: &mut Call<'_, '_>,
    x: ValueId,
    scale: Option<ValueId>,
    offset: Option<ValueId>,
) -> Result<ValueId, Why> {
    Ok(call.compose().scaled(x, scale, offset)?)
}

fn layer(call: &mut Call<'_, '_>, centre: bool) -> Made {
    let x = call.x(0)?;
    let dims = call.dims(x);
    let first = call.axis(call.integer("axis", -1)?, dims.len())?;
    let axes: Vec<usize> = (first..dims.len()).collect();
    let (scale, offset) = (call.optional(1), call.optional(2));
    if call.outputs < 2 {
        let normal = normalised(call, x, axes, centre)?;
        return one(scaled(call, normal, scale, offset)?);
    }
    let epsilon = call.single("epsilon", 1e-5)?;
    let mean = reduced(call, x, ReduceKind::Mean, axes.clone())?;
    let apart = call.join(JoinKind::Subtract, x, mean)?;
    let factor = call.compose().deviation(apart, axes, epsilon)?;
    let normal = call.join(JoinKind::Multiply, apart, factor)?;
    Ok(Some(vec![scaled(call, normal, scale, offset)?, mean, factor]))
}

fn group(call: &mut Call<'_, '_>) -> Made {
    let x = call.x(0)?;
    let dims = call.dims(x);
    let groups = usize::try_from(call.integer("num_groups", 1)?).unwrap_or(0);
    let epsilon = call.single("epsilon", 1e-5)?;
    let normal = call.compose().normalised_groups(x, groups, epsilon)?;
    let channels = dims.get(1).copied().unwrap_or(1);
    // Before opset 21 there is one scale for each group.
    let by_group = call.known(1).is_ok_and(|scale| scale.values().len() == groups) && groups != channels;
    if by_group {
        // The parts have the groups as axis 1, and one axis more than the operand.
        let rank = dims.len() + 1;
        let (scale, offset) = (per_channel(call, 1, rank)?, per_channel(call, 2, rank)?);
        let all = scaled(call, normal, Some(scale), Some(offset))?;
        return one(call.reshape(all, dims)?);
    }
    let normal = call.reshape(normal, dims.clone())?;
    let (scale, offset) = (per_channel(call, 1, dims.len())?, per_channel(call, 2, dims.len())?);
    one(scaled(call, normal, Some(scale), Some(offset))?)
}
