//! `ane explain`.

use std::fmt::Write as _;

use ane::device::Location;
use ane::inspect::Tables;
use ane::inspect::explain::explain;
use anyhow::Result;

use super::Seen;
use crate::{args, device, files};

pub(crate) fn run(args: &args::Explain) -> Result<()> {
    let subject = &args.subject;
    let has_device = subject.model.is_some()
        || subject.control.is_some()
        || device::location(&subject.device)? != Location::Embedded;
    let tables = match has_device {
        true => Some(Tables::of(&Seen::of(subject)?.source).map_err(super::untold)?),
        false => None,
    };
    let meanings = explain(args.address, subject.device.options.chip, tables.as_ref());
    if subject.json {
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
