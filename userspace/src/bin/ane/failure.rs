//! How a command ends when it does not end well: an exit code, what is wrong, and what to try.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

use ane::container;
use ane::decode::is_upsetting;

use crate::{files, limits};

/// The exit codes, as `ane --help` lists them. 2, the command line, is given by the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// A file is missing, damaged or refused, or cannot be written.
    Refused = 1,
    /// The arguments contradict each other, or do not fit the program.
    CommandLine = 2,
    /// There is no device, or it is lost.
    NoDevice = 3,
    /// The engine did not run the program to its end.
    NotRun = 4,
    /// The compared values differ, or a check failed.
    Differs = 5,
    /// The command of `ane exec` cannot be started.
    CannotStart = 126,
    /// The command of `ane exec` is not there.
    NoCommand = 127,
}

/// An error with its exit code, and what to try.
#[derive(Debug, thiserror::Error)]
#[error("{what}; {advice}")]
pub(crate) struct Failure {
    exit: Exit,
    what: String,
    advice: Cow<'static, str>,
    /// The lines below the message.
    lines: Vec<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, what: impl fmt::Display, advice: impl Into<Cow<'static, str>>) -> Self {
        Self { exit, what: what.to_string(), advice: advice.into(), lines: Vec::new() }
    }

    pub(crate) fn with_lines(self, lines: Vec<String>) -> Self {
        Self { lines, ..self }
    }
}

pub(crate) trait Advise<T> {
    fn advise(self, exit: Exit, advice: impl Into<Cow<'static, str>>) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> Advise<T> for Result<T, E> {
    fn advise(self, exit: Exit, advice: impl Into<Cow<'static, str>>) -> anyhow::Result<T> {
        self.map_err(|error| {
            let error = error.into();
            // A reader that closes the pipe is no failure, wherever the error was noticed. Advice from closer to
            // the error wins.
            if is_broken_pipe(&error) || error.is::<Failure>() {
                return error;
            }
            Failure::new(exit, format_args!("{error:#}"), advice).into()
        })
    }
}

pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        // `head` has had enough: nothing went wrong.
        return ExitCode::SUCCESS;
    }
    let text = one_line(&format!("{error:#}"));
    let limit = limits::behind(&text).map(|limit| format!("; {limit}")).unwrap_or_default();
    match error.chain().find_map(|cause| cause.downcast_ref::<Failure>()) {
        Some(failure) => {
            files::tell(format_args!("{text}{limit}"));
            for line in &failure.lines {
                files::tell_more(one_line(line));
            }
            ExitCode::from(failure.exit as u8)
        }
        None => {
            files::tell(format_args!("{text}; {}{limit}", general_advice(error)));
            ExitCode::from(Exit::Refused as u8)
        }
    }
}

/// Advice for an error that has none of its own.
fn general_advice(error: &anyhow::Error) -> &'static str {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    match io.map(io::Error::kind) {
        Some(ErrorKind::NotFound) => "check the path",
        Some(ErrorKind::PermissionDenied) => "check who may use it, or name another",
        Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => "make room, or name another place",
        Some(ErrorKind::FileTooLarge) => "raise the limit on the length of files, or name another place",
        Some(ErrorKind::IsADirectory) => "name a file",
        Some(ErrorKind::InvalidData) => "make it again, or name another file",
        Some(_) => "try again, or name another file",
        None if error.chain().any(|cause| cause.is::<container::Error>()) => {
            "compile it again, or make a program with `ane build`"
        }
        None => "see the examples in `ane help COMMAND`",
    }
}

/// Text of a file may stand in a message; it stays on its line.
fn one_line(text: &str) -> String {
    text.replace(is_upsetting, " ")
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|error| error.kind() == ErrorKind::BrokenPipe)
}
