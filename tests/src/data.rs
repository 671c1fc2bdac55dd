//! The compiled programs that tests run on: Apple's compiler made them, so they are not part of the tree.
//!
//! They are looked for in the folder that `ANE_TEST_DATA` names, else in one that some checkouts have beside
//! them. Where there is none, a test says `not run` and passes, except under `CI=true`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A compiled program.
pub struct Sample {
    /// File name without the extension.
    pub name: String,
    pub path: PathBuf,
    pub bytes: Vec<u8>,
}

/// The programs whose documented contents tests know.
pub const KNOWN: [&str; 6] = ["concat", "conv", "gemm", "relu", "sigmoid", "sum"];

/// The folder of what is not part of the tree.
pub(crate) fn folder() -> PathBuf {
    match std::env::var_os("ANE_TEST_DATA") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/h13"),
    }
}

/// The six known programs; `None`, with a line on standard output, where they are not to be had.
///
/// # Panics
///
/// Under `CI=true` where they are not to be had: there, a test that does not run has failed.
pub fn programs() -> Option<Vec<Sample>> {
    let folder = folder();
    let samples: Option<Vec<Sample>> = KNOWN
        .iter()
        .map(|name| {
            let path = folder.join(name).with_extension("hwx");
            let bytes = std::fs::read(&path).ok()?;
            Some(Sample { name: (*name).to_owned(), path, bytes })
        })
        .collect();
    if samples.is_none() {
        not_run(&format!(
            "compiled programs are not in {}; set ANE_TEST_DATA to their folder",
            folder.display()
        ));
    }
    samples
}

/// Programs that are transcribed as register words, one in each file; `None`, with a line on standard output, where
/// they are not to be had.
///
/// # Panics
///
/// Under `CI=true` where they are not to be had.
pub fn transcribed() -> Option<Vec<PathBuf>> {
    let folder = folder().join("oracles");
    let inside =
        |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        inside(folder.clone()).filter(|path| path.is_dir()).flat_map(inside).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    if files.is_empty() {
        not_run(&format!("transcribed programs are not in {}", folder.display()));
        return None;
    }
    Some(files)
}

/// Says that a test does not run, and why; `tools/check` counts the lines in the file that `ANE_NOT_RUN` names.
///
/// # Panics
///
/// Under `CI=true`: there, a test that does not run has failed.
pub fn not_run(why: &str) {
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "not run: {why}");
    println!("not run: {why}");
    if let Some(list) = std::env::var_os("ANE_NOT_RUN") {
        let line = format!("not run: {why}\n");
        let mut file =
            OpenOptions::new().append(true).create(true).open(list).expect("the list can be opened");
        file.write_all(line.as_bytes()).expect("the list can be written");
    }
}

/// The program that the tree carries, made by `cargo xtask example`.
pub fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/add_relu.anec")
}
