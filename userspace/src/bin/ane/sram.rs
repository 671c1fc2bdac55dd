//! `ane sram`.

use std::path::PathBuf;

use ane::container;
use ane::sram::{Occupancy, svg, text};
use ane_uapi::hw::chip::Soc;
use ane_uapi::hw::hal::Generation;
use anyhow::{Context, Result, anyhow};
use clap::Args;

use crate::failure::{Advise, Exit};
use crate::files;
use crate::files::Existing;

/// Show what a program does with the chip's memory, and how long it would take there
///
/// Prints the memory hierarchy of the chip, each number with the field of the compiler's table that holds it; then for each
/// task where its operands lie and why, how warm each of the 64 banks gets, what conflicts cost, and the time that the task
/// would take by the timing model. Without a program, the hierarchy alone.
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
    /// In place of a chip, a target of the compiler, such as m9, h15, h16 or h17s: the numbers of chips that there is no
    /// device of; what is not known of one is as on the M1
    #[arg(long, value_name = "TARGET", conflicts_with = "chip", value_parser = target)]
    pub(crate) target: Option<Generation>,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the heat of the banks, as an SVG picture, too
    #[arg(long, value_name = "FILE", requires = "file")]
    pub(crate) svg: Option<PathBuf>,
    /// Replace a picture that is there
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
    let name = files::name(file);
    let bytes = files::read(file)?;
    let program = container::open(&bytes).with_context(|| name.clone())?;
    let report = match args.target {
        Some(target) => Occupancy::on_target(&program, target),
        None => Occupancy::of(&program, args.chip),
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

fn show(args: &Sram, report: &Occupancy) -> Result<()> {
    if args.json {
        return files::print_json(report);
    }
    let mut page = String::new();
    text::write(&mut page, report)?;
    files::print(page.as_bytes())
}
