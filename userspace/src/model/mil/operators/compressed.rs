//! Constants that are stored in fewer bits, brought back before the run.
//!
//! Programs up to iOS 17 have a flat list of packed indices, or of bits, and the shape of the result beside it. Later ones have tensors of
//! small whole numbers in that shape, and a scale, or a table, for each block of neighbours; of a table, an index may name several elements.

use super::{Call, Made, mode, one};
use crate::model::layers::Layers;
use crate::model::network::array::{elements, strides};
use crate::model::network::operation::JoinKind;
use crate::model::network::{Array, Kind, ValueId};
use crate::model::problem::Why;

pub(super) fn call(call: &mut Call<'_>) -> Made {
    let has_shape = call.arguments.contains_key("shape");
    match call.operator {
        "constexpr_affine_dequantize" => affine(call),
        "constexpr_blockwise_shift_scale" => {
            let data = known(call, "data")?;
            let values = scaled(call, &data)?;
            one(constant(call, values))
        }
        "constexpr_lut_to_dense" => {
            let indices = known(call, "indices")?;
            let values = if has_shape { unpacked(call, &indices)? } else { looked_up(call, &indices)? };
            one(constant(call, values))
        }
        "constexpr_sparse_to_dense" => {
            let (mut mask, data) = (known(call, "mask")?, known(call, "nonzero_data")?);
            if has_shape {
                let dims = shape(call)?;
                mask = Array::new(dims.clone(), bits(mask.values(), 1, elements(&dims)?)?)?;
            }
            let values = dense(&mask, &data)?;
            one(constant(call, values))
        }
        "constexpr_sparse_blockwise_shift_scale" => {
            let (mask, data) = (known(call, "data_mask")?, known(call, "nonzero_data")?);
            let values = scaled(call, &dense(&mask, &data)?)?;
            sparse(call, mask, &values)
        }
        "constexpr_lut_to_sparse" => {
            let (mask, indices) = (known(call, "indices_mask")?, known(call, "indices_nonzero_data")?);
            let values = looked_up(call, &dense(&mask, &indices)?)?;
            let (vector, axis) = vector(call, &mask)?;
            let mask = repeated(&mask, vector, axis, |element, _| mask.values()[element])?;
            sparse(call, mask, &values)
        }
        _ => Ok(None),
    }
}

fn affine(call: &mut Call<'_>) -> Made {
    let data = known(call, "quantized_data")?;
    let axis = call.integer("axis", 0)?;
    let rank = data.dims().len();
    let mut value = call.constant(data);
    for (name, kind) in [("zero_point", JoinKind::Subtract), ("scale", JoinKind::Multiply)] {
        let operand = known(call, name)?;
        let mut dims = vec![1; rank];
        if !operand.dims().is_empty() {
            let (axis, numbers) = (call.axis(axis, rank)?, operand.values().len());
            let extent = call.network.dims(value)[axis];
            if numbers != extent {
                return Err(mode(format!("{name} has {numbers} numbers for an axis of {extent}")));
            }
            dims[axis] = numbers;
        }
        let operand = call.constant(operand.reshaped(dims)?);
        value = call.join(kind, value, operand)?;
    }
    one(value)
}

fn known(call: &mut Call<'_>, name: &'static str) -> Result<Array, Why> {
    call.array(name)?.ok_or_else(|| mode(format!("operand {name:?} is missing")))
}

fn shape(call: &mut Call<'_>) -> Result<Vec<usize>, Why> {
    let shape = known(call, "shape")?;
    Ok(shape.values().iter().map(|&extent| extent as usize).collect())
}

fn constant(call: &mut Call<'_>, array: Array) -> ValueId {
    call.network.constant(call.name, array, Kind::Real)
}

/// A mask, and what a tensor has where the mask has ones.
fn sparse(call: &mut Call<'_>, mask: Array, values: &Array) -> Made {
    let kept = mask.values().iter().zip(values.values()).filter(|&(&bit, _)| bit != 0.0);
    let list = Array::list(kept.map(|(_, &value)| value));
    let mask = call.network.constant(call.name, mask, Kind::Integer);
    Ok(Some(vec![mask, constant(call, list)]))
}

/// The numbers of a list where a mask has ones, and zeros elsewhere.
fn dense(mask: &Array, list: &Array) -> Result<Array, Why> {
    let ones = mask.values().iter().filter(|&&bit| bit != 0.0).count();
    if ones != list.values().len() {
        return Err(mode(format!("the mask has {ones} ones, and there are {} numbers", list.values().len())));
    }
    let mut rest = list.values().iter().copied();
    let value = |&bit: &f64| if bit != 0.0 { rest.next().unwrap_or_default() } else { 0.0 };
    Ok(Array::new(mask.dims().to_vec(), mask.values().iter().map(value).collect())?)
}

/// Each element less the offset of its block, times the block's scale.
fn scaled(call: &mut Call<'_>, data: &Array) -> Result<Array, Why> {
    let scale = known(call, "scale")?;
    let offset = call.array("offset")?;
    if offset.as_ref().is_some_and(|offset| offset.dims() != scale.dims()) {
        return Err(mode("scale and offset differ in shape"));
    }
    let blocks = blocks(call, data.dims(), scale.dims())?;
    let values = data.values().iter().zip(blocks).map(|(value, block)| {
        let offset = offset.as_ref().map_or(0.0, |offset| offset.values()[block]);
        (value - offset) * scale.values()[block]
    });
    Ok(Array::new(data.dims().to_vec(), values.collect())?)
}

/// For each element the block in which it lies. A grid of blocks has a divisor of each extent.
fn blocks(call: &Call<'_>, dims: &[usize], grid: &[usize]) -> Result<Vec<usize>, Why> {
    let divides = |(&extent, &parts): (&usize, &usize)| parts > 0 && extent % parts == 0;
    if dims.len() != grid.len() || !dims.iter().zip(grid).all(divides) {
        return Err(mode(format!("{grid:?} blocks do not divide {dims:?}")));
    }
    let count = elements(dims)?;
    call.network.count_looks(dims.len() * count)?;
    let (steps, rows) = (strides(dims), strides(grid));
    let along = |element: usize, axis: usize| element / steps[axis] % dims[axis] * grid[axis] / dims[axis];
    let block = |element| (0..dims.len()).map(|axis| along(element, axis) * rows[axis]).sum();
    Ok((0..count).map(block).collect())
}

/// Elements that an index names, and the axis on which they lie side by side.
fn vector(call: &mut Call<'_>, indices: &Array) -> Result<(usize, usize), Why> {
    let vector = known(call, "lut")?.dims().last().copied().unwrap_or_default();
    if vector == 0 {
        return Err(mode("a table of vectors without elements is not mapped"));
    }
    if vector != 1 && !call.arguments.contains_key("vector_axis") {
        return Err(mode("a table of vectors needs a vector_axis"));
    }
    let axis = call.integer("vector_axis", 0)?;
    Ok((vector, call.axis(axis, indices.dims().len())?))
}

/// Each element several times along an axis; `value` takes which element, and which time.
fn repeated(
    array: &Array,
    times: usize,
    axis: usize,
    value: impl Fn(usize, usize) -> f64,
) -> Result<Array, Why> {
    let mut dims = array.dims().to_vec();
    let inner = strides(&dims)[axis];
    dims[axis] = dims[axis].saturating_mul(times);
    let place = |at: usize| value(at / inner / times * inner + at % inner, at / inner % times);
    Ok(Array::from_fn(dims, place)?)
}

/// The elements that each index names in the table of its block.
fn looked_up(call: &mut Call<'_>, indices: &Array) -> Result<Array, Why> {
    let lut = known(call, "lut")?;
    let (times, axis) = vector(call, indices)?;
    let Some((grid, &[width, _])) = lut.dims().split_at_checked(indices.dims().len()) else {
        return Err(mode(format!(
            "a table {:?} does not belong to indices {:?}",
            lut.dims(),
            indices.dims()
        )));
    };
    if let Some(index) = indices.values().iter().find(|index| !(0.0..width as f64).contains(*index)) {
        return Err(mode(format!("index {index} lies outside of a table of {width}")));
    }
    let blocks = blocks(call, indices.dims(), grid)?;
    repeated(indices, times, axis, |element, time| {
        let index = blocks[element] * width + indices.values()[element] as usize;
        lut.values()[index * times + time]
    })
}

/// Each element is an index into a list of 2, 4, 16, 64 or 256 numbers; indices are packed, the lowest bits first.
fn unpacked(call: &mut Call<'_>, indices: &Array) -> Result<Array, Why> {
    let (list, dims) = (known(call, "lut")?, shape(call)?);
    let width = list.values().len();
    if ![2, 4, 16, 64, 256].contains(&width) {
        return Err(mode(format!("a list of {width} numbers is not mapped")));
    }
    let places = bits(indices.values(), width.ilog2() as usize, elements(&dims)?)?;
    let values = places.into_iter().map(|place| list.values()[place as usize]).collect();
    Ok(Array::new(dims, values)?)
}

/// `count` whole numbers of `bits` bits each from bytes.
fn bits(bytes: &[f64], bits: usize, count: usize) -> Result<Vec<f64>, Why> {
    if bytes.len() != (count * bits).div_ceil(8) {
        return Err(mode(format!("{} bytes do not hold {count} times {bits} bits", bytes.len())));
    }
    if let Some(byte) = bytes.iter().find(|byte| !(0.0..256.0).contains(*byte) || byte.fract() != 0.0) {
        return Err(mode(format!("{byte} is no byte")));
    }
    let bit = |at: usize| bytes[at / 8] as usize >> (at % 8) & 1;
    let number = |index: usize| (0..bits).fold(0, |value, place| value | bit(index * bits + place) << place);
    Ok((0..count).map(|index| number(index) as f64).collect())
}
