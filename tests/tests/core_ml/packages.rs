//! Packages that `coremltools` wrote (`tools/coreml-models`, `tools/torch-models`), held against results of NumPy or PyTorch and
//! against double precision layer by layer.

use ane::model::compare::{compare, worst};
use ane::model::network::Array;
use ane::model::{Compiled, ModelError, Options, compile, compile_file, execute};
use ane_tests::model::{array_of, bytes, number};

use super::{device, folder, largest, ran};

fn array(name: &str) -> Array {
    array_of(&folder().join(name))
}

/// A package agrees with the result that is stored beside it, and each of its layers with double precision, within `most` of the largest element.
fn agrees(name: &str, most: f64) {
    let compiled = compile_file(&folder().join(format!("{name}.mlpackage")), &Options::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let (x, wanted) = (array(&format!("{name}.x.npy")), array(&format!("{name}.y.npy")));
    assert_eq!((compiled.inputs[0].name.as_str(), compiled.outputs[0].name.as_str()), ("x", "y"));
    let device = device();
    let inputs = [x];
    let seen = execute(&device, &compiled, &inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(seen[0].dims(), wanted.dims(), "{name}");
    let (off, all) = (worst(&seen[0], &wanted), largest(&wanted));
    assert!(all > 0.01 && off <= most * all, "{name}: {off} of {all}");
    for layer in compare(&device, &compiled, &inputs).unwrap_or_else(|error| panic!("{name}: {error}")) {
        assert!(layer.own <= most * layer.largest.max(0.1), "{name}: {layer:?}");
    }
}

#[test]
fn package_with_a_perceptron_agrees_with_numpy() {
    agrees("perceptron", 0.004);
}

#[test]
fn package_with_convolutions_and_a_residual_agrees_with_numpy() {
    // The table of SiLU is off by 0.015.
    agrees("residual", 0.02);
}

#[test]
fn package_with_attention_agrees_with_numpy() {
    agrees("attention", 0.01);
}

#[test]
fn package_with_a_block_of_a_decoder_agrees_with_numpy() {
    agrees("block_64", 0.01);
}

#[test]
fn package_with_a_step_down_and_up_agrees_with_numpy() {
    agrees("unet", 0.004);
}

#[test]
fn packages_that_were_converted_from_pytorch_agree_with_it() {
    for (name, most) in [
        ("torch_perceptron", 0.01),
        ("torch_strided", 0.004),
        ("torch_residual", 0.02),
        ("torch_norm", 0.004),
        ("torch_attention", 0.01),
        ("torch_block_64", 0.01),
        ("torch_block_256", 0.01),
        ("torch_step", 0.02),
        ("torch_sampled", 0.02),
    ] {
        agrees(name, most);
    }
}

/// A package whose input has more than one shape, compiled with these extents of it.
fn flexible(name: &str, chosen: &[(&str, usize)]) -> Result<Compiled, ModelError> {
    let extents = chosen.iter().map(|&(axis, extent)| (axis.to_owned(), extent)).collect();
    let options = Options { extents, ..Options::default() };
    compile_file(&folder().join(name).with_extension("mlpackage"), &options)
}

#[test]
fn package_of_several_shapes_has_its_default_one_if_none_is_chosen() {
    for name in ["flexible_range", "flexible_shapes", "flexible_image"] {
        let compiled = flexible(name, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(compiled.inputs[0].dims, [1, 3, 8, 10], "{name}");
        assert_eq!(compiled.outputs[0].dims, [1, 2, 8, 10], "{name}");
    }
}

#[test]
fn package_of_several_shapes_agrees_with_numpy_in_one_that_is_chosen() {
    for (name, chosen) in [
        ("flexible_range", &[("x.2", 12), ("x.3", 7)][..]),
        // Only one shape of the list has so many rows.
        ("flexible_shapes", &[("x.2", 4)]),
        ("flexible_image", &[("x.2", 16), ("x.3", 2)]),
    ] {
        let compiled = flexible(name, chosen).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (x, wanted) = (array(&format!("{name}.x.npy")), array(&format!("{name}.y.npy")));
        let seen = ran(&compiled, &x);
        assert_eq!(seen.dims(), wanted.dims(), "{name}");
        let (off, all) = (worst(&seen, &wanted), largest(&wanted));
        assert!(all > 0.1 && off <= 0.004 * all, "{name}: {off} of {all}");
    }
}

#[test]
fn package_with_parts_of_tensors_and_functions_agrees_with_numpy() {
    agrees("shapes", 0.01);
}

#[test]
fn package_with_weights_in_few_bits_agrees_with_numpy() {
    agrees("compressed", 0.004);
}

#[test]
fn package_with_recurrent_layers_agrees_with_numpy() {
    agrees("recurrent", 0.01);
}

/// A message with these fields.
fn message(fields: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut message = Vec::new();
    fields.iter().for_each(|(number, field)| bytes(*number, field, &mut message));
    message
}

/// A package's model with a function of one operation for each name, whose description names one of them.
fn functions(all: &[(&str, &str)], default: &str) -> Vec<u8> {
    let named = |name: &str, field: u64, of: Vec<u8>| message(&[(1, name.into()), (field, of)]);
    // Four halves.
    let (mut size, mut tensor) = (Vec::new(), Vec::new());
    number(1, 4, &mut size);
    number(1, 10, &mut tensor);
    number(2, 1, &mut tensor);
    bytes(3, &message(&[(1, size)]), &mut tensor);
    let of_type = |name: &str| named(name, 2, message(&[(1, tensor.clone())]));
    let mut program = Vec::new();
    for (name, operator) in all {
        let argument = message(&[(1, message(&[(1, "x".into())]))]);
        let operation = message(&[(1, (*operator).into()), (2, named("x", 2, argument)), (3, of_type("y"))]);
        let block = message(&[(2, "y".into()), (3, operation)]);
        let function = message(&[(1, of_type("x")), (2, "CoreML8".into()), (3, named("CoreML8", 2, block))]);
        bytes(2, &named(name, 2, function), &mut program);
    }
    let mut model = Vec::new();
    number(1, 9, &mut model);
    bytes(2, &message(&[(21, default.into())]), &mut model);
    bytes(502, &program, &mut model);
    model
}

#[test]
fn function_that_the_description_names_is_compiled() {
    let all = [("main", "relu"), ("other", "square")];
    let x = Array::list([-2.0, 1.0, 3.0, 0.5]);
    for (default, wanted) in [("", [0.0, 1.0, 3.0, 0.5]), ("other", [4.0, 1.0, 9.0, 0.25])] {
        let compiled = compile(&functions(&all, default), &Options::default());
        let compiled = compiled.unwrap_or_else(|error| panic!("{default:?}: {error}"));
        assert_eq!(ran(&compiled, &x).values(), wanted, "{default:?}");
    }
    let told = compile(&functions(&all, "third"), &Options::default()).unwrap_err().to_string();
    assert_eq!(told, "model has no function \"third\"; its functions are \"main\", \"other\"");
}

#[test]
fn shape_that_a_package_does_not_allow_is_refused_with_those_that_it_does() {
    for (name, chosen, told) in [
        ("flexible_range", ("x.2", 17), "extent 17 of x.2 is not in its range, 4 to 16"),
        ("flexible_range", ("x.3", 1), "extent 1 of x.3 is not in its range, 2 to 12"),
        ("flexible_image", ("x.3", 13), "extent 13 of x.3 is not in its range, 2 to 12"),
        ("flexible_shapes", ("x.2", 5), "none of the shapes of \"x\" fit the chosen extents"),
        ("flexible_shapes", ("x.2", 5), "there are [1, 3, 8, 10], [1, 3, 4, 5], [1, 3, 8, 5]"),
        ("flexible_shapes", ("x.3", 5), "2 of the shapes"),
        ("flexible_range", ("x.1", 3), "model has no open extent \"x.1\""),
    ] {
        let error = flexible(name, &[chosen]).expect_err(name).to_string();
        assert!(error.contains(told), "{name}: {error}");
    }
}
