//! The command line of `ane`: one file for each command, declarations only.
//!
//! `xtask` compiles this folder once more to make the man pages, so nothing in here names the rest of the program.

mod bench;
mod build;
mod campaign;
mod compare;
mod compile;
mod completions;
mod convert;
mod daemon;
mod decode;
mod demo;
pub(crate) mod device;
mod diff;
mod doctor;
mod exec;
mod info;
mod inspect;
mod man;
mod model;
mod mover;
pub(crate) mod pages;
mod patch;
mod report;
mod run;
mod sram;
mod vm;

use clap::{Parser, Subcommand};

pub(crate) use bench::Bench;
pub(crate) use build::Build;
pub(crate) use campaign::{Campaign, CampaignCommand, CampaignReport};
pub(crate) use compare::Compare;
pub(crate) use compile::Compile;
pub(crate) use completions::Completions;
pub(crate) use convert::Convert;
pub(crate) use daemon::Daemon;
pub(crate) use decode::Decode;
pub(crate) use demo::Demo;
pub(crate) use diff::Diff;
pub(crate) use doctor::Doctor;
pub(crate) use exec::Exec;
pub(crate) use info::Info;
pub(crate) use inspect::{Dart, Explain, Faults, Regs, Subject, Trace};
pub(crate) use man::Man;
pub(crate) use model::Model;
pub(crate) use mover::Mover;
pub(crate) use patch::Patch;
pub(crate) use report::Report;
pub(crate) use run::{Assignment, Run};
pub(crate) use sram::Sram;
pub(crate) use vm::{Vm, VmAccelerator, VmArch, VmCheck, VmCommand, VmMachine, VmRecover, VmRun, VmSetup};

/// Programs of the Apple Neural Engine: run, taken apart, built, compared, without the engine
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
