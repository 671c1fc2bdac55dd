//! `ane sram`.

use std::path::PathBuf;

use ane::sram::stream::{Streamed, Walk};
use ane::sram::{Occupancy, TaskOccupancy, svg, text};
use ane_uapi::hw::chip::Soc;
use ane_uapi::hw::hal::Generation;
use anyhow::{Result, anyhow};
use clap::Args;

use crate::failure::{Advise, Exit};
use crate::files;
use crate::files::Existing;

/// Show what a program does with the chip's memory, and how long it would take there
///
/// Prints the memory hierarchy of the chip, each number with the field of the compiler's table that holds it. Then it prints
/// for each task where its operands lie and why, how much each of the 64 banks is used, what conflicts cost, and how long
/// the task takes in the timing model. Without a program it prints the hierarchy only.
///
/// Needs no device and runs nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane sram
  ane sram examples/add_relu.anec
  ane sram --target h17s
  ane sram network.hwx --svg heat.svg
  ane sram --json network.hwx | jq '.tasks[] | {index, conflicts, cycles}'")]
pub(crate) struct Sram {
    /// The program: .hwx or .anec, told apart by content; - is standard input
    pub(crate) file: Option<PathBuf>,
    /// The chip: t8103 (M1), t6000, t6001, t6002 or t8112
    #[arg(long, value_name = "CHIP", default_value = "t8103", value_parser = ane_device::options::chip)]
    pub(crate) chip: Soc,
    /// A target of the compiler instead of a chip, such as m9, h15, h16 or h17s. It may be a chip that has no device here;
    /// numbers that are not known for it are those of the M1
    #[arg(long, value_name = "TARGET", conflicts_with = "chip", value_parser = target)]
    pub(crate) target: Option<Generation>,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
    /// Also draw how much each bank is used, as an SVG picture
    #[arg(long, value_name = "FILE", requires = "file")]
    pub(crate) svg: Option<PathBuf>,
    /// Overwrite a picture that exists
    #[arg(long, requires = "svg")]
    pub(crate) force: bool,
}

fn target(name: &str) -> Result<Generation, String> {
    Generation::by_name(name).map_err(|error| error.to_string())
}

pub(crate) fn run(args: &Sram) -> Result<()> {
    let Some(file) = &args.file else {
        let report = args.target.map_or_else(|| Occupancy::of_chip(args.chip), Occupancy::of_target);
        return show(args, &report);
    };
    if let Some(picture) = &args.svg {
        files::check_is_other(picture, [file])?;
    }
    let name = files::name(file);
    let bytes = files::read(file)?;
    let program = files::program(file, &bytes)?;
    let walk = || match args.target {
        Some(target) => Walk::of(&program, Occupancy::of_target(target), target),
        None => Walk::of(&program, Occupancy::of_chip(args.chip), args.chip.chip().generation),
    };
    if let Some(path) = &args.svg {
        let mut all = walk();
        let is_drawn = |task: &TaskOccupancy| task.operands.iter().any(|operand| operand.heat.is_some());
        let drawn = all.by_ref().filter(is_drawn).take(svg::ROWS_MAX).collect();
        // The sum of all is drawn as well.
        all.by_ref().for_each(drop);
        let mut picture = String::new();
        svg::write(&mut picture, &Occupancy { tasks: drawn, ..all.end() })?;
        files::save(path, picture.as_bytes(), Existing::forced(args.force))?;
    }
    if args.json {
        files::stream_json(&Streamed::of(walk()))?;
    } else {
        page(walk())?;
    }
    // The printed text is not kept. A second walk over the tasks costs little beside printing them.
    let mut last = walk();
    last.by_ref().for_each(drop);
    match last.end().damage {
        Some(damage) => Err(anyhow!("{name}: {damage}"))
            .advise(Exit::Refused, "the tasks before it are printed; `ane decode` names each word of it"),
        None => Ok(()),
    }
}

fn page(mut walk: Walk<'_>) -> Result<()> {
    files::print_with(|out| {
        let mut part = String::new();
        // Writing to a string cannot fail.
        let _ = text::head(&mut part, walk.whole());
        let mut has_tasks = false;
        for task in walk.by_ref() {
            has_tasks = true;
            let _ = text::task(&mut part, &task);
            out.write_all(part.as_bytes())?;
            part.clear();
        }
        if has_tasks {
            let _ = text::foot(&mut part, &walk.end());
        }
        out.write_all(part.as_bytes())
    })
}

/// Without a program.
fn show(args: &Sram, report: &Occupancy) -> Result<()> {
    if args.json {
        return files::print_json(report);
    }
    let mut page = String::new();
    text::write(&mut page, report)?;
    files::print(page.as_bytes())
}
