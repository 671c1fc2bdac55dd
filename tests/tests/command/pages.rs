//! Help, manual pages and completions; and that the examples they give are right.

use std::process::{Command, Stdio};

use ane_tests::command::{ane, path, printed};

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
    assert!(printed(&["man"]).contains("Exit codes") || printed(&["man"]).contains("Exit codes:"));
}

#[test]
fn manual_pages_go_to_a_folder_all_at_once() {
    let scratch = Scratch::new();
    printed(&["man", "-o", &scratch.at("man1")]);
    let pages = std::fs::read_dir(scratch.path().join("man1")).expect("it is there").count();
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
    // What stands behind two blanks says what the line does.
    let lines = lines.map(|line| line.trim().split("  ").next().unwrap_or_default().to_owned());
    // The rest of a line that was too long for the page is no line of its own.
    lines.filter(|line| line.contains("ane ")).collect()
}

/// What examples name that a test does not have: programs and arrays of the user's, a daemon that runs, viewers.
const NOT_HERE: &[&str] = &[
    "network.",
    "program.",
    "aned",
    "ane daemon",
    "exec",
    "jq",
    "man -l",
    "less",
    "before.hwx",
    "out-m1",
    "ane vm",
    "ane mover",
    "~/",
];

/// A folder with the tree's example and two arrays, as a reader of the examples has.
fn workplace() -> Scratch {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("examples")).expect("it can be made");
    std::fs::copy(example(), scratch.path().join("examples/add_relu.anec")).expect("it can be copied");
    let shape = ane::container::Axes { n: 1, c: 16, h: 1, w: 32 };
    for name in ["a.npy", "b.npy"] {
        scratch.array(name, &ane::tensor::Tensor::random(shape, 3));
    }
    scratch
}

/// Runs the lines that can be run here, and says how many.
fn run_all(lines: impl IntoIterator<Item = String>, scratch: &Scratch) -> usize {
    let folder = path().parent().expect("it lies in a folder").display();
    let search = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let mut ran = 0;
    for line in lines.into_iter().filter(|line| !NOT_HERE.iter().any(|word| line.contains(word))) {
        let mut shell = Command::new("bash");
        shell.args(["-c", &line]).current_dir(scratch.path()).env("PATH", &search).stdin(Stdio::null());
        let output = shell.output().expect("there is a shell");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        ran += 1;
    }
    ran
}

#[test]
fn examples_in_the_help_of_commands_run() {
    let commands = commands().into_iter().filter(|command| command != "help");
    let lines = commands.flat_map(|command| examples(&printed(&["help", &command])));
    let ran = run_all(lines, &workplace());
    assert!(ran >= 15, "only {ran} examples ran");
}

#[test]
fn commands_of_the_readme_run() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = std::fs::read_to_string(readme).expect("the tree has one");
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).filter_map(|line| match line.split_once("--bin ane -- ") {
        Some((_, arguments)) => Some(format!("ane {arguments}")),
        None => line.starts_with("ane ").then(|| line.to_owned()),
    });
    let scratch = workplace();
    // The README makes this one by an example of the library.
    let text = scratch.file("softmax.txt", b"x = input 64x1x1\ny = softmax x\noutput y\n");
    printed(&["build", &text, "-o", &scratch.at("softmax.anec")]);
    assert!(run_all(lines, &scratch) > 0);
}

#[test]
fn help_and_version_end_well() {
    assert!(ane(&["--version"]).status.success());
    assert!(ane(&["run", "--help"]).status.success());
}
