//! `ane build` and `ane info`.

use ane::container::Axes;
use ane::tensor::Tensor;
use ane_tests::command::{printed, refused};
use ane_tests::model::Onnx;

use super::scratch::{Scratch, example, read};

#[test]
fn description_becomes_a_program_that_runs() {
    let scratch = Scratch::new();
    let weights = Tensor::random(Axes { n: 8, c: 4, h: 3, w: 3 }, 1);
    scratch.array("w.npy", &weights);
    let text =
        "image = input 4x6x10\nc = convolution image outputs=8 kernel=3x3 weights=w.npy relu\noutput c\n";
    let (description, program) = (scratch.file("net.txt", text.as_bytes()), scratch.at("net.anec"));
    let page = printed(&["build", &description, "-o", &program]);
    assert!(page.contains("1 task,") && page.contains("[1, 8, 4, 8]"), "{page}");
    // 8 channels of 4 rows of 8 columns, of 36 taps each.
    let report = printed(&["run", &program]);
    assert!(report.contains("9216 multiplications"), "{report}");
    let message = refused(1, &["build", &description, "-o", &program]);
    assert!(message.contains("exists already; --force overwrites it"), "{message}");
}

#[test]
fn array_outside_of_the_folder_and_one_that_is_no_file_are_refused() {
    let scratch = Scratch::new();
    let weights = Tensor::random(Axes { n: 4, c: 1, h: 1, w: 1 }, 1);
    let outside = scratch.array("w.npy", &weights);
    std::fs::create_dir(scratch.path().join("net")).expect("folder");
    let pipe = scratch.at("net/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let built = |array: &str| {
        let text = format!("x = input 4x1x1\nk = constant 4x1x1 values={array}\ny = add x k\noutput y\n");
        let description = scratch.file("net/net.txt", text.as_bytes());
        refused(1, &["build", &description, "-o", &scratch.at("net.anec")])
    };
    for path in ["../w.npy", &outside] {
        assert!(built(path).contains("it does not lie in the folder"), "{path}");
    }
    assert!(built("pipe").contains("it is no regular file"));
}

#[test]
fn numbers_that_change_as_halves_are_noted_or_refused() {
    let scratch = Scratch::new();
    // 0.1 is rounded, 1e9 is beyond a half, and -inf was infinite before.
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }".to_owned();
    let mut array = b"\x93NUMPY\x01\x00".to_vec();
    array.extend((header.len() as u16).to_le_bytes());
    array.extend(header.bytes());
    array.extend([0.1_f32, 1e9, f32::NEG_INFINITY, 2.0].iter().flat_map(|value| value.to_le_bytes()));
    scratch.file("w.npy", &array);
    let text = "x = input 4x1x1\nk = constant 4x1x1 values=w.npy\ns = scalar 0.3\na = add x k\ny = add a s\noutput y\n";
    let description = scratch.file("net.txt", text.as_bytes());
    let page = printed(&["build", &description, "-o", &scratch.at("net.anec")]);
    let note = "  note: w.npy: converted from <f4 to fp16, 1 rounded, 1 beyond the largest half\n";
    assert!(page.contains(note), "{page}");
    assert!(page.contains("  note: numbers of the description in fp16: 1 rounded\n"), "{page}");
    let description = scratch.file("inf.txt", text.replace("0.3", "1e6").as_bytes());
    let message = refused(1, &["build", &description, "-o", &scratch.at("inf.anec")]);
    assert!(message.contains("line 3: value=1e6 is beyond 65504, the largest half"), "{message}");
}

#[test]
fn compiled_program_keeps_the_shapes_and_the_layers_of_its_model() {
    let scratch = Scratch::new();
    let mut net = Onnx::new(3);
    let x = net.input("x", &[4, 3, 16, 16]);
    net.node_to("Relu", &[&x], "y", &[]);
    net.output("y", &[4, 3, 16, 16]);
    let (model, program) = (scratch.file("net.onnx", &net.finish()), scratch.at("net.anec"));
    printed(&["compile", &model, "-o", &program]);
    let overview = printed(&["info", &program]);
    assert!(overview.contains("[4, 3, 16, 16] fp16, as [1, 12, 16, 16]"), "{overview}");
    assert!(overview.contains("; relu y"), "{overview}");
    let array = scratch.array("x.npy", &Tensor::random(Axes { n: 4, c: 3, h: 16, w: 16 }, 1));
    let report = printed(&["run", &program, "-i", &format!("x={array}"), "-o", &scratch.at("out")]);
    assert!(report.contains("y                [4, 3, 16, 16]"), "{report}");
    let output = read(&scratch.path().join("out/y.npy"), Axes { n: 4, c: 3, h: 16, w: 16 });
    assert!(output.values().iter().all(|value| value.to_f32() >= 0.0));
    let page = scratch.at("net.html");
    printed(&["report", &program, "-o", &page]);
    assert!(std::fs::read_to_string(page).expect("a page").contains("\"relu y\""));
}

#[test]
fn description_that_is_wrong_is_refused_by_line_and_leaves_no_file() {
    let scratch = Scratch::new();
    let description = scratch.file("net.txt", b"x = input 4x1x1\ny = frobnicate x\noutput y\n");
    let message = refused(1, &["build", &description, "-o", &scratch.at("net.anec")]);
    assert!(message.contains("line 2: \"frobnicate\" is no operation"), "{message}");
    assert_eq!(scratch.names(), ["net.txt"]);
}

#[test]
fn report_lists_everything_inferred_and_strict_run_names_the_field() {
    let scratch = Scratch::new();
    let text = "x = input 4x6x10\n\
                y = convolution x outputs=8 kernel=3x3 padding=1 stride=3x1 groups=2 weights=random:1 bias=0.5\n\
                output y\n";
    let (description, program) = (scratch.file("net.txt", text.as_bytes()), scratch.at("net.anec"));
    printed(&["build", &description, "-o", &program]);
    let report = printed(&["run", &program]);
    assert!(report.contains("what it needed of: stride 3 (--strict"), "{report}");
    let message = refused(4, &["run", &program, "--strict"]);
    let named = "in ConvCfg at 0x1c: stride 3 is inferred, and only what is established was asked for";
    assert!(message.contains(named), "{message}");
}

#[test]
fn operations_are_listed_as_recorded() {
    insta::assert_snapshot!("operations", printed(&["build", "--operations"]));
}

#[test]
fn overview_of_the_example_is_as_recorded() {
    insta::assert_snapshot!("info", printed(&["info", &example()]).replace(&example(), "EXAMPLE"));
}

#[test]
fn overview_of_a_device_names_its_chip() {
    let report = printed(&["info", "--json", "--chip", "t6000"]);
    let report: serde_json::Value = serde_json::from_str(&report).expect("output is JSON");
    assert_eq!(report["chip"], "t6000");
    let parameters = report["parameters"].as_array().expect("has parameters");
    let page = parameters.iter().find(|parameter| parameter["name"] == "page size");
    assert_eq!(page.expect("there is one")["value"], 0x4000);
}
