//! Why a file could not be read.

use std::fmt;

use thiserror::Error;

use super::{anec, hwx};

/// Why a file could not be read as a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    #[error(transparent)]
    Unrecognised(Unrecognised),
    #[error(transparent)]
    Hwx(#[from] hwx::ReadError),
    #[error(transparent)]
    Anec(#[from] anec::ReadError),
}

/// A file that is no container: its length, and the format that its first bytes show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub struct Unrecognised {
    pub len: u64,
    /// The format that its first bytes show, if it is known. The bytes themselves are not shown: messages end
    /// up in logs, and readers of the log may not be allowed to read the file.
    pub looks_like: Option<&'static str>,
}

/// First bytes of files that people have beside their programs, and how to name them.
const KNOWN: &[(&[u8], &str)] = &[
    (b"\xcf\xfa\xed\xfe", "a Mach-O for a processor"),
    (b"\xca\xfe\xba\xbe", "a universal Mach-O"),
    (b"\x7fELF", "an ELF file"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"bplist", "a property list"),
    (b"\xbe\xef\xfa\xce", "an HWX with its bytes swapped"),
];

impl Unrecognised {
    pub(super) fn of(file: &[u8]) -> Self {
        let known = KNOWN.iter().find(|(magic, _)| file.starts_with(magic));
        Self { len: file.len() as u64, looks_like: known.map(|(_, name)| *name) }
    }
}

impl fmt::Display for Unrecognised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.looks_like {
            Some(name) => write!(f, "file looks like {name}")?,
            None if self.len == 0 => f.write_str("file is empty")?,
            None => write!(f, "file of {:#x} bytes is no program", self.len)?,
        }
        write!(
            f,
            "; accepted are HWX, which starts with {:#010x}, and ANEC, which starts with its length \
             less a header of 0x800 or 0x1000 bytes",
            hwx::MAGIC
        )
    }
}
