//! `ane report`.

use std::path::Path;

use ane::{container, report};
use anyhow::{Context, Result};

use crate::files::Existing;
use crate::{args, files};

pub(crate) fn run(args: &args::Report) -> Result<()> {
    let paths: Vec<&Path> =
        [&args.program].into_iter().chain(&args.other).map(|path| path.as_path()).collect();
    let names: Vec<String> = paths.iter().map(|path| files::name(path)).collect();
    let contents: Vec<Vec<u8>> = paths.iter().map(|path| files::read(path)).collect::<Result<_>>()?;
    let mut programs = Vec::with_capacity(contents.len());
    for (name, bytes) in names.iter().zip(&contents) {
        programs.push(container::open(bytes).with_context(|| name.clone())?);
    }
    let named: Vec<_> = names.iter().map(String::as_str).zip(&programs).collect();
    let page = report::page(&named, args.chip)?;
    files::save(&args.output, page.as_bytes(), Existing::forced(args.force))
}
