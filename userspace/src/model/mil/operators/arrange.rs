//! Elements in another order or number, and constants.

use super::{Call, Made, mode, one};
use crate::model::layers::{Layers, extents};
use crate::model::network::operation::Cut;
use crate::model::network::{Array, Fault, Kind, Operation, ValueId};
use crate::model::onnx::operators::Setting::{Integer, Integers, Text};
use crate::model::problem::Why;

pub(super) fn call(call: &mut Call<'_>) -> Made {
    match call.operator {
        "reshape" => {
            let (x, shape) = (call.x()?, call.tensor("shape")?);
            call.array("shape")?;
            one(call.onnx_one("Reshape", &[x, shape], &[])?)
        }
        "transpose" => {
            let (x, order) = (call.x()?, call.list("perm")?);
            let order = order.ok_or_else(|| mode("operand \"perm\" is missing"))?;
            one(call.onnx_one("Transpose", &[x], &[("perm", Integers(order))])?)
        }
        "expand_dims" | "squeeze" => {
            let operator = if call.operator == "squeeze" { "Squeeze" } else { "Unsqueeze" };
            let (x, axes) = (call.x()?, call.optional("axes")?);
            let operands: Vec<ValueId> = [Some(x), axes].into_iter().flatten().collect();
            one(call.onnx_one(operator, &operands, &[])?)
        }
        "flatten2d" => {
            let (x, axis) = (call.x()?, call.integer("axis", 1)?);
            one(call.onnx_one("Flatten", &[x], &[("axis", Integer(axis))])?)
        }
        "concat" => {
            let is_interleaved = call.truth("interleave")?;
            let (values, axis) = (call.several("values")?, call.integer("axis", 0)?);
            if is_interleaved {
                return interleaved(call, &values, axis);
            }
            one(call.onnx_one("Concat", &values, &[("axis", Integer(axis))])?)
        }
        "stack" => stack(call),
        "split" => split(call),
        "slice_by_index" => slice(call),
        "slice_by_size" => {
            let x = call.x()?;
            let (begin, size) = (call.list("begin")?, call.list("size")?);
            let (begin, size) = (begin.unwrap_or_default(), size.unwrap_or_default());
            let cuts =
                call.dims(x).into_iter().zip(begin.iter().zip(&size)).map(|(extent, (&begin, &size))| {
                    let counted =
                        if begin < 0 { begin.saturating_add_unsigned(extent as u64) } else { begin };
                    let start = usize::try_from(counted).unwrap_or(usize::MAX);
                    let rest = extent.saturating_sub(start);
                    Cut { start, step: 1, count: usize::try_from(size).unwrap_or(rest) }
                });
            let cuts = cuts.collect();
            one(call.add(Operation::Cut(cuts), &[x])?)
        }
        "reverse" => {
            let x = call.x()?;
            let dims = call.dims(x);
            let axes = match call.list("axes")? {
                Some(axes) => call.axes(&axes, dims.len())?,
                None => (0..dims.len()).collect(),
            };
            let cut = |(axis, &extent): (usize, &usize)| {
                if axes.contains(&axis) {
                    Cut { start: extent.saturating_sub(1), step: -1, count: extent }
                } else {
                    Cut::all(extent)
                }
            };
            let cuts = dims.iter().enumerate().map(cut).collect();
            one(call.add(Operation::Cut(cuts), &[x])?)
        }
        "tile" => {
            let (x, times) = (call.x()?, call.tensor("reps")?);
            call.array("reps")?;
            one(call.onnx_one("Tile", &[x, times], &[])?)
        }
        "pad" => pad(call),
        "gather" => {
            let (x, indices) = (call.x()?, call.tensor("indices")?);
            let (axis, batches) = (call.integer("axis", 0)?, call.integer("batch_dims", 0)?);
            if batches != 0 {
                return Err(mode(format!("batch_dims of {batches} is not mapped")));
            }
            one(call.onnx_one("Gather", &[x, indices], &[("axis", Integer(axis))])?)
        }
        "gather_along_axis" => {
            let (x, indices, axis) = (call.x()?, call.tensor("indices")?, call.integer("axis", 0)?);
            one(call.onnx_one("GatherElements", &[x, indices], &[("axis", Integer(axis))])?)
        }
        "gather_nd" => {
            let (x, indices, batches) = (call.x()?, call.tensor("indices")?, call.integer("batch_dims", 0)?);
            one(call.onnx_one("GatherND", &[x, indices], &[("batch_dims", Integer(batches))])?)
        }
        "scatter" | "scatter_along_axis" | "scatter_nd" => scatter(call),
        "depth_to_space" | "space_to_depth" => {
            let (x, block) = (call.x()?, call.integer("block_size", 0)?);
            let operator = if call.operator == "depth_to_space" { "DepthToSpace" } else { "SpaceToDepth" };
            one(call.onnx_one(operator, &[x], &[("blocksize", Integer(block))])?)
        }
        "pixel_shuffle" => {
            let (x, block) = (call.x()?, call.integer("upscale_factor", 0)?);
            one(call.onnx_one(
                "DepthToSpace",
                &[x],
                &[("blocksize", Integer(block)), ("mode", Text("CRD"))],
            )?)
        }
        "pixel_unshuffle" => {
            let (x, block) = (call.x()?, call.integer("downscale_factor", 0)?);
            one(call.onnx_one(
                "SpaceToDepth",
                &[x],
                &[("blocksize", Integer(block)), ("mode", Text("CRD"))],
            )?)
        }
        "shape" => {
            let x = call.x()?;
            one(call.onnx_one("Shape", &[x], &[])?)
        }
        "fill" => {
            let (shape, value) = (call.list("shape")?.unwrap_or_default(), call.number("value", 0.0)?);
            let dims = extents(&shape)?;
            let kind = call.optional("value")?.map_or(Kind::Real, |value| call.kind(value));
            one(call.network.filled(call.name, dims, kind, |_| value)?)
        }
        "range_1d" => {
            let operands = [call.tensor("start")?, call.tensor("end")?, call.tensor("step")?];
            one(call.onnx_one("Range", &operands, &[])?)
        }
        _ => Ok(None),
    }
}

/// Elements put into constants where indices say.
fn scatter(call: &mut Call<'_>) -> Made {
    let (data, updates) = (call.tensor("data")?, call.tensor("updates")?);
    let mut indices = call.tensor("indices")?;
    let how = match call.text("mode", "add")?.as_str() {
        "update" => "none",
        "add" => "add",
        "mul" => "mul",
        "max" => "max",
        "min" => "min",
        other => return Err(mode(format!("mode {other:?} is not mapped"))),
    };
    let mut settings = vec![("reduction", Text(how))];
    let operator = if call.operator == "scatter_along_axis" {
        settings.push(("axis", Integer(call.integer("axis", 0)?)));
        "ScatterElements"
    } else {
        if call.operator == "scatter" {
            let axis = call.integer("axis", 0)?;
            if axis != 0 {
                return Err(mode(format!("axis {axis} is not mapped")));
            }
            // Each index by itself names a part.
            let mut dims = call.dims(indices);
            dims.push(1);
            indices = call.reshape(indices, dims)?;
        }
        "ScatterND"
    };
    one(call.onnx_one(operator, &[data, indices, updates], &settings)?)
}

/// The first of each along the axis, then the second of each: joined along an axis behind it, which is then taken for one with it.
fn interleaved(call: &mut Call<'_>, values: &[ValueId], axis: i64) -> Made {
    let mut dims = call.dims(values[0]);
    let axis = call.axis(axis, dims.len())?;
    let joined = joined_along(call, values, axis + 1)?;
    dims[axis] = dims[axis].saturating_mul(values.len());
    one(call.reshape(joined, dims)?)
}

fn stack(call: &mut Call<'_>) -> Made {
    let (values, axis) = (call.several("values")?, call.integer("axis", 0)?);
    let at = call.axis(axis, call.rank(values[0]) + 1)?;
    one(joined_along(call, &values, at)?)
}

/// Tensors side by side along a new axis.
fn joined_along(call: &mut Call<'_>, values: &[ValueId], at: usize) -> Result<ValueId, Why> {
    let mut parts = Vec::new();
    for &value in values {
        let mut dims = call.dims(value);
        if at > dims.len() {
            return Err(mode(format!("a tensor of {dims:?} has no axis {at} to be joined along")));
        }
        dims.insert(at, 1);
        parts.push(call.reshape(value, dims)?);
    }
    call.add(Operation::Concat(at), &parts)
}

fn split(call: &mut Call<'_>) -> Made {
    let (x, axis) = (call.x()?, call.integer("axis", 0)?);
    let (sizes, parts) = (call.optional("split_sizes")?, call.integer("num_splits", 0)?);
    if sizes.is_none() {
        let axis = call.axis(axis, call.rank(x))?;
        let extent = call.dims(x).get(axis).copied().unwrap_or(0);
        if !usize::try_from(parts).is_ok_and(|parts| parts > 0 && extent.is_multiple_of(parts)) {
            return Err(mode(format!("{extent} elements do not make {parts} equal parts")));
        }
        if parts != call.outputs as i64 {
            return Err(mode(format!("{parts} parts are made, and {} are named", call.outputs)));
        }
        return Ok(Some(call.onnx(
            "Split",
            &[Some(x)],
            &[("axis", Integer(axis as i64)), ("num_outputs", Integer(parts))],
        )?));
    }
    call.array("split_sizes")?;
    Ok(Some(call.onnx("Split", &[Some(x), sizes], &[("axis", Integer(axis))])?))
}

/// From `begin` to before `end` by `stride`; a masked bound is the axis' own, a squeezed axis is one element that goes.
fn slice(call: &mut Call<'_>) -> Made {
    let x = call.x()?;
    let dims = call.dims(x);
    let rank = dims.len();
    let list = |call: &mut Call<'_>, name, otherwise: i64| -> Result<Vec<i64>, Why> {
        let list = call.list(name)?.unwrap_or_else(|| vec![otherwise; rank]);
        if list.len() == rank {
            Ok(list)
        } else {
            Err(mode(format!("{name:?} has not one number for each axis")))
        }
    };
    let (begin, end, stride) = (list(call, "begin", 0)?, list(call, "end", 0)?, list(call, "stride", 1)?);
    let masks = [list(call, "begin_mask", 0)?, list(call, "end_mask", 0)?, list(call, "squeeze_mask", 0)?];
    let (mut starts, mut ends, mut steps, mut left) = (begin, end, stride, Vec::new());
    for axis in 0..rank {
        let [from_begin, to_end, squeezed] = [&masks[0], &masks[1], &masks[2]].map(|mask| mask[axis] != 0);
        if squeezed {
            steps[axis] = 1;
            let only = starts[axis];
            ends[axis] = if only == -1 { i64::MAX } else { only.saturating_add(1) };
            continue;
        }
        left.push(axis);
        let is_back = steps[axis] < 0;
        if from_begin {
            starts[axis] = if is_back { i64::MAX } else { 0 };
        }
        if to_end {
            ends[axis] = if is_back { i64::MIN } else { i64::MAX };
        }
    }
    let [starts, ends, steps] = [starts, ends, steps].map(|list| call.whole(list));
    let axes = call.whole(0..rank as i64);
    let part = call.onnx_one("Slice", &[x, starts, ends, axes, steps], &[])?;
    if left.len() == rank {
        return one(part);
    }
    let dims = call.dims(part);
    if let Some(axis) = (0..rank).find(|axis| !left.contains(axis) && dims[*axis] != 1) {
        return Err(Fault::Wrong {
            what: "index of a squeezed axis",
            value: axis as i64,
            dims: call.dims(x),
        }
        .into());
    }
    one(call.reshape(part, left.iter().map(|&axis| dims[axis]).collect())?)
}

/// How many elements before and behind each of the last axes.
fn pad(call: &mut Call<'_>) -> Made {
    let (x, given) = (call.x()?, call.list("pad")?.unwrap_or_default());
    let rank = call.rank(x);
    let axes = given.len() / 2;
    if !given.len().is_multiple_of(2) || axes > rank {
        return Err(mode(format!("{} pads are given for {rank} axes", given.len())));
    }
    let side = |behind: usize| {
        let given = &given;
        (0..rank).map(move |axis| match (axis + axes).checked_sub(rank) {
            Some(at) => given[2 * at + behind],
            None => 0,
        })
    };
    let pads: Vec<i64> = side(0).chain(side(1)).collect();
    let value = call.number("constant_val", 0.0)?;
    let kind = match call.text("mode", "constant")?.as_str() {
        "constant" => "constant",
        "reflect" => "reflect",
        "replicate" => "edge",
        other => return Err(mode(format!("mode {other:?} is not mapped"))),
    };
    let (pads, value) = (call.whole(pads), call.constant(Array::scalar(value)));
    one(call.onnx_one("Pad", &[x, pads, value], &[("mode", Text(kind))])?)
}
