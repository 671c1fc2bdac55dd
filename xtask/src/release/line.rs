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

    /// Whether it does not hold, or not all of it was run, and nobody knows why.
    pub(super) const fn is_miss(&self) -> bool {
        !self.is_whole() && self.known.is_none()
    }
}

/// A figure to run, and how.
pub(super) struct Wanted<'a> {
    pub(super) id: &'a str,
    pub(super) size: &'a str,
    pub(super) commit: &'a str,
    pub(super) build: &'a str,
    /// Any, if none is asked for.
    pub(super) seed: Option<u64>,
}

impl Wanted<'_> {
    fn is_what(&self, line: &Line) -> bool {
        line.id == self.id
            && line.asked == self.size
            && line.commit == self.commit
            && line.build == self.build
            && self.seed.is_none_or(|seed| line.seed == seed)
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

    /// The last line of a figure that was run as it is wanted now, if there is one that says all of it.
    ///
    /// None of a changed tree: another change has the same name. And none of which parts could not be run: they may run now.
    pub(super) fn kept(&self, wanted: &Wanted<'_>) -> Result<Option<Line>> {
        if wanted.commit.ends_with('+') {
            return Ok(None);
        }
        let mut lines = self.lines()?.into_iter();
        Ok(lines.rfind(|line| wanted.is_what(line)).filter(|line| line.not_run.is_empty()))
    }

    /// Keeps a line, with when and where it came about.
    pub(super) fn keep(&self, line: &Line, wanted: &Wanted<'_>) -> Result<()> {
        let line = Line {
            date: printed("date", &["-u", "+%Y-%m-%d"])?,
            commit: wanted.commit.to_owned(),
            build: wanted.build.to_owned(),
            asked: wanted.size.to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Wanted<'_> =
        Wanted { id: "F3", size: "release", commit: "abc", build: "release", seed: None };

    fn line() -> Line {
        Line {
            id: "F3".to_owned(),
            asked: "release".to_owned(),
            commit: "abc".to_owned(),
            build: "release".to_owned(),
            held: true,
            seed: 7,
            ..Line::default()
        }
    }

    /// What is kept of a figure behind these lines.
    fn kept(lines: &[Line], wanted: &Wanted<'_>) -> Option<Line> {
        let folder = tempfile::tempdir().unwrap();
        let store = Store(folder.path().join("lines"));
        for line in lines {
            append_line(&store.0, &serde_json::to_string(line).unwrap()).unwrap();
        }
        store.kept(wanted).unwrap()
    }

    #[test]
    fn figure_that_was_run_as_it_is_wanted_is_kept() {
        assert!(kept(&[line()], &WANTED).is_some_and(|line| !line.is_miss()));
        assert!(kept(&[line()], &Wanted { seed: Some(7), ..WANTED }).is_some());
        for other in [
            Wanted { id: "F2", ..WANTED },
            Wanted { size: "ci", ..WANTED },
            Wanted { commit: "def", ..WANTED },
            Wanted { build: "dev", ..WANTED },
            Wanted { seed: Some(8), ..WANTED },
        ] {
            assert!(kept(&[line()], &other).is_none());
        }
    }

    #[test]
    fn changed_tree_keeps_nothing() {
        let line = Line { commit: "abc+".to_owned(), ..line() };
        assert!(kept(&[line], &Wanted { commit: "abc+", ..WANTED }).is_none());
    }

    #[test]
    fn miss_that_is_kept_is_one_until_the_figure_is_run_again() {
        let missed = Line { held: false, ..line() };
        assert!(kept(&[line(), missed.clone()], &WANTED).is_some_and(|line| line.is_miss()));
        assert!(kept(&[missed.clone(), line()], &WANTED).is_some_and(|line| !line.is_miss()));
        let known = Line { known: Some("why".to_owned()), ..missed };
        assert!(kept(&[known], &WANTED).is_some_and(|line| !line.is_miss()));
        // What could not be run is tried again.
        let in_part = Line { not_run: vec!["arm64".to_owned()], ..line() };
        assert!(in_part.is_miss());
        assert!(kept(&[line(), in_part], &WANTED).is_none());
    }
}
