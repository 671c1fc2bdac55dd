//! The output of a script: for people a line each, for programs a value.

use std::fmt;

use serde::Serialize;

use super::script::Memory;

const LINE: usize = 16;

/// Something that a script shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// The line of the script; of a refusal, the first that it may be of.
    pub line: usize,
    #[serde(flatten)]
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    Bytes {
        memory: Memory,
        at: u32,
        bytes: Vec<u8>,
    },
    Register {
        name: String,
        value: u32,
    },
    /// Commands of this line, or of one from it to `last_line`, were refused: `count` of them, the last one as `outcome`.
    Refused {
        outcome: &'static str,
        count: u32,
        last_line: usize,
    },
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Bytes { memory, at, bytes } => {
                for (start, part) in (*at..).step_by(LINE).zip(bytes.chunks(LINE)) {
                    let hex: Vec<_> = part.iter().map(|byte| format!("{byte:02x}")).collect();
                    writeln!(f, "{} {start:#08x}  {}", memory.name(), hex.join(" "))?;
                }
                Ok(())
            }
            What::Register { name, value } => writeln!(f, "{name} = {value:#x}"),
            What::Refused { outcome, count, last_line } => {
                if *last_line == self.line {
                    write!(f, "line {}: refused", self.line)?;
                } else {
                    write!(f, "lines {} to {last_line}: refused", self.line)?;
                }
                match count {
                    0 | 1 => writeln!(f, ": {outcome}"),
                    count => writeln!(f, " {count} times, the last: {outcome}"),
                }
            }
        }
    }
}
