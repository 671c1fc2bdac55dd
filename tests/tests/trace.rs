//! `--trace`: what a daemon's engines did, as a file.

use ane::container;
use ane::container::Direction;
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::data;
use ane_tests::runner::{Outcome, Runner, surfaces};
use half::f16;
use nix::sys::signal::Signal;
use serde_json::Value;

/// The events of that name.
fn named<'t>(trace: &'t Value, name: &str) -> Vec<&'t Value> {
    let events = trace["traceEvents"].as_array().expect("there are events");
    events.iter().filter(|event| event["name"].as_str().is_some_and(|found| found.contains(name))).collect()
}

#[test]
fn trace_of_a_request_shows_its_transfers_and_its_pass() {
    let Some(programs) = data::programs() else { return };
    let sample = programs.iter().find(|sample| sample.name == "sum").expect("is known");
    let program = container::open(&sample.bytes).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.json");
    let mut daemon = Daemon::start(&["--trace", file.to_str().unwrap()]);
    let settings = Settings { memory_bytes: 4 << 20, timeout: LIMIT, ..Settings::default() };
    let mut runner = Runner::new(VhostUser::connect(&daemon.socket(), settings).unwrap());
    runner.load(&program);
    for input in surfaces(&program, Direction::Input) {
        runner.fill(input, &[f16::ONE; 64]);
    }
    assert_eq!(runner.run(), Outcome::Done);
    drop(runner);
    daemon.signal(Signal::SIGTERM);
    assert!(daemon.wait().success());
    let trace: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(trace["otherData"]["lost"], 0);
    let spans_of = |process: u64| {
        let events = trace["traceEvents"].as_array().unwrap().iter();
        events.filter(move |event| event["ph"] == "X" && event["pid"] == process).collect::<Vec<_>>()
    };
    // In virtual time: both sources together, the planar engine, the result.
    let modelled: Vec<_> = spans_of(2).iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(modelled, ["DRAM to pool", "pool (64 banks) to array", "pool to DRAM"]);
    let spans = spans_of(1);
    // Descriptor, two sources, the pass, the result.
    assert_eq!(spans.len(), 5, "{spans:?}");
    let bytes: Vec<_> = spans.iter().filter_map(|span| span["args"]["bytes"].as_u64()).collect();
    assert_eq!(bytes, [0x274, 128, 128, 128]);
    let ends: Vec<f64> =
        spans.iter().map(|s| s["ts"].as_f64().unwrap() + s["dur"].as_f64().unwrap()).collect();
    assert!(ends.is_sorted(), "{ends:?}");
    assert_eq!(named(&trace, "planar").iter().filter(|event| event["ph"] == "X").count(), 1);
}

#[test]
fn trace_that_cannot_be_created_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(ane_tests::daemon::path())
        .arg("--socket-path")
        .arg(folder.path().join("ane.sock"))
        .args(["--trace", "/nonexistent/trace.json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("--trace /nonexistent/trace.json"), "{said}");
}

#[test]
fn trace_that_does_not_fit_on_the_disk_is_told_once_and_ends_no_device() {
    let mut daemon = Daemon::start(&["--trace", "/dev/full"]);
    let settings = Settings { memory_bytes: 4 << 20, timeout: LIMIT, ..Settings::default() };
    let mut runner = Runner::new(VhostUser::connect(&daemon.socket(), settings).unwrap());
    let built = ane_tests::null_task::program(8);
    runner.load(&built.program());
    for _ in 0..20 {
        assert_eq!(runner.run(), Outcome::Done);
    }
    drop(runner);
    daemon.signal(Signal::SIGTERM);
    assert!(daemon.wait().success());
    let told = daemon.log();
    assert_eq!(told.matches("/dev/full cannot be written: No space left on device").count(), 1, "{told}");
}
