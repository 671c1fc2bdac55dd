//! Core ML's programs: packages that `coremltools` wrote (`tools/coreml-models`, `tools/torch-models`), and text by hand, compiled,
//! run on the embedded device, and held against results of NumPy or PyTorch and against double precision layer by layer; and
//! hostile ones, which are refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ane::device::{Device, Location};
use ane::model::compare::{compare, worst};
use ane::model::network::Array;
use ane::model::{Beside, Compiled, ModelError, Options, Problem, compile, compile_file, execute};
use ane::tensor::nearest_half;
use ane_tests::model::{MIL_PROGRAMS, array_of, bytes, number};

fn device() -> Device {
    Device::open(&Location::Embedded, &ane_device::Options::default()).expect("an embedded device")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models")
}

fn array(name: &str) -> Array {
    array_of(&folder().join(name))
}

fn largest(array: &Array) -> f64 {
    array.values().iter().fold(0.0, |largest, value| largest.max(value.abs()))
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

#[test]
fn indices_of_the_run_pick_rows_of_a_table() {
    let body = r#"
            tensor<fp16, [4, 2]> w = const()[name = string("w"), val = tensor<fp16, [4, 2]>([[1, 2], [3, 4], [5, 6], [7, 8]])];
            int32 axis = const()[name = string("axis"), val = int32(0)];
            tensor<fp16, [3, 2]> y = gather(axis = axis, indices = ids, x = w)[name = string("y")];"#;
    let compiled = text(&function("tensor<int32, [3]> ids", body, "y"), &Options::default());
    assert_eq!(ran(&compiled, &Array::list([2.0, 0.0, 3.0])).values(), [5.0, 6.0, 1.0, 2.0, 7.0, 8.0]);
}

/// A program that looks up in a constant table, and what follows.
fn looked_up(kind: &str, table: &str, behind: &str) -> String {
    let body = format!(
        r#"
            tensor<{kind}, [4]> t = const()[name = string("t"), val = tensor<{kind}, [4]>({table})];
            tensor<{kind}, [3]> rows = gather(axis = int32(0), indices = ids, x = t)[name = string("rows")];
            {behind}"#
    );
    function("tensor<int32, [3]> ids", &body, "y")
}

#[test]
fn indices_of_the_run_pick_whole_numbers_and_truths() {
    let cast = r#"tensor<fp16, [3]> y = cast(dtype = string("fp16"), x = rows)[name = string("y")];"#;
    let again = r#"
            tensor<fp16, [4]> w = const()[name = string("w"), val = tensor<fp16, [4]>([5, 6, 7, 8])];
            tensor<fp16, [3]> y = gather(axis = int32(0), indices = rows, x = w)[name = string("y")];"#;
    for (program, wanted) in [
        (looked_up("int32", "[3, 2000, -7, 1]", cast), [-7.0, 3.0, 1.0]),
        (looked_up("bool", "[true, false, false, true]", cast), [0.0, 1.0, 1.0]),
        (looked_up("int32", "[3, 2, 1, 0]", again), [6.0, 8.0, 5.0]),
    ] {
        let compiled = text(&program, &Options::default());
        assert_eq!(ran(&compiled, &Array::list([2.0, 0.0, 3.0])).values(), wanted, "{program}");
    }
    let output = looked_up("int32", "[3, 2000, -7, 1]", "").replace("-> (y)", "-> (rows)");
    let compiled = text(&output, &Options::default());
    assert_eq!(ran(&compiled, &Array::list([1.0, 1.0, 2.0])).values(), [2000.0, 2000.0, -7.0]);
}

#[test]
fn table_of_whole_numbers_that_no_half_is_is_refused() {
    let cast = r#"tensor<fp16, [3]> y = cast(dtype = string("fp16"), x = rows)[name = string("y")];"#;
    let program = looked_up("int32", "[1, 2, 2049, 4]", cast);
    let refused = compile(program.as_bytes(), &Options::default()).unwrap_err().to_string();
    assert!(refused.contains("2049, which no half is"), "{refused}");
}

#[test]
fn long_table_is_refused_and_its_rows_can_be_an_input() {
    let mut rows = vec!["0"; 2049];
    rows[1] = "1";
    let body = format!(
        r#"
            tensor<fp16, [2049]> w = const()[name = string("w"), val = tensor<fp16, [2049]>([{}])];
            int32 axis = const()[name = string("axis"), val = int32(0)];
            tensor<fp16, [3]> row = gather(axis = axis, indices = ids, x = w)[name = string("rows")];
            tensor<fp16, [3]> y = relu(x = row)[name = string("y")];"#,
        rows.join(", ")
    );
    let program = function("tensor<int32, [3]> ids", &body, "y");
    let refused = compile(program.as_bytes(), &Options::default()).unwrap_err().to_string();
    assert!(refused.contains("pick among 2049 rows"), "{refused}");
    let cuts = ["row".to_owned()].into();
    let compiled = text(&program, &Options { cuts, ..Options::default() });
    assert_eq!(compiled.inputs[0].name, "row");
    assert_eq!(ran(&compiled, &Array::list([-2.0, 3.0, 0.5])).values(), [0.0, 3.0, 0.5]);
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

#[test]
fn programs_as_text_agree_with_double_precision() {
    for (name, program) in MIL_PROGRAMS {
        let data = folder().join("residual.mlpackage/Data/com.apple.CoreML");
        let compiled = text(program, &Options { beside: Beside::Folder(data), ..Options::default() });
        let value = |at: usize| ((at * 37 + 11) % 64) as f64 / 32.0 - 1.0;
        let inputs: Vec<Array> = compiled
            .inputs
            .iter()
            .map(|port| Array::from_fn(port.dims.clone(), value).expect("small extents"))
            .collect();
        for layer in compare(&device(), &compiled, &inputs).unwrap_or_else(|error| panic!("{name}: {error}"))
        {
            assert!(layer.own <= 0.01 * layer.largest.max(0.1), "{name}: {layer:?}");
        }
    }
}

#[test]
fn places_and_truths_of_a_program_are_whole_numbers() {
    let body = r#"
            int32 axis = const()[name = string("axis"), val = int32(-1)];
            tensor<int32, [3]> place = reduce_argmax(axis = axis, keep_dims = bool(false), x = x)[name = string("place")];
            tensor<fp16, [3]> number = cast(dtype = string("fp16"), x = place)[name = string("number")];
            tensor<bool, [3]> truth = greater(x = number, y = fp16(1))[name = string("truth")];
            tensor<int32, [3]> one = cast(dtype = string("int32"), x = truth)[name = string("one")];
            tensor<fp16, [3]> back = cast(dtype = string("fp16"), x = one)[name = string("back")];
            tensor<fp16, [3]> y = sub(x = number, y = back)[name = string("y")];"#;
    let compiled = text(&function("tensor<fp16, [3, 4]> x", body, "y"), &Options::default());
    let x = Array::new(vec![3, 4], vec![0.0, 1.0, 7.0, 7.0, 9.0, 1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 1.0])
        .expect("three rows");
    let seen = execute(&device(), &compiled, &[x]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(seen[0].values(), [1.0, 0.0, 1.0]);
}

/// A function of one input as a compiled model has it.
fn function(input: &str, body: &str, output: &str) -> String {
    format!(
        "program(1.0)\n[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{{{\"coremlc-version\", \"1436.100.10\"}}}})]\n\
         {{\n    func main<ios16>({input}) {{\n{body}\n        }} -> ({output});\n}}"
    )
}

fn options(weights: &[u8]) -> Options {
    let files = BTreeMap::from([("weights/weight.bin".to_owned(), weights.to_vec())]);
    Options { beside: Beside::Held(files), ..Options::default() }
}

fn text(program: &str, options: &Options) -> Compiled {
    compile(program.as_bytes(), options).unwrap_or_else(|error| panic!("{error}"))
}

fn ran(compiled: &Compiled, x: &Array) -> Array {
    let seen =
        execute(&device(), compiled, std::slice::from_ref(x)).unwrap_or_else(|error| panic!("{error}"));
    seen[0].clone()
}

/// A file of constants with one of halves, whose header is at 64.
fn blob(halves: &[f64]) -> Vec<u8> {
    let mut file = vec![0; 64];
    for word in [0xdead_beef, 1, 2 * halves.len() as u32, 0, 128, 0] {
        file.extend(word.to_le_bytes());
    }
    file.resize(128, 0);
    file.extend(halves.iter().flat_map(|&value| nearest_half(value).to_le_bytes()));
    file
}

#[test]
fn text_with_constants_in_a_file_runs() {
    let body = r#"
            tensor<fp16, [2, 3]> w = const()[name = tensor<string, []>("w"), val = tensor<fp16, [2, 3]>(BLOBFILE(path = tensor<string, []>("@model_path/weights/weight.bin"), offset = tensor<uint64, []>(64)))];
            tensor<fp16, [2]> b = const()[name = tensor<string, []>("b"), val = tensor<fp16, [2]>([0x1p-1, -0x1.8p+1])];
            // A comment of a person.
            tensor<fp16, [2, 2]> y = linear(bias = b, weight = w, x = x)[name = tensor<string, []>("y")];"#;
    let program = function("tensor<fp16, [2, 3]> x", body, "y");
    let compiled = text(&program, &options(&blob(&[1.0, 2.0, 3.0, 0.5, 0.0, -1.0])));
    let x = Array::new(vec![2, 3], vec![1.0, 1.0, 1.0, 2.0, 0.0, -1.0]).expect("six elements");
    assert_eq!(ran(&compiled, &x).values(), [6.5, -3.5, -0.5, -1.0]);
}

#[test]
fn text_of_a_later_version_with_several_results_runs() {
    let body = r#"
            int32 axis = const()[name = string("axis"), val = int32(1)];
            tensor<fp16, [1, 2]> a, tensor<fp16, [1, 1]> b = split(axis = axis, split_sizes = tensor<int32, [2]>([2, 1]), x = x)[name = string("parts")];
            bool interleave = const()[name = string("interleave"), val = bool(false)];
            tensor<fp16, [1, 3]> y = concat(axis = axis, interleave = interleave, values = (b, a))[name = string("y")];"#;
    let compiled = text(&function("tensor<fp16, [1, 3]> x", body, "y, b"), &Options::default());
    let names: Vec<&str> = compiled.outputs.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["y", "b"]);
    let x = Array::new(vec![1, 3], vec![1.0, 2.0, 3.0]).expect("three elements");
    assert_eq!(ran(&compiled, &x).values(), [3.0, 1.0, 2.0]);
}

#[test]
fn constants_of_few_bits_are_brought_back() {
    let body = r#"
            tensor<fp16, [2, 2]> w = constexpr_affine_dequantize()[axis = int32(0), name = string("w"), quantized_data = tensor<int8, [2, 2]>([[4, -6], [1, 3]]), scale = tensor<fp16, [2]>([0.5, 2]), zero_point = tensor<int8, [2]>([2, 1])];
            tensor<fp16, [2, 2]> v = constexpr_lut_to_dense()[name = string("v"), indices = tensor<uint8, [1]>([27]), lut = tensor<fp16, [4]>([0.25, 1, 4, -2]), shape = tensor<uint32, [2]>([2, 2])];
            tensor<fp16, [2, 2]> s = add(x = w, y = v)[name = string("s")];
            tensor<fp16, [2, 2]> y = mul(x = x, y = s)[name = string("y")];"#;
    let compiled = text(&function("tensor<fp16, [2, 2]> x", body, "y"), &Options::default());
    let x = Array::new(vec![2, 2], vec![1.0; 4]).expect("four elements");
    // 27 is 3, 2, 1, 0 from the lowest bits on.
    assert_eq!(ran(&compiled, &x).values(), [1.0 - 2.0, -4.0 + 4.0, 0.0 + 1.0, 4.0 + 0.25]);
}

fn problems(program: &str, options: &Options) -> Vec<Problem> {
    match compile(program.as_bytes(), options) {
        Err(ModelError::Problems(problems)) => problems,
        other => panic!("not refused so: {other:?}"),
    }
}

#[test]
fn all_that_is_not_mapped_is_named_by_operation_name_shape_and_reason() {
    let body = r#"
            tensor<fp16, [2, 3]> a = non_zero(x = x)[name = string("first")];
            tensor<fp16, [2, 3]> b = gelu(mode = string("QUICK"), x = x)[name = string("second")];
            tensor<fp16, [2, 3]> c = relu(surplus = x, x = x)[name = string("third")];
            tensor<fp16, [2, 3]> d = add(x = a, y = b)[name = string("depends")];"#;
    let told: Vec<String> = problems(&function("tensor<fp16, [2, 3]> x", body, "d"), &Options::default())
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        told,
        [
            "non_zero \"first\" of [2, 3]: the operation is not mapped to this engine",
            "gelu \"second\" of [2, 3]: mode \"QUICK\" is not mapped",
            "relu \"third\" of [2, 3], [2, 3]: operand \"surplus\" is not mapped",
        ]
    );
}

#[test]
fn modes_that_mean_what_no_mode_here_means_are_refused() {
    let told = |output: &str, operation: &str| {
        let body = format!("            tensor<{output}> y = {operation}[name = string(\"y\")];");
        let program = function("tensor<fp16, [1, 1, 4, 5]> x", &body, "y");
        problems(&program, &Options::default())[0].why.to_string()
    };
    let aligned = told(
        "fp16, [1, 1, 4, 1]",
        "resize_bilinear(sampling_mode = string(\"ALIGN_CORNERS\"), target_size_height = int32(4), \
         target_size_width = int32(1), x = x)",
    );
    assert!(aligned.contains("a target of one element"), "{aligned}");
    let both = told(
        "fp16, [1, 1, 8, 10]",
        "upsample_bilinear(half_pixel_centers = bool(true), scale_factor_height = fp32(2), \
         scale_factor_width = fp32(2), x = x)",
    );
    assert!(both.contains("exclude each other"), "{both}");
    for narrow in ["uint4", "int8", "uint32", "uint64"] {
        let cast =
            told(&format!("{narrow}, [1, 1, 4, 5]"), &format!("cast(dtype = string(\"{narrow}\"), x = x)"));
        assert!(cast.contains("only those to int32 and int64"), "{narrow}: {cast}");
    }
}

#[test]
fn compressed_weights_whose_parts_do_not_fit_are_refused_with_the_reason() {
    let of = |operator: &str, attributes: &str| {
        let body = format!(
            "            tensor<fp16, [2, 4]> w = {operator}()[name = string(\"w\"), {attributes}];\n\
             tensor<fp16, [2, 4]> y = add(x = x, y = w)[name = string(\"y\")];"
        );
        problems(&function("tensor<fp16, [2, 4]> x", &body, "y"), &Options::default())[0].why.to_string()
    };
    let data = "data = tensor<int8, [2, 4]>([[1, 2, 3, 4], [5, 6, 7, 8]])";
    let scale = |dims: &str, list: &str| format!("{data}, scale = tensor<fp16, [{dims}]>({list})");
    let shift = "constexpr_blockwise_shift_scale";
    assert!(of(shift, &scale("1, 3", "[[1, 2, 3]]")).contains("[1, 3] blocks do not divide [2, 4]"));
    assert!(of(shift, &scale("2", "[1, 2]")).contains("[2] blocks do not divide [2, 4]"));
    let offset = format!("{}, offset = tensor<int8, [2, 1]>([[1], [2]])", scale("1, 1", "[[1]]"));
    assert!(of(shift, &offset).contains("scale and offset differ in shape"));

    let indices = "indices = tensor<uint8, [2, 2]>([[0, 1], [2, 1]])";
    let table = |dims: &str, list: &str, more: &str| {
        of("constexpr_lut_to_dense", &format!("{indices}, lut = tensor<fp16, [{dims}]>({list}){more}"))
    };
    assert!(table("1, 1, 2, 1", "[[[[1], [2]]]]", "").contains("index 2 lies outside of a table of 2"));
    assert!(table("1, 2, 1", "[[[1], [2]]]", "").contains("does not belong to indices [2, 2]"));
    assert!(table("1, 1, 2, 2", "[[[[1, 2], [3, 4]]]]", "").contains("needs a vector_axis"));
    assert!(table("1, 1, 2, 2", "[[[[1, 2], [3, 4]]]]", ", vector_axis = int32(7)").contains('7'));

    assert!(table("1, 1, 3, 0", "[]", ", vector_axis = int32(0)").contains("vectors without elements"));
    let packed = "indices = tensor<int8, [1]>([-1]), lut = tensor<fp16, [2]>([5, 9]), shape = tensor<uint32, [2]>([2, 4])";
    assert!(of("constexpr_lut_to_dense", packed).contains("-1 is no byte"));
    let affine = "quantized_data = tensor<int8, [1, 4]>([[1, 2, 3, 4]]), zero_point = int8(0), \
                  scale = tensor<fp16, [2]>([1, 2]), axis = int32(0)";
    let told = of("constexpr_affine_dequantize", affine);
    assert!(told.contains("scale has 2 numbers for an axis of 1"), "{told}");

    let mask = "mask = tensor<uint8, [2, 4]>([[1, 0, 0, 0], [0, 1, 0, 0]])";
    let list = "nonzero_data = tensor<fp16, [3]>([1, 2, 3])";
    let told = of("constexpr_sparse_to_dense", &format!("{mask}, {list}"));
    assert!(told.contains("the mask has 2 ones, and there are 3 numbers"), "{told}");
}

#[test]
fn numbers_that_their_type_or_place_does_not_have_are_refused() {
    let of = |operation: &str| {
        let body = format!("            tensor<fp16, [4]> y = {operation}[name = string(\"y\")];");
        problems(&function("tensor<fp16, [4]> x", &body, "y"), &Options::default())[0].why.to_string()
    };
    let typed = |value: &str| of(&format!("reshape(shape = {value}, x = x)"));
    assert_eq!(typed("tensor<uint8, [1]>([300.5])"), "300.5 is no uint8");
    assert_eq!(typed("tensor<uint8, [1]>([256])"), "256 is no uint8");
    assert_eq!(typed("tensor<uint64, [1]>([-1])"), "-1 is no uint64");
    assert_eq!(typed("tensor<int4, [2]>([7, -9])"), "-9 is no int4");
    assert_eq!(typed("tensor<bool, [1]>([2])"), "2 is no bool");
    assert_eq!(typed("tensor<fp32, [1]>([4.5])"), "4.5 is no whole number");
    assert_eq!(typed("tensor<fp32, [1]>([inf])"), "inf is no whole number");
    assert_eq!(
        of("concat(values = (x, x), axis = fp32(0.5), interleave = bool(false))"),
        "0.5 is no whole number"
    );
    let all = function(
        "tensor<fp16, [4]> x",
        "            tensor<fp16, [4]> y = reshape(shape = tensor<fp32, [1]>([4]), x = x)[name = string(\"y\")];",
        "y",
    );
    assert_eq!(text(&all, &Options::default()).network.outputs.len(), 1);
}

#[test]
fn operand_that_is_named_twice_is_refused_with_its_place() {
    let body = "tensor<fp16, [4]> y = add(x = x, y = x, x = x)[name = string(\"y\")];";
    let program = function("tensor<fp16, [4]> x", body, "y");
    let Err(why) = compile(program.as_bytes(), &Options::default()) else { panic!("it is compiled") };
    assert_eq!(why.to_string(), "an operand whose name another one has, before this, at 5:46");
}

#[test]
fn sequence_of_too_many_steps_is_refused_by_their_number() {
    let one = |name: &str| format!("{name} = tensor<fp16, [1, 1]>([[0.5]])");
    let [state, input, own] = ["initial_h", "weight_ih", "weight_hh"].map(one);
    let body = |activation: &str| {
        format!(
            "            tensor<fp16, [1, 1, 1]> y, tensor<fp16, [1, 1]> h = rnn(x = x, {state}, {input}, {own}, \
             activation = string(\"{activation}\"))[name = string(\"layer\")];"
        )
    };
    let told = |steps: u32, activation: &str| {
        let program = function(&format!("tensor<fp16, [{steps}, 1, 1]> x"), &body(activation), "h");
        let problem = problems(&program, &Options::default()).remove(0);
        assert_eq!((problem.operation.as_str(), problem.name.as_str()), ("rnn", "layer"));
        problem.why.to_string()
    };
    assert!(told(1025, "tanh").contains("1025 steps are more than 1024"));
    assert!(told(4, "scaled_tanh").contains("activation \"scaled_tanh\" is not mapped"));
}

#[test]
fn constants_outside_of_their_file_and_files_outside_of_the_folder_are_refused() {
    for (path, offset, reason) in [
        ("@model_path/weights/weight.bin", "1024", "lies outside of the file"),
        ("@model_path/weights/weight.bin", "18446744073709551615", "lies outside of the file"),
        ("@model_path/weights/weight.bin", "0", "0xdeadbeef"),
        ("@model_path/../secret", "64", "does not lie in the model's folder"),
        ("/etc/passwd", "64", "does not lie in the model's folder"),
        ("@model_path/other", "64", "is not there"),
    ] {
        let body = format!(
            "tensor<fp16, [2]> w = const()[name = string(\"w\"), val = tensor<fp16, [2]>(BLOBFILE(path = string(\"{path}\"), \
             offset = uint64({offset})))]; tensor<fp16, [2]> y = add(x = x, y = w)[name = string(\"y\")];"
        );
        let named = problems(&function("tensor<fp16, [2]> x", &body, "y"), &options(&blob(&[1.0, 2.0])));
        assert_eq!((named[0].operation.as_str(), named[0].name.as_str()), ("const", "w"));
        assert!(named[0].why.to_string().contains(reason), "{path} {offset}: {}", named[0].why);
    }
}

#[test]
fn circles_and_enormous_extents_name_the_operation() {
    let circle = "tensor<fp16, [2]> a = add(x = x, y = b)[name = string(\"one\")];
                  tensor<fp16, [2]> b = add(x = a, y = x)[name = string(\"two\")];";
    let named = problems(&function("tensor<fp16, [2]> x", circle, "b"), &Options::default());
    assert_eq!(named[0].name, "one");
    let large = "tensor<fp16, [1099511627776]> y = fill(shape = tensor<int32, [1]>([1099511627776]), value = fp16(0))[name = string(\"large\")];";
    assert_eq!(problems(&function("tensor<fp16, [2]> x", large, "y"), &Options::default())[0].name, "large");
    let input = function("tensor<fp16, [1099511627776, 2]> x", "", "x");
    assert_eq!(problems(&input, &Options::default())[0].operation, "input");
    let lies = "tensor<fp16, [1099511627776]> w = const()[name = string(\"w\"), val = tensor<fp16, [1099511627776]>([1])];";
    assert_eq!(problems(&function("tensor<fp16, [2]> x", lies, "w"), &Options::default())[0].name, "w");
}

#[test]
fn million_operations_are_refused_by_their_number() {
    let body = "fp16 y = relu(x = x);".repeat(1_000_000);
    let refused = compile(function("fp16 x", &body, "y").as_bytes(), &Options::default());
    assert!(matches!(refused, Err(ModelError::Nodes { count }) if count < 1_000_000));
}

#[test]
fn package_cut_off_or_altered_anywhere_never_panics() {
    let data = folder().join("residual.mlpackage/Data/com.apple.CoreML");
    let model = std::fs::read(data.join("model.mlmodel")).expect("the model of a package");
    let options = Options { beside: Beside::Folder(data), ..Options::default() };
    for end in (0..model.len()).step_by(97) {
        let _ = compile(&model[..end], &options);
    }
    for at in (0..model.len()).step_by(7) {
        let mut altered = model.clone();
        altered[at] ^= 1 << (at % 8);
        let _ = compile(&altered, &options);
    }
    // Every bit of the shapes that an input may have.
    for name in ["flexible_range", "flexible_shapes", "flexible_image"] {
        let file = folder().join(format!("{name}.mlpackage/Data/com.apple.CoreML/model.mlmodel"));
        let model = std::fs::read(file).expect("the model of a package");
        for (at, bit) in (0..model.len().min(120)).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut altered = model.clone();
            altered[at] ^= 1 << bit;
            let _ = compile(&altered, &options);
        }
    }
}

#[test]
fn reciprocal_adds_a_ten_thousandth_where_nothing_is_said() {
    let body = "            tensor<fp16, [2]> y = inverse(x = x)[name = string(\"y\")];";
    let compiled = text(&function("tensor<fp16, [2]> x", body, "y"), &Options::default());
    let seen = ran(&compiled, &Array::list([0.0, 1.0]));
    assert!((seen.values()[0] - 1e4).abs() < 100.0, "{seen:?}");
    assert!((seen.values()[1] - 1.0).abs() < 0.004, "{seen:?}");
}

#[test]
fn nearest_element_by_a_factor_is_that_of_singles() {
    let body = "            tensor<fp16, [1, 2, 3]> y = upsample_nearest_neighbor(scale_factor_height = fp32(2), \
                scale_factor_width = fp32(0.33333334), x = x)[name = string(\"y\")];";
    let compiled = text(&function("tensor<fp16, [1, 1, 9]> x", body, "y"), &Options::default());
    let line = Array::new(vec![1, 1, 9], (0..9).map(f64::from).collect()).expect("nine elements");
    assert_eq!(ran(&compiled, &line).values(), [0.0, 3.0, 6.0, 0.0, 3.0, 6.0]);
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
fn results_of_known_operands_are_rounded_to_their_type() {
    // 0.7 as a single, and 0.1 as a half.
    for (of, part, factor, wanted) in
        [("fp32", "0x1.666666p-1", "10", 7.0), ("fp16", "0x1.998p-4", "30", 3.0)]
    {
        let body = format!(
            "            {of} a = mul(x = {of}({part}), y = {of}({factor}))[name = string(\"a\")];
            {of} b = floor(x = a)[name = string(\"b\")];
            tensor<{of}, [2]> y = add(x = x, y = b)[name = string(\"y\")];"
        );
        let compiled = text(&function(&format!("tensor<{of}, [2]> x"), &body, "y"), &Options::default());
        assert_eq!(ran(&compiled, &Array::list([0.0, 1.0])).values(), [wanted, wanted + 1.0], "{of}");
    }
}

#[test]
fn result_of_another_kind_than_the_program_says_is_refused() {
    let told = |declared: &str, operation: &str| {
        let body = format!("            tensor<{declared}, [2]> y = {operation}[name = string(\"y\")];");
        problems(&function("tensor<fp16, [2]> x", &body, "y"), &Options::default())[0].why.to_string()
    };
    let whole = told("int32", "relu(x = x)");
    assert_eq!(whole, "result \"y\" has real numbers; the model says int32");
    let truth = told("bool", "relu(x = x)");
    assert_eq!(truth, "result \"y\" has real numbers; the model says bool");
    let real = told("fp16", "greater(x = x, y = fp16(1))");
    assert_eq!(real, "result \"y\" has truths; the model says fp16");
    // Singles are computed in halves.
    let body = "            tensor<fp32, [2]> y = relu(x = x)[name = string(\"y\")];";
    text(&function("tensor<fp16, [2]> x", body, "y"), &Options::default());
}

#[test]
fn text_in_the_place_of_a_number_is_refused() {
    for operation in ["leaky_relu(alpha = string(\"1\"), x = x)", "softmax(axis = string(\"1\"), x = x)"] {
        let body = format!("            tensor<fp16, [2]> y = {operation}[name = string(\"y\")];");
        let problems = problems(&function("tensor<fp16, [2]> x", &body, "y"), &Options::default());
        let told = problems[0].why.to_string();
        assert!(told.contains("is the text \"1\", where a tensor belongs"), "{told}");
    }
}

#[test]
fn sums_of_known_whole_numbers_have_the_bits_that_the_program_says() {
    let body = r#"
            int32 a = mul(x = int32(4294967), y = int32(1000))[name = string("a")];
            fp16 b = cast(dtype = string("fp16"), x = a)[name = string("b")];
            tensor<fp16, [1]> y = mul(x = x, y = b)[name = string("y")];"#;
    let compiled = text(&function("tensor<fp16, [1]> x", body, "y"), &Options::default());
    // A quarter of 4294967000 less 2^32.
    assert_eq!(ran(&compiled, &Array::list([0.25])).values(), [-74.0]);
}
