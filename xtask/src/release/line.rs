//! The outcome of a figure, as a line of JSON, and the file of these lines.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::output::{append_line, lines_of, printed, root};
use crate::performance::machine::Machine;

/// The outcome of a figure.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
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
    /// Parts that could not be run.
    #[serde(default)]
    pub(super) not_run: Vec<String>,
    /// When and of what it was run; none before it is kept.
    #[serde(default)]
    pub(super) date: String,
    #[serde(default)]
    pub(super) commit: String,
    #[serde(default)]
    pub(super) build: String,
    #[serde(default)]
    pub(super) asked: String,
    #[serde(default)]
    pub(super) machine: String,
}

impl Line {
    pub(super) fn of(text: &str) -> Result<Self> {
        serde_json::from_str(text).with_context(|| format!("no line of a figure: {text:?}"))
    }

    /// Whether all of it was run, and holds.
    pub(super) const fn is_whole(&self) -> bool {
        self.held && self.not_run.is_empty()
    }
}

/// The file of lines.
pub(super) struct Store(PathBuf);

impl Store {
    /// The one of this checkout.
    pub(super) fn open() -> Result<Self> {
        let folder = root().join("target");
        std::fs::create_dir_all(&folder).context("the target folder")?;
        Ok(Self(folder.join("release-figures.jsonl")))
    }

    /// Every line, the oldest first.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is damaged. A line that a killed run has written in part is left out.
    pub(super) fn lines(&self) -> Result<Vec<Line>> {
        lines_of(&self.0)
    }

    /// Whether a figure was run at this size and commit.
    pub(super) fn has(&self, id: &str, asked: &str, commit: &str) -> Result<bool> {
        Ok(self.lines()?.iter().any(|line| line.id == id && line.asked == asked && line.commit == commit))
    }

    /// Keeps a line, with when and where it came about.
    pub(super) fn keep(&self, line: &Line, asked: &str, commit: &str, is_release: bool) -> Result<()> {
        let line = Line {
            date: printed("date", &["-u", "+%Y-%m-%d"])?,
            commit: commit.to_owned(),
            build: if is_release { "release" } else { "dev" }.to_owned(),
            asked: asked.to_owned(),
            machine: Machine::here()?.told(),
            ..line.clone()
        };
        append_line(&self.0, &serde_json::to_string(&line)?)
    }
}

/// The commit that is checked out, with a + if the tree is another.
pub(super) fn commit() -> Result<String> {
    let commit = printed("git", &["rev-parse", "--short=10", "HEAD"])?;
    let is_changed =
        !printed("git", &["status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs"])?.is_empty();
    Ok(if is_changed { format!("{commit}+") } else { commit })
}
