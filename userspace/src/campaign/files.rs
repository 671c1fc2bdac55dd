//! The files that a campaign reads: which programs a name stands for, and whether a file is fit to be read.
//!
//! A name is a file, several with `*` in the last part, or a folder with all below it.

use std::fs;
use std::path::{Path, PathBuf};

use super::manifest::{CASES_MAX, ManifestError};

/// Longest program that is run (Chosen): the aperture has room for no more than 3.5 GiB of everything.
pub const PROGRAM_MAX: u64 = 1 << 30;

/// Deepest folder below a folder of programs (Chosen): links that lead back end there.
const DEPTH_MAX: usize = 16;

/// Refuses what is no regular file, or a longer one.
pub(super) fn check(path: &Path, max: u64) -> Result<(), ManifestError> {
    let found = fs::metadata(path).map_err(|why| ManifestError::File { path: path.to_owned(), why })?;
    let unfit = |what: String| Err(ManifestError::Unfit { path: path.to_owned(), what });
    if !found.is_file() {
        return unfit("is not a regular file".to_owned());
    }
    if found.len() > max {
        return unfit(format!("has {} bytes, more than the {max} that are read", found.len()));
    }
    Ok(())
}

/// The programs that an entry names, as it names them: by a file, a name with `*` in it, or a folder.
pub(super) fn programs(base: &Path, named: &str) -> Result<Vec<PathBuf>, ManifestError> {
    let path = base.join(named);
    let relative = |found: PathBuf| found.strip_prefix(base).map_or(found.clone(), Path::to_owned);
    let mut found = Vec::new();
    let pattern =
        Path::new(named).file_name().and_then(|name| name.to_str()).filter(|name| name.contains('*'));
    if let Some(pattern) = pattern {
        let folder = path.parent().unwrap_or(Path::new(""));
        let entries = fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        let failed = |why| ManifestError::File { path: folder.to_owned(), why };
        for entry in entries.map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            if name.to_str().is_some_and(|name| matches(pattern.as_bytes(), name.as_bytes())) {
                found.push(folder.join(name));
            }
        }
    } else if path.is_dir() {
        walk(&path, DEPTH_MAX, &mut found)?;
    } else {
        found.push(path);
    }
    found.sort();
    for program in &found {
        check(program, PROGRAM_MAX)?;
    }
    Ok(found.into_iter().map(relative).collect())
}

/// Whether the name matches the pattern, in which `*` stands for any letters. The time is bounded by the
/// product of both lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Where the last star was, and how much of the name it stood for.
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(letter) if name.get(from) == Some(letter) => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((place, stood)) = star else { return false };
                star = Some((place, stood + 1));
                (at, from) = (place + 1, stood + 1);
            }
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|letter| *letter == b'*'))
}

/// Every program in a folder and below.
fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), ManifestError> {
    let failed = |why| ManifestError::File { path: folder.to_owned(), why };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_program = path
            .extension()
            .is_some_and(|kind| ["hwx", "anec"].iter().any(|known| kind.eq_ignore_ascii_case(known)));
        if is_program && path.is_file() {
            if found.len() >= CASES_MAX {
                return Err(ManifestError::TooMany);
            }
            found.push(path);
        } else if depth > 0 && path.is_dir() && !path.is_symlink() {
            walk(&path, depth - 1, found)?;
        }
    }
    Ok(())
}

/// The name of the folder that a program is in.
pub(super) fn family_of(program: &Path) -> String {
    let folder = program.parent().and_then(|folder| {
        folder
            .file_name()
            .map(ToOwned::to_owned)
            .or_else(|| folder.canonicalize().ok()?.file_name().map(ToOwned::to_owned))
    });
    folder.map_or_else(|| "programs".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_stands_for_any_letters() {
        for (pattern, name, is_so) in [
            ("*.hwx", "a.hwx", true),
            ("*.hwx", "a.anec", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXc", false),
            ("*", "", true),
            ("a", "", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), is_so, "{pattern} {name}");
        }
        let (stars, letters) = ("*a".repeat(50) + "b", "a".repeat(10_000));
        assert!(!matches(stars.as_bytes(), letters.as_bytes()));
    }
}
