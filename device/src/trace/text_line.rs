//! A record as a line of text, and back: how a daemon tells its timeline to another process.
//!
//! ```text
//! START END queue NUMBER nid NUMBER task INDEX WHAT ...
//! 1200 5300 queue 4 nid 64 task 1 transfer tile-fetch-1 512
//! ```
//!
//! Times are nanoseconds. A line that is read comes from another process, so a line of another form is refused.

use std::fmt;
use std::str::{FromStr, SplitAsciiWhitespace};

use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::td::common::TaskClass;
use ane_uapi::hw::tq::QueueId;
use thiserror::Error;

use super::{Event, Record, Stamp, Task, What};
use crate::dart::Circuit;
use crate::engine::numerics::Numerics;
use crate::timing::phases::Part;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("line does not describe an event")]
pub struct BadLine;

struct OneWord(&'static str);

impl fmt::Display for OneWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = self.0.split(' ');
        f.write_str(words.next().unwrap_or_default())?;
        words.try_for_each(|word| write!(f, "-{word}"))
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, end, event: Event { task, what } } = self;
        let (queue, nid) = (task.queue.number(), task.nid.number());
        write!(f, "{} {} queue {queue} nid {nid} task {} ", start.0, end.0, task.index)?;
        match *what {
            What::RequestBegin { tasks } => write!(f, "begin {tasks}"),
            What::RequestEnd { succeeded: true } => f.write_str("end done"),
            What::RequestEnd { succeeded: false } => f.write_str("end failed"),
            What::RequestAside => f.write_str("aside"),
            What::Transfer { circuit, bytes } => write!(f, "transfer {} {bytes}", OneWord(circuit.name())),
            What::Pass { class, shape: [c, h, w], numerics, macs } => {
                let numerics = numerics.map_or("planar", Numerics::name);
                write!(f, "pass {} {c} {h} {w} {numerics} {macs}", class as u8)
            }
            What::Modelled { part, cycles } => write!(f, "modelled {} {cycles}", part as u8),
            What::Fault { circuit, address } => write!(f, "fault {} {address}", OneWord(circuit.name())),
            What::Fallback { circuit, address, bytes } => {
                write!(f, "fallback {} {address} {bytes}", OneWord(circuit.name()))
            }
            What::Unpaid { circuit } => write!(f, "unpaid {}", OneWord(circuit.name())),
            What::TranslationWait { picoseconds } => write!(f, "wait {picoseconds}"),
        }
    }
}

/// The words of a line, taken one after the other.
struct Words<'a>(SplitAsciiWhitespace<'a>);

impl<'a> Words<'a> {
    fn word(&mut self) -> Result<&'a str, BadLine> {
        self.0.next().ok_or(BadLine)
    }

    fn number<T: FromStr>(&mut self) -> Result<T, BadLine> {
        self.word()?.parse().map_err(|_| BadLine)
    }

    fn behind<T: FromStr>(&mut self, word: &str) -> Result<T, BadLine> {
        if self.word()? == word { self.number() } else { Err(BadLine) }
    }

    fn circuit(&mut self) -> Result<Circuit, BadLine> {
        let word = self.word()?;
        let is_it = |circuit: &Circuit| OneWord(circuit.name()).to_string() == word;
        Circuit::ALL.into_iter().find(is_it).ok_or(BadLine)
    }

    fn what(&mut self) -> Result<What, BadLine> {
        Ok(match self.word()? {
            "begin" => What::RequestBegin { tasks: self.number()? },
            "end" => match self.word()? {
                "done" => What::RequestEnd { succeeded: true },
                "failed" => What::RequestEnd { succeeded: false },
                _ => return Err(BadLine),
            },
            "aside" => What::RequestAside,
            "transfer" => What::Transfer { circuit: self.circuit()?, bytes: self.number()? },
            "pass" => What::Pass {
                class: TaskClass::try_from(self.number::<u8>()?).map_err(|_| BadLine)?,
                shape: [self.number()?, self.number()?, self.number()?],
                numerics: match self.word()? {
                    "planar" => None,
                    name => Some(name.parse().map_err(|_| BadLine)?),
                },
                macs: self.number()?,
            },
            "modelled" => {
                let number: u8 = self.number()?;
                let part = Part::ALL.into_iter().find(|&part| part as u8 == number);
                What::Modelled { part: part.ok_or(BadLine)?, cycles: self.number()? }
            }
            "fault" => What::Fault { circuit: self.circuit()?, address: self.number()? },
            "fallback" => {
                What::Fallback { circuit: self.circuit()?, address: self.number()?, bytes: self.number()? }
            }
            "unpaid" => What::Unpaid { circuit: self.circuit()? },
            "wait" => What::TranslationWait { picoseconds: self.number()? },
            _ => return Err(BadLine),
        })
    }
}

impl FromStr for Record {
    type Err = BadLine;

    fn from_str(line: &str) -> Result<Self, BadLine> {
        let mut words = Words(line.split_ascii_whitespace());
        let (start, end) = (Stamp(words.number()?), Stamp(words.number()?));
        let task = Task {
            queue: QueueId::new(words.behind("queue")?).map_err(|_| BadLine)?,
            nid: Nid::new(words.behind("nid")?).map_err(|_| BadLine)?,
            index: words.behind("task")?,
        };
        let what = words.what()?;
        let is_all = words.0.next().is_none();
        if is_all { Ok(Self { start, end, event: Event { task, what } }) } else { Err(BadLine) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(what: What) -> Record {
        let task = Task { queue: QueueId::LINUX, nid: Nid::LINUX, index: 3 };
        Record { start: Stamp(1200), end: Stamp(5300), event: Event { task, what } }
    }

    #[test]
    fn every_event_is_read_back_as_it_is_written() {
        let circuit = Circuit::TileFetch2;
        let pass = |class, numerics| What::Pass { class, shape: [16, 1, 32], numerics, macs: 512 };
        for what in [
            What::RequestBegin { tasks: 2 },
            What::RequestEnd { succeeded: true },
            What::RequestEnd { succeeded: false },
            What::RequestAside,
            What::Transfer { circuit, bytes: u64::MAX },
            pass(TaskClass::Neural, Some(Numerics::Exact)),
            pass(TaskClass::Neural, None),
            What::Modelled { part: Part::TileWrite, cycles: 9 },
            What::Fault { circuit, address: u32::MAX },
            What::Fallback { circuit, address: 1 << 40, bytes: 64 },
            What::Unpaid { circuit },
            What::TranslationWait { picoseconds: 7 },
        ] {
            let line = record(what).to_string();
            assert_eq!(line.parse(), Ok(record(what)), "{line}");
        }
        let transfer = record(What::Transfer { circuit, bytes: 512 });
        assert_eq!(transfer.to_string(), "1200 5300 queue 4 nid 64 task 3 transfer tile-fetch-2 512");
    }

    #[test]
    fn line_that_tells_of_no_event_is_refused() {
        for line in [
            "",
            "1 2",
            "1 2 queue 8 nid 1 task 0 begin 1",
            "1 2 queue 4 nid 0 task 0 begin 1",
            "1 2 queue 4 nid 1 task 65536 begin 1",
            "1 2 queue 4 nid 1 task 0 begin",
            "1 2 queue 4 nid 1 task 0 begin 1 2",
            "1 2 queue 4 nid 1 task 0 sleep 1",
            "1 2 queue 4 nid 1 task 0 transfer nowhere 1",
            "1 2 queue 4 nid 1 task 0 pass 99 1 1 1 m1 1",
            "1 2 queue 4 nid 1 task 0 modelled 4 1",
        ] {
            assert_eq!(line.parse::<Record>(), Err(BadLine), "{line}");
        }
    }
}
