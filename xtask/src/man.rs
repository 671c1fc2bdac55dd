//! `dist/`: man pages and shell completions, from the same declarations that parse arguments.

use anyhow::Result;
use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};

/// The programs' own files: a program cannot be a dependency, so its declaration is compiled here once more.
#[path = "../../userspace/src/bin/ane/args/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "only the declarations are used here, not what is parsed by them"
)]
mod ane;
#[path = "../../driver/aned/src/bin/aned/args.rs"]
mod aned;
#[path = "../../device/daemon/src/args.rs"]
mod device;

/// The programs, by their names.
fn programs() -> [(&'static str, Command); 3] {
    [
        ("ane", ane::Cli::command()),
        ("aned", aned::Args::command()),
        ("vhost-device-ane", device::Args::command()),
    ]
}

/// Where each shell looks for the completions of a program, and under which name.
fn completions(program: &str) -> [(Shell, String); 3] {
    [
        (Shell::Bash, format!("dist/completions/{program}.bash")),
        (Shell::Zsh, format!("dist/completions/_{program}")),
        (Shell::Fish, format!("dist/completions/{program}.fish")),
    ]
}

/// The files, by their paths.
///
/// # Errors
///
/// If the text cannot be written, which memory always can.
pub fn render() -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for (program, mut command) in programs() {
        // No date: a page is the same whenever it is made.
        for (name, page) in ane::pages::of(command.clone())? {
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
