//! Images whose elements are repeated or left out: the nearest element of each place.

use ane::model::network::{Array, Operation};
use ane_tests::model::Attribute::{self, Text};
use ane_tests::model::{Fed, Onnx, results};

use super::compiled;

/// A model that makes a line of `extent` elements longer or shorter, by a scale or to an extent.
fn model(extent: usize, scale: Option<f32>, wanted: usize, [places, rounding]: [&'static str; 2]) -> Vec<u8> {
    let mut net = Onnx::new(1);
    let x = net.input("x", &[1, 1, 1, extent as i64]);
    let lists = match scale {
        Some(scale) => [net.singles(&[4], &[1.0, 1.0, 1.0, scale]), String::new()],
        None => [String::new(), net.integers(&[1, 1, 1, wanted as i64])],
    };
    let attributes: [(&str, Attribute); 3] = [
        ("mode", Text("nearest")),
        ("coordinate_transformation_mode", Text(places)),
        ("nearest_mode", Text(rounding)),
    ];
    net.node_to("Resize", &[&x, "", &lists[0], &lists[1]], "y", &attributes);
    net.output_of_any_shape("y");
    net.finish()
}

/// The elements that the last layer of a model picks.
fn picked(model: &[u8]) -> Vec<usize> {
    match compiled(model).network.nodes.pop().map(|node| node.operation) {
        Some(Operation::Take { indices, .. }) => indices,
        other => panic!("no elements are picked: {other:?}"),
    }
}

const PLACES: [&str; 3] = ["asymmetric", "half_pixel", "align_corners"];
const ROUNDINGS: [&str; 4] = ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"];

#[test]
fn nearest_element_by_extents_is_that_of_the_exact_ratio() {
    let all = picked(&model(14, None, 18, ["asymmetric", "floor"]));
    assert_eq!(all[9], 7, "half of 18 lies at half of 14: {all:?}");
    for (extent, wanted) in [(14, 18), (14, 2), (10, 6), (13, 7), (7, 19), (9, 21), (21, 6), (25, 12)] {
        for (places, rounding) in PLACES.iter().flat_map(|&of| ROUNDINGS.map(|rounding| (of, rounding))) {
            let exact = (0..wanted).map(|at| {
                let (above, below): (i64, i64) = match places {
                    "asymmetric" => (at * extent, wanted),
                    "half_pixel" => ((2 * at + 1) * extent - wanted, 2 * wanted),
                    _ => (at * (extent - 1), wanted - 1),
                };
                let nearest = match rounding {
                    "floor" => above.div_euclid(below),
                    "ceil" => -(-above).div_euclid(below),
                    "round_prefer_floor" => -(below - 2 * above).div_euclid(2 * below),
                    _ => (2 * above + below).div_euclid(2 * below),
                };
                nearest.clamp(0, extent - 1) as usize
            });
            let seen = picked(&model(extent as usize, None, wanted as usize, [places, rounding]));
            assert_eq!(seen, exact.collect::<Vec<_>>(), "{extent} to {wanted}, {places}, {rounding}");
        }
    }
}

#[test]
fn nearest_element_by_a_scale_is_that_of_singles() {
    let by = |extent, scale| picked(&model(extent, Some(scale), 0, ["asymmetric", "floor"]));
    assert_eq!(by(9, 1.0 / 3.0), [0, 3, 6]);
    // As a single, ten times 0.7 is 7.
    assert_eq!(by(10, 0.7), [0, 1, 2, 4, 5, 7, 8]);
}

#[test]
fn nearest_element_by_a_scale_is_that_of_onnxruntime() {
    let mut models = Vec::new();
    for extent in [9, 10, 23] {
        for scale in [1.0 / 3.0, 0.7, 0.1, 1.1, 1.3, 2.0, 7.0 / 3.0] {
            for (places, rounding) in PLACES.iter().flat_map(|&of| ROUNDINGS.map(|rounding| (of, rounding))) {
                // Of aligned corners, the standard takes the length before it is rounded down. Where the extent stays, onnxruntime
                // copies.
                let wanted = (extent as f32 * scale) as usize;
                if places == "align_corners" || wanted == 0 || wanted == extent {
                    continue;
                }
                let line = Array::new(vec![1, 1, 1, extent], (0..extent).map(|at| at as f64).collect());
                models.push(Fed {
                    model: model(extent, Some(scale), 0, [places, rounding]),
                    inputs: vec![("x".to_owned(), line.unwrap())],
                });
            }
        }
    }
    let Some(wanted) = results(&models) else { return };
    for (index, (fed, wanted)) in models.iter().zip(&wanted).enumerate() {
        let seen: Vec<f64> = picked(&fed.model).into_iter().map(|at| at as f64).collect();
        assert_eq!(seen, wanted[0].values(), "model {index}");
    }
}
