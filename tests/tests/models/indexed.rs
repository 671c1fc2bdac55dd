//! Rows of tables by indices that the run is given, and other whole numbers that clients fill.

use ane::model::network::Array;
use ane::model::{Compiled, ModelError, Options, Remedy, compile, execute, grouped};
use ane_tests::model::Attribute::Integer;
use ane_tests::model::Onnx;
use ane_tests::stored::stored;

use super::{compiled, device, problems, random};

/// `Gather` along `axis` of a table whose elements are their own places, by whole numbers of these extents.
fn lookup(table: &[i64], axis: i64, indices: &[i64]) -> Vec<u8> {
    let mut net = Onnx::new(3);
    let ids = net.whole_input("ids", indices);
    let count: i64 = table.iter().product();
    let values: Vec<f32> = (0..count).map(|at| at as f32).collect();
    let table = net.singles(table, &values);
    net.node_to("Gather", &[&table, &ids], "y", &[("axis", Integer(axis))]);
    net.output_of_any_shape("y");
    net.finish()
}

fn run(model: &[u8], indices: Array) -> Array {
    execute(&device(), &compiled(model), &[indices]).unwrap_or_else(|error| panic!("{error}")).remove(0)
}

#[test]
fn rows_are_those_that_the_indices_of_the_run_name() {
    let indices = Array::new(vec![2, 3], vec![0.0, 6.0, 3.0, -1.0, -7.0, 3.0]).unwrap();
    for axis in 0..3 {
        let mut dims = [4, 3, 2];
        dims[axis] = 7;
        let seen = run(&lookup(&dims, axis as i64, &[2, 3]), indices.clone());
        let sizes = dims.map(|extent| extent as usize);
        let mut wanted_dims = sizes[..axis].to_vec();
        wanted_dims.extend([2, 3]);
        wanted_dims.extend(&sizes[axis + 1..]);
        assert_eq!(seen.dims(), wanted_dims);
        let inner: usize = sizes[axis + 1..].iter().product();
        let outer: usize = sizes[..axis].iter().product();
        let mut wanted = Vec::new();
        for before in 0..outer {
            for &index in indices.values() {
                let row = if index < 0.0 { index + 7.0 } else { index } as usize;
                wanted.extend((0..inner).map(|behind| ((before * 7 + row) * inner + behind) as f64));
            }
        }
        assert_eq!(seen.values(), wanted, "axis {axis}");
    }
}

#[test]
fn every_row_of_the_largest_table_is_found() {
    let indices = Array::from_fn(vec![2048], |at| at as f64).unwrap();
    let seen = run(&lookup(&[2048], 0, &[2048]), indices.clone());
    assert_eq!(seen.values(), indices.values());
}

#[test]
fn index_outside_of_the_table_gives_zeros() {
    let seen = run(&lookup(&[3, 2], 0, &[3]), Array::list([3.0, -4.0, 2.0]));
    assert_eq!(seen.values(), [0.0, 0.0, 0.0, 0.0, 4.0, 5.0]);
}

#[test]
fn table_with_more_rows_than_halves_hold_is_refused_with_what_to_do() {
    let problems = problems(&lookup(&[2049, 2], 0, &[3]));
    let told = grouped(&problems, |remedy| match remedy {
        Remedy::Cut(name) => format!(", CUT {name}"),
        Remedy::Bind(_) | Remedy::Extent(_) => String::new(),
    });
    assert!(told[0].contains("pick among 2049 rows: halves hold indices up to 2048"), "{told:?}");
    assert!(told[0].ends_with("CUT y"), "{told:?}");
}

fn cut(model: &[u8], names: &[&str]) -> Result<Compiled, ModelError> {
    let cuts = names.iter().map(|&name| name.to_owned()).collect();
    compile(model, &Options { cuts, ..Options::default() })
}

#[test]
fn result_that_is_cut_is_an_input_and_needs_nothing_of_what_made_it() {
    let mut net = Onnx::new(3);
    let (ids, image) = (net.whole_input("ids", &[1, 5]), net.input("image", &[1, 5, 4]));
    let table = net.random(&[30_522, 4], 1.0);
    net.node_to("Gather", &[&table, &ids], "words", &[]);
    net.node_to("Neg", &[&image], "negative", &[]);
    net.node_to("Add", &["words", "negative"], "y", &[]);
    net.output("y", &[1, 5, 4]);
    let model = net.finish();
    let [x, z] = [1, 2].map(|seed| random(&[1, 5, 4], seed));
    let sum = x.values().iter().zip(z.values()).map(|(x, z)| stored(x + z).to_f64());
    let sum: Vec<f64> = sum.collect();
    let compiled = cut(&model, &["words", "negative"]).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = compiled.inputs.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["words", "negative"]);
    let seen = execute(&device(), &compiled, &[x, z]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(seen[0].values(), sum);
    // Of a table that is short enough the same.
    let compiled = cut(&lookup(&[7, 2], 0, &[3]), &["y"]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((compiled.inputs[0].name.as_str(), compiled.inputs[0].dims.as_slice()), ("y", &[3, 2][..]));
}

#[test]
fn result_that_the_model_does_not_have_is_not_cut() {
    let told = cut(&lookup(&[7, 2], 0, &[3]), &["words"]).unwrap_err().to_string();
    assert_eq!(told, "model has no result \"words\"; its results are \"y\"");
}

#[test]
fn whole_numbers_of_the_run_are_cast_and_compared() {
    let mut net = Onnx::new(3);
    let ids = net.whole_input("ids", &[6]);
    net.whole_input("unread", &[6]);
    let padding = net.integers(&[2]);
    let differ = net.node("Equal", &[&ids, &padding], &[]);
    let differ = net.node("Cast", &[&differ], &[("to", Integer(1))]);
    let same = net.node("Cast", &[&ids], &[("to", Integer(1))]);
    net.node_to("Sub", &[&same, &differ], "y", &[]);
    net.output("y", &[6]);
    let compiled = compiled(&net.finish());
    assert_eq!(compiled.inputs.len(), 1, "nothing reads the other");
    assert!(
        compiled.notes.iter().any(|note| note.contains("\"ids\" takes whole numbers")),
        "{:?}",
        compiled.notes
    );
    let seen = execute(&device(), &compiled, &[Array::list([0.0, 2.0, 2047.0, -3.0, 1.0, 2.0])]).unwrap();
    assert_eq!(seen[0].values(), [0.0, 1.0, 2047.0, -3.0, 1.0, 1.0]);
}

#[test]
fn whole_numbers_that_halves_do_not_hold_are_not_compared_with() {
    let mut net = Onnx::new(3);
    let ids = net.whole_input("ids", &[6]);
    let last = net.integers(&[30_521]);
    let last = net.node("Equal", &[&ids, &last], &[]);
    net.node_to("Cast", &[&last], "y", &[("to", Integer(1))]);
    net.output("y", &[6]);
    let told = problems(&net.finish())[0].to_string();
    assert!(told.contains("halves do not hold 30521"), "{told}");
}

#[test]
fn lookup_altered_anywhere_never_panics() {
    let model = lookup(&[3, 4, 2], 1, &[2, 2]);
    for (at, value) in (0..model.len()).flat_map(|at| [0, 1, 0x7f, 0x80, 0xff].map(|value| (at, value))) {
        let mut altered = model.clone();
        altered[at] = value;
        let _ = cut(&altered, &[]);
        let _ = cut(&altered, &["y"]);
    }
}

#[test]
fn one_hot_has_a_one_at_the_place_of_each_index() {
    let indices = Array::new(vec![2, 2], vec![0.0, 2.0, -1.0, 3.0]).unwrap();
    for axis in 0..3 {
        let mut net = Onnx::new(3);
        let ids = net.whole_input("ids", &[2, 2]);
        let (depth, values) = (net.integers(&[3]), net.singles(&[2], &[0.5, 4.0]));
        net.node_to("OneHot", &[&ids, &depth, &values], "y", &[("axis", Integer(axis))]);
        net.output_of_any_shape("y");
        let seen = run(&net.finish(), indices.clone());
        let mut dims = vec![2, 2];
        dims.insert(axis as usize, 3);
        assert_eq!(seen.dims(), dims);
        let inner: usize = dims[axis as usize + 1..].iter().product();
        for (at, &value) in seen.values().iter().enumerate() {
            let (place, index) = (at / inner % 3, indices.values()[at / (3 * inner) * inner + at % inner]);
            let is_on = place as f64 == if index < 0.0 { index + 3.0 } else { index };
            assert_eq!(value, if is_on { 4.0 } else { 0.5 }, "element {at} along {axis}");
        }
    }
}

#[test]
fn bound_indices_pick_from_a_table_of_any_length() {
    let model = lookup(&[30_000], 0, &[2]);
    let options = Options {
        constants: [("ids".to_owned(), Array::list([29_999.0, 1.0]))].into(),
        ..Options::default()
    };
    match compile(&model, &options) {
        Ok(compiled) => assert!(compiled.inputs.is_empty()),
        Err(ModelError::Problems(problems)) => panic!("{problems:?}"),
        Err(other) => panic!("{other}"),
    }
}
