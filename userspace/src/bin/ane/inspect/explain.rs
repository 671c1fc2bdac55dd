//! `ane explain`.

use std::fmt::Write as _;

use ane::device::Location;
use ane::inspect::Tables;
use ane::inspect::explain::explain;
use anyhow::Result;

use super::Seen;
use crate::{args, device, files};

pub(crate) fn run(args: &args::Explain) -> Result<()> {
    let has_device =
        args.subject.model.is_some() || device::location(&args.subject.device)? != Location::Embedded;
    let tables: Option<Tables> =
        if has_device { Some(Seen::of(&args.subject)?.ask("tables")?) } else { None };
    let meanings = explain(args.address, args.subject.device.options.chip, tables.as_ref());
    if args.subject.json {
        return files::print_json(&meanings);
    }
    let mut page = String::new();
    writeln!(page, "{:#x}", args.address)?;
    for meaning in &meanings {
        let mark = if meaning.is_something { '*' } else { ' ' };
        let mut lines = meaning.what.iter();
        writeln!(page, "{mark} {:<36}  {}", meaning.space, lines.next().map_or("", String::as_str))?;
        for line in lines {
            writeln!(page, "  {:<36}  {line}", "")?;
        }
    }
    files::print(page.as_bytes())
}
