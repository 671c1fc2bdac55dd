//! Elements in another order or number, and constants.

use super::{Call, Made, lookup, one, tensor};
use crate::model::layers::{Layers, extent, extents};
use crate::model::network::array::{self, elements, is_rank};
use crate::model::network::operation::{Cut, JoinKind};
use crate::model::network::{Array, Fault, Kind, Operation, ValueId};
use crate::model::problem::Why;

/// Most repetitions of a part that are put one behind the other.
const PARTS_MAX: usize = 1024;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    match call.node.operator.as_str() {
        "Constant" => constant(call),
        "ConstantOfShape" => {
            let dims = extents(&call.list(0)?)?;
            let (value, kind) = match call.tensor("value")? {
                Some(bytes) => {
                    let (_, array, kind) = tensor::read(bytes).map_err(|why| Call::mode(why.to_string()))?;
                    let value = array.only().ok_or_else(|| {
                        Call::mode(format!("the value of {:?} is not one number", array.dims()))
                    })?;
                    (value, kind)
                }
                None => (0.0, Kind::Real),
            };
            one(call.network.filled(call.name, dims, kind, |_| value)?)
        }
        "Shape" => {
            let dims = call.dims(call.x(0)?);
            let bound = |value: i64| {
                let rank = dims.len() as i64;
                (if value < 0 { value.saturating_add(rank) } else { value }).clamp(0, rank) as usize
            };
            let (start, end) = (bound(call.integer("start", 0)?), bound(call.integer("end", i64::MAX)?));
            let part = dims.get(start..end).unwrap_or_default();
            let array = Array::list(part.iter().map(|&extent| extent as f64));
            one(call.constant(array, Kind::Integer))
        }
        "Size" => {
            let count: usize = call.dims(call.x(0)?).iter().product();
            one(call.constant(Array::scalar(count as f64), Kind::Integer))
        }
        "Range" => range(call),
        "EyeLike" => {
            let dims = call.dims(call.x(0)?);
            let &[_, columns] = dims.as_slice() else {
                return Err(Call::mode("only matrices have a diagonal"));
            };
            let k = call.integer("k", 0)?;
            let is_on = |at| (at % columns) as i64 - (at / columns) as i64 == k;
            one(call.network.filled(call.name, dims, Kind::Real, |at| f64::from(u8::from(is_on(at))))?)
        }
        "Trilu" => triangle(call),
        "Reshape" => {
            let x = call.x(0)?;
            let dims = reshaped(&call.dims(x), &call.list(1)?, call.integer("allowzero", 0)? != 0)?;
            one(call.reshape(x, dims)?)
        }
        "Flatten" => {
            let x = call.x(0)?;
            let dims = call.dims(x);
            let axis = match call.integer("axis", 1)? {
                axis if axis == dims.len() as i64 => dims.len(),
                axis => call.axis(axis, dims.len())?,
            };
            let (outer, inner) = dims.split_at(axis);
            one(call.reshape(x, vec![outer.iter().product(), inner.iter().product()])?)
        }
        "Squeeze" => squeeze(call),
        "Unsqueeze" => unsqueeze(call),
        "Transpose" => {
            let x = call.x(0)?;
            let rank = call.dims(x).len();
            let order = match call.integers("perm")? {
                Some(order) => order.iter().map(|&axis| call.axis(axis, rank)).collect::<Result<_, _>>()?,
                None => (0..rank).rev().collect(),
            };
            one(call.add(Operation::Permute(order), &[x])?)
        }
        "Slice" => slice(call),
        "Split" => split(call),
        "Concat" => {
            let operands: Vec<ValueId> = call.inputs.iter().flatten().copied().collect();
            let rank = call.dims(call.x(0)?).len();
            let axis = call.axis(call.integer("axis", 0)?, rank)?;
            one(call.add(Operation::Concat(axis), &operands)?)
        }
        "Expand" => {
            let wanted = extents(&call.list(1)?)?;
            let x = call.x(0)?;
            one(expand(call, x, &wanted)?)
        }
        "Tile" => {
            let x = call.x(0)?;
            let times = extents(&call.list(1)?)?;
            one(tile(call, x, &times)?)
        }
        "Pad" => pad(call),
        "Gather" => gather(call),
        "DepthToSpace" => depth_to_space(call),
        "SpaceToDepth" => {
            let x = call.x(0)?;
            let (&[n, c, h, w], block) = (call.dims(x).as_slice(), block(call)?) else {
                return Err(Call::mode("the operand has not four axes"));
            };
            let (rows, columns) = (h / block, w / block);
            let parts = call.reshape(x, vec![n, c, rows, block, columns, block])?;
            let order = if is_channel_first(call)? { vec![0, 1, 3, 5, 2, 4] } else { vec![0, 3, 5, 1, 2, 4] };
            let turned = call.add(Operation::Permute(order), &[parts])?;
            one(call.reshape(turned, vec![n, c * block * block, rows, columns])?)
        }
        _ => Ok(None),
    }
}

fn constant(call: &mut Call<'_, '_>) -> Made {
    if let Some(bytes) = call.tensor("value")? {
        let (_, array, kind) = tensor::read(bytes).map_err(|why| Call::mode(why.to_string()))?;
        call.network.has_room_to_store(array.values().len())?;
        return one(call.network.stored(call.name, array, kind));
    }
    let (array, kind) = if let Some(value) = call.optional_single("value_float")? {
        (Array::scalar(value.into()), Kind::Real)
    } else if call.attribute("value_int").is_some() {
        (Array::scalar(call.integer("value_int", 0)? as f64), Kind::Integer)
    } else if let Some(values) = call.singles("value_floats")? {
        (Array::list(values.into_iter().map(f64::from)), Kind::Real)
    } else if let Some(values) = call.integers("value_ints")? {
        (Array::list(values.into_iter().map(|value| value as f64)), Kind::Integer)
    } else {
        return Err(Call::mode("the constant is neither a tensor nor numbers"));
    };
    one(call.constant(array, kind))
}

fn range(call: &mut Call<'_, '_>) -> Made {
    let (start, limit, delta) = (call.number(0)?, call.number(1)?, call.number(2)?);
    let count = ((limit - start) / delta).ceil().max(0.0);
    let count = if count.is_finite() { count as usize } else { usize::MAX };
    let kind = call.kind(call.x(0)?);
    one(call.network.filled(call.name, vec![count], kind, |at| start + at as f64 * delta)?)
}

/// The part above or below a diagonal: of a computed tensor by a product with ones and zeros.
fn triangle(call: &mut Call<'_, '_>) -> Made {
    let x = call.x(0)?;
    let dims = call.dims(x);
    let Some(&[rows, columns]) = dims.last_chunk::<2>() else {
        return Err(Call::mode("the operand is no matrix"));
    };
    let k = if call.optional(1).is_some() { call.list(1)?.first().copied().unwrap_or(0) } else { 0 };
    let is_upper = call.integer("upper", 1)? != 0;
    let mask = Array::from_fn(vec![rows, columns], |at| {
        let behind = (at % columns) as i64 - (at / columns) as i64;
        f64::from(u8::from(if is_upper { behind >= k } else { behind <= k }))
    })?;
    let mask = call.constant(mask, Kind::Real);
    if call.network.known(x).is_some() {
        // Masks of attention are infinite, and infinity times zero is no number.
        let zero = call.scalar(0.0);
        let kind = call.kind(x);
        return one(call.add_as(Operation::Select, &[mask, x, zero], kind)?);
    }
    one(call.join(JoinKind::Multiply, x, mask)?)
}

fn reshaped(dims: &[usize], wanted: &[i64], zero_is_zero: bool) -> Result<Vec<usize>, Why> {
    let wrong = |value| Fault::Wrong { what: "extent", value, dims: dims.to_vec() };
    is_rank(wanted.len())?;
    let mut made = Vec::new();
    let mut open = None;
    for (axis, &extent) in wanted.iter().enumerate() {
        made.push(match extent {
            0 if !zero_is_zero => *dims.get(axis).ok_or_else(|| wrong(extent))?,
            -1 if open.is_none() => {
                open = Some(axis);
                1
            }
            _ => usize::try_from(extent).map_err(|_| wrong(extent))?,
        });
    }
    if let Some(open) = open {
        let others = elements(&made)?;
        if others == 0 {
            return Err(wrong(-1).into());
        }
        made[open] = elements(dims)? / others;
    }
    Ok(made)
}

/// Axes that are an attribute, or from opset 13 on an operand.
fn given_axes(call: &Call<'_, '_>, rank: usize) -> Result<Option<Vec<usize>>, Why> {
    let axes = match call.integers("axes")? {
        Some(axes) => axes,
        None if call.optional(1).is_some() => call.list(1)?,
        None => return Ok(None),
    };
    is_rank(axes.len())?;
    Ok(Some(axes.iter().map(|&axis| call.axis(axis, rank)).collect::<Result<_, _>>()?))
}

/// Refuses an axis that is there twice: the second one would take the place of the first.
fn is_once(axes: &[usize]) -> Result<(), Why> {
    let twice = axes.iter().enumerate().find(|(at, axis)| axes[..*at].contains(axis));
    twice.map_or(Ok(()), |(_, axis)| Err(Call::mode(format!("axis {axis} is given twice"))))
}

fn squeeze(call: &mut Call<'_, '_>) -> Made {
    let x = call.x(0)?;
    let dims = call.dims(x);
    let axes = given_axes(call, dims.len())?;
    let goes = |axis: usize| axes.as_ref().map_or(dims[axis] == 1, |axes| axes.contains(&axis));
    let left = (0..dims.len()).filter(|&axis| !goes(axis)).map(|axis| dims[axis]).collect();
    one(call.reshape(x, left)?)
}

fn unsqueeze(call: &mut Call<'_, '_>) -> Made {
    let x = call.x(0)?;
    let dims = call.dims(x);
    let count = match call.integers("axes")? {
        Some(axes) => axes.len(),
        None => call.list(1)?.len(),
    };
    let all = dims.len().saturating_add(count);
    is_rank(all)?;
    let axes = given_axes(call, all)?.unwrap_or_default();
    is_once(&axes)?;
    let mut rest = dims.iter();
    let longer: Vec<usize> = (0..all)
        .filter_map(|axis| if axes.contains(&axis) { Some(1) } else { rest.next().copied() })
        .collect();
    one(call.reshape(x, longer)?)
}

fn slice(call: &mut Call<'_, '_>) -> Made {
    let x = call.x(0)?;
    let dims = call.dims(x);
    let (starts, ends) = (call.list(1)?, call.list(2)?);
    let axes = call.list_or(3, || (0..starts.len() as i64).collect())?;
    let steps = call.list_or(4, || vec![1; starts.len()])?;
    if [&ends, &axes, &steps].iter().any(|list| list.len() != starts.len()) {
        return Err(Call::mode("starts, ends, axes and steps of the slice are not as many"));
    }
    is_once(&axes.iter().map(|&axis| call.axis(axis, dims.len())).collect::<Result<Vec<_>, _>>()?)?;
    let mut cuts: Vec<Cut> = dims.iter().map(|&extent| Cut::all(extent)).collect();
    for (((&start, &end), &axis), &step) in starts.iter().zip(&ends).zip(&axes).zip(&steps) {
        let axis = call.axis(axis, dims.len())?;
        let extent = dims[axis] as i64;
        if step == 0 {
            return Err(Call::mode("the step of the slice is 0"));
        }
        if extent == 0 {
            continue;
        }
        let counted = |at: i64| if at < 0 { at.saturating_add(extent) } else { at };
        let (low, high) = if step > 0 { (0, extent) } else { (-1, extent - 1) };
        let start = counted(start).clamp(low.max(0), high);
        let end = counted(end).clamp(low, high.max(low));
        let distance = if step > 0 { end - start } else { start - end };
        let count = (distance.max(0) as u64).div_ceil(step.unsigned_abs());
        cuts[axis] = Cut { start: start.max(0) as usize, step: step as isize, count: count as usize };
    }
    one(call.add(Operation::Cut(cuts), &[x])?)
}

fn split(call: &mut Call<'_, '_>) -> Made {
    let x = call.x(0)?;
    let dims = call.dims(x);
    let axis = call.axis(call.integer("axis", 0)?, dims.len())?;
    let sizes = if call.optional(1).is_some() {
        let sizes = call.list(1)?;
        has_outputs(call, sizes.len())?;
        let sizes = sizes.into_iter().map(extent).collect::<Result<Vec<_>, _>>()?;
        let all = sizes.iter().fold(0_usize, |all, &size| all.saturating_add(size));
        if all != dims[axis] {
            let extent = dims[axis];
            return Err(Call::mode(format!("the parts have {all} elements, and axis {axis} has {extent}")));
        }
        sizes
    } else {
        let told = call.integer("num_outputs", call.outputs as i64)?;
        let parts = usize::try_from(told).ok().filter(|&parts| parts > 0);
        let parts = parts.ok_or_else(|| Call::mode(format!("num_outputs is {told}")))?;
        has_outputs(call, parts)?;
        let extent = dims[axis];
        // From opset 18 on the last part may be smaller.
        if call.opset < 18 && !extent.is_multiple_of(parts) {
            return Err(Call::mode(format!("{extent} elements do not make {parts} equal parts")));
        }
        let each = extent.div_ceil(parts);
        (0..parts).map(|part| each.min(dims[axis].saturating_sub(part * each))).collect()
    };
    let mut start = 0_usize;
    let mut made = Vec::new();
    for count in sizes {
        made.push(call.cut(x, axis, Cut { start, step: 1, count })?);
        start = start.saturating_add(count);
    }
    Ok(Some(made))
}

/// Refuses more parts than there are outputs for them.
fn has_outputs(call: &Call<'_, '_>, parts: usize) -> Result<(), Why> {
    if parts <= call.outputs {
        Ok(())
    } else {
        Err(Call::mode(format!("it makes {parts} parts and has {} outputs", call.outputs)))
    }
}

/// Stretched as NumPy does, whichever is the longer along an axis.
pub(super) fn expand(call: &mut Call<'_, '_>, x: ValueId, wanted: &[usize]) -> Result<ValueId, Why> {
    let dims = call.dims(x);
    let all = array::broadcast(&dims, wanted)?;
    let mut padded = vec![1; all.len() - dims.len()];
    padded.extend(dims);
    let x = call.reshape(x, padded)?;
    call.add(Operation::Expand(all), &[x])
}

pub(super) fn tile(call: &mut Call<'_, '_>, x: ValueId, times: &[usize]) -> Result<ValueId, Why> {
    let mut x = x;
    for (axis, &times) in times.iter().enumerate().filter(|(_, times)| **times != 1) {
        if times > PARTS_MAX {
            return Err(Why::Tasks { tasks: times as u64, most: PARTS_MAX as u64 });
        }
        if axis >= call.dims(x).len() || times == 0 {
            return Err(Fault::Wrong { what: "repeats", value: times as i64, dims: call.dims(x) }.into());
        }
        let mut dims = call.dims(x);
        x = if dims[axis] == 1 {
            dims[axis] = times;
            call.add(Operation::Expand(dims), &[x])?
        } else {
            call.add(Operation::Concat(axis), &vec![x; times])?
        };
    }
    Ok(x)
}

fn pad(call: &mut Call<'_, '_>) -> Made {
    let x = call.x(0)?;
    let dims = call.dims(x);
    let given = call.list(1)?;
    let value = if call.optional(2).is_some() { call.number(2)? } else { 0.0 };
    let axes = match call.optional(3) {
        Some(_) => {
            call.list(3)?.iter().map(|&axis| call.axis(axis, dims.len())).collect::<Result<Vec<_>, _>>()?
        }
        None => (0..dims.len()).collect(),
    };
    is_once(&axes)?;
    if given.len() != 2 * axes.len() {
        return Err(Call::mode(format!("{} pads are given for {} axes", given.len(), axes.len())));
    }
    // Elements below zero are cut off first.
    let mut cuts: Vec<Cut> = dims.iter().map(|&extent| Cut::all(extent)).collect();
    let mut sides = vec![(0, 0); dims.len()];
    for (at, &axis) in axes.iter().enumerate() {
        let (before, behind) = (given[at], given[at + axes.len()]);
        let off = |side: i64| side.min(0).unsigned_abs() as usize;
        cuts[axis].start = off(before);
        cuts[axis].count = dims[axis].saturating_sub(off(before)).saturating_sub(off(behind));
        sides[axis] = (before.max(0) as usize, behind.max(0) as usize);
    }
    let x = call.add(Operation::Cut(cuts), &[x])?;
    let mode = call.text("mode", "constant")?;
    if mode == "constant" {
        return one(call.add(Operation::Pad { sides, value }, &[x])?);
    }
    if !["edge", "reflect", "wrap"].contains(&mode.as_str()) {
        return Err(Call::mode(format!("mode {mode:?} is not constant, edge, reflect or wrap")));
    }
    let mut x = x;
    for (axis, &(before, behind)) in sides.iter().enumerate().filter(|(_, sides)| **sides != (0, 0)) {
        let extent = call.dims(x)[axis] as i64;
        if extent == 0 {
            return Err(Fault::Empty { dims: call.dims(x) }.into());
        }
        let place = |at: i64| match mode.as_str() {
            "edge" => at.clamp(0, extent - 1),
            "wrap" => at.rem_euclid(extent),
            _ if extent == 1 => 0,
            _ => {
                let period = 2 * (extent - 1);
                let at = at.rem_euclid(period);
                if at < extent { at } else { period - at }
            }
        };
        elements(&[before, behind])?;
        let places = -(before as i64)..extent + behind as i64;
        call.network.count_looks(elements(&[before.saturating_add(behind)])?)?;
        let indices = places.map(|at| place(at) as usize).collect();
        x = call.add(Operation::Take { axis, indices }, &[x])?;
    }
    one(x)
}

fn gather(call: &mut Call<'_, '_>) -> Made {
    let x = call.x(0)?;
    let dims = call.dims(x);
    let axis = call.axis(call.integer("axis", 0)?, dims.len())?;
    let extent = dims[axis] as i64;
    if let Some(indices) = call.halves_at(1)? {
        return one(lookup::rows(call, x, axis, indices)?);
    }
    let given = call.known(1)?.clone();
    let index = |&value: &f64| {
        let value = array::whole(value)?;
        let counted = if value < 0 { value.saturating_add(extent) } else { value };
        usize::try_from(counted).map_err(|_| Fault::Wrong { what: "index", value, dims: dims.clone() })
    };
    let indices = given.values().iter().map(index).collect::<Result<Vec<_>, _>>()?;
    let taken = call.add(Operation::Take { axis, indices }, &[x])?;
    let mut left = dims[..axis].to_vec();
    left.extend(given.dims());
    left.extend(&dims[axis + 1..]);
    one(call.reshape(taken, left)?)
}

/// A larger block has more elements than a tensor.
const BLOCK_MAX: usize = 1 << 13;

fn block(call: &Call<'_, '_>) -> Result<usize, Why> {
    let size = call.integer("blocksize", 0)?;
    usize::try_from(size)
        .ok()
        .filter(|size| (1..=BLOCK_MAX).contains(size))
        .ok_or_else(|| Call::mode(format!("a block of {size}")))
}

/// Whether the places of a block are the faster part of the channels.
fn is_channel_first(call: &Call<'_, '_>) -> Result<bool, Why> {
    match call.text("mode", "DCR")?.as_str() {
        "CRD" => Ok(true),
        "DCR" => Ok(false),
        other => Err(Call::mode(format!("mode {other:?} is not DCR or CRD"))),
    }
}

fn depth_to_space(call: &mut Call<'_, '_>) -> Made {
    let x = call.x(0)?;
    let (&[n, c, h, w], block) = (call.dims(x).as_slice(), block(call)?) else {
        return Err(Call::mode("the operand has not four axes"));
    };
    let depth = c / (block * block);
    let (parts, order) = if is_channel_first(call)? {
        (vec![n, depth, block, block, h, w], vec![0, 1, 4, 2, 5, 3])
    } else {
        (vec![n, block, block, depth, h, w], vec![0, 3, 4, 1, 5, 2])
    };
    let parts = call.reshape(x, parts)?;
    let turned = call.add(Operation::Permute(order), &[parts])?;
    one(call.reshape(turned, vec![n, depth, h * block, w * block])?)
}
