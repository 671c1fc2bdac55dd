//! `ane run`.

use std::process::{Command, Stdio};

use ane::container::{self, Axes, Direction};
use ane::tensor::{Tensor, nearest_half};
use ane_tests::command::{ane, path, printed, refused, without_times};
use ane_tests::data;
use ane_tests::stored::stored;
use half::f16;

use super::scratch::{Scratch, example, read};

const SHAPE: Axes<u32> = Axes { n: 1, c: 16, h: 1, w: 32 };

#[test]
fn example_runs_and_tells_as_recorded() {
    let page = without_times(&printed(&["run", &example()]));
    let page = page.replace(&example(), "EXAMPLE");
    insta::assert_snapshot!("run", page);
}

#[test]
fn example_tells_programs_as_recorded() {
    let mut report: serde_json::Value =
        serde_json::from_str(&printed(&["run", "--json", &example(), "--check"])).expect("output is JSON");
    report["model"] = "EXAMPLE".into();
    report["fastest_nanoseconds"] = 0.into();
    report["average_nanoseconds"] = 0.into();
    let rows = report["engine"]["timeline"]["rows"].as_array_mut().expect("has rows");
    rows.iter_mut().for_each(|row| row["nanoseconds"] = 0.into());
    let counters = report["driver"].as_array_mut().expect("has counters");
    counters.retain(|counter| !counter["name"].as_str().is_some_and(|name| name.ends_with("ns")));
    insta::assert_snapshot!("run_json", serde_json::to_string_pretty(&report).expect("a value serialises"));
}

#[test]
fn outputs_are_what_the_inputs_add_up_to() {
    let scratch = Scratch::new();
    let (a, b) = (Tensor::random(SHAPE, 11), Tensor::random(SHAPE, 12));
    let (first, second) = (scratch.array("a.npy", &a), scratch.array("b.npy", &b));
    let out = scratch.at("out");
    printed(&["run", &example(), "-i", &format!("0={first}"), "-i", &format!("input1={second}"), "-o", &out]);
    let list = std::fs::read_to_string(scratch.path().join("out/outputs.json")).expect("there is a list");
    let list: serde_json::Value = serde_json::from_str(&list).expect("the list is JSON");
    assert_eq!(list[0]["file"], "output0.npy");
    assert_eq!(list[0]["shape"], serde_json::json!([1, 16, 1, 32]));
    let sum = read(&scratch.path().join("out/output0.npy"), SHAPE);
    // One addition of halves, rounded once and away from zero at a tie, then the larger of that and zero.
    let expected =
        a.values().iter().zip(b.values()).map(|(a, b)| stored(a.to_f64() + b.to_f64()).max(f16::ZERO));
    assert!(sum.values().iter().copied().eq(expected));
}

/// Each input is called by the number of the other.
#[test]
fn inputs_that_are_called_by_numbers_are_not_swapped() {
    let scratch = Scratch::new();
    let text = "1 = input 16x1x32\n0 = input 16x1x32\ny = subtract 1 0\noutput y\n";
    let (script, program) = (scratch.file("named.txt", text.as_bytes()), scratch.at("named.anec"));
    printed(&["build", &script, "-o", &program]);
    let constant = |value| Tensor::from_fn(SHAPE, |_| f16::from_f32(value));
    let (five, two) = (scratch.array("five.npy", &constant(5.0)), scratch.array("two.npy", &constant(2.0)));
    let out = scratch.at("out");
    printed(&["run", &program, "-i", &format!("1={five}"), "-i", &format!("0={two}"), "-o", &out]);
    assert_eq!(read(&scratch.path().join("out/y.npy"), SHAPE), constant(3.0));
}

#[test]
fn compiled_programs_give_what_an_m1_gave() {
    let scratch = Scratch::new();
    for sample in data::programs().unwrap_or_default() {
        let (value, expected) = match sample.name.as_str() {
            "sum" => ("2.5", 5.0),
            "relu" => ("-3", 0.0),
            "sigmoid" => ("3", 0.952_636_718_75),
            "conv" => ("3", 18.0),
            "gemm" => ("1", 0.0),
            _ => ("1.5", 1.5),
        };
        let out = scratch.at(&sample.name);
        let model = sample.path.display().to_string();
        printed(&["run", &model, "--constant", value, "-o", &out]);
        let program = container::open(&sample.bytes).expect("a real program opens");
        let surface = program.surfaces_of(Direction::Output).next().expect("has an output");
        let file = scratch.path().join(&sample.name).join(format!("{}.npy", surface.name));
        let output = read(&file, surface.shape);
        let expected = nearest_half(expected);
        assert!(output.values().iter().all(|value| *value == expected), "{}", sample.name);
    }
}

#[test]
fn constant_is_taken_as_it_would_be_from_a_file() {
    let example = example();
    for (value, why) in [("nan", "is no number"), ("1e9", "is beyond fp16"), ("-7e4", "is beyond fp16")] {
        let said = refused(1, &["run", &example, "--constant", value]);
        assert!(said.contains(why), "{said}");
    }
    printed(&["run", &example, "--constant", "inf"]);
    printed(&["run", &example, "--constant", "nan", "--allow-nan"]);
    let trace = refused(1, &["run", &example, "--trace", &example]);
    assert!(trace.contains("is a file that is read"), "{trace}");
}

#[test]
fn singles_are_converted_and_that_is_said() {
    let scratch = Scratch::new();
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (16, 32), }\n";
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend((0..512).flat_map(|value| (value as f32 * 0.1).to_le_bytes()));
    let array = scratch.file("x.npy", &bytes);
    let page = printed(&["run", &example(), "-i", &format!("0={array}")]);
    assert!(page.contains("converted from <f4 to fp16, 409 rounded"), "{page}");
}

#[test]
fn seeds_make_the_same_run_again_and_another_one() {
    let run = |seed| {
        let report = printed(&["run", "--json", &example(), "--seed", seed]);
        let report: serde_json::Value = serde_json::from_str(&report).expect("output is JSON");
        report["outputs"][0]["first"].clone()
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn program_comes_from_a_pipe_too() {
    let file = std::fs::File::open(data::example()).expect("the tree carries its example");
    let output = Command::new(path()).args(["run", "-"]).stdin(file).output().expect("the command starts");
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("standard input: 2 tasks on t8103"));
}

#[test]
fn reader_that_has_had_enough_is_no_failure() {
    let mut child = Command::new(path())
        .args(["run", "--json", &example()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the command ends");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn faults_that_are_injected_end_the_run_with_their_reason() {
    let output = ane(&["run", &example(), "--inject", "translation-fault:0x10000"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{message}");
    assert!(message.contains("read of 0x00010000") && message.contains("EIO"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn timeline_goes_to_a_file_that_prints_and_compares() {
    let scratch = Scratch::new();
    let (one, two) = (scratch.at("one.json"), scratch.at("two.json"));
    printed(&["run", &example(), "--trace", &one]);
    printed(&["run", &example(), "--trace", &two]);
    assert!(printed(&["trace", &one]).contains("tile fetch 2"));
    assert!(printed(&["diff", &one, &two]).ends_with("no differences\n"));
}

#[test]
fn figures_of_the_engine_are_those_of_all_runs_and_a_trace_says_what_it_left_out() {
    let scratch = Scratch::new();
    let trace = scratch.at("trace.json");
    // More events than a timeline holds.
    let told = printed(&["run", &example(), "--json", "--repeat", "5000", "--trace", &trace]);
    let report: serde_json::Value = serde_json::from_str(&told).expect("output is JSON");
    let engine = &report["engine"];
    assert_eq!((&engine["timeline"]["requests"], &engine["events_lost"]), (&5000.into(), &0.into()));
    let moved = |row: &serde_json::Value| row["bytes"].as_u64().unwrap_or_default();
    let rows = engine["timeline"]["rows"].as_array().expect("has rows");
    let total = engine["bytes_read"].as_u64().zip(engine["bytes_written"].as_u64());
    assert_eq!(Some(rows.iter().map(moved).sum()), total.map(|(read, written)| read + written));
    let page = printed(&["trace", &trace]);
    let last = page.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("left out: ") && last.ends_with(" events, for which the timeline had no room"),
        "{last}"
    );
}
