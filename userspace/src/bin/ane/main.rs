//! `ane`: tools for programs of the Apple Neural Engine.

mod args;
mod convert;
mod decode;
mod device;
mod failure;
mod files;
mod man;
mod vm;
mod run;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Decode(args) => decode::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Vm(args) => vm::run(args),
        Command::Completions(args) => man::completions(args),
        Command::Man(args) => man::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}
