//! What long figures have done so far, as lines of JSON in the target folder: a run of the same commit goes on where one was
//! killed.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::line;
use crate::output::{append_line, lines_of, root};

/// The part of a figure's work that belongs to the commit that is checked out.
pub(super) struct Ledger {
    path: PathBuf,
    commit: String,
}

#[derive(Deserialize, Serialize)]
struct Entry<T> {
    commit: String,
    #[serde(flatten)]
    done: T,
}

impl Ledger {
    /// The one with this name; none if the tree is not that of a commit.
    pub(super) fn open(name: &str) -> Result<Option<Self>> {
        let commit = line::commit()?;
        let folder = root().join("target");
        std::fs::create_dir_all(&folder).context("the target folder")?;
        Ok((!commit.ends_with('+')).then(|| Self { path: folder.join(name), commit }))
    }

    /// What was done, the oldest first. A line that a killed run has written in part is left out.
    ///
    /// # Errors
    ///
    /// If there is a ledger that cannot be read, or is damaged.
    pub(super) fn done<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        let entries = lines_of::<Entry<T>>(&self.path)?.into_iter();
        Ok(entries.filter(|entry| entry.commit == self.commit).map(|entry| entry.done).collect())
    }

    /// Keeps something that is done now.
    pub(super) fn keep<T: Serialize>(&self, done: &T) -> Result<()> {
        append_line(&self.path, &serde_json::to_string(&Entry { commit: self.commit.clone(), done })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
    struct Work {
        what: String,
    }

    #[test]
    fn what_is_done_belongs_to_its_commit_and_half_a_line_to_none() {
        let path = std::env::temp_dir().join(format!("ane-ledger-{}", std::process::id()));
        let of = |commit: &str| Ledger { path: path.clone(), commit: commit.to_owned() };
        let work = |what: &str| Work { what: what.to_owned() };
        of("one").keep(&work("first")).unwrap();
        of("two").keep(&work("other")).unwrap();
        of("one").keep(&work("second")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{{\"commit\":\"one\",\"wh")).unwrap();
        let found = of("one").done::<Work>().unwrap();
        assert_eq!(found, [work("first"), work("second")]);
        of("one").keep(&work("third")).unwrap();
        let found = of("one").done::<Work>().unwrap();
        // Something else than half a line is no end of a run.
        std::fs::write(&path, "nonsense\n").unwrap();
        let damaged = of("one").done::<Work>();
        std::fs::remove_file(&path).unwrap();
        assert!(damaged.is_err());
        assert_eq!(found, ["first", "second", "third"].map(work));
    }
}
