//! `ane`: tools for programs of the Apple Neural Engine.

mod args;
mod convert;
mod decode;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Decode(args) => decode::run(args),
        Command::Convert(args) => convert::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that closed the pipe, `head` say, has had enough: nothing went wrong.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ane: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
