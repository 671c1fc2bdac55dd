//! Every register with its value.

use ane_uapi::hw::lookup::register_at;
use ane_uapi::hw::space::EngineOffset;
use serde::Serialize;

use super::{ReportError, Source};
use crate::decode::shown;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Registers {
    /// In the order of the container; those whose reading would change something are left out.
    pub registers: Vec<RegisterValue>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RegisterValue {
    /// Offset in the container.
    pub at: u32,
    pub range: &'static str,
    pub name: &'static str,
    /// Index among those of that name, where its block has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u16>,
    pub value: u32,
    /// The value after a reset.
    pub reset: u32,
    pub fields: Vec<FieldValue>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldValue {
    pub name: &'static str,
    pub shown: String,
}

impl Registers {
    pub fn of(source: &Source) -> Result<Self, ReportError> {
        Self::read(&source.report("registers")?)
    }

    fn read(text: &str) -> Result<Self, ReportError> {
        let value = |line: &str| {
            value(line).ok_or_else(|| ReportError::Nonsense { what: "registers", line: line.to_owned() })
        };
        Ok(Self { registers: text.lines().map(value).collect::<Result<_, _>>()? })
    }
}

/// The register that a line such as `0x1c24000 0x1` is about.
fn value(line: &str) -> Option<RegisterValue> {
    let number = |word: &str| u32::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let (at, value) = line.split_once(' ')?;
    let (at, value) = (number(at)?, number(value)?);
    let place = register_at(EngineOffset(at))?;
    let fields = place.register.fields.iter().filter_map(|field| {
        let value = field.of(value);
        (value != 0).then(|| FieldValue { name: field.name, shown: shown(field, value) })
    });
    Some(RegisterValue {
        at,
        range: place.range.name,
        name: place.register.name,
        index: (place.register.count > 1).then_some(place.index),
        value,
        reset: place.register.reset,
        fields: fields.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn register_is_found_by_its_place() {
        let registers = Registers::read("0x1c25400 0x0\n0x1800100 0x80\n").unwrap().registers;
        let text: Vec<_> = registers.iter().map(|register| (register.range, register.name)).collect();
        assert_eq!(text[1], ("dart0", "TCR"));
        assert_eq!(registers[1].fields[0].shown, "1");
        assert_eq!(registers[1].index, Some(0));
        assert_eq!(text[0].0, "task queues");
    }

    #[test]
    fn line_that_is_no_register_is_refused() {
        for line in ["", "0x1c24000", "0x1c24000 1", "0x1c00000 0x1", "0x1c24000 0x100000000"] {
            assert!(Registers::read(&format!("{line}\n")).is_err(), "{line}");
        }
    }
}
