//! What came of a figure, as a line of JSON, and the file that has the lines.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::output::root;

/// What came of a figure.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) id: String,
    pub(super) what: String,
    pub(super) wanted: String,
    pub(super) got: String,
    pub(super) held: bool,
    pub(super) seed: u64,
    /// How many were run, and how many are before a release.
    pub(super) size: u64,
    pub(super) release: u64,
    pub(super) seconds: u64,
    /// Why it is known not to hold.
    pub(super) known: Option<String>,
    /// When and of what it was run; none before it is kept.
    pub(super) date: String,
    pub(super) commit: String,
    pub(super) build: String,
    /// What `--size` was.
    pub(super) asked: String,
}

impl Line {
    /// The line that a text has.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub(super) fn of(text: &str) -> Result<Self> {
        let value: Value =
            serde_json::from_str(text).with_context(|| format!("no line of a figure: {text:?}"))?;
        let word = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or_default();
        Ok(Self {
            id: value.get("id").and_then(Value::as_str).context("a line names its figure")?.to_owned(),
            what: word("what"),
            wanted: word("wanted"),
            got: word("got"),
            held: value.get("held").and_then(Value::as_bool).context("a line says whether it held")?,
            seed: number("seed"),
            size: number("size"),
            release: number("release"),
            seconds: number("seconds"),
            known: value.get("known").and_then(Value::as_str).map(str::to_owned),
            date: word("date"),
            commit: word("commit"),
            build: word("build"),
            asked: word("asked"),
        })
    }

    fn to_json(&self) -> Value {
        json!({
            "id": self.id, "what": self.what, "wanted": self.wanted, "got": self.got, "held": self.held,
            "seed": self.seed, "size": self.size, "release": self.release, "seconds": self.seconds,
            "known": self.known, "date": self.date, "commit": self.commit, "build": self.build, "asked": self.asked,
        })
    }
}

/// The file of lines.
pub(super) struct Store(PathBuf);

impl Store {
    /// The one of this checkout.
    ///
    /// # Errors
    ///
    /// If its folder cannot be made.
    pub(super) fn open() -> Result<Self> {
        let folder = root().join("target");
        std::fs::create_dir_all(&folder).context("the target folder")?;
        Ok(Self(folder.join("release-figures.jsonl")))
    }

    /// Every line, the oldest first.
    ///
    /// # Errors
    ///
    /// If one is damaged: a line that a killed run has written in part is at the end, and left out.
    pub(super) fn lines(&self) -> Result<Vec<Line>> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
        whole.lines().map(Line::of).collect()
    }

    /// Whether a figure was run at this size and commit.
    ///
    /// # Errors
    ///
    /// As [`Store::lines`].
    pub(super) fn has(&self, id: &str, asked: &str, commit: &str) -> Result<bool> {
        Ok(self.lines()?.iter().any(|line| line.id == id && line.asked == asked && line.commit == commit))
    }

    /// Keeps a line, with when and where it came about.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(super) fn keep(&self, line: &Line, asked: &str, commit: &str, is_release: bool) -> Result<()> {
        let line = Line {
            date: said("date", &["-u", "+%Y-%m-%d"])?,
            commit: commit.to_owned(),
            build: if is_release { "release" } else { "dev" }.to_owned(),
            asked: asked.to_owned(),
            ..line.clone()
        };
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).context("the lines")?;
        writeln!(file, "{}", line.to_json()).context("the lines")
    }
}

/// The commit that is checked out, with a + if the tree is another.
///
/// # Errors
///
/// If git does not say.
pub(super) fn commit() -> Result<String> {
    let commit = said("git", &["rev-parse", "--short=10", "HEAD"])?;
    let is_changed =
        !said("git", &["status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs"])?.is_empty();
    Ok(if is_changed { format!("{commit}+") } else { commit })
}

/// What a program says, without the line's end.
fn said(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).current_dir(root()).output();
    let output = output.with_context(|| program.to_owned())?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
