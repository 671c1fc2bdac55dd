//! Files in and out: what is read is bounded, what is written appears whole or not at all.
//!
//! Each file is written under another name in the folder where it will be, and gets its name when it is complete. A
//! folder of results is made the same way. So a full disk or a killed process leaves what was there before.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use ane::container::{self, Program};
use ane::decode::printable;
use ane::model;
use anyhow::{Context, Result};

use crate::failure::{Advise, Exit, Failure};

/// Bytes that are read from a pipe at most: enough for a program of this size, and a bound for an endless pipe.
const PIPE_MAX: u64 = 256 << 20;

pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { printable(&path.display().to_string()) }
}

/// A line of progress. A reader that has closed the pipe, as in `2>&1 | head`, is no failure.
pub(crate) fn tell(line: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "ane: {line}");
}

/// A line below the one that was told.
pub(crate) fn tell_more(line: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "  {line}");
}

/// The program in a file that was read. For a model the error says how to make a program of it.
pub(crate) fn program<'a>(path: &Path, bytes: &'a [u8]) -> Result<Program<'a>> {
    let opened = container::open(bytes);
    let is_model =
        matches!(opened, Err(container::Error::Unrecognised(_))) && model::compile::is_model(bytes);
    match opened {
        Err(_) if is_model => Err(model_failure(path)),
        opened => opened.with_context(|| name(path)),
    }
}

/// A model where a program is wanted.
fn model_failure(path: &Path) -> anyhow::Error {
    let stem = path.file_stem().filter(|stem| *stem != "-").unwrap_or_else(|| OsStr::new("model"));
    let program = printable(&Path::new(stem).with_extension("anec").display().to_string());
    let given = printable(&path.display().to_string());
    let advice = format!("make a program with: ane compile {given} -o {program}");
    Failure::new(Exit::Refused, format_args!("{}: is a model, and no program", name(path)), advice).into()
}

/// The whole file; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut open = || -> io::Result<()> {
        if path.as_os_str() == "-" {
            return bounded(io::stdin().lock(), PIPE_MAX, &mut bytes);
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let mut most = PIPE_MAX;
        if metadata.is_file() {
            // Memory that grows by halves would be twice the file.
            let length = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
            bytes.try_reserve_exact(length.saturating_add(1)).map_err(|_| {
                let what = format!("memory has no room for its {length} bytes");
                io::Error::new(ErrorKind::OutOfMemory, what)
            })?;
            // A file that someone writes to may grow as long as it is read.
            most = most.max(metadata.len());
        }
        bounded(file, most, &mut bytes)
    };
    let read = open();
    if path.is_dir() && model::compile::located(path).is_ok() {
        return Err(model_failure(path));
    }
    read.with_context(|| name(path))?;
    Ok(bytes)
}

/// Reads all of it, if that is not more than so much.
fn bounded(from: impl Read, most: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    from.take(most.saturating_add(1)).read_to_end(bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("more than {most} bytes come out of it")));
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    Keep,
    Replace,
}

impl Existing {
    pub(crate) const fn forced(force: bool) -> Self {
        if force { Self::Replace } else { Self::Keep }
    }
}

/// Refuses to write over one of the files that are read.
pub(crate) fn check_is_other<'a>(written: &Path, read: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    let Ok(target) = written.canonicalize() else { return Ok(()) };
    if !read.into_iter().any(|path| path.canonicalize().is_ok_and(|path| path == target)) {
        return Ok(());
    }
    let what = format!("{}: is a file that is read", name(written));
    Err(Failure::new(Exit::Refused, what, "name another file to write").into())
}

/// Writes the file whole or not at all: a reader never sees half of it.
pub(crate) fn save(path: &Path, bytes: &[u8], existing: Existing) -> Result<()> {
    save_with(path, existing, |file| file.write_all(bytes))
}

/// Writes the file whole or not at all, by `write`.
pub(crate) fn save_with(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<()> {
    // The target of a link is replaced, not the link. A target that is no file is left alone.
    let resolved = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let before = resolved.metadata().ok();
    if before.as_ref().is_some_and(|before| !before.is_file()) {
        let what = format!("{}: is not a regular file", name(path));
        return Err(Failure::new(Exit::Refused, what, "name a file to write").into());
    }
    let new = |partial: &Path| OpenOptions::new().write(true).create_new(true).open(partial);
    let (partial, mut file) = partial(&resolved, new).with_context(|| name(path))?;
    let written = write(&mut file)
        .and_then(|()| before.map_or(Ok(()), |before| file.set_permissions(before.permissions())))
        .and_then(|()| match existing {
            Existing::Replace => fs::rename(&partial, &resolved),
            Existing::Keep => publish_new(&partial, &resolved, |from, to| fs::hard_link(from, to)),
        });
    if written.is_err() {
        // Best effort: the error that matters is the one already at hand.
        let _ = fs::remove_file(&partial);
    }
    match written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Failure::new(
            Exit::Refused,
            format!("{}: exists already", name(path)),
            "--force overwrites it",
        )
        .into()),
        other => other.with_context(|| name(path)),
    }
}

/// Gives the finished file its name by a link, unless the name is taken.
fn publish_new(
    partial: &Path,
    path: &Path,
    link: impl FnOnce(&Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    match link(partial, path) {
        Ok(()) => fs::remove_file(partial),
        // Memory cards and some shares have one name for a file. An empty file takes the name, and for that moment a reader sees it.
        Err(why) if matches!(why.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => {
            OpenOptions::new().write(true).create_new(true).open(path)?;
            fs::rename(partial, path).inspect_err(|_| drop(fs::remove_file(path)))
        }
        Err(why) => Err(why),
    }
}

/// Makes what has the name `path` later, under a name that is free.
///
/// A process that was killed leaves the name with its number, and a later process may have that number: in a container the numbers are
/// the same each time.
fn partial<T>(path: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    let mut attempt = 0;
    loop {
        let mut partial: OsString = path.as_os_str().to_owned();
        partial.push(match attempt {
            0 => format!(".{}.partial", std::process::id()),
            _ => format!(".{}-{attempt}.partial", std::process::id()),
        });
        let partial = PathBuf::from(partial);
        match make(&partial) {
            Err(why) if why.kind() == ErrorKind::AlreadyExists && attempt < ATTEMPTS_MAX => attempt += 1,
            made => return made.map(|made| (partial, made)),
        }
    }
}

/// The path without a slash at its end: what is appended to it belongs to its last name.
fn whole_name(path: &Path) -> PathBuf {
    path.file_name().map_or_else(|| path.to_owned(), |last| path.with_file_name(last))
}

/// Names that are tried (Chosen: as many killed processes of one number leave their files seldom).
const ATTEMPTS_MAX: u32 = 1000;

/// Tells at once if a file can have no such place: before the work is done whose result it takes.
pub(crate) fn check_place(path: &Path) -> Result<()> {
    match path.metadata() {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => {
            let what = format!("{}: is not a regular file", name(path));
            Err(Failure::new(Exit::Refused, what, "name a file to write").into())
        }
        Err(_) => check_parent(path),
    }
}

/// Refuses a path in a folder that is not there.
fn check_parent(path: &Path) -> Result<()> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if parent.is_dir() {
        return Ok(());
    }
    let what = format!("{}: there is no folder {}", name(path), name(parent));
    Err(Failure::new(Exit::Refused, what, "make it first, or name another").into())
}

/// A folder that appears with all its files.
pub(crate) struct Folder {
    path: PathBuf,
    existing: Existing,
    files: Vec<(String, Vec<u8>)>,
}

impl Folder {
    /// A folder to be, which is told at once if it cannot be: before the work is done whose results it takes.
    pub(crate) fn new(path: &Path, existing: Existing) -> Result<Self> {
        let folder = Self { path: whole_name(path), existing, files: Vec::new() };
        match fs::read_dir(path) {
            Ok(mut entries) => {
                if existing == Existing::Keep {
                    if entries.next().is_some() {
                        return Err(folder.occupied());
                    }
                    // A new folder takes the place of an empty one, and `.` and `..` name no place.
                    if path.file_name().is_none() {
                        let what = format!("{}: has no name that a new folder could take", name(path));
                        return Err(
                            Failure::new(Exit::Refused, what, "name the folder by its own name").into()
                        );
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => check_parent(&folder.path)?,
            Err(error) => return Err(error).with_context(|| name(path)),
        }
        Ok(folder)
    }

    /// Adds a file. Its name is one part of a path.
    pub(crate) fn add(&mut self, name: impl Into<String>, bytes: Vec<u8>) {
        self.files.push((name.into(), bytes));
    }

    /// Writes all of it; says where it is.
    pub(crate) fn publish(self) -> Result<PathBuf> {
        if self.existing == Existing::Replace && self.path.is_dir() {
            // Other files of the folder stay: only our own are replaced, each whole.
            for (file, bytes) in &self.files {
                save(&self.path.join(file), bytes, Existing::Replace)?;
            }
            return Ok(self.path);
        }
        // The target of a link is replaced, not the link.
        let resolved = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let (partial, ()) =
            partial(&resolved, |partial| fs::create_dir(partial)).with_context(|| name(&self.path))?;
        let written = self
            .files
            .iter()
            .try_for_each(|(file, bytes)| fs::write(partial.join(file), bytes))
            // Takes the place of an empty folder, and of no other.
            .and_then(|()| fs::rename(&partial, &resolved));
        if written.is_err() {
            let _ = fs::remove_dir_all(&partial);
        }
        match written {
            Err(error) if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => {
                Err(self.occupied())
            }
            Err(error) => Err(error).with_context(|| name(&self.path)),
            Ok(()) => Ok(self.path),
        }
    }

    fn occupied(&self) -> anyhow::Error {
        let what = format!("{}: exists and is not empty", name(&self.path));
        Failure::new(Exit::Refused, what, "name a new folder, or let --force replace the files in it").into()
    }
}

pub(crate) fn print(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    printed(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Prints what `write` writes, as it comes: for what would take much memory as a whole.
pub(crate) fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    printed(write(&mut out).and_then(|()| out.flush()))
}

/// Prints a value that is made while it is printed.
pub(crate) fn stream_json(value: &impl serde::Serialize) -> Result<()> {
    print_with(|out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")
    })
}

fn printed(outcome: io::Result<()>) -> Result<()> {
    outcome.context("standard output").advise(Exit::Refused, "make room, or write to another place")
}

/// Prints a value for another program to read.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_file_takes_no_name_that_is_taken_with_links_and_without() {
        let no_links = |_: &Path, _: &Path| Err(io::Error::from(ErrorKind::PermissionDenied));
        for has_links in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let [partial, path] = ["x.partial", "x"].map(|name| folder.path().join(name));
            let publish = || {
                fs::write(&partial, "new").unwrap();
                match has_links {
                    true => publish_new(&partial, &path, |from, to| fs::hard_link(from, to)),
                    false => publish_new(&partial, &path, no_links),
                }
            };
            publish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            assert!(!partial.exists());
            fs::write(&path, "old").unwrap();
            assert_eq!(publish().unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&path).unwrap(), b"old");
        }
    }
}
