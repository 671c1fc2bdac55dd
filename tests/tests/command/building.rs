//! `ane build` and `ane info`.

use ane_tests::command::{printed, refused};

use super::scratch::{Scratch, example};

#[test]
fn description_becomes_a_program_that_runs() {
    let scratch = Scratch::new();
    let weights = ane::tensor::Tensor::random(ane::container::Axes { n: 8, c: 4, h: 3, w: 3 }, 1);
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
