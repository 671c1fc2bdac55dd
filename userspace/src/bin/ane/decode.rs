//! `ane decode`.

use ane::container;
use ane::decode::{Report, text};
use anyhow::{Context, Result, anyhow};

use crate::failure::{Advise, Exit};
use crate::{args, files};

pub(crate) fn run(args: &args::Decode) -> Result<()> {
    let name = files::name(&args.file);
    let bytes = files::read(&args.file)?;
    let program = container::open(&bytes).with_context(|| name.clone())?;
    let report = Report::of(&program);
    if args.json {
        files::print_json(&report)?;
    } else {
        let style = text::Style { all: args.all, explain: args.explain, changes_only: args.changes };
        let mut page = String::new();
        text::write(&mut page, &report, style)?;
        files::print(page.as_bytes())?;
    }
    match report.damage {
        Some(damage) => Err(anyhow!("{name}: {damage}"))
            .advise(Exit::Refused, "what is sound of it is printed; compile it again"),
        None => Ok(()),
    }
}
