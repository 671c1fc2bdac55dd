//! Clients with more open files than the engine has address spaces: the driver that they know has no such limit.

use std::path::PathBuf;
use std::process::Command;

use ane_device::Options;
use ane_tests::data::example;
use ane_tests::preload::{Preload, compiled};

/// A device, and the client; `None` where there is no compiler.
fn crowd() -> Option<(Preload, PathBuf)> {
    let preload = Preload::start(&Options::default());
    let program = compiled("crowd.c", preload.scratch(), &[])?;
    Some((preload, program))
}

#[test]
fn twenty_files_of_one_process_get_what_a_file_alone_gets() {
    let Some((preload, program)) = crowd() else { return };
    preload.done(Command::new(program).arg(example()).arg("20"));
}

#[test]
fn several_processes_with_twelve_files_each_get_what_a_file_alone_gets() {
    let Some((preload, program)) = crowd() else { return };
    let start = |_| preload.set_up(Command::new(&program).arg(example()).arg("12")).spawn().unwrap();
    let mut children: Vec<_> = (0..3).map(start).collect();
    let ends: Vec<_> = children.iter_mut().map(|child| child.wait().unwrap()).collect();
    assert!(ends.iter().all(std::process::ExitStatus::success), "{ends:?}");
}

#[test]
fn files_without_end_are_refused_at_some_point_and_those_that_are_open_go_on() {
    let Some((preload, program)) = crowd() else { return };
    preload.done(Command::new(&program).arg(example()).args(["20", "more"]));
    // The descriptors that the process had at its end were closed with it.
    preload.done(Command::new(&program).arg(example()).args(["20", "more"]));
}

#[test]
fn command_starts_a_client_with_twenty_files() {
    let Some((preload, program)) = crowd() else { return };
    let mut command = Command::new(ane_tests::command::path());
    command.args(["exec", "--"]).arg(program).arg(example()).arg("20");
    let output = command.env("ANE_SHIM", ane_tests::preload::library()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    drop(preload);
}
