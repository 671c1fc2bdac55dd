//! `ane decode`.

use std::io::{Read, Write};

use ane::container;
use ane::decode::{Report, printable, text};
use anyhow::{Context, Result, bail};

use crate::args;

pub(crate) fn run(args: &args::Decode) -> Result<()> {
    let name = printable(&args.file.display().to_string());
    let bytes = if args.file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).context("standard input")?;
        bytes
    } else {
        std::fs::read(&args.file).with_context(|| name.clone())?
    };
    let program = container::open(&bytes).with_context(|| name.clone())?;
    let report = Report::of(&program);

    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &report).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        let style = text::Style { all: args.all, explain: args.explain, changes_only: args.changes };
        let mut page = String::new();
        text::write(&mut page, &report, style)?;
        out.write_all(page.as_bytes())?;
    }
    out.flush()?;
    match report.damage {
        Some(damage) => bail!("{name}: {damage}"),
        None => Ok(()),
    }
}
