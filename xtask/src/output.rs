//! Writing a generated file, or checking that the committed one is current.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;

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
    if !output.status.success() {
        bail!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// What a file has, a line of JSON for each; nothing if there is no such file. A line that a killed run has written in part is
/// left out.
///
/// # Errors
///
/// If the file cannot be read, or has a line that is something else.
pub(crate) fn lines_of<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = text_of(path)?;
    let lines = text.lines().map(serde_json::from_str);
    let lines = lines
        .filter(|line: &Result<T, serde_json::Error>| !line.as_ref().is_err_and(serde_json::Error::is_eof));
    lines.collect::<Result<_, _>>().with_context(|| path.display().to_string())
}

/// The text of a file; nothing if there is no such file.
fn text_of(path: &Path) -> Result<String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(why) => Err(why).with_context(|| path.display().to_string()),
    }
}

/// Adds a line to a file. A line that a killed run has written in part is ended before.
pub(crate) fn append_line(path: &Path, line: &str) -> Result<()> {
    let begin = match text_of(path)?.chars().next_back() {
        None | Some('\n') => "",
        Some(_) => "\n",
    };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(format!("{begin}{line}\n").as_bytes()))
        .with_context(|| path.display().to_string())
}

/// A doc comment as one line of a table, with the characters escaped that would end a cell.
pub(crate) fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
