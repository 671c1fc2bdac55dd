//! `ane dart`, `regs`, `faults`, `trace`, `explain`, `doctor` and `bench`.

use std::process::{Command, Stdio};

use ane_tests::command::{path, printed, refused};
use serde_json::Value;

use super::scratch::{Scratch, example};

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(arguments)).expect("output is JSON")
}

/// The output of a command to whose standard input a file comes through a pipe.
fn piped(file: &str, arguments: &[&str]) -> String {
    let mut cat = Command::new("cat").arg(file).stdout(Stdio::piped()).spawn().expect("there is cat");
    let pipe = cat.stdout.take().expect("it writes to a pipe");
    let output = Command::new(path()).args(arguments).stdin(pipe).output().expect("the command starts");
    assert!(cat.wait().expect("cat ends").success());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is text")
}

#[test]
fn tables_show_each_buffer_under_its_role() {
    let tables = json(&["dart", "--json", &example()]);
    let context = &tables["contexts"][0];
    let usages: Vec<&str> = context["mappings"]
        .as_array()
        .expect("has mappings")
        .iter()
        .map(|mapping| mapping["usage"].as_str().expect("has a usage"))
        .collect();
    let clients = ["program", "intermediate", "output tensor", "input tensor", "input tensor"];
    assert_eq!(usages, [&clients[..], &["the driver's own"]].concat());
    let windows = context["translations"].as_array().expect("has windows");
    assert_eq!(windows.len(), 3, "every window that carries transfers");
    assert!(windows.iter().all(|window| window["runs"] == windows[0]["runs"]), "windows agree");
    let mapped: Vec<&Value> = windows[0]["runs"].as_array().expect("has runs").iter().collect();
    let named: Vec<_> = mapped.iter().filter_map(|run| run["role"].as_str()).collect();
    assert_eq!(named, usages, "what the driver mapped is what the tables have");
}

#[test]
fn tables_print_as_recorded() {
    let page = printed(&["dart", &example()]);
    let (_, page) = page.split_once('\n').expect("the first line has the number of this process");
    insta::assert_snapshot!("dart", page);
}

#[test]
fn registers_hold_what_the_last_task_wrote() {
    let registers = json(&["regs", "--json", "--range", "madd", &example()]);
    let registers = registers["registers"].as_array().expect("has registers");
    let width = registers.iter().find(|register| register["name"] == "InDim").expect("it was written");
    assert_eq!(width["value"], 0x0001_0020);
    assert!(printed(&["regs", &example(), "--range", "dart0"]).contains("TTBR"));
}

#[test]
fn range_that_no_register_is_in_is_answered_with_those_that_there_are() {
    let message = refused(2, &["regs", &example(), "--range", "dart9"]);
    assert!(message.contains("\"dart9\"") && message.contains("there are: dart0, "), "{message}");
}

#[test]
fn register_of_several_of_its_name_has_a_number() {
    let page = printed(&["regs", &example(), "--range", "task queues", "--all"]);
    assert!(page.contains("  0x1c25020  BAR1[0]                  0x00000000\n"), "{page}");
}

#[test]
fn fault_is_told_with_its_descriptor() {
    let page = printed(&["faults", &example(), "--inject", "translation-fault:0x10000"]);
    assert!(page.contains("transfer faulted at 0x10000") && page.contains("translation fault"), "{page}");
    assert_eq!(printed(&["faults", &example()]), "no faults\n");
    let report = json(&["faults", "--json", &example(), "--inject", "translation-fault:0x10000"]);
    assert!(
        report["faults"][0].as_str().is_some_and(|fault| fault.contains("Address   0x00010000")),
        "{report}"
    );
    assert!(report["run"].is_string() && report["is_latched"] == true, "{report}");
}

#[test]
fn faults_that_cannot_be_fetched_are_no_shorter_list() {
    // A file of the system that takes no call of a driver.
    let message = refused(4, &["faults", "--device", "/dev/null"]);
    assert!(message.contains("GET_FAULT fails with ENOTTY"), "{message}");
}

#[test]
fn timeline_names_transfers_and_passes() {
    let page = printed(&["trace", &example()]);
    for what in ["request begins, 2 tasks", "tile fetch 2", "planar binary pass, 16x1x32", "request ends"] {
        assert!(page.contains(what), "{what}: {page}");
    }
    assert!(json(&["trace", "--json", &example()])["traceEvents"].is_array());
}

#[test]
fn timeline_of_a_file_goes_by_time_with_the_modelled_chip_apart() {
    let scratch = Scratch::new();
    let file = scratch.file("t.json", printed(&["trace", "--json", &example()]).as_bytes());
    let page = printed(&["trace", &file]);
    let (engine, chip) = page.split_once("\nmodelled chip (virtual time):\n").expect("both are there");
    assert!(engine.contains("nid 0x1 ends") && chip.contains("DRAM to pool"), "{page}");
    for events in [engine, chip] {
        let times = events.lines().filter_map(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        assert!(times.is_sorted(), "{events}");
    }
}

#[test]
fn timeline_of_a_file_is_json_again_and_may_come_through_a_pipe() {
    let scratch = Scratch::new();
    let text = printed(&["trace", "--json", &example()]);
    let file = scratch.file("t.json", text.as_bytes());
    assert_eq!(printed(&["trace", "--json", &file]), text);
    let page = printed(&["trace", &file]);
    assert_eq!(piped(&file, &["trace", "-"]), page);
    assert_eq!(piped(&file, &["trace", "/dev/stdin"]), page);
}

#[test]
fn program_that_comes_through_a_pipe_is_traced() {
    for name in ["-", "/dev/stdin"] {
        let page = piped(&example(), &["trace", name]);
        assert!(page.contains("request begins, 2 tasks"), "{name}: {page}");
    }
}

#[test]
fn address_is_explained_in_every_space() {
    insta::assert_snapshot!("explain_register", printed(&["explain", "0x1c25138"]));
    insta::assert_snapshot!("explain_physical", printed(&["explain", "26bc24000"]));
    let meanings = json(&["explain", "--json", "0x14010", &example()]);
    let device = &meanings[1];
    assert_eq!(device["space"], "A: device addresses");
    assert!(device["what"].to_string().contains("byte 0x10 of input tensor at 0x14000"), "{device}");
}

#[test]
fn embedded_device_without_a_program_has_nothing_to_show() {
    for command in ["dart", "regs", "faults"] {
        assert!(
            refused(2, &[command])
                .contains("name a MODEL to run, a --device, or the --control socket of one")
        );
    }
}

#[test]
fn doctor_finds_nothing_broken() {
    let checks = json(&["doctor", "--json"]);
    let checks = checks.as_array().expect("a list");
    assert!(checks.iter().all(|check| check["verdict"] != "broken"), "{checks:?}");
    let engine = checks.iter().find(|check| check["layer"] == "embedded device").expect("it is looked at");
    assert_eq!(engine["verdict"], "fine");
    assert!(checks.iter().all(|check| (check["verdict"] == "fine") != check["advice"].is_string()));
}

#[test]
fn bench_gives_figures() {
    let figures = json(&["bench", "--json", "--seconds", "0.01"]);
    let figures = figures.as_array().expect("a list");
    assert!(figures.len() >= 6);
    let of_model = json(&["bench", "--json", "--seconds", "0.01", &example()]);
    assert!(of_model[0]["times"].as_u64() > Some(0));
    let (fastest, second) = (&of_model[0]["fastest_nanoseconds"], &of_model[0]["per_second"]);
    let most = 1e9 / fastest.as_f64().expect("a number");
    assert!(second.as_f64().is_some_and(|second| second > 0.0 && second <= most), "{second}");
}
