//! The command line of `ane`: one file for each command, declarations only.
//!
//! `xtask` compiles this folder once more to make the man pages, so nothing in here names the rest of the program.

mod completions;
mod convert;
mod decode;
pub(crate) mod device;
mod man;
pub(crate) mod pages;
mod vm;
mod run;

use clap::{Parser, Subcommand};

pub(crate) use completions::Completions;
pub(crate) use convert::Convert;
pub(crate) use decode::Decode;
pub(crate) use man::Man;
pub(crate) use vm::{Vm, VmArch, VmCheck, VmCommand, VmRecover, VmRun, VmSetup};
pub(crate) use run::{Assignment, Run};

/// Programs of the Apple Neural Engine: run, taken apart, built, compared, without the engine
#[derive(Debug, Parser)]
#[command(
    name = "ane",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "\
Examples:
  ane decode program.hwx            name every word of a compiled program
  ane decode --json program.anec    the same for another program to read
  ane convert program.hwx out.anec  repackage for the Linux driver's clients

Exit codes:
  0  done
  1  a file is missing, damaged or refused, or cannot be written
  2  the command line is wrong
  3  there is no device, or it is lost
  4  the engine did not run the program to its end
  5  what was compared differs, or a check failed
`ane exec` ends as its command does."
)]
pub(crate) struct Cli {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Decode(Decode),
    Convert(Convert),
    Vm(Vm),
    Completions(Completions),
    Man(Man),
}
