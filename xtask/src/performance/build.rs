//! The time of the first build of everything, from sources that are fetched already.

use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::page::Figure;
use crate::output::cargo;

/// Builds the workspace where nothing was built before.
pub(super) fn first() -> Result<Figure> {
    let folder = std::env::temp_dir().join(format!("ane-first-build-{}", std::process::id()));
    let mut cargo = cargo(&["build", "--quiet", "--offline", "--release", "--workspace"]);
    let start = Instant::now();
    let built = cargo.env("CARGO_TARGET_DIR", &folder).status().context("running cargo");
    let seconds = start.elapsed().as_secs_f64();
    let removed = std::fs::remove_dir_all(&folder);
    if !built?.success() {
        bail!("the workspace cannot be built into an empty folder without a network: try `cargo fetch`");
    }
    removed.with_context(|| folder.display().to_string())?;
    println!("first build: {seconds:.1} s");
    Ok(Figure::new("B3", "cargo build --release --workspace", &format!("{seconds:.1} s"), seconds))
}
