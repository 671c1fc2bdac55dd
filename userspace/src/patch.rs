//! Registers and constants of a program, edited in its file.
//!
//! Compiler authors want to know what one register does: change it, run the program again. A patch changes words of the file
//! and nothing else, so that the container stays what it was, an `.hwx` with all its sections or an `.anec`. A register can
//! be set in a task that writes it; registers keep their values from task to task, so that one a task does not write is set
//! where it was written. Afterwards the file has to be a program again: what links the tasks cannot be broken this way.

use std::fmt;
use std::str::FromStr;

use ane_uapi::hw::td::{self, header::HEADER};
use ane_uapi::register::{Field, Register, Show};
use half::f16;

use crate::container::{self, LaterGeneration, Program};
use crate::task::{ChainError, Task};
use crate::tensor::{Conversion, overflows};

/// One change: `Register=VALUE`, `Register.field=VALUE`, or either with an index behind the register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The register, or header word, by the hardware's name.
    pub register: String,
    /// Index of the register, in an array of registers.
    pub index: u16,
    /// The field; the whole word without.
    pub field: Option<String>,
    /// The value as it was given: a number, the name of a code, or a floating-point number.
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} is no change; wanted is REGISTER=VALUE, REGISTER.FIELD=VALUE or REGISTER[INDEX].FIELD=VALUE"
)]
pub struct BadEdit {
    pub given: String,
}

impl FromStr for Edit {
    type Err = BadEdit;

    fn from_str(words: &str) -> Result<Self, BadEdit> {
        let bad = || BadEdit { given: words.to_owned() };
        let (place, value) = words.split_once('=').ok_or_else(bad)?;
        let (register, field) = match place.split_once('.') {
            Some((register, field)) => (register, Some(field.trim().to_owned())),
            None => (place, None),
        };
        let (register, index) =
            match register.trim().strip_suffix(']').and_then(|named| named.split_once('[')) {
                Some((register, index)) => (register, index.parse().map_err(|_| bad())?),
                None => (register.trim(), 0),
            };
        let value = value.trim().to_owned();
        if register.is_empty() || value.is_empty() || field.as_deref() == Some("") {
            return Err(bad());
        }
        Ok(Self { register: register.to_owned(), index, field, value })
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.register)?;
        if self.index > 0 {
            write!(f, "[{}]", self.index)?;
        }
        self.field.iter().try_for_each(|field| write!(f, ".{field}"))?;
        write!(f, "={}", self.value)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Container(#[from] container::Error),
    #[error(transparent)]
    Generation(#[from] LaterGeneration),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error("program has no task {task}; {}", match count { 1 => "its only one is task 0".to_owned(), _ => format!("its tasks are 0 to {}", count.saturating_sub(1)) })]
    NoTask { task: u32, count: u32 },
    #[error("no register or header word is called {name:?}{}", nearest.map_or(String::new(), |near| format!("; there is {near}")))]
    NoRegister {
        name: String,
        /// One with the same letters in other case, or one that begins so.
        nearest: Option<&'static str>,
    },
    #[error("register {register} has no field {field:?}; its fields are {known}")]
    NoField { register: &'static str, field: String, known: String },
    #[error("task {task} does not write {register}: it keeps what {}", match last { Some(last) => format!("task {last} wrote, so patch that one"), None => "it holds after reset".to_owned() })]
    NotWritten { task: u32, register: &'static str, last: Option<u32> },
    #[error(
        "task {task} gives no value for {register}: its record goes on behind the descriptor's end, where all values are 0"
    )]
    BehindEnd { task: u32, register: &'static str },
    #[error("the header of task {task} has no word {register}: Flags.tde is not set")]
    NoWord { task: u32, register: &'static str },
    #[error("{place} takes {wanted}, not {given:?}")]
    Value { place: String, wanted: String, given: String },
    #[error(
        "program has {wanted:#x} bytes of constants, the file has {given:#x}; a patch keeps every length"
    )]
    Constants { wanted: usize, given: usize },
}

/// Changes registers of task `number` in a copy of `file`.
///
/// # Errors
///
/// [`enum@Error`] names the edit that cannot be made; none is made then.
///
/// # Examples
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/add_relu.anec");
/// let file = std::fs::read(path)?;
/// let patched = ane::patch::registers(&file, 0, &["PECfg.operation=1".parse()?])?;
/// let report = ane::decode::Report::of(&ane::container::open(&patched)?);
/// assert!(report.tasks[0].summary.starts_with("planar a * b"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn registers(file: &[u8], number: u32, edits: &[Edit]) -> Result<Vec<u8>, Error> {
    let program = container::open(file)?;
    let mut patched = file.to_vec();
    let stream_at = offset_in(file, program.stream);
    for edit in edits {
        let (register, address) = named(edit)?;
        let at = place(&program, number, register, address)?;
        let at = stream_at.saturating_add(at);
        let word = patched.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<4>);
        let word = word.ok_or(Error::BehindEnd { task: number, register: register.name })?;
        *word = edited(edit, register, u32::from_le_bytes(*word))?.to_le_bytes();
    }
    // A header word may have led to the next task: the file has to be a program still.
    let program = container::open(&patched)?;
    program.tasks()?.try_for_each(|task| task.map(drop))?;
    Ok(patched)
}

/// Puts other constants into a copy of `file`: as many bytes as its sections have, one section behind the other.
pub fn constants(file: &[u8], bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let program = container::open(file)?;
    let wanted = program.constants.iter().map(|section| section.bytes.len()).sum();
    if wanted != bytes.len() {
        return Err(Error::Constants { wanted, given: bytes.len() });
    }
    let mut patched = file.to_vec();
    let mut rest = bytes;
    for section in &program.constants {
        let (now, later) = rest.split_at(section.bytes.len().min(rest.len()));
        let at = offset_in(file, section.bytes);
        if let Some(to) = patched.get_mut(at..at.saturating_add(now.len())) {
            to.copy_from_slice(now);
        }
        rest = later;
    }
    Ok(patched)
}

/// Where a slice of the file begins in it.
fn offset_in(file: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr().saturating_sub(file.as_ptr().addr())
}

/// The register that an edit names, and the record address of the one that is meant; a header word has none.
fn named(edit: &Edit) -> Result<(&'static Register, Option<u32>), Error> {
    let blocks = || td::BLOCKS.iter().flat_map(|block| block.registers.iter().copied());
    let header = || HEADER.registers.iter().copied();
    let is_meant = |register: &&'static Register| register.name.eq_ignore_ascii_case(&edit.register);
    let address = |register: &'static Register| {
        register.at(edit.index).ok_or_else(|| Error::Value {
            place: format!("the index of {}", register.name),
            wanted: format!("a number below {}", register.count),
            given: edit.index.to_string(),
        })
    };
    if let Some(register) = blocks().find(is_meant) {
        return Ok((register, Some(address(register)?)));
    }
    if let Some(register) = header().find(is_meant) {
        return address(register).map(|_| (register, None));
    }
    let start: String = edit.register.chars().take(3).collect::<String>().to_ascii_lowercase();
    let similar = |register: &&'static Register| {
        !start.is_empty() && register.name.to_ascii_lowercase().starts_with(&start)
    };
    let nearest = blocks().chain(header()).find(similar).map(|register| register.name);
    Err(Error::NoRegister { name: edit.register.clone(), nearest })
}

/// Byte offset in the stream of the word that task `number` writes to a register.
fn place(
    program: &Program<'_>,
    number: u32,
    register: &'static Register,
    address: Option<u32>,
) -> Result<usize, Error> {
    let mut last = None;
    let mut count = 0;
    for task in program.tasks()? {
        let task = task?;
        count = task.index.saturating_add(1);
        let found = match address {
            Some(address) => written(&task, address),
            None => header_word(&task, register),
        };
        if task.index == number {
            let register = register.name;
            return match found {
                Written::At(word) => Ok(usize::try_from(task.offset_of_word(word)).unwrap_or(usize::MAX)),
                Written::BehindEnd => Err(Error::BehindEnd { task: number, register }),
                Written::Nowhere if address.is_none() => Err(Error::NoWord { task: number, register }),
                Written::Nowhere => Err(Error::NotWritten { task: number, register, last }),
            };
        }
        if !matches!(found, Written::Nowhere) {
            last = Some(task.index);
        }
    }
    Err(Error::NoTask { task: number, count })
}

/// Where in a descriptor a register has its value.
#[derive(Clone, Copy, Debug)]
enum Written {
    /// At this word.
    At(usize),
    /// In one of the zeros that a record announces and the descriptor does not have.
    BehindEnd,
    Nowhere,
}

/// Where a task writes a register last, as that is what counts.
fn written(task: &Task<'_>, address: u32) -> Written {
    let mut found = Written::Nowhere;
    for record in task.records() {
        for (at, (to, _)) in record.writes().enumerate() {
            if to == address {
                let is_there = at < record.values.len();
                let word = record.at.saturating_add(1).saturating_add(at);
                found = if is_there { Written::At(word) } else { Written::BehindEnd };
            }
        }
    }
    found
}

fn header_word(task: &Task<'_>, register: &Register) -> Written {
    let word = register.offset as usize / 4;
    if word < task.header.words() { Written::At(word) } else { Written::Nowhere }
}

fn edited(edit: &Edit, register: &'static Register, word: u32) -> Result<u32, Error> {
    let Some(name) = &edit.field else {
        return number(&edit.value).ok_or_else(|| Error::Value {
            place: register.name.to_owned(),
            wanted: "a number of 32 bits".to_owned(),
            given: edit.value.clone(),
        });
    };
    let Some(field) = register.fields.iter().find(|field| field.name == name && !field.is_unknown()) else {
        let known = register.fields.iter().filter(|field| !field.is_unknown());
        let known: Vec<_> = known.map(|field| field.name).collect();
        return Err(Error::NoField { register: register.name, field: name.clone(), known: known.join(", ") });
    };
    let most = field.of(u32::MAX);
    let value = valued(field, &edit.value).filter(|value| *value <= most);
    let value = value.ok_or_else(|| Error::Value {
        place: format!("{}.{}", register.name, field.name),
        wanted: wanted(field, most),
        given: edit.value.clone(),
    })?;
    Ok(word & !field.mask() | value << field.low)
}

/// A number in single precision, unless it is beyond the largest one.
#[expect(clippy::cast_possible_truncation, reason = "it is rounded")]
fn single(value: f64) -> Option<f32> {
    let single = value as f32;
    (single.is_finite() || !value.is_finite()).then_some(single)
}

/// The number that a field takes for the words.
fn valued(field: &Field, words: &str) -> Option<u32> {
    let float = || words.parse::<f64>().ok().filter(|number| !overflows(words, *number));
    match field.show {
        Show::Codes(codes) => {
            let named = codes.iter().find(|code| code.name.eq_ignore_ascii_case(words));
            named.map(|code| code.value).or_else(|| number(words))
        }
        Show::Half if !words.starts_with("0x") => {
            let half = |value| Conversion::default().bounded(value).ok();
            float().and_then(half).map(|half| half.to_bits().into())
        }
        Show::Single if !words.starts_with("0x") => float().and_then(single).map(f32::to_bits),
        Show::Bytes(shift) => units(number(words)?, shift),
        Show::SignedBytes(shift) => match words.strip_prefix('-') {
            Some(digits) => units(number(digits)?.wrapping_neg(), shift),
            None => units(number(words)?, shift),
        },
        _ => number(words),
    }
}

/// The units of a quantity that is given in bytes, as it is shown.
fn units(bytes: u32, shift: u8) -> Option<u32> {
    let units = bytes.checked_shr(shift.into())?;
    (units.checked_shl(shift.into())? == bytes).then_some(units)
}

fn wanted(field: &Field, most: u32) -> String {
    match field.show {
        Show::Codes(codes) => {
            let names: Vec<_> = codes.iter().map(|code| code.name).collect();
            format!("a number up to {most} or one of: {}", names.join(", "))
        }
        Show::Half => {
            format!("a number such as 1.5, of at most {}, or its bits, up to {most:#x}, with 0x", f16::MAX)
        }
        Show::Single => format!("a number such as 1.5, or its bits, up to {most:#x}, with 0x"),
        Show::Bytes(shift) | Show::SignedBytes(shift) => format!(
            "bytes, a multiple of {}, up to {:#x}",
            1_u64.wrapping_shl(shift.into()),
            u64::from(most).wrapping_shl(shift.into())
        ),
        _ => format!("a number up to {most}"),
    }
}

/// A number, decimal or with `0x`.
fn number(words: &str) -> Option<u32> {
    match words.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => words.parse().ok(),
    }
}

#[cfg(test)]
mod tests;
