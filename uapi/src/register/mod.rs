//! Registers as data.
//!
//! A register of the engine is declared once, and everything that has to agree about it is made from
//! that declaration: the typed word that code computes with, the row that `docs/registers.md`, the C
//! header and a register dump print, and the table by which a device finds it.
//!
//! * [`layout!`](crate::layout) declares the *word*: its fields, from bit 0 upwards.
//! * [`codes!`](crate::codes) declares the *values* of an enumerated field; decoding one is fallible.
//! * [`registers!`](crate::registers) declares the *places*: a block and the registers in it, each with
//!   what it does, where that is known from, and how well.

mod macros;

use core::marker::PhantomData;

use thiserror::Error;

use crate::hw::space::EngineOffset;
use crate::named;

named! {
    /// How well a fact is established.
    #[derive(PartialOrd, Ord)]
    pub enum Grade {
        /// Observed on real silicon, value recorded.
        Measured "measured",
        /// Read out of binaries or working drivers, or reproduced by executing compiled programs.
        Derived "derived",
        /// Plausible, not established.
        Predicted "predicted",
        /// Decided by this project, because no source says it; see the decision records.
        Chosen "chosen",
    }
}

named! {
    /// The effect of an access to a register.
    pub enum Access {
        /// Reads give the state; writes are ignored.
        ReadOnly "RO",
        /// Reads give what was last written.
        ReadWrite "RW",
        /// Writing ones clears the bits written.
        WriteOneToClear "W1C",
        /// Writing starts something.
        Trigger "trigger",
        /// Reading takes the next entry of a queue.
        Pop "pop",
    }
}

/// One named value of an enumerated field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub value: u32,
    /// The variant's name in Rust, from which macros are named.
    pub ident: &'static str,
    /// The short name that dumps print.
    pub name: &'static str,
    pub doc: &'static str,
}

/// A field held a number that has no meaning known to this project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{value:#x} is no known {what}")]
pub struct UnknownCode {
    /// The enumeration that was asked.
    pub what: &'static str,
    pub value: u32,
}

/// How a field's number is best read by a person.
#[derive(Clone, Copy, Debug)]
pub enum Show {
    /// A count or an extent.
    Decimal,
    /// A bit pattern or an offset.
    Hex,
    /// A multiple of a power of two, shown in bytes: field value shifted left by this.
    Bytes(u8),
    /// The same of a field whose uppermost bit, bit 31 of the word, is a sign.
    SignedBytes(u8),
    /// An IEEE 754 half.
    Half,
    /// An IEEE 754 single.
    Single,
    /// The logarithm of a count, shown as the count.
    Log2,
    /// The same plus one, so that 0 can say that there are none.
    Log2PlusOne,
    Codes(&'static [Code]),
}

#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name, as in the typed word; `__` for bits that no source explains.
    pub name: &'static str,
    pub low: u8,
    pub bits: u8,
    pub doc: &'static str,
    pub show: Show,
    /// Grade, where it differs from the register's.
    pub grade: Option<Grade>,
}

impl Field {
    /// A field whose place is still to be computed; used by [`layout!`](crate::layout).
    #[doc(hidden)]
    pub const fn unplaced(
        name: &'static str,
        bits: u8,
        doc: &'static str,
        show: Show,
        grade: Option<Grade>,
    ) -> Self {
        Self { name, low: 0, bits, doc, show, grade }
    }

    /// Lays fields out from bit 0 upwards in the order given.
    #[doc(hidden)]
    pub const fn place<const N: usize>(mut fields: [Self; N]) -> [Self; N] {
        let mut low = 0;
        let mut i = 0;
        while i < N {
            fields[i].low = low;
            low += fields[i].bits;
            i += 1;
        }
        assert!(low == 32, "the fields of a register word have to add up to 32 bits");
        fields
    }

    /// The bits of the word that belong to this field.
    pub const fn mask(&self) -> u32 {
        (u32::MAX >> (32 - self.bits as u32)) << self.low
    }

    /// The bits of a word that no source explains.
    #[doc(hidden)]
    pub const fn unknown(fields: &[Self]) -> u32 {
        let mut mask = 0;
        let mut i = 0;
        while i < fields.len() {
            if fields[i].is_unknown() {
                mask |= fields[i].mask();
            }
            i += 1;
        }
        mask
    }

    /// The field's number in `word`.
    pub const fn of(&self, word: u32) -> u32 {
        (word & self.mask()) >> self.low
    }

    /// `word` with this field replaced; bits of `value` that do not fit are dropped.
    pub const fn put(&self, word: u32, value: u32) -> u32 {
        (word & !self.mask()) | ((value << self.low) & self.mask())
    }

    /// True for bits that no source explains.
    pub const fn is_unknown(&self) -> bool {
        matches!(self.name.as_bytes(), b"__")
    }

    /// The named value, if the field is an enumeration that knows `value`.
    pub fn code(&self, value: u32) -> Option<&'static Code> {
        match self.show {
            Show::Codes(codes) => codes.iter().find(|code| code.value == value),
            _ => None,
        }
    }

    /// The bits' numbers as specifications print them: `14:0`, or `8` for a single bit.
    pub fn range(&self) -> BitRange {
        BitRange { high: self.low + self.bits - 1, low: self.low }
    }
}

/// A span of bits, printed the way data sheets do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitRange {
    pub high: u8,
    pub low: u8,
}

impl core::fmt::Display for BitRange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.high == self.low {
            write!(f, "{}", self.low)
        } else {
            write!(f, "{}:{}", self.high, self.low)
        }
    }
}

/// A typed 32-bit word.
pub trait Word: Copy {
    /// The fields, unknown bits included, from bit 0 upwards.
    const FIELDS: &'static [Field];

    const NAME: &'static str;

    /// Gives a raw word its type; every bit pattern has one.
    fn from_word(word: u32) -> Self;

    fn word(self) -> u32;

    /// The field's number through the *typed* accessor of that name; `None` where there is no such field.
    ///
    /// Exists so that a test can hold the typed accessors against the table.
    fn typed(self, name: &str) -> Option<u32>;
}

/// One register, untyped: a row of a block's table.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// The hardware's name for it.
    pub name: &'static str,
    /// Address of the first instance, in the block's own numbering.
    pub offset: u32,
    pub count: u16,
    /// Bytes from one instance to the next.
    pub stride: u32,
    pub access: Access,
    pub reset: u32,
    pub fields: &'static [Field],
    /// The bits of the word that no source explains.
    pub unknown: u32,
    /// Name of the typed word.
    pub layout: &'static str,
    pub doc: &'static str,
    pub grade: Grade,
    pub source: &'static str,
}

impl Register {
    pub const fn at(&self, index: u16) -> Option<u32> {
        if index < self.count { Some(self.offset + self.stride * index as u32) } else { None }
    }
}

/// Bits of a word of type `T`: those of one field, or all.
#[derive(Debug)]
pub struct Bits<T> {
    mask: u32,
    word: PhantomData<fn() -> T>,
}

impl<T> Bits<T> {
    pub const ALL: Self = Self { mask: u32::MAX, word: PhantomData };

    /// `bits` bits from bit `low` on; used by [`layout!`](crate::layout).
    #[doc(hidden)]
    pub const fn of(low: usize, bits: u32) -> Self {
        Self { mask: (u32::MAX >> (32 - bits)) << low, word: PhantomData }
    }

    /// The bits, set.
    pub const fn mask(&self) -> u32 {
        self.mask
    }
}

impl<T> Clone for Bits<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Bits<T> {}

/// A register that knows the type of its word.
#[derive(Debug)]
pub struct Reg<T> {
    /// The row of the block's table.
    pub info: Register,
    word: PhantomData<fn() -> T>,
}

impl<T: Word> Reg<T> {
    #[doc(hidden)]
    pub const fn new(info: Register) -> Self {
        Self { info, word: PhantomData }
    }

    /// Address of the first instance, in the block's own numbering.
    pub const fn offset(&self) -> u32 {
        self.info.offset
    }

    pub fn reset(&self) -> T {
        T::from_word(self.info.reset)
    }
}

/// A group of registers that the hardware decodes together.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Short name, as dumps and the command line print it.
    pub name: &'static str,
    pub doc: &'static str,
    /// Container offset of address 0 in the block's numbering.
    pub base: EngineOffset,
    /// First address of the block, in its numbering.
    pub start: u32,
    pub len: u32,
    /// The registers, by rising address.
    pub registers: &'static [&'static Register],
    /// For each word of the block: what lives there.
    pub places: &'static [Option<RegisterIndex>],
    /// Reads a raw word through every typed word of the block and through its table; see [`Disagreement`].
    pub check: fn(u32) -> Option<Disagreement>,
}

/// A typed word and its table row read the same raw word differently: the macros are at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disagreement {
    pub register: &'static str,
    /// The field, or what else went wrong.
    pub field: &'static str,
}

/// The register and the word of it at a place of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterIndex {
    /// Row of the block's table.
    pub row: u8,
    /// Instance of that register.
    pub index: u16,
}

/// For each of the `N` words from `start` on, the register that lives there.
#[doc(hidden)]
pub const fn places<const N: usize>(start: u32, registers: &[&Register]) -> [Option<RegisterIndex>; N] {
    let mut places = [None; N];
    let mut row = 0;
    while row < registers.len() {
        let mut index = 0;
        while let Some(offset) = registers[row].at(index) {
            assert!(offset.is_multiple_of(4), "registers are words");
            assert!(row < u8::MAX as usize, "too many registers for one block");
            let word = ((offset - start) / 4) as usize;
            assert!(places[word].is_none(), "two registers of a block share a word");
            places[word] = Some(RegisterIndex { row: row as u8, index });
            index += 1;
        }
        row += 1;
    }
    places
}

impl Block {
    /// True if `offset`, in the block's numbering, lies inside.
    pub const fn contains(&self, offset: u32) -> bool {
        offset >= self.start && offset - self.start < self.len
    }

    /// The register at `offset`, in the block's numbering.
    pub fn place(&self, offset: u32) -> Option<RegisterIndex> {
        let distance = offset.checked_sub(self.start)?;
        if !distance.is_multiple_of(4) {
            return None;
        }
        *self.places.get(distance as usize / 4)?
    }

    /// The register and instance at `offset`, in the block's numbering.
    pub fn find(&self, offset: u32) -> Option<(&'static Register, u16)> {
        let place = self.place(offset)?;
        Some((self.registers[usize::from(place.row)], place.index))
    }

    /// Container offset of `offset`, which is in the block's numbering.
    pub const fn container(&self, offset: u32) -> EngineOffset {
        EngineOffset(self.base.0 + offset)
    }
}

#[doc(hidden)]
/// The first field of `T` whose typed accessor and table row read `raw` differently.
pub fn word_disagrees<T: Word>(raw: u32) -> Option<&'static str> {
    let typed = T::from_word(raw);
    if typed.word() != raw {
        return Some("(whole word)");
    }
    let mut rebuilt = 0;
    for field in T::FIELDS {
        rebuilt = field.put(rebuilt, field.of(raw));
        if !field.is_unknown() && typed.typed(field.name) != Some(field.of(raw)) {
            return Some(field.name);
        }
    }
    (rebuilt != raw).then_some("(fields put together again)")
}
