//! `ane`: tools for programs of the Apple Neural Engine.

mod bench;
mod build;
mod campaign;
mod cli;
mod compare;
mod compile;
mod convert;
mod daemon;
mod decode;
mod demo;
mod device;
mod diff;
mod doctor;
mod exec;
mod failure;
mod files;
mod info;
mod inspect;
mod limits;
mod man;
mod model;
mod mover;
mod pages;
mod patch;
mod report;
mod run;
mod sram;
mod vm;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    limits::tell_of_files();
    let done = match &cli.command {
        // The only one that ends as somebody else does.
        Command::Exec(args) => return exec::run(args).unwrap_or_else(|error| failure::report(&error)),
        Command::Run(args) => run::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Info(args) => info::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Campaign(args) => campaign::run(args),
        Command::Build(args) => build::run(args),
        Command::Compile(args) => compile::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Dart(args) => inspect::dart(args),
        Command::Explain(args) => inspect::explain(args),
        Command::Faults(args) => inspect::faults(args),
        Command::Regs(args) => inspect::regs(args),
        Command::Trace(args) => inspect::trace(args),
        Command::Daemon(args) => daemon::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Decode(args) => decode::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Mover(args) => mover::run(args),
        Command::Patch(args) => patch::run(args),
        Command::Report(args) => report::run(args),
        Command::Vm(args) => vm::run(args),
        Command::Sram(args) => sram::run(args),
        Command::Completions(args) => man::completions(args),
        Command::Man(args) => man::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}
