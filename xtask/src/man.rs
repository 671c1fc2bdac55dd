//! `dist/`: man page and shell completions of the daemon, from the same declaration that parses its arguments.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::{Shell, generate};

/// The daemon's own file: a program cannot be a dependency, so its declaration is compiled here once more.
#[path = "../../device/src/bin/vhost-device-ane/args.rs"]
mod args;

/// Where each shell looks, and under which name.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "dist/completions/vhost-device-ane.bash"),
    (Shell::Zsh, "dist/completions/_vhost-device-ane"),
    (Shell::Fish, "dist/completions/vhost-device-ane.fish"),
];

/// The files, by their paths.
///
/// # Errors
///
/// If the text cannot be written, which memory always can.
pub fn render() -> Result<Vec<(&'static str, Vec<u8>)>> {
    let mut page = Vec::new();
    // No date: the page is the same whenever it is made.
    clap_mangen::Man::new(args::Args::command()).render(&mut page)?;
    let mut files = vec![("dist/man/vhost-device-ane.1", page)];
    for (shell, path) in COMPLETIONS {
        let mut text = Vec::new();
        generate(shell, &mut args::Args::command(), "vhost-device-ane", &mut text);
        files.push((path, text));
    }
    Ok(files)
}
