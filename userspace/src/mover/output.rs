//! The output of a script: for people a line each, for programs a value.

use std::fmt;

use serde::Serialize;

use super::script::Memory;

const LINE: usize = 16;

/// Something that a script shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// The line of the script.
    pub line: usize,
    #[serde(flatten)]
    pub what: What,
}

impl Shown {
    /// True if it is that something was refused.
    pub const fn is_refusal(&self) -> bool {
        matches!(self.what, What::Refused { .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    Bytes { memory: Memory, at: u32, bytes: Vec<u8> },
    Register { name: String, value: u32 },
    Refused { outcome: &'static str },
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
            What::Refused { outcome } => writeln!(f, "line {}: refused: {outcome}", self.line),
        }
    }
}
