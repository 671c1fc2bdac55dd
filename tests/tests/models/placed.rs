//! Parts that known indices pick from computed data, or put into it.

use ane::model::execute;
use ane::model::network::Array;
use ane_tests::model::Attribute::Text;
use ane_tests::model::Onnx;

use super::{compiled, device, problems};

/// Whole numbers as elements, and as indices.
fn of(dims: &[usize], first: f64) -> Array {
    Array::from_fn(dims.to_vec(), |at| first + at as f64).unwrap()
}

fn indices(net: &mut Onnx, dims: &[i64], values: &[i64]) -> String {
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    net.initializer(7, dims, &raw)
}

#[test]
fn parts_of_computed_data_are_picked_where_indices_say() {
    let cases: [(&[i64], &[i64], &[f64]); 3] = [
        (&[2, 2], &[1, 2, 0, -1], &[20.0, 21.0, 22.0, 23.0, 8.0, 9.0, 10.0, 11.0]),
        (&[2, 1, 3], &[1, 0, 3, 0, 2, 1], &[15.0, 9.0]),
        (&[1, 1], &[-1], &[12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0]),
    ];
    for (dims, places, wanted) in cases {
        let mut net = Onnx::new(3);
        let (x, places) = (net.input("x", &[2, 3, 4]), indices(&mut net, dims, places));
        net.node_to("GatherND", &[&x, &places], "y", &[]);
        net.output("y", &[1]);
        let seen = execute(&device(), &compiled(&net.finish()), &[of(&[2, 3, 4], 0.0)]).unwrap();
        assert_eq!(seen[0].values(), wanted);
    }
}

#[test]
fn parts_are_put_where_indices_say_and_the_last_one_stays() {
    let mut net = Onnx::new(3);
    let (x, parts) = (net.input("x", &[2, 3, 2]), net.input("parts", &[3, 2]));
    let places = indices(&mut net, &[3, 2], &[1, 0, 0, 2, 1, -3]);
    net.node_to("ScatterND", &[&x, &places, &parts], "y", &[]);
    net.output("y", &[1]);
    let seen =
        execute(&device(), &compiled(&net.finish()), &[of(&[2, 3, 2], 0.0), of(&[3, 2], 100.0)]).unwrap();
    assert_eq!(seen[0].values(), [0.0, 1.0, 2.0, 3.0, 102.0, 103.0, 104.0, 105.0, 8.0, 9.0, 10.0, 11.0]);
}

#[test]
fn computed_parts_are_put_into_constants() {
    let mut net = Onnx::new(3);
    let parts = net.input("parts", &[2]);
    let zeros = net.singles(&[2, 2], &[0.0; 4]);
    let places = indices(&mut net, &[2, 2], &[1, 0, 0, 1]);
    net.node_to("ScatterND", &[&zeros, &places, &parts], "y", &[]);
    net.output("y", &[1]);
    let seen = execute(&device(), &compiled(&net.finish()), &[of(&[2], 5.0)]).unwrap();
    assert_eq!(seen[0].values(), [0.0, 6.0, 5.0, 0.0]);
}

#[test]
fn places_outside_and_sums_of_computed_data_are_refused() {
    let refused = |places: (&[i64], &[i64]), parts: &[i64], attributes: &[_], reason: &str| {
        let mut net = Onnx::new(3);
        let (x, parts) = (net.input("x", &[2, 3]), net.input("parts", parts));
        let places = indices(&mut net, places.0, places.1);
        net.node_to("ScatterND", &[&x, &places, &parts], "y", attributes);
        net.output("y", &[1]);
        let told = problems(&net.finish())[0].to_string();
        assert!(told.contains(reason), "{told}");
    };
    refused((&[1, 1], &[2]), &[1, 3], &[], "index of 2 does not fit");
    refused((&[1, 1], &[i64::MIN]), &[1, 3], &[], "does not fit");
    refused((&[1, 1], &[0]), &[2, 3], &[], "do not go together");
    refused((&[1, 3], &[0, 0, 0]), &[1], &[], "do not go together");
    refused((&[1, 1], &[0]), &[1, 3], &[("reduction", Text("add"))], "of computed data is not mapped");
}
