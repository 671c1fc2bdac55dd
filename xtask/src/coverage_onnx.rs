//! `docs/coverage-onnx.md`: which of ONNX's own node tests run on the engine, how far off, and why the others do not.
//!
//! The tests are those of `onnx.backend.test`, each a folder with `model.onnx`, `input_N.pb` and `output_N.pb`;
//! `tools/onnx-nodes` writes them. Inputs that have to be known before the run (shapes, axes, weights) are bound.

mod case;
mod compared;
mod page;
mod unlike;

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

/// Lines of a page that is not current that the error shows.
const LINES_SHOWN: usize = 40;

/// Fails if the page is not what it would be now.
///
/// # Errors
///
/// Names the lines that are not the same.
pub fn check(page: &str, cases: &[Case]) -> Result<()> {
    let now = render(cases);
    let mut lines = unlike::lines(page, &now);
    if lines.is_empty() {
        return Ok(());
    }
    let count = lines.len();
    lines.truncate(LINES_SHOWN);
    bail!(
        "docs/coverage-onnx.md has {count} lines that are not what the tests say (- there, + now); run \
         `cargo xtask coverage-onnx FOLDER`\n{}",
        lines.join("\n")
    );
}
