//! A task as a report: every word of its descriptor, named, with what it means and where that is known from.

use std::collections::{BTreeMap, BTreeSet};

use ane_uapi::hw::td;
use ane_uapi::hw::td::header::Header;
use ane_uapi::register::{Field, Register, Show};
use serde::Serialize;

use super::program::BarReport;
use super::registers::RegisterFile;
use super::summary::summary;
use super::value::{Address, Word, shown};
use crate::task::Task;

#[derive(Debug, Serialize)]
pub struct TaskReport {
    /// Place in the chain.
    pub index: u32,
    /// Byte offset in the task stream.
    pub offset: Address,
    /// Length of the descriptor.
    pub bytes: u32,
    pub summary: String,
    pub bases: Vec<BaseReport>,
    pub header: Vec<RegisterReport>,
    /// The register writes, by block, in stream order.
    pub blocks: Vec<BlockReport>,
    /// Registers that hold another value than in the previous task; `None` on the first task.
    pub changed: Option<u32>,
}

#[derive(Clone, Debug, Serialize)]
pub struct BaseReport {
    pub what: &'static str,
    pub bar: u8,
    pub role: String,
}

#[derive(Debug, Serialize)]
pub struct BlockReport {
    /// The block, or `unknown` for an address that belongs to none.
    pub name: &'static str,
    /// Byte offset of the record in the task stream.
    pub offset: Address,
    /// Record address of the first register.
    pub address: Address,
    /// Values that would lie behind the descriptor's end, and are zero.
    #[serde(skip_serializing_if = "is_zero")]
    pub missing: u32,
    /// Bits of the record's first word that are set and that no source explains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_bits: Option<Word>,
    pub registers: Vec<RegisterReport>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// One register write, or one word of the header.
#[derive(Debug, PartialEq, Serialize)]
pub struct RegisterReport {
    /// The hardware's name; `None` where no source knows a register.
    pub name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u16>,
    /// Record address; for header words, the byte offset in the descriptor.
    pub address: Address,
    pub value: Word,
    /// The value of the register, or word of the header, in the previous task, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<Word>,
    /// The fields that the sources explain; in JSON, an object from names to numbers.
    #[serde(serialize_with = "numbers")]
    pub fields: Vec<FieldReport>,
    /// The meaning of codes and floating-point numbers: an object from field names to text.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub said: BTreeMap<&'static str, String>,
    /// Bits that are set and that no source explains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_bits: Option<Word>,
    /// The effect of the register; in JSON, the legend has it once.
    #[serde(skip)]
    pub meaning: &'static str,
    #[serde(skip)]
    pub grade: &'static str,
    #[serde(skip)]
    pub source: &'static str,
}

#[derive(Debug, PartialEq)]
pub struct FieldReport {
    pub name: &'static str,
    pub bits: String,
    pub value: u32,
    pub shown: String,
    pub meaning: &'static str,
    pub value_meaning: Option<&'static str>,
    /// How well the field is established, where that differs from the register.
    pub grade: Option<&'static str>,
    /// True for an enumeration, whose value 0 means something too.
    pub enumerated: bool,
    wording: Wording,
}

impl TaskReport {
    /// Reports on `task`, which follows `previous`, and brings `file` up to date.
    pub fn of(task: &Task<'_>, file: &mut RegisterFile, previous: Option<&Self>, bars: &[BarReport]) -> Self {
        let first = task.index == 0;
        let mut changed = BTreeSet::new();
        let mut blocks = Vec::new();
        for record in task.records() {
            let mut registers = Vec::with_capacity(record.values.len());
            for (address, value) in record.writes() {
                let before = file.write(address, value).unwrap_or(0);
                let was = (!first && before != value).then_some(Word(before));
                if was.is_some() {
                    changed.insert(address);
                }
                registers.push(RegisterReport::of(address, value, was));
            }
            blocks.push(BlockReport {
                name: td::block_at(record.header.address()).map_or("unknown", |block| block.name),
                offset: Address(task.offset_of_word(record.at)),
                address: Address(record.header.address().into()),
                missing: record.missing as u32,
                unknown_bits: (record.header.low() != 0).then_some(Word(record.header.low().into())),
                registers,
            });
        }
        Self {
            index: task.index,
            offset: Address(task.offset.into()),
            bytes: task.len_bytes(),
            summary: summary(file),
            bases: bases(&task.header, bars),
            header: task
                .header
                .rows()
                .enumerate()
                .map(|(at, (register, word))| {
                    let before = previous.and_then(|task| task.header.get(at)).map(|row| row.value);
                    let was = before.filter(|before| before.0 != word);
                    RegisterReport::known(register, 0, register.offset, word, was)
                })
                .collect(),
            blocks,
            changed: (!first).then_some(changed.len() as u32),
        }
    }
}

/// The base addresses that a header enables, with what the program has there.
fn bases(header: &Header, bars: &[BarReport]) -> Vec<BaseReport> {
    let (operands, kernels) = (header.operands, header.kernels);
    let enabled = [
        ("source 1", operands.rbe0(), operands.rbase0()),
        ("source 2", operands.rbe1(), operands.rbase1()),
        ("result", operands.wbe(), operands.wbase()),
        ("coefficients", kernels.kbe0(), kernels.kbase0()),
        ("more coefficients", kernels.kbe1(), kernels.kbase1()),
        ("more coefficients", kernels.kbe2(), kernels.kbase2()),
        ("more coefficients", kernels.kbe3(), kernels.kbase3()),
    ];
    let role = |index| bars.iter().find(|bar| bar.index == index).map(|bar| bar.role.clone());
    enabled
        .into_iter()
        .filter(|(_, enabled, _)| *enabled)
        .map(|(what, _, bar)| {
            let role = role(bar).unwrap_or_else(|| "nothing that the file names".to_owned());
            BaseReport { what, bar, role }
        })
        .collect()
}

impl RegisterReport {
    fn of(address: u32, value: u32, was: Option<Word>) -> Self {
        match td::find(address) {
            Some(place) => Self::known(place.register, place.index, address, value, was),
            None => Self {
                name: None,
                index: None,
                address: Address(address.into()),
                value: Word(value),
                was,
                fields: Vec::new(),
                said: BTreeMap::new(),
                unknown_bits: (value != 0).then_some(Word(value)),
                meaning: "no source knows a register here",
                grade: "",
                source: "",
            },
        }
    }

    fn known(register: &'static Register, index: u16, address: u32, value: u32, was: Option<Word>) -> Self {
        let unknown = value & register.unknown;
        let named = || register.fields.iter().filter(|field| !field.is_unknown());
        Self {
            name: Some(register.name),
            index: (register.count > 1).then_some(index),
            address: Address(address.into()),
            value: Word(value),
            was,
            said: named()
                .filter(|field| says_more(field))
                .map(|field| (field.name, shown(field, field.of(value))))
                .collect(),
            fields: named().map(|field| FieldReport::of(field, value)).collect(),
            unknown_bits: (unknown != 0).then_some(Word(unknown)),
            meaning: register.doc.trim(),
            grade: register.grade.name(),
            source: register.source,
        }
    }
}

/// True for numbers that a reader of JSON would have to look up.
const fn says_more(field: &Field) -> bool {
    matches!(field.show, Show::Codes(_) | Show::Half | Show::Single)
}

fn numbers<S: serde::Serializer>(fields: &[FieldReport], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(fields.iter().map(|field| (field.name, field.value)))
}

/// How much text has to say about a field besides its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wording {
    /// One bit: its name is enough.
    Flag,
    /// The whole word, as a bit pattern.
    WholeWord,
    /// A quantity with its unit: its name would add nothing.
    Quantity,
    Named,
}

impl Wording {
    fn of(field: &Field) -> Self {
        match (field.bits, field.show) {
            (_, Show::Codes(_)) => Self::Named,
            (1, _) => Self::Flag,
            (32, Show::Hex) => Self::WholeWord,
            (_, Show::Bytes(_) | Show::SignedBytes(_)) => Self::Quantity,
            _ => Self::Named,
        }
    }
}

impl FieldReport {
    pub(super) const fn wording(&self) -> Wording {
        self.wording
    }

    fn of(field: &'static Field, word: u32) -> Self {
        let value = field.of(word);
        Self {
            name: field.name,
            bits: field.range().to_string(),
            value,
            shown: shown(field, value),
            meaning: field.doc.trim(),
            value_meaning: field.code(value).map(|code| code.doc.trim()),
            grade: field.grade.map(|grade| grade.name()),
            enumerated: matches!(field.show, Show::Codes(_)),
            wording: Wording::of(field),
        }
    }
}
