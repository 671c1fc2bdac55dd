//! `ane report`.

use std::path::Path;
use std::path::PathBuf;

use ane::decode::Damage;
use ane::report;
use ane_uapi::hw::chip::Soc;
use anyhow::{Context, Result};
use clap::Args;

use crate::failure::{Exit, Failure};
use crate::files;
use crate::files::Existing;

/// Show a program, or two side by side, as a page for a browser
///
/// The page is one file that needs no network. It shows the tasks as a graph with what they compute, virtual time, on-chip
/// memory by address and by bank, surfaces and base addresses, each register with its meaning and its grade, the changes
/// from task to task, and the refused tasks. For two programs it also lists the differences.
///
/// Of a long program it shows the first 256 tasks, and behind them up to 64 that are refused, or that ended the run. It says
/// how many tasks and refusals it does not show. Long names are cut. The page of a program has less than 500 kB.
///
/// The command needs no device. It runs nothing without --run.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane report network.hwx -o network.html
  ane report before.anec after.anec -o both.html
  ane report network.anec -o run.html --run")]
pub(crate) struct Report {
    /// The program: .hwx or .anec, told apart by content; - is standard input
    pub(crate) program: PathBuf,
    /// Another program, shown beside the first
    pub(crate) other: Option<PathBuf>,
    /// Where to write the page
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    pub(crate) force: bool,
    /// The chip whose time and memory are shown: t8103 (M1), t6000, t6001, t6002 or t8112
    #[arg(long, value_name = "CHIP", default_value = "t8103", value_parser = ane_device::options::chip)]
    pub(crate) chip: Soc,
    /// Run each program once in this process with inputs of zeros, and show the task at which a fault ends it
    #[arg(long)]
    pub(crate) run: bool,
}

pub(crate) fn run(args: &Report) -> Result<()> {
    files::check_is_other(&args.output, [&args.program].into_iter().chain(&args.other))?;
    let paths: Vec<&Path> =
        [&args.program].into_iter().chain(&args.other).map(|path| path.as_path()).collect();
    let names: Vec<String> = paths.iter().map(|path| files::name(path)).collect();
    let contents: Vec<Vec<u8>> = paths.iter().map(|path| files::read(path)).collect::<Result<_>>()?;
    let mut programs = Vec::with_capacity(contents.len());
    for (path, bytes) in paths.iter().zip(&contents) {
        programs.push(files::program(path, bytes)?);
    }
    let named: Vec<_> = names.iter().map(String::as_str).zip(&programs).collect();
    let mut ended = Vec::new();
    if args.run {
        for (name, program) in &named {
            ended.push(report::ended(program, args.chip).with_context(|| format!("{name}: not run"))?);
        }
    }
    let page = report::page_of_runs(&named, &ended, args.chip)?;
    files::save(&args.output, page.as_bytes(), Existing::forced(args.force))?;
    let damaged: Vec<String> = named
        .iter()
        .filter_map(|(name, program)| Some(format!("{name}: {}", Damage::of(program)?)))
        .collect();
    if damaged.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Exit::Refused, damaged.join("; "), "the page shows what is sound; compile it again")
        .into())
}
