//! The behaviour that existing clients depend on, failures, and the ways in which programs use descriptors.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ane_device::Options;
use ane_device::inject::Injection;
use ane_tests::data::{self, example};
use ane_tests::preload::{Preload, anec, compiled, library};
use ane_uapi::hw::tq::QueueId;

/// A device and a client of it; `None` where there is no compiler.
fn client(source: &str, options: &Options) -> Option<(Preload, PathBuf)> {
    let preload = Preload::start(options);
    let program = compiled(source, preload.scratch(), &[])?;
    Some((preload, program))
}

/// A device on which a queue is stuck once, or whichever is used first.
fn stuck(queue: Option<u32>) -> Options {
    let queue = queue.map(|queue| QueueId::new(queue).unwrap());
    Options { inject: vec![Injection::StuckQueue(queue)], ..Options::default() }
}

/// The messages of `hang.c` to the example, twice.
fn submitted(options: &Options) -> Option<String> {
    let (preload, program) = client("hang.c", options)?;
    Some(preload.done(Command::new(program).arg(example())))
}

#[test]
fn buffers_of_a_fresh_file_lie_one_behind_the_other_from_0x4000_zeroed() {
    let Some((preload, program)) = client("places.c", &Options::default()) else { return };
    preload.done(&mut Command::new(program));
}

/// The queue that is stuck is the fourth.
#[test]
fn submission_that_hangs_times_out_after_a_second_and_the_next_one_runs() {
    let Some(said) = submitted(&stuck(Some(4))) else { return };
    assert_eq!(said, "ETIMEDOUT after a second\ndone at once\n");
}

#[test]
fn submission_does_not_use_the_other_queues() {
    for queue in (0..8).filter(|queue| *queue != 4) {
        let Some(said) = submitted(&stuck(Some(queue))) else { return };
        assert_eq!(said, "done at once\ndone at once\n", "queue {queue} is stuck");
    }
}

#[test]
fn call_with_one_thing_wrong_is_refused_and_the_client_goes_on() {
    let Some((preload, program)) = client("bad.c", &Options::default()) else { return };
    preload.done(Command::new(program).arg(example()));
}

#[test]
fn thousand_files_opened_and_closed_leave_none_open() {
    let Some((preload, program)) = client("cycles.c", &Options::default()) else { return };
    preload.done(&mut Command::new(&program));
    // The descriptors that the process had at its end were closed with it.
    preload.done(&mut Command::new(&program));
}

#[test]
fn files_that_four_threads_open_and_close_at_once_leave_none_open() {
    let Some((preload, program)) = client("cycles.c", &Options::default()) else { return };
    preload.done(Command::new(program).arg("4"));
}

#[test]
fn process_whose_main_thread_has_ended_keeps_its_files_and_closes_what_it_closes() {
    let Some((preload, program)) = client("headless.c", &Options::default()) else { return };
    preload.done(&mut Command::new(program));
}

#[test]
fn threads_use_files_of_their_own_and_one_in_common() {
    let Some((preload, program)) = client("threads.c", &Options::default()) else { return };
    preload.done(Command::new(program).arg(example()));
}

#[test]
fn descriptor_is_good_behind_exec_and_in_another_process() {
    let Some((preload, program)) = client("handed.c", &Options::default()) else { return };
    preload.done(&mut Command::new(program));
}

#[test]
fn signal_ends_a_wait_and_its_handler_may_call_the_device() {
    let Some((preload, program)) = client("signals.c", &stuck(None)) else { return };
    preload.done(Command::new(program).arg(example()));
}

#[test]
fn program_that_has_nothing_to_do_with_the_device_notices_nothing() {
    let Some((preload, program)) = client("bystander.c", &Options::default()) else { return };
    preload.done(&mut Command::new(&program));
    let bare = Command::new(&program).env("LD_PRELOAD", library()).output().unwrap();
    assert!(bare.status.success() && bare.stderr.is_empty(), "{bare:?}");
}

#[test]
fn daemon_that_is_gone_is_a_device_that_is_gone() {
    let Some((mut preload, program)) = client("bystander.c", &Options::default()) else { return };
    let mut command = Command::new(program);
    command.arg("gone").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = preload.set_up(&mut command).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    preload.daemon.end();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
}

/// The program `sum` with its inputs, in `scratch`, and what `raw.c` gets of it.
fn sum(preload: &Preload) -> Option<(Vec<PathBuf>, Vec<u8>)> {
    let sample = data::programs()?.into_iter().find(|sample| sample.name == "sum")?;
    let scratch = preload.scratch();
    let mut arguments = vec![anec(&sample, scratch), scratch.join("out")];
    for (name, byte) in [("first", 0x3c), ("second", 0x40)] {
        let path = scratch.join(name);
        std::fs::write(&path, [0, byte].repeat(64)).unwrap();
        arguments.push(path);
    }
    preload.done(Command::new(compiled("raw.c", scratch, &[])?).args(&arguments));
    Some((arguments, std::fs::read(scratch.join("out.0")).unwrap()))
}

#[test]
fn children_run_their_parents_program_also_when_it_is_gone() {
    let Some((preload, program)) = client("fork.c", &Options::default()) else { return };
    let Some((arguments, expected)) = sum(&preload) else { return };
    preload.done(Command::new(program).args(&arguments));
    for who in ["parent", "child", "grandchild", "orphan"] {
        let output = std::fs::read(preload.scratch().join(format!("out.{who}.0"))).unwrap();
        assert_eq!(output, expected, "{who}");
    }
}

#[test]
fn file_stays_open_for_a_child_that_has_not_called_yet_when_its_parent_closes_it() {
    let Some((preload, program)) = client("inherited.c", &Options::default()) else { return };
    preload.done(&mut Command::new(program));
}

#[test]
fn more_children_than_the_daemon_has_connections_are_told_to_try_again() {
    let Some((preload, program)) = client("children.c", &Options::default()) else { return };
    preload.done(&mut Command::new(program));
}

#[test]
fn child_of_a_process_all_of_whose_connections_are_in_use_calls_as_any_other() {
    let Some((preload, program)) = client("crowded.c", &stuck(None)) else { return };
    preload.done(Command::new(program).arg(example()));
}

#[test]
fn functions_that_look_at_paths_find_the_device_also_in_a_fortified_program() {
    for arguments in [&[][..], &["-D_FORTIFY_SOURCE=2"]] {
        let preload = Preload::start(&Options::default());
        let Some(program) = compiled("paths.c", preload.scratch(), arguments) else { return };
        preload.done(&mut Command::new(program));
    }
}

#[test]
fn two_processes_at_once_get_each_its_own() {
    let preload = Preload::start(&Options::default());
    let Some((arguments, expected)) = sum(&preload) else { return };
    let raw = preload.scratch().join("raw");
    let other = preload.scratch().join("other");
    std::fs::write(&other, [0, 0].repeat(64)).unwrap();
    let start = |output: &Path, first: &Path| {
        let mut command = Command::new(&raw);
        command.arg(&arguments[0]).arg(output).arg(first).arg(&arguments[3]);
        preload.set_up(&mut command).spawn().unwrap()
    };
    for _ in 0..20 {
        let (first, second) = (preload.scratch().join("a"), preload.scratch().join("b"));
        let mut children = [start(&first, &arguments[2]), start(&second, &other)];
        assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
        assert_eq!(std::fs::read(first.with_extension("0")).unwrap(), expected);
        assert_eq!(std::fs::read(second.with_extension("0")).unwrap(), [0, 0x40].repeat(64));
    }
}

/// The example with a bit of its first task's PlanarMap set that no source explains.
fn unexplained(folder: &Path) -> PathBuf {
    let mut file = std::fs::read(example()).expect("the tree has it");
    // The header of 0x1000 bytes, the task's own up to its common registers, PlanarMap's bit 31.
    file[0x1000 + 0x128 + 0x30 + 3] |= 0x80;
    let path = folder.join("unexplained.anec");
    std::fs::write(&path, file).expect("a file can be written");
    path
}

/// The standard error of `ane exec` with these arguments around `hang.c`, which submits twice.
fn said_of(arguments: &[&str], model: &Path, program: &Path) -> String {
    let output = Command::new(ane_tests::command::path())
        .arg("exec")
        .args(arguments)
        .arg("--")
        .args([program, model])
        .env("ANE_SHIM", library())
        .output()
        .expect("the command starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.lines().count() == 2, "{printed}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn client_whose_requests_fail_gets_one_line_that_says_why() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(program) = compiled("hang.c", folder.path(), &[]) else { return };
    let bad = unexplained(folder.path());
    let said = said_of(&[], &bad, &program);
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in [
        "ane: request 2 of process ",
        "task 0: bits 0x80000000 of 0x80000000 in PlanarMap at 0x30",
        "; `ane decode --explain MODEL` names the word",
        "(the last of 2 requests that failed)",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said:?}");
    }
    assert_eq!(said_of(&["--quiet"], &bad, &program), "");
    assert_eq!(said_of(&[], &example(), &program), "");
}

#[test]
fn client_of_a_daemon_that_others_use_is_told_of_its_own_failure_only() {
    let preload = Preload::start(&Options::default());
    let Some(program) = compiled("hang.c", preload.scratch(), &[]) else { return };
    let bad = unexplained(preload.scratch());
    let device = format!("aned:{}", preload.daemon.socket().display());
    let said = said_of(&["--device", &device], &bad, &program);
    assert!(said.lines().count() == 1 && said.contains("in PlanarMap at 0x30"), "{said}");
    // A script's client is none of the command's own process.
    let script = preload.scratch().join("script");
    std::fs::write(&script, format!("#!/bin/sh\n'{}' \"$1\"\nexit $?\n", program.display())).expect("room");
    let may_run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, may_run).expect("it is ours");
    let said = said_of(&["--device", &device], &bad, &script);
    assert!(said.lines().count() == 1 && said.contains("in PlanarMap at 0x30"), "{said}");
    // The daemon's last failure is that of the client before.
    assert_eq!(said_of(&["--device", &device], &example(), &program), "");
}
