//! `ane dart`.

use std::fmt::{self, Write as _};
use std::iter;

use ane::count::count;
use ane::inspect::{ContextTables, MappedRun, Mapping, Tables, Translation};
use anyhow::Result;
use clap::Args;

use super::Seen;
use super::Subject;
use crate::files;

/// Show what each context has mapped, and where
///
/// Prints for each context the processes that have it, and the runs of pages that the DART's tables map. A run is a row of
/// pages that follow each other in both address spaces. Beside it stand the driver's mapping and what the engine may do
/// there. A run without a mapping, or a mapping without a run, is a mistake of the driver.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane dart examples/add_relu.anec
  ane dart --device aned
  ane dart --control control.sock
  ane dart --json examples/add_relu.anec | jq '.contexts[0].mappings'")]
pub(crate) struct Dart {
    /// Device to inspect
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// Show every window, even if all of them agree
    #[arg(long)]
    pub(crate) windows: bool,
}

pub(crate) fn run(args: &Dart) -> Result<()> {
    let tables = Tables::of(&Seen::of(&args.subject)?.source).map_err(super::no_report)?;
    if args.subject.json {
        return files::print_json(&tables);
    }
    files::print(page(&tables, args.windows)?.as_bytes())
}

fn page(tables: &Tables, every_window: bool) -> Result<String, fmt::Error> {
    let mut page = String::new();
    if tables.contexts.is_empty() {
        page.push_str(match tables.has_owners {
            true => "no context is in use\n",
            false => "no stream is translated: there is no driver, or it has put the device to sleep\n",
        });
    }
    if let Some(why) = &tables.unread {
        writeln!(page, "the tables in memory cannot be told: {why}")?;
    }
    for context in &tables.contexts {
        let processes: Vec<_> = context.processes.iter().map(u32::to_string).collect();
        let owners = match processes.is_empty() {
            true => String::new(),
            false => format!(", of process {}", processes.join(", ")),
        };
        writeln!(page, "context {}, stream {}{owners}", context.name, context.stream)?;
        if let Some(waits) = &context.waits {
            writeln!(page, "  its requests wait {waits}")?;
        }
        windows(&mut page, tables, context, every_window)?;
        if tables.unread.is_none() {
            missing(&mut page, context)?;
        }
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

/// The mappings of the tables; once, if every window that carries transfers agrees.
fn windows(page: &mut String, tables: &Tables, context: &ContextTables, every_window: bool) -> fmt::Result {
    let Some(first) = context.translations.first() else {
        return writeln!(page, "  no window translates it");
    };
    let alike = |other: &Translation| other.base == first.base && other.runs == first.runs;
    if context.translations.iter().all(alike) && !every_window {
        let names: Vec<_> = context.translations.iter().map(|window| window.window).collect();
        return window(page, tables, &names.join(", "), first);
    }
    context.translations.iter().try_for_each(|one| window(page, tables, one.window, one))
}

fn window(page: &mut String, tables: &Tables, names: &str, translation: &Translation) -> fmt::Result {
    writeln!(page, "  {names}: table base {:#010x}", translation.base)?;
    for run in &translation.runs {
        let end = u64::from(run.address) + run.bytes;
        let rights = match (run.reads, run.writes) {
            (true, true) => "rw",
            (true, false) => "r-",
            (false, true) => "-w",
            (false, false) => "--",
        };
        let role = match (&run.role, tables.has_owners) {
            (Some(role), _) => role,
            (None, true) => "a mistake: neither a client's nor the driver's own",
            (None, false) => "",
        };
        let line = format!(
            "    {:#010x}..{end:#010x} -> {:#012x}  {rights}  {:>9} bytes  {role}",
            run.address, run.physical, run.bytes
        );
        writeln!(page, "{}", line.trim_end())?;
    }
    if translation.more > 0 {
        writeln!(page, "    {} more", count(translation.more, "run"))?;
    }
    if translation.malformed > 0 {
        writeln!(page, "    {}", count(translation.malformed, "malformed entry"))?;
    }
    Ok(())
}

/// What the tables of a window lack of the driver's mappings.
fn missing(page: &mut String, context: &ContextTables) -> fmt::Result {
    let Some(first) = context.translations.first() else { return Ok(()) };
    let others = context.translations.iter().skip(1).filter(|window| window.runs != first.runs);
    for window in iter::once(first).chain(others) {
        if window.more > 0 {
            // What looks absent may be among them.
            writeln!(page, "    {}: not all runs were told, so mappings are not looked for", window.window)?;
            continue;
        }
        for mapping in &context.mappings {
            let absent = u64::from(mapping.bytes).saturating_sub(translated(mapping, window));
            if absent > 0 {
                writeln!(
                    page,
                    "    {:#010x} {}: {absent:#x} of {:#x} bytes are not in the tables of {}",
                    mapping.address, mapping.usage, mapping.bytes, window.window
                )?;
            }
        }
    }
    Ok(())
}

/// How many bytes of a mapping a window translates.
fn translated(mapping: &Mapping, window: &Translation) -> u64 {
    let (start, bytes) = (u64::from(mapping.address), u64::from(mapping.bytes));
    let within = |run: &MappedRun| {
        let first = u64::from(run.address);
        let end = first.saturating_add(run.bytes).min(start.saturating_add(bytes));
        end.saturating_sub(first.max(start))
    };
    window.runs.iter().map(within).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(name: &'static str, runs: &[(u32, u64)]) -> Translation {
        let run = |&(address, bytes): &(u32, u64)| MappedRun {
            address,
            physical: 0x8_0000_0000,
            bytes,
            reads: true,
            writes: false,
            role: None,
        };
        Translation { window: name, base: 0, runs: runs.iter().map(run).collect(), more: 0, malformed: 0 }
    }

    fn told(translations: Vec<Translation>) -> String {
        let mapping = Mapping { address: 0x8000, bytes: 0xc000, usage: "input".to_owned(), mapping: 0 };
        let context = ContextTables {
            name: "base".to_owned(),
            stream: 0,
            processes: Vec::new(),
            waits: None,
            mappings: vec![mapping],
            translations,
        };
        let mut page = String::new();
        missing(&mut page, &context).unwrap();
        page
    }

    #[test]
    fn mapping_is_looked_for_to_its_last_byte_and_in_every_window() {
        let (whole, part) = ([(0x4000, 0x8000), (0xc000, 0x8000)], [(0x8000, 0x4000), (0x1_0000, 0x4000)]);
        assert_eq!(told(vec![window("dart0", &whole), window("dart1", &whole)]), "");
        let said = "    0x00008000 input: 0x4000 of 0xc000 bytes are not in the tables of dart1\n";
        assert_eq!(told(vec![window("dart0", &whole), window("dart1", &part)]), said);
    }

    #[test]
    fn mapping_that_was_perhaps_not_told_is_not_said_to_be_absent() {
        let said = told(vec![Translation { more: 3, ..window("dart0", &[]) }]);
        assert_eq!(said, "    dart0: not all runs were told, so mappings are not looked for\n");
    }
}
