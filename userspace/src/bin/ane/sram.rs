//! `ane sram`.

use ane::container;
use ane::sram::{Report, svg, text};
use anyhow::{Context, Result, anyhow};

use crate::failure::{Advise, Exit};
use crate::files::Existing;
use crate::{args, files};

pub(crate) fn run(args: &args::Sram) -> Result<()> {
    let Some(file) = &args.file else {
        let report = args.target.map_or_else(|| Report::of_chip(args.chip), Report::of_target);
        return show(args, &report);
    };
    let name = files::name(file);
    let bytes = files::read(file)?;
    let program = container::open(&bytes).with_context(|| name.clone())?;
    let report = match args.target {
        Some(target) => Report::on_target(&program, target),
        None => Report::of(&program, args.chip),
    };
    if let Some(path) = &args.svg {
        let mut picture = String::new();
        svg::write(&mut picture, &report)?;
        files::save(path, picture.as_bytes(), Existing::forced(args.force))?;
    }
    show(args, &report)?;
    match report.damage {
        Some(damage) => Err(anyhow!("{name}: {damage}"))
            .advise(Exit::Refused, "the tasks before it are printed; `ane decode` names each word of it"),
        None => Ok(()),
    }
}

fn show(args: &args::Sram, report: &Report) -> Result<()> {
    if args.json {
        return files::print_json(report);
    }
    let mut page = String::new();
    text::write(&mut page, report)?;
    files::print(page.as_bytes())
}
