//! The folders of a driver, and what their rules and sources say.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::IN_LINUX;

/// Levels of folders that are looked through.
const DEPTH: usize = 7;
/// Folders that are looked through; a repository of a driver has some hundred.
const FOLDERS_MAX: usize = 20_000;

/// How a device tree names the engine of an M1.
pub(super) const ENGINE: &str = "apple,t8103-ane";

/// True of a Linux tree as a whole.
pub(super) fn is_linux(folder: &Path) -> bool {
    folder.join("arch").is_dir() && folder.join("drivers").is_dir() && folder.join("Kconfig").is_file()
}

pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()).collect();
    all.sort();
    all
}

/// A folder and those in it, without hidden ones, and of a Linux tree only the module's.
pub(super) fn folders(top: &Path) -> Vec<PathBuf> {
    let mut found = vec![top.to_owned()];
    let mut next = 0;
    while let Some(place) = found.get(next).cloned() {
        next += 1;
        if is_linux(&place) {
            let module = place.join(IN_LINUX);
            found.extend(Some(module).filter(|module| module.is_dir()));
            continue;
        }
        let depth = place.components().count() - top.components().count();
        if depth == DEPTH || found.len() > FOLDERS_MAX {
            continue;
        }
        let is_hidden =
            |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        // A link may lead back to a folder above it.
        found.extend(
            entries(&place)
                .into_iter()
                .filter(|path| path.is_dir() && !path.is_symlink() && !is_hidden(path)),
        );
    }
    found
}

/// The rules in a folder that name objects, if there are any: a line each, without what begins it.
pub(super) fn rules(folder: &Path) -> Option<String> {
    let texts = ["Kbuild", "Makefile"].map(|name| std::fs::read_to_string(folder.join(name)).ok());
    let text = texts.into_iter().flatten().find(|text| text.contains("obj-"))?;
    let lines: Vec<_> = text.replace("\\\n", " ").lines().map(|line| line.trim().to_owned()).collect();
    Some(lines.join("\n"))
}

/// The modules that the rules of a folder make, as paths without an end.
pub(super) fn objects(folder: &Path) -> Vec<String> {
    let rules = rules(folder).unwrap_or_default();
    let lines = rules.lines().filter(|line| line.starts_with("obj-"));
    let words = lines.filter_map(|line| line.split_once('=')).flat_map(|(_, words)| words.split_whitespace());
    words.filter_map(|word| word.strip_suffix(".o")).map(str::to_owned).collect()
}

/// True if the rules of a folder make a module with the name that Linux's has.
pub(super) fn makes_engine(folder: &Path) -> bool {
    objects(folder).iter().any(|object| object == "ane" || object.ends_with("/ane"))
}

/// The files in C of a folder and of those in it that have no rules of their own.
fn all_sources(folder: &Path) -> Vec<PathBuf> {
    let (inner, files): (Vec<_>, Vec<_>) = entries(folder).into_iter().partition(|path| path.is_dir());
    let inner = inner.into_iter().filter(|place| rules(place).is_none()).flat_map(|place| entries(&place));
    files.into_iter().chain(inner).filter(|path| path.extension() == Some(OsStr::new("c"))).collect()
}

/// True if sources of a folder name the engine of an M1.
pub(super) fn names_engine(folder: &Path) -> bool {
    let mut sources = all_sources(folder).into_iter();
    sources.any(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains(ENGINE)))
}

/// The files in a folder, and in those in it, with this ending.
pub(super) fn files(top: &Path, extension: &str) -> Vec<PathBuf> {
    let all = folders(top).into_iter().flat_map(|place| entries(&place));
    all.filter(|path| path.is_file() && path.extension() == Some(OsStr::new(extension))).collect()
}

/// The sources in C in a folder, without programs.
pub(super) fn library_sources(folder: &Path) -> Vec<PathBuf> {
    let is_part = |path: &PathBuf| {
        path.extension() == Some(OsStr::new("c"))
            && !std::fs::read_to_string(path).is_ok_and(|text| text.contains(" main("))
    };
    entries(folder).into_iter().filter(is_part).collect()
}
