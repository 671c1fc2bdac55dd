//! Lines of results: one for each case, appended whole.
//!
//! A line is written by one call to a file that is open for appending, while no other process writes there. So lines of several
//! processes do not mix. A line that a full disk or a kill cut short damages no other: the next writer ends it first, the
//! reader leaves out what is no whole line, and its case is run again. Which cases are done says the file itself.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::blame::Blame;
use super::case::Case;

/// Longest line that is read: one with every text at its bound is far shorter.
const LINE_MAX: u64 = 1 << 16;

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It gave what is expected.
    Passed,
    /// It ran, and nothing is expected of it.
    Ran,
    /// It ran to its end and gave something else.
    Wrong,
    /// The engine refused a task.
    Refused,
    /// A real engine would hang.
    Hang,
    /// The engine refused no task, and did not run it to its end: a transfer faulted, its chain is damaged, it was taken back or
    /// took too long.
    Unfinished,
    /// Its program is none that can be read.
    Unreadable,
    /// An input or what is expected cannot be had, or there is no device.
    Error,
    /// Its process died.
    Crashed,
    /// It took too long.
    Timeout,
    /// It took too much memory.
    Memory,
}

impl Verdict {
    /// Each of them, in the order of tables.
    pub const ALL: [Self; 11] = [
        Self::Passed,
        Self::Ran,
        Self::Refused,
        Self::Hang,
        Self::Wrong,
        Self::Unfinished,
        Self::Unreadable,
        Self::Error,
        Self::Crashed,
        Self::Timeout,
        Self::Memory,
    ];

    /// The word for it, as in the lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Ran => "ran",
            Self::Wrong => "wrong",
            Self::Refused => "refused",
            Self::Hang => "hang",
            Self::Unfinished => "unfinished",
            Self::Unreadable => "unreadable",
            Self::Error => "error",
            Self::Crashed => "crashed",
            Self::Timeout => "timeout",
            Self::Memory => "memory",
        }
    }

    /// True if a person has to look into it. A plain refusal needs no look.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Passed | Self::Ran | Self::Refused | Self::Hang)
    }
}

/// How a case ended, and what there is to say about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub verdict: Verdict,
    /// In a sentence, where a word is not enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The register to blame for a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blame: Option<Blame>,
    /// Index of the task that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// Largest distance from what is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_error: Option<f64>,
    /// Elements that are too far from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong_elements: Option<u64>,
    /// SHA-256 of all outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The behaviour that it relied on and that no source establishes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inferred: Option<String>,
    /// What became of arrays when they were made halves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converted: Option<String>,
    /// Tasks of the program.
    #[serde(default)]
    pub tasks: u32,
    /// Milliseconds that it took.
    #[serde(default)]
    pub milliseconds: f64,
}

/// Longest reason that is kept, in characters.
pub(super) const REASON_MAX: usize = 1000;

impl Outcome {
    /// One with nothing to say about it.
    pub const fn of(verdict: Verdict) -> Self {
        Self {
            verdict,
            reason: None,
            blame: None,
            task: None,
            max_error: None,
            wrong_elements: None,
            sha256: None,
            inferred: None,
            converted: None,
            tasks: 0,
            milliseconds: 0.0,
        }
    }

    pub fn because(verdict: Verdict, reason: impl std::fmt::Display) -> Self {
        Self { reason: Some(cut(&reason.to_string())), ..Self::of(verdict) }
    }

    /// Adds what became of an array in a file, if that is anything.
    pub fn tell(&mut self, file: &Path, told: Option<String>) {
        let Some(told) = told else { return };
        let before = self.converted.take().map_or(String::new(), |before| format!("{before}; "));
        self.converted = Some(cut(&format!("{before}{}: {told}", file.display())));
    }
}

fn cut(reason: &str) -> String {
    reason.chars().take(REASON_MAX).collect()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The case's name for all times.
    pub id: String,
    pub program: String,
    /// The group under which it is counted.
    pub family: String,
    /// How the array computed.
    pub numerics: String,
    /// Seed of the inputs.
    pub seed: u64,
    /// The kind of the expected result.
    pub expect: String,
    /// What its files held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<String>,
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Record {
    /// The line of a case.
    pub fn of(case: &Case, outcome: Outcome) -> Self {
        Self {
            id: case.id(),
            program: case.program.clone(),
            family: case.family.clone(),
            numerics: case.numerics.clone(),
            seed: case.seed,
            expect: case.expect.name().to_owned(),
            contents: None,
            outcome,
        }
    }
}

/// The lines of a file, and how much of it is none.
#[derive(Debug, Default)]
pub struct Lines {
    /// Whole lines.
    pub records: Vec<Record>,
    /// Lines that are cut short, or something else.
    pub damaged: u64,
}

/// Reads the lines of a file.
///
/// # Errors
///
/// The system's.
pub fn read(from: impl Read) -> io::Result<Lines> {
    let mut from = BufReader::new(from);
    let mut lines = Lines::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let taken = from.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
        if taken == 0 {
            return Ok(lines);
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice(text) {
            Ok(record) => lines.records.push(record),
            Err(_) => lines.damaged = lines.damaged.saturating_add(1),
        }
    }
}

/// A file that lines are appended to.
#[derive(Debug)]
pub struct Log {
    file: File,
    /// Names of the cases that it has, and what their files held.
    done: HashMap<String, Option<String>>,
    /// Lines that were damaged when it was opened.
    damaged: u64,
}

impl Log {
    /// Opens a file, or makes it, and sees which cases it has.
    ///
    /// # Errors
    ///
    /// The system's, and [`ErrorKind::InvalidInput`] of what is no regular file, or one of something else.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "is not a regular file"));
        }
        let file = OpenOptions::new().append(true).create(true).read(true).open(path)?;
        if !is_of_lines(&file)? {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "has something else than lines of a campaign",
            ));
        }
        let lines = read(&file)?;
        let done = lines.records.into_iter().map(|record| (record.id, record.contents)).collect();
        Ok(Self { file, done, damaged: lines.damaged })
    }

    /// True if the file has a line of this case.
    pub fn has(&self, id: &str) -> bool {
        self.done.contains_key(id)
    }

    /// What the files of a case held when it ran, if the file has a line that says so.
    pub fn contents(&self, id: &str) -> Option<&str> {
        self.done.get(id)?.as_deref()
    }

    /// Lines that are none, when it was opened.
    pub const fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Appends a line by one call.
    ///
    /// # Errors
    ///
    /// The system's, and [`ErrorKind::StorageFull`] if only a part of the line found room.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        // A file system without locks has lines written all the same.
        let is_locked = self.file.lock().is_ok();
        let written = is_cut_short(&self.file).and_then(|is_cut| append(&mut self.file, record, is_cut));
        if is_locked {
            self.file.unlock()?;
        }
        written?;
        self.done.insert(record.id.clone(), record.contents.clone());
        Ok(())
    }
}

/// True if a file is empty, or begins as a line does, even as one that is cut short.
fn is_of_lines(file: &File) -> io::Result<bool> {
    const BEGIN: &[u8] = b"{\"id\":\"";
    let mut bytes = [0; BEGIN.len()];
    let count = file.read_at(&mut bytes, 0)?;
    Ok(BEGIN.starts_with(bytes.get(..count).unwrap_or_default()))
}

/// True if the last line of a file has no end.
fn is_cut_short(file: &File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    Ok(file.read_at(&mut byte, last)? == 1 && byte != *b"\n")
}

fn append(into: &mut impl Write, record: &Record, is_cut: bool) -> io::Result<()> {
    let mut line = if is_cut { vec![b'\n'] } else { Vec::new() };
    serde_json::to_writer(&mut line, record)?;
    line.push(b'\n');
    loop {
        match into.write(&line) {
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
            Ok(written) if written == line.len() => return Ok(()),
            Ok(written) => {
                let what = format!("only {written} bytes of a line of {} found room", line.len());
                return Err(io::Error::new(ErrorKind::StorageFull, what));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::case::example;
    use super::*;

    fn record(seed: u64) -> Record {
        let case = Case { seed, ..example("a.hwx") };
        Record::of(&case, Outcome::because(Verdict::Refused, "a \"reason\"\nof two lines"))
    }

    #[test]
    fn line_that_is_cut_short_damages_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let mut log = Log::open(&path).unwrap();
        log.append(&record(1)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in 1..whole.len() - 2 {
            std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
            let mut log = Log::open(&path).unwrap();
            // Only what is behind the last brace may be missing.
            assert_eq!((log.has(&record(1).id), log.damaged()), (cut == 1, u64::from(cut > 1)), "{cut}");
            log.append(&record(2)).unwrap();
            let lines = read(File::open(&path).unwrap()).unwrap();
            assert_eq!(lines.records.last(), Some(&record(2)));
        }
    }

    #[test]
    fn lines_of_several_writers_do_not_mix() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let mut log = Log::open(path).unwrap();
                    (0..50).for_each(|seed| log.append(&record(100 * writer + seed)).unwrap());
                });
            }
        });
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text.lines().filter(|line| line.starts_with('{')).count(),
            text.lines().count(),
            "a line each"
        );
        let lines = read(File::open(&path).unwrap()).unwrap();
        let ids: HashSet<String> = lines.records.iter().map(|record| record.id.clone()).collect();
        assert_eq!((lines.damaged, lines.records.len(), ids.len()), (0, 200, 200));
    }

    /// Has room for some bytes.
    struct Disk(usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let written = bytes.len().min(self.0);
            self.0 -= written;
            Ok(written)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn full_disk_in_the_middle_of_a_line_is_an_error() {
        let error = append(&mut Disk(10), &record(1), false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(error.to_string().starts_with("only 10 bytes"), "{error}");
    }

    #[test]
    fn what_is_no_line_is_counted_and_left_out() {
        let whole = serde_json::to_string(&record(1)).unwrap();
        let long = "x".repeat(3 * LINE_MAX as usize);
        let text = format!("\n{whole}\n\0\0\n{{}}\n{long}\n{whole}\n");
        let lines = read(text.as_bytes()).unwrap();
        assert_eq!(lines.records.len(), 2);
        assert!(lines.damaged >= 3, "{}", lines.damaged);
        let other = tempfile::tempdir().unwrap();
        assert_eq!(Log::open(other.path()).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
