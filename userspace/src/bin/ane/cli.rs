//! The command line of `ane` as a whole. The arguments of a command are declared in the file of the command.

use clap::{Parser, Subcommand};

use crate::bench::Bench;
use crate::build::Build;
use crate::campaign::Campaign;
use crate::compare::Compare;
use crate::compile::Compile;
use crate::convert::Convert;
use crate::daemon::Daemon;
use crate::decode::Decode;
use crate::demo::Demo;
use crate::diff::Diff;
use crate::doctor::Doctor;
use crate::exec::Exec;
use crate::info::Info;
use crate::inspect::{Dart, Explain, Faults, Regs, Trace};
use crate::man::{Completions, Man};
use crate::mover::Mover;
use crate::patch::Patch;
use crate::report::Report;
use crate::run::Run;
use crate::sram::Sram;
use crate::vm::Vm;

/// Run, decode, build and compare programs of the Apple Neural Engine, without the engine
#[derive(Debug, Parser)]
#[command(
    name = "ane",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "\
Examples:
  ane demo                          a network, built, run and checked: start here
  ane run program.hwx -i x=x.npy    run a compiled program on your arrays
  ane decode program.hwx            name every word of it
  ane exec -- python3 infer.py      run a client of /dev/accel/accel0 unmodified
  ane doctor                        what works on this machine, and what to do

Exit codes:
  0  done
  1  a file is missing, damaged or refused, or cannot be written
  2  the command line is wrong
  3  there is no device, or it is lost
  4  the engine did not run the program to its end
  5  the compared values differ, or a check failed
`ane exec` ends as its command does."
)]
pub(crate) struct Cli {
    /// Command to run
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Command to run
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Demo(Demo),
    Build(Build),
    Compile(Compile),
    Compare(Compare),
    Info(Info),
    Decode(Decode),
    Diff(Diff),
    Campaign(Campaign),
    Convert(Convert),
    Patch(Patch),
    Report(Report),
    Exec(Exec),
    Daemon(Daemon),
    Mover(Mover),
    Vm(Vm),
    Dart(Dart),
    Regs(Regs),
    Faults(Faults),
    Trace(Trace),
    Explain(Explain),
    Bench(Bench),
    Doctor(Doctor),
    Sram(Sram),
    Completions(Completions),
    Man(Man),
}
