//! Help, manual pages and completions; and that the examples they give are right.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ane::container::Axes;
use ane::tensor::Tensor;
use ane_tests::command::{ane, built, path, printed};
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::data::programs;
use ane_tests::model::{MIL_PROGRAMS, Onnx};
use ane_tests::preload;

use super::scratch::{Scratch, example};

/// Every command, as `--help` lists them.
fn commands() -> Vec<String> {
    let help = printed(&["--help"]);
    let (_, list) = help.split_once("Commands:\n").expect("there is a list");
    let lines = list.lines().take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

#[test]
fn every_command_has_help_with_examples_and_a_manual_page() {
    for command in commands().iter().filter(|command| *command != "help") {
        let help = printed(&["help", command]);
        assert!(help.contains("Examples:"), "{command}");
        assert!(printed(&["man", command]).contains(".SH NAME"), "{command}");
    }
    assert!(printed(&["man", "vm", "setup"]).contains(".TH ane-vm-setup"));
    assert!(printed(&["man"]).contains("Exit codes") || printed(&["man"]).contains("Exit codes:"));
}

#[test]
fn manual_pages_go_to_a_folder_all_at_once() {
    let scratch = Scratch::new();
    printed(&["man", "-o", &scratch.at("man1")]);
    let pages = fs::read_dir(scratch.path().join("man1")).expect("it is there").count();
    assert!(pages > commands().len() - 1, "{pages}");
}

#[test]
fn completions_exist_for_the_usual_shells() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(printed(&["completions", shell]).contains("seed"), "{shell}");
    }
}

/// The lines behind `Examples:` that can be run here as they are, but for what they need.
fn examples(help: &str) -> Vec<String> {
    let (_, list) = help.split_once("Examples:\n").unwrap_or_default();
    let lines = list.lines().take_while(|line| line.starts_with("  "));
    // The text behind two blanks explains the line.
    let lines = lines.map(|line| line.trim().split("  ").next().unwrap_or_default().to_owned());
    // The rest of a line that was too long for the page is no line of its own.
    lines.filter(|line| line.contains("ane ")).collect()
}

/// The arguments of examples that not every machine can run: a kernel and a disk to boot, and a reader of
/// manual pages.
const NOT_HERE: &[&str] = &[
    "ane vm ",
    "man -l",
    "tools/guest/",
    // `ane build` has made a program of that name already.
    "ane compile network.onnx",
    "--dim batch=1",
    "node.onnx",
    "--task 3",
    "zeros.bin",
    "before.anec",
    "pip install",
];

/// A folder with what a reader of the examples has: programs, arrays, scripts, a running device, and a place for sockets.
struct Workplace {
    scratch: Scratch,
    /// Listens at `control.sock`.
    _device: Daemon,
    /// Commands that were left running.
    left: Vec<Child>,
}

impl Workplace {
    fn new() -> Self {
        let scratch = Scratch::new();
        let file = |name: &str| scratch.path().join(name);
        for folder in ["examples", ".local/share/bash-completion/completions", ".config/fish/completions"] {
            fs::create_dir_all(file(folder)).expect("it can be made");
        }
        fs::copy(example(), file("examples/add_relu.anec")).expect("it can be copied");
        let shape = Axes { n: 1, c: 16, h: 1, w: 32 };
        for name in ["a.npy", "b.npy"] {
            scratch.array(name, &Tensor::random(shape, 3));
        }
        for (folder, numerics) in [("out-m1", "m1"), ("out-exact", "exact")] {
            printed(&["run", &example(), "--numerics", numerics, "-o", &scratch.at(folder)]);
        }
        let mut model = Onnx::new(1);
        let image = model.input("image", &[1, 3, 8, 8]);
        model.node_to("Relu", &[&image], "result", &[]);
        model.output("result", &[1, 3, 8, 8]);
        scratch.file("network.onnx", &model.finish());
        scratch.file("model.mil", MIL_PROGRAMS[1].1.as_bytes());
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/perceptron.mlpackage");
        symlink(package, file("network.mlpackage")).expect("it can be linked");
        scratch.file("network.txt", b"x = input 64x1x1\ny = softmax x\noutput y\n");
        fs::create_dir(file("programs")).expect("it can be made");
        fs::copy(example(), file("programs/add_relu.anec")).expect("it can be copied");
        scratch.file(
            "nightly.toml",
            b"seeds = 8\n[[program]]\npath = \"programs\"\nexpect.numerics = \"exact\"\n",
        );
        scratch.file("transfer.txt", b"scratch 0 = 01 02\nmove 0 1 1 scratch-to-scratch\nwait\n");
        // Clients that know nothing of this project, but for the place of a device node.
        let client = "#!/usr/bin/env python3\nimport os\nos.close(os.open('/dev/accel/accel0', os.O_RDWR))\n";
        for name in ["infer.py", "client", "check-tool"] {
            scratch.file(name, client.as_bytes());
            fs::set_permissions(file(name), fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
        let device = Daemon::start(&[]);
        symlink(device.control(), file("control.sock")).expect("it can be linked");
        // Compiled programs, where there are any; lines that need them are left out elsewhere.
        for sample in programs().unwrap_or_default().iter().filter(|sample| sample.name == "relu") {
            for name in ["network.hwx", "program.hwx", "before.hwx", "after.hwx"] {
                fs::write(file(name), &sample.bytes).expect("it can be written");
            }
        }
        Self { scratch, _device: device, left: Vec::new() }
    }

    fn shell(&self, line: &str) -> Command {
        let folder = path().parent().expect("it lies in a folder").display();
        let search = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("bash");
        shell.args(["-c", line]).current_dir(self.scratch.path()).stdin(Stdio::null());
        shell.env("PATH", search).env("HOME", self.scratch.path());
        shell.env("ANE_SHIM", preload::library());
        shell
    }

    /// True if a line can be run here.
    fn has(&self, line: &str) -> bool {
        let needs_program = line.contains(".hwx") && !self.scratch.path().join("network.hwx").exists();
        !needs_program && !NOT_HERE.iter().any(|word| line.contains(word))
    }

    /// Leaves a command running, and waits for its socket.
    fn leave(&mut self, line: &str) {
        // Where a daemon listens by itself depends on who runs it.
        let line = match line.contains("--socket-path") {
            true => format!("exec {line}"),
            false => format!("exec {line} --socket-path aned.sock"),
        };
        let socket = line.split(' ').skip_while(|word| *word != "--socket-path").nth(1).expect("it has one");
        let socket = self.scratch.path().join(socket);
        let child = self.shell(&line).stderr(Stdio::null()).spawn();
        self.left.push(child.expect("there is a shell"));
        let end = Instant::now() + LIMIT;
        while !socket.exists() {
            assert!(Instant::now() < end, "{line}: nobody listens at {}", socket.display());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Runs the lines that can be run here, and says how many they are.
    fn run(&mut self, lines: impl IntoIterator<Item = String>) -> usize {
        let lines = lines
            .into_iter()
            .map(|line| line.replace("/tmp/", "").replace("--device aned", "--device aned:aned.sock"));
        let mut ran = 0;
        for line in lines.filter(|line| self.has(line)).collect::<Vec<_>>() {
            match line.strip_suffix(" &") {
                Some(line) => self.leave(line),
                None => {
                    let output = self.shell(&line).output().expect("there is a shell");
                    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
                }
            }
            ran += 1;
        }
        ran
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        for child in &mut self.left {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn examples_in_the_help_of_commands_run() {
    let mut commands = commands();
    commands.retain(|command| command != "help");
    // The daemon that the others ask stands in its own examples; what is made stands in those of the one that makes it.
    commands.sort_by_key(|command| !["daemon", "build"].contains(&command.as_str()));
    let lines: Vec<_> = commands.iter().flat_map(|command| examples(&printed(&["help", command]))).collect();
    let mut workplace = Workplace::new();
    let expected = lines.iter().filter(|line| workplace.has(line)).count();
    assert!(expected >= 40, "only {expected} of {} examples can run", lines.len());
    assert_eq!(workplace.run(lines), expected);
}

#[test]
fn commands_of_the_readme_run() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = fs::read_to_string(readme).expect("the tree has one");
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).filter_map(|line| match line.split_once(" --bin ") {
        // Built already, and found on the path.
        Some(("cargo run --release", rest)) => Some(rest.replacen(" -- ", " ", 1)),
        _ => ["ane ", "aned ", "vhost-device-ane ", "printf "]
            .iter()
            .any(|program| line.starts_with(program))
            .then(|| line.to_owned()),
    });
    // One that is shown in front would not end by itself.
    let lines = lines.map(|line| match line.starts_with("vhost-device-ane") && !line.ends_with('&') {
        true => format!("{} &", line.replace("ane.sock", "shown.sock")),
        false => line,
    });
    let mut workplace = Workplace::new();
    built("aned");
    assert!(workplace.run(lines) >= 6);
}

#[test]
fn help_and_version_end_well() {
    assert!(ane(&["--version"]).status.success());
    assert!(ane(&["run", "--help"]).status.success());
}
