//! The compiled programs that tests run on: Apple's compiler made them, so they are not part of the tree.
//!
//! They are looked for in the folder that `ANE_TEST_DATA` names, else in one that some checkouts have beside
//! them. Where there is none, a test says `not run` and passes, except under `CI=true`.

use std::path::{Path, PathBuf};

/// A compiled program.
pub struct Sample {
    /// File name without the extension.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The programs whose documented contents tests know.
pub const KNOWN: [&str; 6] = ["concat", "conv", "gemm", "relu", "sigmoid", "sum"];

fn folder() -> PathBuf {
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
        let place = folder.display();
        assert!(
            std::env::var_os("CI").is_none_or(|ci| ci != "true"),
            "compiled programs are not in {place}: set ANE_TEST_DATA"
        );
        println!("not run: compiled programs are not in {place}; set ANE_TEST_DATA to their folder");
    }
    samples
}

/// The program that the tree carries, made by `cargo xtask example`.
pub fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/add_relu.anec")
}
