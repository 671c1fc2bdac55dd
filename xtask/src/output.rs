//! Writing a generated file, or checking that the committed one is current.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// Writes `contents` to `path`, which is relative to the root; with `check`, only compares.
///
/// # Errors
///
/// With `check`, names the file that is not current and the command that renews it.
pub fn write_or_check(path: &str, contents: impl AsRef<[u8]>, check: bool, command: &str) -> Result<()> {
    let full = root().join(path);
    let contents = contents.as_ref();
    if check {
        if std::fs::read(&full).ok().as_deref() != Some(contents) {
            bail!("{path} is not what its sources make of it; run `cargo xtask {command}`");
        }
        return Ok(());
    }
    if let Some(folder) = full.parent() {
        std::fs::create_dir_all(folder).with_context(|| path.to_owned())?;
    }
    std::fs::write(&full, contents).with_context(|| path.to_owned())
}

/// The cargo that runs this, in the root of the tree.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

/// The output of a program that runs in the root of the tree, without the end of its last line.
pub(crate) fn printed(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).current_dir(root()).output();
    let output = output.with_context(|| program.to_owned())?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A doc comment as one line of a table, with the characters escaped that would end a cell.
pub(crate) fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
