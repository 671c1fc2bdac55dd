//! A disk that is full, and a limit on the length of files: what a command prints and the files that it makes tell of them, and
//! nothing is left behind.
//!
//! `/dev/full` stands for the disk where a command writes to standard output or to what it is named, a limit on the length of files
//! for one that is full in the middle of a write. The limit holds for shared memory, too, so engines are a daemon's.

use std::fs::OpenOptions;
use std::process::{Command, Output};

use ane_tests::command::{path, printed, refused};

use super::daemon::{AneDaemon, libc};
use super::scratch::{Scratch, example};

/// Words of a command line that stand for something: the example, a text, a model, the daemon's device.
const EXAMPLE: &str = "EXAMPLE";
const SCRIPT: &str = "SCRIPT";
const MOVES: &str = "MOVES";
const CAMPAIGN: &str = "CAMPAIGN";
const LINES: &str = "LINES";
const MODEL: &str = "MODEL";
const DEVICE: &str = "DEVICE";

/// Commands that write to standard output.
const PRINTING: &[&[&str]] = &[
    &["run", EXAMPLE, "--device", DEVICE],
    &["run", EXAMPLE, "--json", "--device", DEVICE],
    &["demo", "--device", DEVICE],
    &["build", "--operations"],
    &["info", EXAMPLE],
    &["info", "--json", EXAMPLE],
    &["info", "--device", DEVICE],
    &["decode", EXAMPLE],
    &["decode", "--explain", EXAMPLE],
    &["decode", "--json", EXAMPLE],
    &["diff", EXAMPLE, EXAMPLE, "--json"],
    &["campaign", "--list", CAMPAIGN],
    &["campaign", "report", LINES],
    &["mover", MOVES],
    &["dart", EXAMPLE],
    &["dart", EXAMPLE, "--json"],
    &["regs", EXAMPLE],
    &["regs", EXAMPLE, "--json"],
    &["faults", EXAMPLE],
    &["trace", EXAMPLE],
    &["trace", EXAMPLE, "--json"],
    &["explain", "0x8000", EXAMPLE],
    &["bench", EXAMPLE, "--seconds", "0.01", "--device", DEVICE],
    &["bench", EXAMPLE, "--seconds", "0.01", "--json", "--device", DEVICE],
    &["compare", MODEL],
    &["compile", MODEL, "-o", "made.anec"],
    &["doctor"],
    &["sram", EXAMPLE],
    &["completions", "bash"],
    &["vm", "run", "--dry-run"],
];

/// Commands that write a file or a folder in the folder where they run.
const WRITING: &[&[&str]] = &[
    &["run", EXAMPLE, "-o", "out", "--device", DEVICE],
    &["build", SCRIPT, "-o", "out.anec"],
    &["compile", MODEL, "-o", "out.anec"],
    &["patch", EXAMPLE, "--task", "0", "--set", "PECfg.operation=1", "-o", "out.anec"],
    &["report", EXAMPLE, "-o", "out.html"],
    &["sram", EXAMPLE, "--svg", "out.svg"],
    &["man", "-o", "out"],
    &["exec", "--root", "out", "--device", DEVICE, "--", "true"],
];

/// Where the commands run, and the daemon that computes for them.
struct Place {
    files: Scratch,
    work: Scratch,
    daemon: AneDaemon,
    _service: Scratch,
}

impl Place {
    fn new() -> Self {
        let (files, work, service) = (Scratch::new(), Scratch::new(), Scratch::new());
        let texts = [
            (SCRIPT, "x = input 64x1x1\ny = softmax x\noutput y\n"),
            (MOVES, "fill iram 0 32 7\nwait\nshow iram 0 16\n"),
            (CAMPAIGN, "numerics = [\"m1\"]\nseeds = 1\n[[program]]\npath = \"EXAMPLE.anec\"\n"),
        ];
        for (name, text) in texts {
            std::fs::write(files.at(name), text).expect("it can be written");
        }
        std::fs::write(files.at(MODEL), ane_tests::model::operators()).expect("it can be written");
        std::fs::copy(example(), files.at("EXAMPLE.anec")).expect("it can be copied");
        printed(&["campaign", "--quiet", &files.at(CAMPAIGN), "-o", &files.at(LINES)]);
        let daemon = AneDaemon::start(&service, &[]);
        Self { files, work, daemon, _service: service }
    }

    /// The command line with names in the place of words.
    fn arguments(&self, words: &[&str]) -> Vec<String> {
        let named = |word: &&str| match *word {
            EXAMPLE => example(),
            DEVICE => self.daemon.device.clone(),
            SCRIPT | MOVES | CAMPAIGN | LINES | MODEL => self.files.at(word),
            other => other.to_owned(),
        };
        words.iter().map(named).collect()
    }

    /// Runs a command in its folder behind some words of the shell.
    fn run(&self, before: &str, words: &[&str]) -> Output {
        let line = format!("{before}; exec {} \"$@\"", path().display());
        let mut command = Command::new("bash");
        command.args(["-c", &line, "bash"]).args(self.arguments(words)).current_dir(self.work.path());
        command.env("ANE_SHIM", libc());
        let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        if before == "true" {
            command.stdout(full);
        }
        command.output().expect("there is a shell")
    }
}

/// The fault in a command's message about the disk, if there is one.
fn wrong(output: &Output, wanted: &[&str]) -> Option<String> {
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_told = output.status.code() == Some(1) && wanted.iter().all(|text| told.contains(text));
    (!is_told).then(|| format!("{}: {told}", output.status))
}

fn assert_told(found: Vec<(String, Option<String>)>) {
    let bad: Vec<_> =
        found.into_iter().filter_map(|(words, wrong)| Some(format!("{words}: {}", wrong?))).collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn standard_output_that_is_full_is_told() {
    let place = Place::new();
    let found = PRINTING.iter().map(|words| {
        let wanted = ["standard output: No space left on device", "make room"];
        (words.join(" "), wrong(&place.run("true", words), &wanted))
    });
    assert_told(found.collect());
}

#[test]
fn file_that_does_not_fit_is_told_and_leaves_nothing() {
    let place = Place::new();
    let found = WRITING.iter().map(|words| {
        let told = wrong(&place.run("ulimit -f 0", words), &["File too large", "ulimit -f: 0 KiB"]);
        let left = place.work.names();
        (words.join(" "), told.or_else(|| (!left.is_empty()).then(|| format!("left {left:?}"))))
    });
    assert_told(found.collect());
}

#[test]
fn converted_program_that_does_not_fit_is_told_and_leaves_nothing() {
    let Some(programs) = ane_tests::data::programs() else { return };
    let place = Place::new();
    let from = programs[0].path.display().to_string();
    let printing = place.run("true", &["convert", &from, "out.anec"]);
    assert_eq!(wrong(&printing, &["standard output: No space left on device"]), None);
    let writing = place.run("ulimit -f 0", &["convert", &from, "--force", "out.anec"]);
    assert_eq!(wrong(&writing, &["File too large", "ulimit -f: 0 KiB"]), None);
    // The first of them had written its file, and could only not say so.
    assert_eq!(place.work.names(), ["out.anec"]);
}

/// The results that a campaign has written stay, so that it can go on.
#[test]
fn campaign_that_does_not_fit_is_told_and_goes_on_later() {
    let place = Place::new();
    let words = ["campaign", CAMPAIGN, "--quiet", "-o", "lines"];
    let output = place.run("ulimit -f 0", &words);
    assert_eq!(wrong(&output, &["lines: File too large", "goes on where it stopped"]), None);
    let (manifest, lines) = (place.files.at(CAMPAIGN), place.work.at("lines"));
    printed(&["campaign", &manifest, "--quiet", "-o", &lines]);
    assert_eq!(std::fs::read_to_string(&lines).expect("it is there").lines().count(), 1);
}

/// Every command that can keep a timeline while it computes.
#[test]
fn timeline_that_does_not_fit_is_told() {
    let place = Place::new();
    let commands: [&[&str]; 2] =
        [&["run", EXAMPLE, "--trace", "/dev/full"], &["demo", "--trace", "/dev/full"]];
    let found = commands.map(|words| {
        let mut command = Command::new(path());
        let output = command.args(place.arguments(words)).output().expect("it starts");
        (words.join(" "), wrong(&output, &["/dev/full"]))
    });
    assert_told(found.into());
    // Where there is room, it is kept.
    printed(&["run", &example(), "--trace", &place.work.at("whole")]);
}

/// `--force` means the files of an earlier run. A program that is read is seldom meant, and is lost.
#[test]
fn file_that_is_read_is_not_overwritten_either_by_force() {
    let scratch = Scratch::new();
    let program = scratch.file("a.anec", &std::fs::read(example()).expect("the tree has it"));
    let text = scratch.file("a.txt", b"x = input 64x1x1\ny = softmax x\noutput y\n");
    let model = scratch.file("a.onnx", &ane_tests::model::operators());
    // By another path to the same file.
    let link = scratch.at("link");
    std::os::unix::fs::symlink(&text, &link).expect("it can be made");
    let commands: [(&str, &[&str]); 4] = [
        (&program, &["report", &program, "-o", &program, "--force"]),
        (&program, &["sram", &program, "--svg", &program, "--force"]),
        (&text, &["build", &text, "-o", &link, "--force"]),
        (&model, &["compile", &model, "-o", &model, "--force"]),
    ];
    for (file, words) in commands {
        let before = std::fs::read(file).expect("it is there");
        let told = refused(1, words);
        assert!(told.contains("is a file that is read"), "{words:?}: {told}");
        assert_eq!(std::fs::read(file).expect("it is there"), before, "{words:?}");
    }
}

/// A container's processes have the same numbers each time, so a later one finds what a killed one left.
#[test]
fn file_that_a_killed_process_of_the_same_number_left_keeps_nobody_from_writing() {
    let scratch = Scratch::new();
    let commands =
        format!("echo half > made.anec.$$.partial; mkdir out.$$.partial; exec {} \"$@\"", path().display());
    let script = scratch.file("text", b"x = input 4x1x1\ny = relu x\noutput y\n");
    let folder = scratch.at("out");
    for arguments in [&["build", &script, "-o", "made.anec"][..], &["run", &example(), "-o", &folder]] {
        let mut command = Command::new("sh");
        let output =
            command.args(["-c", &commands, "sh"]).args(arguments).current_dir(scratch.path()).output();
        let output = output.expect("there is a shell");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(scratch.path().join("made.anec").is_file() && scratch.path().join("out").is_dir());
}
