//! Images made larger or smaller, along the last two axes.

use super::{Call, Made, mode, one};
use crate::model::network::{Array, ValueId};
use crate::model::onnx::operators::Setting::{Integers, Text};
use crate::model::problem::Why;

pub(super) fn call(call: &mut Call<'_>) -> Made {
    let (kind, places) = match call.operator {
        "upsample_nearest_neighbor" => ("nearest", "asymmetric"),
        "upsample_bilinear" => {
            // Aligned is what the language takes where nothing is said.
            let corners = call.optional("align_corners")?.is_none() || call.truth("align_corners")?;
            let half = call.optional("half_pixel_centers")?.is_some();
            let places = match (corners, half, call.truth("half_pixel_centers")?) {
                (true, _, false) => "align_corners",
                (false, true, true) => "half_pixel",
                (false, true, false) => "asymmetric",
                (true, _, true) => {
                    return Err(mode("align_corners and half_pixel_centers exclude each other"));
                }
                // Versions of the language differ in what is meant.
                (false, false, _) => {
                    return Err(mode("without align_corners, half_pixel_centers has to be given"));
                }
            };
            ("linear", places)
        }
        "resize_bilinear" => {
            let places = match call.text("sampling_mode", "DEFAULT")?.as_str() {
                "DEFAULT" => "asymmetric",
                "STRICT_ALIGN_CORNERS" | "ALIGN_CORNERS" => "align_corners",
                "UNALIGN_CORNERS" => "half_pixel",
                other => return Err(mode(format!("sampling_mode {other:?} is not mapped"))),
            };
            let sizes = ["target_size_height", "target_size_width"];
            let [height, width] = sizes.map(|name| call.integer(name, 0));
            let sizes = [height?, width?];
            // Then the middle is meant, which no mode of ONNX says beside aligned corners.
            if sizes.contains(&1) && call.text("sampling_mode", "DEFAULT")? == "ALIGN_CORNERS" {
                return Err(mode("ALIGN_CORNERS with a target of one element is not mapped"));
            }
            let sizes = call.whole(sizes);
            return resized(call, None, Some(sizes), "linear", places);
        }
        _ => return Ok(None),
    };
    let factors = ["scale_factor_height", "scale_factor_width"];
    let [height, width] = factors.map(|name| call.number(name, 1.0));
    let factors = [height?, width?];
    if kind == "linear" {
        // The distance between two elements follows from the extents, not from a factor of which a fraction was cut off.
        let x = call.x()?;
        let dims = call.network.dims(x).to_vec();
        let extents = dims.iter().skip(dims.len().saturating_sub(2));
        // In singles, as the extents of operator `Resize`.
        let sizes =
            extents.zip(factors).map(|(&extent, factor)| (extent as f32 * factor as f32).floor() as i64);
        let sizes = call.whole(sizes);
        return resized(call, None, Some(sizes), kind, places);
    }
    let scales = call.constant(Array::list(factors));
    resized(call, Some(scales), None, kind, places)
}

fn resized(
    call: &mut Call<'_>,
    scales: Option<ValueId>,
    sizes: Option<ValueId>,
    kind: &'static str,
    places: &'static str,
) -> Made {
    let x = call.x()?;
    let rank = call.rank(x) as i64;
    let settings = [
        ("mode", Text(kind)),
        ("coordinate_transformation_mode", Text(places)),
        ("nearest_mode", Text("floor")),
        ("axes", Integers(vec![rank - 2, rank - 1])),
    ];
    let made: Result<Vec<ValueId>, Why> = call.onnx("Resize", &[Some(x), None, scales, sizes], &settings);
    match made?.first() {
        Some(&value) => one(value),
        None => Ok(None),
    }
}
