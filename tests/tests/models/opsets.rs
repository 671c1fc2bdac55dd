//! Operators of ONNX before opset 13: attributes that are operands later, and other meanings.

use ane::model::network::Array;
use ane::model::{Options, compile, execute};
use ane_tests::model::Attribute::{Integer, Integers, Single, Singles, Text};
use ane_tests::model::{Fed, Onnx, results};

use super::{compiled, device, problems, random};

/// A model of one operand `x` and one result `y`.
fn model(opset: i64, dims: &[i64], nodes: impl FnOnce(&mut Onnx)) -> Vec<u8> {
    let mut net = Onnx::new(3).of_opset(opset);
    net.input("x", dims);
    nodes(&mut net);
    net.output_of_any_shape("y");
    net.finish()
}

/// The engine's results of a model, with the seed of its operand.
fn run(model: &[u8]) -> Vec<Array> {
    let compiled = compiled(model);
    let inputs: Vec<Array> = compiled.inputs.iter().map(|port| random(&port.dims, 3)).collect();
    execute(&device(), &compiled, &inputs).unwrap_or_else(|error| panic!("{error}"))
}

/// Two models that mean the same have the same bits.
fn same(earlier: &[u8], later: &[u8]) {
    assert_eq!(run(earlier), run(later));
}

#[test]
fn slice_before_opset_10_has_its_bounds_as_attributes() {
    let earlier = model(9, &[2, 7, 9], |net| {
        let attributes = [
            ("starts", Integers(vec![1, -5])),
            ("ends", Integers(vec![i64::MAX, -1])),
            ("axes", Integers(vec![1, 2])),
        ];
        net.node_to("Slice", &["x"], "y", &attributes);
    });
    let later = model(13, &[2, 7, 9], |net| {
        let [starts, ends] = [[1, -5], [i64::MAX, -1]].map(|list| net.integers(&list));
        let axes = net.integers(&[1, 2]);
        net.node_to("Slice", &["x", &starts, &ends, &axes], "y", &[]);
    });
    same(&earlier, &later);
}

#[test]
fn pad_before_opset_11_has_its_sides_and_value_as_attributes() {
    let earlier = model(10, &[1, 2, 5, 6], |net| {
        let pads = ("pads", Integers(vec![0, 0, 1, 0, 0, 0, 2, 3]));
        net.node_to("Pad", &["x"], "y", &[pads, ("value", Single(0.5)), ("mode", Text("constant"))]);
    });
    let later = model(13, &[1, 2, 5, 6], |net| {
        let (pads, value) = (net.integers(&[0, 0, 1, 0, 0, 0, 2, 3]), net.singles(&[], &[0.5]));
        net.node_to("Pad", &["x", &pads, &value], "y", &[]);
    });
    same(&earlier, &later);
}

#[test]
fn clip_before_opset_11_has_its_bounds_as_attributes() {
    let earlier = model(7, &[1, 2, 5, 6], |net| {
        net.node_to("Clip", &["x"], "y", &[("min", Single(-0.25)), ("max", Single(0.5))]);
    });
    let later = model(13, &[1, 2, 5, 6], |net| {
        let (low, high) = (net.singles(&[], &[-0.25]), net.singles(&[], &[0.5]));
        net.node_to("Clip", &["x", &low, &high], "y", &[]);
    });
    same(&earlier, &later);
    // The end of singles is how an earlier file says that there is no bound.
    let relu = model(7, &[1, 2, 5, 6], |net| {
        net.node_to("Clip", &["x"], "y", &[("min", Single(0.0)), ("max", Single(f32::MAX))]);
    });
    same(&relu, &model(7, &[1, 2, 5, 6], |net| net.node_to("Relu", &["x"], "y", &[])));
}

#[test]
fn axes_and_parts_before_opset_13_are_attributes() {
    let earlier = model(12, &[1, 2, 5, 6], |net| {
        let flat = net.node("Squeeze", &["x"], &[("axes", Integers(vec![0]))]);
        let parts = [("axis", Integer(1)), ("split", Integers(vec![2, 3]))];
        net.node_to_all("Split", &[&flat], &["a", "b"], &parts);
        let sums = [("axes", Integers(vec![-1])), ("keepdims", Integer(0))];
        let sum = net.node("ReduceSum", &["b"], &sums);
        net.node_to("Unsqueeze", &[&sum], "y", &[("axes", Integers(vec![0, 3]))]);
    });
    let later = model(13, &[1, 2, 5, 6], |net| {
        let (first, last, both) = (net.integers(&[0]), net.integers(&[-1]), net.integers(&[0, 3]));
        let flat = net.node("Squeeze", &["x", &first], &[]);
        let parts = net.integers(&[2, 3]);
        net.node_to_all("Split", &[&flat, &parts], &["a", "b"], &[("axis", Integer(1))]);
        let sum = net.node("ReduceSum", &["b", &last], &[("keepdims", Integer(0))]);
        net.node_to("Unsqueeze", &[&sum, &both], "y", &[]);
    });
    same(&earlier, &later);
}

#[test]
fn softmax_before_opset_13_runs_over_all_axes_from_its_own_on() {
    let compiled = compiled(&model(12, &[2, 3, 4, 5], |net| net.node_to("Softmax", &["x"], "y", &[])));
    let inputs = [random(&[2, 3, 4, 5], 3)];
    let seen = execute(&device(), &compiled, &inputs).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(seen[0].dims(), [2, 3, 4, 5]);
    for image in seen[0].values().chunks(60) {
        let sum: f64 = image.iter().sum();
        assert!((sum - 1.0).abs() < 0.02, "all 60 elements of an image are one row: {sum}");
    }
}

#[test]
fn statistics_for_each_place_are_those_of_spatial_0() {
    let of = |spatial: i64, count: i64| {
        model(7, &[2, 3, 2, 2], |net| {
            let mut list = |seed: usize| {
                let values: Vec<f32> = (0..count).map(|at| (at as usize + seed) as f32 / 16.0).collect();
                let dims: &[i64] = if count == 12 { &[3, 2, 2] } else { &[3] };
                net.singles(dims, &values)
            };
            let lists = [list(3), list(1), list(2), list(8)];
            let names: Vec<&str> = std::iter::once("x").chain(lists.iter().map(String::as_str)).collect();
            net.node_to("BatchNormalization", &names, "y", &[("spatial", Integer(spatial))]);
        })
    };
    let model = of(0, 12);
    let (x, seen) = (random(&[2, 3, 2, 2], 3), run(&model));
    for (at, (&x, &seen)) in x.values().iter().zip(seen[0].values()).enumerate() {
        let place = (at % 12) as f64;
        let wanted = (x - (place + 2.0) / 16.0) / ((place + 8.0) / 16.0 + 1e-5).sqrt() * (place + 3.0) / 16.0
            + (place + 1.0) / 16.0;
        assert!((seen - wanted).abs() < 0.004, "{at}: {seen}, {wanted}");
    }
    for (spatial, count) in [(0, 3), (1, 12)] {
        let told = problems(&of(spatial, count))[0].to_string();
        assert!(told.contains("statistics are not one for each"), "{told}");
    }
}

#[test]
fn results_of_training_are_refused_if_something_reads_them() {
    let dropout = |reads_mask: bool| {
        model(7, &[2, 3], |net| {
            net.node_to_all("Dropout", &["x"], &["kept", "mask"], &[("ratio", Single(0.5))]);
            // A result and an operand that are left out have the same name.
            net.node_to_all("Dropout", &["kept", ""], &["again", ""], &[]);
            net.node_to("Add", &["x", if reads_mask { "mask" } else { "again" }], "y", &[]);
        })
    };
    let doubled: Vec<f64> = random(&[2, 3], 3).values().iter().map(|value| value * 2.0).collect();
    assert_eq!(run(&dropout(false))[0].values(), doubled);
    let told = problems(&dropout(true))[0].to_string();
    assert!(told.contains("the mask"), "{told}");
    let batch = model(8, &[1, 1, 2], |net| {
        let one = net.singles(&[1], &[1.0]);
        let names = ["x", &one, &one, &one, &one];
        net.node_to_all("BatchNormalization", &names, &["y", "mean", "variance"], &[]);
    });
    let told = problems(&batch)[0].to_string();
    assert!(told.contains("3 results are those of training"), "{told}");
}

#[test]
fn operand_that_its_version_does_not_have_is_refused() {
    let model = model(9, &[4], |net| {
        let (start, end) = (net.integers(&[0]), net.integers(&[2]));
        net.node_to("Slice", &["x", &start, &end], "y", &[]);
    });
    let told = problems(&model)[0].to_string();
    assert!(told.contains("one is taken before opset 10, and this is 9"), "{told}");
}

#[test]
fn versions_before_opset_7_are_refused_with_what_to_do() {
    let model = model(6, &[2, 3], |net| net.node_to("Relu", &["x"], "y", &[]));
    let told = compile(&model, &Options::default()).unwrap_err().to_string();
    assert!(told.contains("opset) of version 6; 7 and later are read"), "{told}");
    assert!(told.contains("convert_version"), "{told}");
}

#[test]
fn earlier_model_altered_anywhere_never_panics() {
    let model = model(7, &[1, 2, 3, 3], |net| {
        let one = net.singles(&[2], &[1.0, 0.5]);
        let x = net.node("BatchNormalization", &["x", &one, &one, &one, &one], &[("spatial", Integer(1))]);
        let x = net.node("Pad", &[&x], &[("pads", Integers(vec![0, 0, 1, 0, 0, 0, 0, 1]))]);
        let x = net.node("Upsample", &[&x], &[("scales", Singles(vec![1.0, 1.0, 2.0, 2.0]))]);
        let ends = [("starts", Integers(vec![1])), ("ends", Integers(vec![3])), ("axes", Integers(vec![2]))];
        let x = net.node("Slice", &[&x], &ends);
        let x = net.node("Clip", &[&x], &[("min", Single(-1.0)), ("max", Single(1.0))]);
        net.node_to_all(
            "Split",
            &[&x],
            &["a", "b"],
            &[("axis", Integer(1)), ("split", Integers(vec![1, 1]))],
        );
        net.node_to("Softmax", &["b"], "y", &[("axis", Integer(1))]);
    });
    compiled(&model);
    for (at, value) in (0..model.len()).flat_map(|at| [0, 1, 0x7f, 0x80, 0xff].map(|value| (at, value))) {
        let mut altered = model.clone();
        altered[at] = value;
        let _ = compile(&altered, &Options::default());
    }
}

/// Operators whose meaning changed, each in the versions before, against onnxruntime.
#[test]
fn earlier_operators_agree_with_onnxruntime() {
    let mut models = Vec::new();
    let mut add = |opset: i64, dims: &[i64], nodes: &dyn Fn(&mut Onnx)| {
        let x = random(&dims.iter().map(|&extent| extent as usize).collect::<Vec<_>>(), 3);
        models.push(Fed { model: model(opset, dims, nodes), inputs: vec![("x".to_owned(), x)] });
    };
    for mode in ["nearest", "linear"] {
        let whole = || Singles(vec![1.0, 1.0, 2.0, 3.0]);
        add(7, &[1, 3, 5, 6], &|net| {
            net.node_to("Upsample", &["x"], "y", &[("mode", Text(mode)), ("scales", whole())]);
        });
        for (opset, operator) in [(9, "Upsample"), (10, "Resize")] {
            for factors in [[1.0, 1.0, 2.0, 1.5], [1.0, 1.0, 0.6, 0.5]] {
                if opset == 9 && factors[2] < 1.0 {
                    continue;
                }
                add(opset, &[1, 3, 5, 6], &|net| {
                    let factors = net.singles(&[4], &factors);
                    net.node_to(operator, &["x", &factors], "y", &[("mode", Text(mode))]);
                });
            }
        }
    }
    for opset in [11, 12] {
        for coordinates in ["half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"] {
            let mode = if coordinates == "tf_half_pixel_for_nn" { "nearest" } else { "linear" };
            add(opset, &[1, 3, 5, 6], &|net| {
                let (none, factors) = (net.singles(&[0], &[]), net.singles(&[4], &[1.0, 1.0, 2.0, 1.5]));
                let attributes =
                    [("mode", Text(mode)), ("coordinate_transformation_mode", Text(coordinates))];
                net.node_to("Resize", &["x", &none, &factors], "y", &attributes);
            });
        }
    }
    for opset in [7, 11, 12, 13] {
        for operator in ["Softmax", "LogSoftmax"] {
            for axis in [1, 2, 3] {
                add(opset, &[2, 3, 4, 5], &|net| {
                    net.node_to(operator, &["x"], "y", &[("axis", Integer(axis))])
                });
            }
            add(opset, &[2, 3, 4, 5], &|net| net.node_to(operator, &["x"], "y", &[]));
        }
    }
    for opset in 7..=12 {
        add(opset, &[1, 6, 5, 6], &|net| {
            let kernel = [("kernel_shape", Integers(vec![3, 3])), ("auto_pad", Text("SAME_UPPER"))];
            let mean = net.node("AveragePool", &["x"], &kernel);
            let largest = net.node("MaxPool", &["x"], &kernel);
            let sum = net.node("Add", &[&mean, &largest], &[]);
            let flat = net.node("Flatten", &[&sum], &[]);
            let (weights, bias) = (net.random(&[180, 9], 0.1), net.random(&[9], 0.5));
            net.node_to("Gemm", &[&flat, &weights, &bias], "y", &[("beta", Single(0.5))]);
        });
    }
    let Some(wanted) = results(&models) else { return };
    for (index, (fed, wanted)) in models.iter().zip(&wanted).enumerate() {
        let seen = run(&fed.model);
        assert_eq!(seen[0].dims(), wanted[0].dims(), "model {index}");
        let worst = ane::model::compare::worst(&seen[0], &wanted[0]);
        assert!(worst < 0.016, "model {index}: {worst}");
    }
}

#[test]
fn model_that_says_no_version_is_refused() {
    let relu = |domains: &[(&str, i64)]| {
        let mut net = Onnx::new(3).of_versions(domains);
        net.input("x", &[2, 3]);
        net.node_to("Relu", &["x"], "y", &[]);
        net.output("y", &[2, 3]);
        compile(&net.finish(), &Options::default()).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(relu(&[("com.microsoft", 1), ("ai.onnx", 20)]), Ok(()));
    let told = relu(&[]).unwrap_err();
    assert!(told.contains("of version 1; 7 and later are read"), "{told}");
    let told = relu(&[("com.microsoft", 1)]).unwrap_err();
    assert!(told.contains("does not say the version (opset) of the standard's operators"), "{told}");
}

#[test]
fn group_norm_before_opset_21_has_a_scale_for_each_group() {
    let model = model(18, &[1, 4, 1, 2], |net| {
        let (scale, offset) = (net.singles(&[2], &[1.0, 10.0]), net.singles(&[2], &[0.0, 0.5]));
        net.node_to("GroupNormalization", &["x", &scale, &offset], "y", &[("num_groups", Integer(2))]);
    });
    let x = Array::new(vec![1, 4, 1, 2], [[1.0, 3.0, 5.0, 7.0]; 2].concat()).unwrap();
    let seen = execute(&device(), &compiled(&model), &[x]).unwrap_or_else(|error| panic!("{error}"));
    let normal = [-3.0, -1.0, 1.0, 3.0].map(|of| of / 5_f64.sqrt());
    let wanted = [normal, normal.map(|of| 10.0 * of + 0.5)].concat();
    for (seen, wanted) in seen[0].values().iter().zip(&wanted) {
        assert!((seen - wanted).abs() < 0.02, "{seen}, {wanted}");
    }
}
