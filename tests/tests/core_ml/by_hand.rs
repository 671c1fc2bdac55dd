//! Programs as text, by hand: what a compiled model may say, and what comes of it.

use ane::model::compare::compare;
use ane::model::network::Array;
use ane::model::{Beside, Options, execute};
use ane_tests::model::MIL_PROGRAMS;

use super::{blob, device, folder, function, looked_up, options, ran, text};

#[test]
fn indices_of_the_run_pick_rows_of_a_table() {
    let body = r#"
            tensor<fp16, [4, 2]> w = const()[name = string("w"), val = tensor<fp16, [4, 2]>([[1, 2], [3, 4], [5, 6], [7, 8]])];
            int32 axis = const()[name = string("axis"), val = int32(0)];
            tensor<fp16, [3, 2]> y = gather(axis = axis, indices = ids, x = w)[name = string("y")];"#;
    let compiled = text(&function("tensor<int32, [3]> ids", body, "y"), &Options::default());
    assert_eq!(ran(&compiled, &Array::list([2.0, 0.0, 3.0])).values(), [5.0, 6.0, 1.0, 2.0, 7.0, 8.0]);
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
fn sums_of_known_whole_numbers_have_the_bits_that_the_program_says() {
    let body = r#"
            int32 a = mul(x = int32(4294967), y = int32(1000))[name = string("a")];
            fp16 b = cast(dtype = string("fp16"), x = a)[name = string("b")];
            tensor<fp16, [1]> y = mul(x = x, y = b)[name = string("y")];"#;
    let compiled = text(&function("tensor<fp16, [1]> x", body, "y"), &Options::default());
    // A quarter of 4294967000 less 2^32.
    assert_eq!(ran(&compiled, &Array::list([0.25])).values(), [-74.0]);
}
