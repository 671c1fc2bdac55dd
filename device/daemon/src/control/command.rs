//! The commands of the control socket.

use std::str::FromStr;

use ane_device::inject::{BadInjection, Injection};
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Engines,
    Inject(Injection),
    Clear,
    Armed,
    Counters,
    Dump,
    /// Tell what checking mode found, once.
    Findings,
    /// Tell every register that can be looked at.
    Registers,
    Tables,
    Faults,
    /// Keep what happens, or forget it.
    Trace(bool),
    /// Tell what happened last.
    Timeline,
}

/// Every command, as `help` lists it.
pub(crate) const HELP: [(&str, &str); 13] = [
    ("help", "this list"),
    ("engines", "the engines' names"),
    ("inject KIND[:ARG]", "arm a fault, in the words of --inject"),
    ("clear", "disarm every fault, those of the command line too"),
    ("armed", "the faults that are armed"),
    ("counters", "what was counted since the last reset, a name and a number a line"),
    ("dump", "the state, as SIGUSR1 prints it"),
    ("findings", "what checking mode found since last asked"),
    ("registers", "every register that reading does not change, its place and value a line"),
    ("tables", "what each stream's tables map in each window, pages that follow each other together"),
    ("faults", "if a window holds a fault, why the last request failed, and the state"),
    ("trace on|off", "keep what happens from now on, or forget it"),
    ("timeline", "what happened last, an event a line, while trace is on"),
];

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum BadLine {
    #[error("line is empty; \"help\" lists the commands")]
    Empty,
    #[error("command {0:?} is not known; \"help\" lists those that are")]
    Unknown(String),
    /// A word follows that the command does not take.
    #[error("command {0} takes nothing behind it")]
    Extra(&'static str),
    #[error("command {0} takes on or off behind it")]
    Switch(&'static str),
    #[error("{0}")]
    Injection(BadInjection),
}

/// A line: what to do, and with which engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The engine's name, if the line begins with `@` and one.
    pub(crate) engine: Option<String>,
    pub(crate) command: Command,
}

impl FromStr for Line {
    type Err = BadLine;

    fn from_str(text: &str) -> Result<Self, BadLine> {
        let mut words = text.split_ascii_whitespace().peekable();
        let engine = words.peek().and_then(|word| word.strip_prefix('@')).map(str::to_owned);
        if engine.is_some() {
            words.next();
        }
        let word = words.next().ok_or(BadLine::Empty)?;
        let (name, command) = match word {
            "help" => ("help", Command::Help),
            "engines" => ("engines", Command::Engines),
            "inject" => {
                let fault = words.next().unwrap_or_default();
                ("inject", Command::Inject(fault.parse().map_err(BadLine::Injection)?))
            }
            "clear" => ("clear", Command::Clear),
            "armed" => ("armed", Command::Armed),
            "counters" => ("counters", Command::Counters),
            "dump" => ("dump", Command::Dump),
            "findings" => ("findings", Command::Findings),
            "registers" => ("registers", Command::Registers),
            "tables" => ("tables", Command::Tables),
            "faults" => ("faults", Command::Faults),
            "trace" => match words.next() {
                Some("on") => ("trace", Command::Trace(true)),
                Some("off") => ("trace", Command::Trace(false)),
                _ => return Err(BadLine::Switch("trace")),
            },
            "timeline" => ("timeline", Command::Timeline),
            _ => return Err(BadLine::Unknown(word.to_owned())),
        };
        match words.next() {
            Some(_) => Err(BadLine::Extra(name)),
            None => Ok(Self { engine, command }),
        }
    }
}

#[cfg(test)]
mod tests {
    use ane_device::inject::KINDS;

    use super::*;

    #[test]
    fn line_names_a_command_and_the_engine_it_is_for() {
        let line = |text: &str| text.parse::<Line>().unwrap();
        assert_eq!(line(" dump\t"), Line { engine: None, command: Command::Dump });
        assert_eq!(
            line("@ane2 inject lost-interrupt:3"),
            Line { engine: Some("ane2".to_owned()), command: Command::Inject(Injection::LostInterrupt(3)) }
        );
    }

    #[test]
    fn every_command_that_is_listed_is_known() {
        for (form, _) in HELP {
            let line = form.replace("KIND[:ARG]", "stuck-queue").replace("on|off", "on");
            assert!(line.parse::<Line>().is_ok(), "{line}");
        }
    }

    #[test]
    fn line_that_asks_for_nothing_says_what_is_wrong() {
        let refusal = |text: &str| text.parse::<Line>().unwrap_err().to_string();
        assert_eq!(refusal(""), "line is empty; \"help\" lists the commands");
        assert_eq!(refusal("@ane"), "line is empty; \"help\" lists the commands");
        assert_eq!(refusal("stop"), "command \"stop\" is not known; \"help\" lists those that are");
        assert_eq!(
            refusal("a\u{1b}[2J"),
            "command \"a\\u{1b}[2J\" is not known; \"help\" lists those that are"
        );
        assert_eq!(refusal("trace"), "command trace takes on or off behind it");
        assert_eq!(refusal("trace on off"), "command trace takes nothing behind it");
        assert_eq!(refusal("clear all"), "command clear takes nothing behind it");
        assert_eq!(refusal("inject"), format!("fault \"\" is not known; known: {}", KINDS.join(", ")));
        assert_eq!(
            refusal("inject slow-dma"),
            "fault slow-dma needs an argument; write slow-dma:MICROSECONDS"
        );
    }
}
