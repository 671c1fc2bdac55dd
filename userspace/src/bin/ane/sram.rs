//! `ane sram`.

use std::path::PathBuf;

use ane::sram::{Occupancy, svg, text};
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
    let name = files::name(file);
    let bytes = files::read(file)?;
    let program = files::program(file, &bytes)?;
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
