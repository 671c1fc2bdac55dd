//! `ane decode`.

use std::path::PathBuf;

use ane::container::Program;
use ane::decode::{Damage, ProgramReport, Streamed, TaskReports, text};
use anyhow::{Result, anyhow};
use clap::Args;

use crate::failure::{Advise, Exit};
use crate::files;

/// Print a compiled program, word by word
///
/// Reads a .hwx or .anec file and prints its container, its surfaces, its table of base addresses, and each
/// task: the header, then the registers by block, with the name, value and meaning of every field. Bits
/// that no source explains are marked. After the first task, an asterisk marks each register that changed.
///
/// Needs no device and changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane decode examples/add_relu.anec
  ane decode --explain examples/add_relu.anec | less
  ane decode --changes network.hwx
  ane decode --json network.hwx | jq '.tasks[].summary'")]
pub(crate) struct Decode {
    /// The program: .hwx or .anec, told apart by content; - is standard input
    pub(crate) file: PathBuf,
    /// Print JSON for another program to read; it has everything that the other options show
    #[arg(long, conflicts_with_all = ["all", "explain", "changes"])]
    pub(crate) json: bool,
    /// Say what each register and field does, how well that is established, and its source
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print fields that are zero, too
    #[arg(long)]
    pub(crate) all: bool,
    /// After the first task, print only the registers that changed
    #[arg(long)]
    pub(crate) changes: bool,
}

pub(crate) fn run(args: &Decode) -> Result<()> {
    let name = files::name(&args.file);
    let bytes = files::read(&args.file)?;
    let program = files::program(&args.file, &bytes)?;
    let damage = if args.json { json(&program) } else { page(args, &program) }?;
    match damage {
        Some(damage) => Err(anyhow!("{name}: {damage}"))
            .advise(Exit::Refused, "what is sound of it is printed; compile it again"),
        None => Ok(()),
    }
}

fn json(program: &Program<'_>) -> Result<Option<Damage>> {
    files::stream_json(&Streamed(program))?;
    // The tasks were printed already; it costs little to walk along them once more for the error at their end.
    Ok(Damage::of(program))
}

fn page(args: &Decode, program: &Program<'_>) -> Result<Option<Damage>> {
    let style = text::Style { all: args.all, explain: args.explain, changes_only: args.changes };
    let whole = ProgramReport::of(program);
    let mut tasks = TaskReports::of(program);
    files::print_with(|out| {
        let mut part = String::new();
        // Writing to a string cannot fail.
        let _ = text::program(&mut part, &whole);
        out.write_all(part.as_bytes())?;
        while let Some(task) = tasks.next(&whole.bars) {
            part.clear();
            let _ = text::task(&mut part, task, style);
            out.write_all(part.as_bytes())?;
        }
        Ok(())
    })?;
    Ok(tasks.damage())
}
