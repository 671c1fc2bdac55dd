//! `ane dart`.

use std::fmt::{self, Write as _};

use ane::inspect::{ContextTables, Tables, Translation};
use anyhow::Result;

use super::Seen;
use crate::{args, files};

pub(crate) fn run(args: &args::Dart) -> Result<()> {
    let tables: Tables = Seen::of(&args.subject)?.ask("tables")?;
    if args.subject.json {
        return files::print_json(&tables);
    }
    files::print(page(&tables, args.windows)?.as_bytes())
}

fn page(tables: &Tables, every_window: bool) -> Result<String, fmt::Error> {
    let mut page = String::new();
    if tables.contexts.is_empty() {
        writeln!(page, "no context is in use")?;
    }
    for context in &tables.contexts {
        let processes: Vec<_> = context.processes.iter().map(u32::to_string).collect();
        writeln!(
            page,
            "context {}, stream {}, of process {}",
            context.name,
            context.stream,
            processes.join(", ")
        )?;
        windows(&mut page, context, every_window)?;
        missing(&mut page, context)?;
    }
    for region in &tables.regions {
        writeln!(
            page,
            "program region {:#x} bytes at {:#x}, in the aperture at {:#x}",
            region.bytes, region.dva_base, region.mapped_base
        )?;
    }
    Ok(page)
}

/// What the tables map; once, if every window that carries transfers agrees.
fn windows(page: &mut String, context: &ContextTables, every_window: bool) -> fmt::Result {
    let Some(first) = context.translations.first() else {
        return writeln!(page, "  no window translates it");
    };
    let alike = |other: &Translation| other.base == first.base && other.runs == first.runs;
    if context.translations.iter().all(alike) && !every_window {
        let names: Vec<_> = context.translations.iter().map(|window| window.window.as_str()).collect();
        return window(page, &names.join(", "), first);
    }
    context.translations.iter().try_for_each(|one| window(page, &one.window, one))
}

fn window(page: &mut String, names: &str, translation: &Translation) -> fmt::Result {
    writeln!(page, "  {names}: table base {:#010x}", translation.base)?;
    for run in &translation.runs {
        let end = u64::from(run.address) + run.bytes;
        let rights = match (run.reads, run.writes) {
            (true, true) => "rw",
            (true, false) => "r-",
            (false, true) => "-w",
            (false, false) => "--",
        };
        let role = run.role.as_deref().unwrap_or("no client's: the driver's own, or a mistake");
        writeln!(
            page,
            "    {:#010x}..{end:#010x} -> {:#012x}  {rights}  {:>9} bytes  {role}",
            run.address, run.physical, run.bytes
        )?;
    }
    if translation.malformed > 0 {
        writeln!(page, "    {} entries are malformed", translation.malformed)?;
    }
    Ok(())
}

/// Mappings of the driver that the tables do not have.
fn missing(page: &mut String, context: &ContextTables) -> fmt::Result {
    let runs = || context.translations.first().into_iter().flat_map(|window| &window.runs);
    for mapping in &context.mappings {
        let is_there = runs().any(|run| {
            run.address <= mapping.address && u64::from(mapping.address) < u64::from(run.address) + run.bytes
        });
        if !is_there {
            writeln!(page, "    {:#010x} {} is not in the tables", mapping.address, mapping.usage)?;
        }
    }
    Ok(())
}
