//! `docs/coverage-onnx.md`: which of ONNX's own node tests run on the engine, how far off, and why the others do not.
//!
//! The tests are those of `onnx.backend.test`, each a folder with `model.onnx`, `input_N.pb` and `output_N.pb`;
//! `tools/onnx-nodes` writes them. Inputs that have to be known before the run (shapes, axes, weights) are bound.

mod case;
mod page;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

pub use case::{Case, Outcome};
pub use page::render;

/// Runs every test below a folder.
pub fn run(folder: &Path) -> Result<Vec<Case>> {
    let mut folders: Vec<_> = fs::read_dir(folder)
        .with_context(|| folder.display().to_string())?
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .map(|entry| entry.path())
        .filter(|path| path.join("model.onnx").is_file())
        .collect();
    folders.sort();
    folders.iter().map(|folder| case::run(folder)).collect()
}

/// Fails if a test that the page says runs does not.
pub fn check(page: &str, cases: &[Case]) -> Result<()> {
    let runs: BTreeSet<&str> = cases
        .iter()
        .filter(|case| matches!(case.outcome, Outcome::Agrees { .. }))
        .map(|case| case.name.as_str())
        .collect();
    let lost: Vec<&str> = page::agreeing(page).filter(|name| !runs.contains(name)).collect();
    if !lost.is_empty() {
        bail!("docs/coverage-onnx.md says that they run, and they do not: {}", lost.join(", "));
    }
    Ok(())
}
