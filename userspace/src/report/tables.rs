//! What many tasks have in common, stored once: registers with their meaning, and texts.
//!
//! A task of the page has numbers only. The page's script looks them up here, and makes the text of a field out of the
//! register's word, as [`shown`](crate::decode::shown) does.

use std::collections::BTreeMap;

use ane_uapi::hw::td;
use ane_uapi::hw::td::header::HEADER;
use ane_uapi::register::{Register, Show};
use serde::{Serialize, Serializer};

use super::short::{self, json_bytes};

/// The bit that tells the words of a header from registers. Addresses of records have 26 bits.
const HEADER_BIT: u32 = 1 << 31;

/// Where a word of a descriptor goes: the record address of a register, or a word of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(u32);

impl Place {
    pub(super) const fn record(address: u32) -> Self {
        Self(address)
    }

    pub(super) const fn header(offset: u32) -> Self {
        Self(offset | HEADER_BIT)
    }

    fn known(self) -> Option<(&'static str, &'static Register, u16)> {
        if self.0 & HEADER_BIT != 0 {
            let (register, index) = HEADER.find(self.0 & !HEADER_BIT)?;
            Some(("header", register, index))
        } else {
            td::find(self.0).map(|place| (place.block.name, place.register, place.index))
        }
    }
}

/// The page's explanation of a register, once.
#[derive(Clone, Debug, Serialize)]
struct Meaning {
    name: &'static str,
    block: &'static str,
    meaning: &'static str,
    grade: &'static str,
    source: &'static str,
    /// Bits that no source explains.
    #[serde(skip_serializing_if = "short::is_zero")]
    unknown: u32,
    fields: Vec<FieldMeaning>,
}

/// Name, lowest bit, number of bits, how a number is shown, meaning, and the grade where it is another than the register's.
#[derive(Clone, Debug, Serialize)]
struct FieldMeaning(&'static str, u8, u8, Shown, &'static str, Option<&'static str>);

impl Meaning {
    fn of(block: &'static str, register: &'static Register) -> Self {
        let fields = register.fields.iter().filter(|field| !field.is_unknown()).map(|field| {
            let grade = field.grade.map(|grade| grade.name());
            FieldMeaning(field.name, field.low, field.bits, Shown(field.show), field.doc.trim(), grade)
        });
        Self {
            name: register.name,
            block,
            meaning: register.doc.trim(),
            grade: register.grade.name(),
            source: register.source,
            unknown: register.unknown,
            fields: fields.collect(),
        }
    }
}

/// A word for the script; of codes, an object from numbers to names; of bytes, the number of bits to shift by,
/// less than zero if they have a sign.
#[derive(Clone, Copy, Debug)]
struct Shown(Show);

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = match self.0 {
            Show::Bytes(shift) => return serializer.serialize_u8(shift),
            Show::SignedBytes(shift) => return serializer.serialize_i16(-i16::from(shift)),
            Show::Codes(codes) => {
                return serializer.collect_map(codes.iter().map(|code| (code.value, code.name)));
            }
            Show::Decimal => "decimal",
            Show::Hex => "hex",
            Show::Half => "half",
            Show::Single => "single",
            Show::Log2 => "log2",
            Show::Log2PlusOne => "log2 plus one",
        };
        serializer.serialize_str(name)
    }
}

/// A word that tasks write: its register's number, and which of several it is. An address that no source knows has no register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Slot {
    One(usize),
    OneOf(usize, u16),
    Unknown { address: u32 },
}

/// The tables of a page.
#[derive(Debug, Default, Serialize)]
pub(super) struct Tables {
    registers: Vec<Meaning>,
    slots: Vec<Slot>,
    texts: Vec<String>,
    #[serde(skip)]
    known_registers: BTreeMap<(&'static str, &'static str), usize>,
    #[serde(skip)]
    known_slots: BTreeMap<Place, usize>,
    #[serde(skip)]
    known_texts: BTreeMap<String, usize>,
    /// Bytes that files have added: texts, and addresses that no source knows. The known registers are few.
    #[serde(skip)]
    bytes: usize,
}

impl Tables {
    /// Bytes of the tables that depend on what files hold.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of a text. Names of a file are cut before.
    pub(super) fn text(&mut self, text: &str) -> usize {
        if let Some(&number) = self.known_texts.get(text) {
            return number;
        }
        let number = self.texts.len();
        self.bytes = self.bytes.saturating_add(json_bytes(&text));
        self.known_texts.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }

    /// The number of a word that tasks write.
    pub(super) fn slot(&mut self, place: Place) -> usize {
        if let Some(&number) = self.known_slots.get(&place) {
            return number;
        }
        let slot = match place.known() {
            Some((block, register, index)) => {
                let number = self.register(block, register);
                if register.count > 1 { Slot::OneOf(number, index) } else { Slot::One(number) }
            }
            None => Slot::Unknown { address: place.0 },
        };
        if matches!(slot, Slot::Unknown { .. }) {
            self.bytes = self.bytes.saturating_add(json_bytes(&slot));
        }
        let number = self.slots.len();
        self.known_slots.insert(place, number);
        self.slots.push(slot);
        number
    }

    fn register(&mut self, block: &'static str, register: &'static Register) -> usize {
        let next = self.registers.len();
        let number = *self.known_registers.entry((block, register.name)).or_insert(next);
        if number == next {
            self.registers.push(Meaning::of(block, register));
        }
        number
    }
}
