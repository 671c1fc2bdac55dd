//! Programs and packages that are refused, hostile ones among them: each error names the operation and what is wrong.

use ane::model::network::Array;
use ane::model::{Beside, ModelError, Options, compile};

use super::{blob, folder, function, looked_up, options, problems, ran, text};

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
