//! Wrong input gives one line with what to try, and no file that is half written.

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use ane::container::Axes;
use ane::tensor::Tensor;
use ane_tests::command::{ane, path, printed, refused};
use ane_tests::model::Onnx;
use half::f16;

use super::daemon::AneDaemon;
use super::scratch::{Scratch, deep, example};

const SHAPE: Axes<u32> = Axes { n: 1, c: 16, h: 1, w: 32 };

#[test]
fn file_that_is_no_program_is_refused_by_every_command_that_takes_one() {
    let scratch = Scratch::new();
    let junk = scratch.file("junk.hwx", b"this is no program at all");
    for command in ["run", "info", "decode", "dart", "regs", "faults", "trace", "bench"] {
        let message = refused(1, &[command, &junk]);
        assert!(message.contains("junk.hwx"), "{command}: {message}");
        let message = refused(1, &[command, "no/such/file.anec"]);
        assert!(message.contains("no/such/file.anec: No such file") && message.contains("check the path"));
        let message = refused(1, &[command, &scratch.at("")]);
        assert!(message.contains("Is a directory"), "{command}: {message}");
    }
}

#[test]
fn model_where_a_program_is_wanted_is_refused_with_the_command_that_makes_one() {
    let scratch = Scratch::new();
    let model = scratch.file("net.onnx", &ane_tests::model::operators());
    let page = scratch.at("page.html");
    let commands: [&[&str]; 8] = [
        &["run", &model],
        &["info", &model],
        &["decode", &model],
        &["diff", &model, &model],
        &["sram", &model],
        &["convert", &model, &page],
        &["report", &model, "-o", &page],
        &["patch", &model, "--set", "PECfg.operation=1", "-o", &page],
    ];
    for command in commands {
        let message = refused(1, command);
        let advice = format!("make a program with: ane compile {model} -o net.anec");
        assert!(message.contains(&advice), "{command:?}: {message}");
    }
}

#[test]
fn problems_of_a_model_are_a_line_each_and_equal_ones_are_one() {
    let scratch = Scratch::new();
    let mut net = Onnx::new(1);
    let x = net.input("x", &[2, 3]);
    for name in ["a", "b", "c\nd", "e", "f"] {
        net.node_to("NoSuchThing", &[&x], name, &[]);
    }
    net.node_to("NoSuchOther", &[&x], "y", &[]);
    net.output("y", &[2, 3]);
    let model = scratch.file("net.onnx", &net.finish());
    let output = ane(&["compile", &model, "-o", &scratch.at("net.anec")]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).expect("messages are text");
    let lines: Vec<&str> = message.lines().collect();
    assert!(lines[0].ends_with("6 parts of the model cannot be mapped; docs/models.md says what is mapped"));
    let wanted = [
        r#"  NoSuchThing "a", "b", "c\nd" and 2 more of [2, 3]: the operation is not mapped to this engine"#,
        r#"  NoSuchOther "y" of [2, 3]: the operation is not mapped to this engine"#,
    ];
    assert_eq!(lines[1..], wanted);
}

#[test]
fn names_that_a_model_does_not_have_are_refused() {
    let scratch = Scratch::new();
    let mut net = Onnx::new(1);
    let x = net.input("x", &[1, 16, 1, 32]);
    net.node_to("Relu", &[&x], "y", &[]);
    net.output("y", &[1, 16, 1, 32]);
    let (model, program) = (scratch.file("net.onnx", &net.finish()), scratch.at("net.anec"));
    let array = scratch.array("x.npy", &Tensor::random(SHAPE, 1));
    let (bind, one) = (format!("z={array}"), format!("x={array}"));
    let cases: [(&[&str], &str); 4] = [
        (
            &["compile", &model, "-o", &program, "--dim", "batch=1"],
            "open extent \"batch\"; it has no open extent",
        ),
        (&["compile", &model, "-o", &program, "--bind", &bind], "no input \"z\"; its inputs are \"x\""),
        (&["compare", &model, "-i", &bind], "no input \"z\"; its inputs are 0 (x)"),
        (&["compare", &model, "-i", &one, "-i", &one], "input \"x\" is given twice"),
    ];
    for (command, expected) in cases {
        let message = refused(2, command);
        assert!(message.contains(expected), "{command:?}: {message}");
    }
    let layers = printed(&["compare", &model, "-i", &one, "--json"]);
    assert!(layers.contains("\"operation\": \"relu\"") && layers.contains("\"so_far\": 0.0"), "{layers}");
    let made = printed(&["compile", &model, "-o", &program, "--json"]);
    assert!(made.contains("\"layers\""), "{made}");
}

/// For inputs "1" and "x", 1 is the name of the first, and not the number of the second as well.
#[test]
fn inputs_of_a_model_are_meant_as_those_of_a_program() {
    let scratch = Scratch::new();
    let mut net = Onnx::new(1);
    let (one, x) = (net.input("1", &[16, 32]), net.input("x", &[16, 32]));
    net.node_to("Sub", &[&one, &x], "y", &[]);
    net.output("y", &[16, 32]);
    let model = scratch.file("net.onnx", &net.finish());
    let array = scratch.array("a.npy", &Tensor::random(SHAPE, 7));
    let named = format!("1={array}");
    let layers = printed(&["compare", &model, "-i", &named, "--json"]);
    let layers: serde_json::Value = serde_json::from_str(&layers).expect("output is JSON");
    assert!(layers[0]["largest"].as_f64() > Some(0.0), "the second input is random: {layers}");
    let wrong = scratch.array("t.npy", &Tensor::random(Axes { n: 1, c: 32, h: 1, w: 16 }, 1));
    let message = refused(1, &["compare", &model, "-i", &format!("x={wrong}")]);
    assert!(message.contains("array has shape [1, 32, 1, 16], wanted is [16, 32]"), "{message}");
}

#[test]
fn array_that_does_not_fit_is_refused_with_what_fits() {
    let scratch = Scratch::new();
    let wrong = Tensor::random(Axes { n: 1, c: 16, h: 2, w: 16 }, 0);
    let moved = Tensor::random(Axes { n: 16, c: 1, h: 1, w: 32 }, 0);
    let nan = Tensor::from_fn(SHAPE, |place| if place == 40 { f16::NAN } else { f16::ONE });
    let complex = b"\x93NUMPY\x01\x00\x3c\x00{'descr': '<c8', 'fortran_order': False, 'shape': (512,), } \n";
    let files = [
        (scratch.array("shape.npy", &wrong), "wanted is [1, 16, 1, 32]"),
        (scratch.array("moved.npy", &moved), "has shape [16, 1, 1, 32], wanted is [1, 16, 1, 32]"),
        (scratch.array("nan.npy", &nan), "no number in 1 element, the first is element 40"),
        (scratch.file("complex.npy", complex), "elements are of type \"<c8\""),
        (scratch.file("zip.npy", b"PK\x03\x04 and so on"), "not a .npy file"),
        (scratch.at("missing.npy"), "No such file or directory"),
    ];
    for (file, what) in files {
        let message = refused(1, &["run", &example(), "-i", &format!("0={file}")]);
        assert!(message.contains(what) && message.contains(&file), "{message}");
    }
    let nan = scratch.at("nan.npy");
    printed(&["run", &example(), "-i", &format!("0={nan}"), "--allow-nan"]);
}

/// A damaged container of some kilobytes would have values for gigabytes made up before the device had a look at its task.
#[test]
fn input_of_gigabytes_is_not_made_up() {
    let scratch = Scratch::new();
    let mut bytes = fs::read(example()).expect("the example can be read");
    // BAR 5 is the first input: its batches at 0xa8 + 5 * 48, its tiles of 16 KiB at 0x28 + 5 * 4.
    let batches = 1_u64 << 19;
    bytes[0x198..0x1a0].copy_from_slice(&batches.to_le_bytes());
    let tiles = u32::try_from(batches * 16 * 64 / (16 << 10)).expect("it fits");
    bytes[0x3c..0x40].copy_from_slice(&tiles.to_le_bytes());
    let large = scratch.file("large.anec", &bytes);
    let commands: [&[&str]; 5] = [
        &["run", &large],
        &["run", &large, "--constant", "1"],
        &["bench", &large],
        &["trace", &large],
        &["faults", &large],
    ];
    for command in commands {
        let message = refused(1, command);
        let what = "input \"input0\" has 268435456 elements, more than the 134217728";
        assert!(message.contains(what) && message.contains("-i INPUT=FILE.npy"), "{command:?}: {message}");
    }
}

#[test]
fn bytes_without_end_are_refused() {
    let zeros = || fs::File::open("/dev/zero").expect("it is there");
    for (name, told) in [("-", "standard input"), ("/dev/zero", "/dev/zero")] {
        let output =
            Command::new(path()).args(["info", name]).stdin(zeros()).output().expect("the command starts");
        let why = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{why}");
        assert!(why.contains(&format!("{told}: more than 268435456 bytes come out of it")), "{why}");
    }
}

#[test]
fn input_that_the_program_does_not_have_is_answered_with_those_it_has() {
    let scratch = Scratch::new();
    let array = scratch.array("x.npy", &Tensor::random(SHAPE, 0));
    let message = refused(2, &["run", &example(), "-i", &format!("nose={array}")]);
    assert!(message.contains("no input \"nose\"; its inputs are 0 (input0), 1 (input1)"), "{message}");
    let twice = format!("0={array}");
    assert!(refused(2, &["run", &example(), "-i", &twice, "-i", &twice]).contains("given twice"));
}

#[test]
fn folder_that_is_there_is_kept_unless_forced() {
    let scratch = Scratch::new();
    let out = scratch.at("out");
    printed(&["run", &example(), "-o", &out]);
    fs::write(scratch.path().join("out/mine.txt"), "precious").expect("it can be written");
    let message = refused(1, &["run", &example(), "-o", &out, "--seed", "1"]);
    assert!(message.contains("exists and is not empty; name a new folder, or let --force"), "{message}");
    printed(&["run", &example(), "-o", &out, "--seed", "1", "--force"]);
    assert_eq!(fs::read_to_string(scratch.path().join("out/mine.txt")).expect("kept"), "precious");
    let message = refused(1, &["run", &example(), "-o", &scratch.at("no/such/parent")]);
    assert!(message.contains("make it first"), "{message}");
    assert_eq!(scratch.names(), ["out"], "nothing is left behind");
}

#[test]
fn folder_may_end_in_a_slash_be_empty_or_be_behind_a_link() {
    let scratch = Scratch::new();
    for name in ["empty", "other", "target"] {
        fs::create_dir(scratch.at(name)).expect("it can be made");
    }
    symlink("target", scratch.at("link")).expect("it can be made");
    for name in ["new/", "new2/.", "empty", "other/", "link"] {
        let out = scratch.at(name);
        printed(&["run", &example(), "-o", &out]);
        assert!(Path::new(&out).join("output0.npy").is_file(), "{name}");
    }
    printed(&["man", "-o", &scratch.at("man1/")]);
    assert!(scratch.path().join("man1/ane-run.1").is_file());
    assert!(scratch.path().join("link").is_symlink());
    assert_eq!(scratch.names(), ["empty", "link", "man1", "new", "new2", "other", "target"]);
}

/// Before the run: its results would have no place.
#[test]
fn folder_that_has_no_name_of_its_own_is_refused_before_the_run() {
    let scratch = Scratch::new();
    let run = |force: &[&str]| {
        let mut command = Command::new(path());
        command.args(["run", "/nosuch.anec", "-o", "."]).args(force);
        let output = command.current_dir(scratch.path()).output().expect("the command starts");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(run(&[]).contains(".: has no name that a new folder could take"), "{}", run(&[]));
    assert!(run(&["--force"]).contains("/nosuch.anec"), "files in it may be replaced: {}", run(&["--force"]));
}

#[test]
fn run_that_fails_leaves_no_folder() {
    let scratch = Scratch::new();
    refused(4, &["run", &example(), "--inject", "translation-fault:0x10000", "-o", &scratch.at("out")]);
    assert_eq!(scratch.names(), [""; 0]);
}

#[test]
fn full_disk_is_told() {
    for arguments in [vec!["run"], vec!["decode"], vec!["info", "--json"], vec!["dart"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let command = Command::new(path()).args(&arguments).arg(example()).stdout(full).output();
        let output = command.expect("the command starts");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains("standard output: No space left on device"), "{message}");
        assert!(message.contains("make room"), "{message}");
    }
}

/// A limit on the length of files stands for a disk that is full in the middle of a write. The engine is a daemon's, as the
/// limit holds for memory that is shared, too.
#[test]
fn outputs_that_do_not_fit_on_the_disk_are_told_and_leave_nothing() {
    let (scratch, service) = (Scratch::new(), Scratch::new());
    let daemon = AneDaemon::start(&service, &[]);
    let limited = format!("ulimit -f 0; exec {} \"$@\"", path().display());
    let example = example();
    let commands: [&[&str]; 3] = [
        &["run", &example, "-o", "out", "--device", &daemon.device],
        &["sram", &example, "--svg", "heat.svg"],
        &["report", &example, "-o", "out.html"],
    ];
    for arguments in commands {
        let mut command = Command::new("bash");
        command.args(["-c", &limited, "bash"]).args(arguments).current_dir(scratch.path());
        let output = command.output().expect("there is a shell");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("File too large"), "{message}");
        assert!(message.contains("ulimit -f: 0 KiB"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(scratch.names(), [""; 0], "{arguments:?}");
    }
}

#[test]
fn trace_that_can_have_no_place_is_refused_before_the_run() {
    let scratch = Scratch::new();
    let (out, trace) = (scratch.at("out"), scratch.at("no/t.json"));
    for command in [&["run", &example(), "-o", &out][..], &["demo"]] {
        let message = refused(1, &[command, &["--trace", &trace]].concat());
        assert!(message.contains("--trace: ") && message.contains("there is no folder"), "{message}");
    }
    assert_eq!(scratch.names(), [""; 0]);
}

/// A name that has no room for what it gets while the file is written stands for what shows only then.
#[test]
fn trace_that_cannot_be_written_costs_no_output_and_hides_no_error() {
    let scratch = Scratch::new();
    let (out, trace) = (scratch.at("out"), scratch.at(&"t".repeat(250)));
    let message = refused(1, &["run", &example(), "-o", &out, "--trace", &trace]);
    assert!(message.contains("--trace: "), "{message}");
    assert!(scratch.path().join("out/output0.npy").is_file());
    let deep = scratch.file("deep.anec", &deep());
    let output = ane(&["run", &deep, "--trace", &trace]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("--trace: ") && told.contains("OutDepth"), "{told}");
    assert_eq!(refused(1, &["demo", "--trace", &trace]).matches("--trace: ").count(), 1);
}

#[test]
fn trace_that_does_not_fit_on_the_disk_is_told() {
    let message = refused(1, &["run", &example(), "--trace", "/dev/full"]);
    assert!(message.contains("/dev/full"), "{message}");
}

/// The system's lack of memory may be a limit that somebody set.
#[test]
fn lack_of_memory_under_a_limit_names_the_limit() {
    let limited = format!("ulimit -v 4000000; exec {} demo", path().display());
    let output = Command::new("bash").args(["-c", &limited]).output().expect("there is a shell");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{message}");
    assert!(message.contains("ulimit -v: 4000000 KiB"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn device_that_is_not_there_is_exit_code_three() {
    let scratch = Scratch::new();
    let nobody = format!("aned:{}", scratch.at("nobody.sock"));
    for command in ["dart", "regs", "faults", "trace", "info", "bench"] {
        let message = refused(3, &[command, "--device", &nobody]);
        assert!(message.contains("nobody.sock") && message.contains("`ane daemon`"), "{command}: {message}");
    }
    let nobody = format!("aned:{}", scratch.at("nobody.sock"));
    let message = refused(3, &["run", &example(), "--device", &nobody]);
    assert!(message.contains("nobody.sock") && message.contains("start one with `ane daemon`"), "{message}");
    let nobody = format!("vhost-user:{}", scratch.at("nobody.sock"));
    assert!(refused(3, &["run", &example(), "--device", &nobody]).contains("vhost-device-ane"));
    assert!(refused(3, &["demo", "--device", "/dev/accel/accel63"]).contains("ane doctor"));
    assert!(refused(3, &["info", "--instance", "1"]).contains("ane"));
}

#[test]
fn environment_that_names_no_device_is_told() {
    let output = Command::new(path()).args(["demo"]).env("ANE_DEVICE", "toaster").output();
    let output = output.expect("the command starts");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("ANE_DEVICE: \"toaster\" names no device; known are"), "{message}");
}

#[test]
fn arguments_that_make_no_sense_are_exit_code_two() {
    for arguments in [
        vec!["run"],
        vec!["run", "x", "--device", "toaster"],
        vec!["run", "x", "-i", "nonsense"],
        vec!["run", "x", "--numerics", "roman"],
        vec!["run", "x", "--repeat", "0"],
        vec!["explain", "zebra"],
        vec!["frobnicate"],
        vec!["bench", "--seconds", "-1"],
    ] {
        assert_eq!(ane(&arguments).status.code(), Some(2), "{arguments:?}");
    }
    assert!(refused(2, &["man", "frobnicate"]).contains("`ane --help` lists them"));
}

#[test]
fn message_that_nobody_reads_leaves_the_exit_code_as_it_is() {
    let (reader, writer) = std::io::pipe().expect("pipes can be made");
    drop(reader);
    let ended = Command::new(path()).args(["run", "no/such/file.anec"]).stderr(writer).status();
    let ended = ended.expect("it runs");
    assert_eq!(ended.code(), Some(1));
}

#[test]
fn options_of_a_device_that_is_there_already_are_refused() {
    let scratch = Scratch::new();
    let daemon = AneDaemon::start(&scratch, &[]);
    let message = refused(2, &["run", &example(), "--device", &daemon.device, "--inject", "stuck-queue"]);
    assert!(message.contains("is there already") && message.contains("--device embedded"), "{message}");
    printed(&["run", &example(), "--device", &daemon.device, "--chip", "t8103"]);
    let script = scratch.file("script", b"scratch 0 = 01\n");
    let nobody = format!("vhost-user:{}", scratch.at("nobody.sock"));
    let message = refused(2, &["mover", &script, "--device", &nobody, "--chip", "t6000"]);
    assert!(message.contains("is there already") && message.contains("--device embedded"), "{message}");
}

#[test]
fn control_socket_with_a_device_of_its_own_is_refused() {
    for command in ["dart", "regs", "faults", "trace"] {
        for options in [["--device", "aned"], ["--chip", "t6000"], ["--inject", "stuck-queue"]] {
            let message = refused(2, &[&[command, "--control", "control.sock"], &options[..]].concat());
            assert!(message.contains("--control asks the device at the socket"), "{message}");
        }
    }
    // It does not tell which chip it is, so that is said to whoever explains an address.
    let explain = ["explain", "0x0", "--control", "/no/such/control.sock"];
    let message = refused(2, &[&explain[..], &["--device", "aned"]].concat());
    assert!(message.contains("--control asks the device at the socket"), "{message}");
    let message = refused(3, &[&explain[..], &["--chip", "t6000"]].concat());
    assert!(message.contains("/no/such/control.sock: No such file"), "{message}");
}

#[test]
fn kernel_that_is_not_there_is_noticed_before_anything_starts() {
    let scratch = Scratch::new();
    let qemu = scratch.file("qemu", b"#!/bin/sh\necho QEMU emulator version 11.1.3\n");
    fs::set_permissions(&qemu, Permissions::from_mode(0o755)).expect("it is ours");
    let message = refused(1, &["vm", "run", "--qemu", &qemu, "--kernel", "no/such/vmlinuz"]);
    assert!(message.contains("no/such/vmlinuz: No such file"), "{message}");
}

#[test]
fn place_with_too_long_a_name_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let path = scratch.at(&"long".repeat(50));
    assert!(refused(3, &["daemon", "--socket-path", &path]).contains("File name too long"));
    assert_eq!(scratch.names(), [""; 0]);
}
