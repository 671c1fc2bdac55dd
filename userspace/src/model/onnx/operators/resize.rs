//! Images made larger or smaller: a matrix for each axis, or where elements are but repeated, a choice of them.

use super::linear::{WITHIN, scaled_product};
use super::{Call, Made, one};
use crate::model::layers::Layers;
use crate::model::network::array::elements;
use crate::model::network::{Array, Fault, Kind, Operation, ValueId};
use crate::model::problem::Why;

/// A place this near to the middle of two elements is there, as onnxruntime has it: a scale in singles leads just beside it.
/// By whole extents, no place that is not in the middle is as near.
const NEAR: f64 = 1e-6;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    match call.node.operator.as_str() {
        "Resize" => {}
        "Upsample" if call.opset < 10 => {}
        _ => return Ok(None),
    }
    let mut x = call.x(0)?;
    let dims = call.dims(x);
    let axes = match call.integers("axes")? {
        Some(axes) => axes.iter().map(|&axis| call.axis(axis, dims.len())).collect::<Result<Vec<_>, _>>()?,
        None => (0..dims.len()).collect(),
    };
    let (scales, sizes) = (optional(call, 2)?, optional(call, 3)?);
    if call.integer("antialias", 0)? != 0 || call.text("keep_aspect_ratio_policy", "stretch")? != "stretch" {
        return Err(Call::mode("antialias and keep_aspect_ratio_policy are not mapped"));
    }
    for (at, &axis) in axes.iter().enumerate() {
        let (wanted, scale) = match (sizes.get(at), scales.get(at)) {
            (Some(&size), _) => (size, None),
            (None, Some(&scale)) => {
                let scale = scale as f32;
                (f64::from((dims[axis] as f32 * scale).floor()), Some(scale))
            }
            (None, None) => continue,
        };
        if !(1.0..=32767.0).contains(&wanted) {
            return Err(Call::mode(format!("axis {axis} would have {wanted} elements")));
        }
        x = along(call, x, axis, wanted as usize, scale)?;
    }
    one(x)
}

fn optional(call: &Call<'_, '_>, index: usize) -> Result<Vec<f64>, Why> {
    if call.optional(index).is_some() { Ok(call.known(index)?.values().to_vec()) } else { Ok(Vec::new()) }
}

/// `scale` is `None` where the model gives the extents alone.
fn along(
    call: &mut Call<'_, '_>,
    x: ValueId,
    axis: usize,
    wanted: usize,
    scale: Option<f32>,
) -> Result<ValueId, Why> {
    let extent = call.dims(x)[axis];
    if extent == 0 {
        return Err(Fault::Empty { dims: call.dims(x) }.into());
    }
    let places = (0..wanted).map(|at| match scale {
        Some(scale) => place_by_scale(call, at as f32, extent as f32, wanted as f32, scale),
        None => place_by_extents(call, at as f64, extent as f64, wanted as f64),
    });
    let places = places.collect::<Result<Vec<f64>, _>>()?;
    // Exporters write it beside other modes too, where it means nothing.
    let rounding = match call.opset {
        // Not said before opset 11; what onnxruntime does.
        ..11 if scale.is_some_and(|scale| scale < 1.0) => "ceil".to_owned(),
        ..11 => "floor".to_owned(),
        _ => call.text("nearest_mode", "round_prefer_floor")?,
    };
    match call.text("mode", "nearest")?.as_str() {
        "nearest" => {
            let round = match rounding.as_str() {
                "floor" => f64::floor,
                "ceil" => f64::ceil,
                "round_prefer_ceil" => |at: f64| (at + 0.5 + NEAR).floor(),
                "round_prefer_floor" => |at: f64| (at - 0.5 - NEAR).ceil(),
                other => return Err(Call::mode(format!("rounding by {other:?} is not mapped"))),
            };
            let indices = places.iter().map(|&at| inside(round(at), extent)).collect();
            call.add(Operation::Take { axis, indices }, &[x])
        }
        "linear" | "cubic" if wanted == extent && scale.is_none_or(|scale| scale == 1.0) => Ok(x),
        "linear" => mixed(call, x, axis, &places, |part| vec![(0.0, 1.0 - part), (1.0, part)]),
        "cubic" => {
            let steep = call.single("cubic_coeff_a", -0.75)?;
            mixed(call, x, axis, &places, |part| cubic(part, steep))
        }
        other => Err(Call::mode(format!("mode {other:?} is not mapped"))),
    }
}

fn inside(at: f64, extent: usize) -> usize {
    at.clamp(0.0, extent as f64 - 1.0) as usize
}

/// The four elements around a place, and the factor of each, by Keys's polynomials.
fn cubic(part: f64, steep: f64) -> Vec<(f64, f64)> {
    let near = |x: f64| ((steep + 2.0) * x - (steep + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((steep * x - 5.0 * steep) * x + 8.0 * steep) * x - 4.0 * steep;
    vec![(-1.0, far(part + 1.0)), (0.0, near(part)), (1.0, near(1.0 - part)), (2.0, far(2.0 - part))]
}

/// Elements as sums of those around their places, as a product with a matrix. `factors` has for a fraction of the way to the
/// next element the elements from the one below, and the factor of each.
fn mixed(
    call: &mut Call<'_, '_>,
    x: ValueId,
    axis: usize,
    places: &[f64],
    factors: impl Fn(f64) -> Vec<(f64, f64)>,
) -> Result<ValueId, Why> {
    let (extent, wanted) = (call.dims(x)[axis], places.len());
    let leaves_out = call.integer("exclude_outside", 0)? != 0;
    call.network.has_room(&[extent, wanted])?;
    let mut matrix = vec![0.0; elements(&[extent, wanted])?];
    for (to, &at) in places.iter().enumerate() {
        let below = at.floor();
        let mut factors = factors(at - below);
        if leaves_out {
            factors.retain(|(from, _)| (0.0..extent as f64).contains(&(below + from)));
        }
        let sum = if leaves_out { factors.iter().map(|(_, factor)| factor).sum() } else { 1.0 };
        for (from, factor) in factors {
            matrix[inside(below + from, extent) * wanted + to] += factor / sum / WITHIN;
        }
    }
    let matrix = Array::new(vec![extent, wanted], matrix)?;
    let matrix = call.constant(matrix, Kind::Real);
    let rank = call.dims(x).len();
    let order: Vec<usize> = (0..rank).filter(|&other| other != axis).chain(std::iter::once(axis)).collect();
    let mut back = vec![0; rank];
    order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
    let last = call.add(Operation::Permute(order), &[x])?;
    let longer = scaled_product(call, last, matrix, WITHIN)?;
    call.add(Operation::Permute(back), &[longer])
}

fn coordinates(call: &Call<'_, '_>) -> Result<String, Why> {
    match call.opset {
        ..11 => Ok("asymmetric".to_owned()),
        _ => call.text("coordinate_transformation_mode", "half_pixel"),
    }
}

fn not_mapped(coordinates: &str) -> Why {
    Call::mode(format!("coordinates by {coordinates:?} are not mapped"))
}

/// Where element `at` of the result lies in the operand, by both extents.
///
/// It is a quotient of whole numbers that is rounded once. So it is a whole number, or lies in the middle of two, exactly where
/// the quotient does, and the nearest element is the right one.
fn place_by_extents(call: &Call<'_, '_>, at: f64, extent: f64, wanted: f64) -> Result<f64, Why> {
    let middle = (2.0 * at + 1.0) * extent / (2.0 * wanted);
    Ok(match coordinates(call)?.as_str() {
        "pytorch_half_pixel" if wanted <= 1.0 => 0.0,
        "half_pixel" | "half_pixel_symmetric" | "pytorch_half_pixel" => middle - 0.5,
        "align_corners" if wanted <= 1.0 => 0.0,
        "align_corners" => at * (extent - 1.0) / (wanted - 1.0),
        "asymmetric" => at * extent / wanted,
        "tf_half_pixel_for_nn" if call.opset < 13 => middle,
        other => return Err(not_mapped(other)),
    })
}

/// The same by a scale, which a model can give as a single alone. (Chosen) It is computed in singles, as onnxruntime does: a third as
/// a single is a little more than a third, and only with singles the places are those of a third again.
fn place_by_scale(call: &Call<'_, '_>, at: f32, extent: f32, wanted: f32, scale: f32) -> Result<f64, Why> {
    let place = match coordinates(call)?.as_str() {
        "half_pixel" => (at + 0.5) / scale - 0.5,
        "half_pixel_symmetric" => {
            let adjusted = wanted / (scale * extent);
            extent / 2.0 * (1.0 - adjusted) + (at + 0.5) / scale - 0.5
        }
        "pytorch_half_pixel" if wanted <= 1.0 => 0.0,
        "pytorch_half_pixel" => (at + 0.5) / scale - 0.5,
        // The standard takes the length before it is rounded down.
        "align_corners" if scale * extent == 1.0 => 0.0,
        "align_corners" => at * (extent - 1.0) / (scale * extent - 1.0),
        "asymmetric" => at / scale,
        "tf_half_pixel_for_nn" if call.opset < 13 => (at + 0.5) / scale,
        other => return Err(not_mapped(other)),
    };
    Ok(place.into())
}
