//! `dist/`: man pages and shell completions, from the same declarations that parse arguments.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};

use crate::output::cargo;

/// The programs' own files: a program cannot be a dependency, so its declaration is compiled here once more. `ane` makes its
/// pages itself.
#[path = "../../driver/aned/src/bin/aned/args.rs"]
mod aned;
#[path = "../../device/daemon/src/args.rs"]
mod device;
#[path = "../../userspace/src/bin/ane/pages.rs"]
mod pages;

/// The daemons, by their names.
fn daemons() -> [(&'static str, Command); 2] {
    [("aned", aned::Args::command()), ("vhost-device-ane", device::Args::command())]
}

/// Where each shell looks for the completions of a program, and under which name.
fn completions(program: &str) -> [(Shell, String); 3] {
    [
        (Shell::Bash, format!("dist/completions/{program}.bash")),
        (Shell::Zsh, format!("dist/completions/_{program}")),
        (Shell::Fish, format!("dist/completions/{program}.fish")),
    ]
}

pub fn render() -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = of_ane()?;
    for (program, mut command) in daemons() {
        // No date: a page is the same whenever it is made.
        for (name, page) in pages::of(command.clone())? {
            files.push((format!("dist/man/{name}"), page));
        }
        for (shell, path) in completions(program) {
            let mut text = Vec::new();
            generate(shell, &mut command, program, &mut text);
            files.push((path, text));
        }
    }
    Ok(files)
}

/// The pages that `ane` itself writes: each command declares its arguments, in many files of the program.
fn of_ane() -> Result<Vec<(String, Vec<u8>)>> {
    let folder = tempfile::tempdir()?;
    let to = folder.path().join("man1");
    ane(&["man", "--output", to.to_str().context("a temporary folder has a name in ASCII")?])?;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&to)? {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().context("pages have names in ASCII")?;
        files.push((format!("dist/man/{name}"), std::fs::read(entry.path())?));
    }
    files.sort();
    for (shell, path) in completions("ane") {
        files.push((path, ane(&["completions", &shell.to_string()])?));
    }
    Ok(files)
}

/// Runs `ane`, built from the sources as they are; what it printed.
fn ane(arguments: &[&str]) -> Result<Vec<u8>> {
    let mut run = cargo(&["run", "--quiet", "--locked", "--package", "ane", "--bin", "ane", "--"]);
    let output = run.args(arguments).stderr(Stdio::inherit()).output().context("running cargo")?;
    ensure!(output.status.success(), "ane {}: {}", arguments.join(" "), output.status);
    Ok(output.stdout)
}
