//! `ane patch`.

use std::path::PathBuf;

use ane::container;
use ane::diff::programs;
use ane::patch;
use ane::patch::Edit;
use anyhow::{Context, Result};
use clap::Args;

use crate::failure::{Advise, Exit};
use crate::files::Existing;
use crate::{diff, files};

/// Change registers or constants of a program
///
/// Changes words of the program, keeps everything else, writes it again in the same container, and prints the difference.
/// A register can be set in a task that writes it. A value is a number, the name of a code as `ane decode --explain` prints
/// it, or a floating-point number where the field holds one, whose bits are taken with 0x. Where `ane decode` prints bytes, a field
/// takes bytes.
///
/// --coefficients takes a file with as many bytes as the program has constants, tables and all.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane patch examples/add_relu.anec --task 1 --set MACCfg.nonlinear_mode=none -o without.anec
  ane patch examples/add_relu.anec --task 0 --set PECfg.operation=1 -o product.anec
  ane patch network.anec --coefficients zeros.bin -o zeros.anec")]
pub(crate) struct Patch {
    /// The program: .hwx or .anec, told apart by content; - is standard input
    pub(crate) program: PathBuf,
    /// The task that --set is about, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) task: u32,
    /// Set a register, or a field of one; may be given several times
    #[arg(long = "set", value_name = "REGISTER[.FIELD]=VALUE", required_unless_present = "coefficients")]
    pub(crate) edits: Vec<Edit>,
    /// Replace the constants by the bytes of a file
    #[arg(long, value_name = "FILE")]
    pub(crate) coefficients: Option<PathBuf>,
    /// Where to write it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the difference as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &Patch) -> Result<()> {
    let name = files::name(&args.program);
    let before = files::read(&args.program)?;
    files::program(&args.program, &before)?;
    let advice = "`ane decode --explain` prints each register that a task writes, with its fields";
    let mut after = patch::registers(&before, args.task, &args.edits)
        .with_context(|| name.clone())
        .advise(Exit::Refused, advice)?;
    if let Some(path) = &args.coefficients {
        let bytes = files::read(path)?;
        after = patch::constants(&after, &bytes)
            .with_context(|| files::name(path))
            .advise(Exit::Refused, "`ane decode` prints how many bytes of constants there are")?;
    }
    files::save(&args.output, &after, Existing::forced(args.force))?;
    let (before, after) = (container::open(&before)?, container::open(&after)?);
    let found = programs::compare(&before, &after);
    if args.json { files::print_json(&found) } else { files::print(diff::page(&found)?.as_bytes()) }
}
