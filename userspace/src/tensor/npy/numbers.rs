//! The numbers that a file may hold, and what halves they become.

use std::fmt;
use std::str::FromStr;

use half::f16;

use crate::tensor::Conversion;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberKind {
    /// IEEE 754.
    Float,
    /// Two's complement.
    Signed,
    /// No sign.
    Unsigned,
    /// One byte, 0 or 1.
    Boolean,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    pub kind: NumberKind,
    bytes: usize,
    is_big_endian: bool,
}

impl Number {
    /// Little-endian halves.
    pub const HALF: Self = Self { kind: NumberKind::Float, bytes: 2, is_big_endian: false };

    /// Bytes without a sign.
    pub const BYTE: Self = Self { kind: NumberKind::Unsigned, bytes: 1, is_big_endian: false };

    pub const fn bytes(self) -> usize {
        self.bytes
    }

    /// True of halves: nothing has to be converted.
    pub const fn is_half(self) -> bool {
        matches!(self.kind, NumberKind::Float) && self.bytes == 2
    }
}

/// As NumPy writes it.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match (self.bytes, self.is_big_endian) {
            (1, _) => '|',
            (_, true) => '>',
            (_, false) => '<',
        };
        let kind = match self.kind {
            NumberKind::Float => 'f',
            NumberKind::Signed => 'i',
            NumberKind::Unsigned => 'u',
            NumberKind::Boolean => 'b',
        };
        write!(f, "{order}{kind}{}", self.bytes)
    }
}

impl FromStr for Number {
    type Err = ();

    fn from_str(descr: &str) -> Result<Self, ()> {
        let (order, name) = descr.split_at_checked(1).ok_or(())?;
        let (kind, bytes) = match name {
            "f2" => (NumberKind::Float, 2),
            "f4" => (NumberKind::Float, 4),
            "f8" => (NumberKind::Float, 8),
            "i1" => (NumberKind::Signed, 1),
            "i2" => (NumberKind::Signed, 2),
            "i4" => (NumberKind::Signed, 4),
            "i8" => (NumberKind::Signed, 8),
            "u1" => (NumberKind::Unsigned, 1),
            "u2" => (NumberKind::Unsigned, 2),
            "u4" => (NumberKind::Unsigned, 4),
            "u8" => (NumberKind::Unsigned, 8),
            "b1" => (NumberKind::Boolean, 1),
            _ => return Err(()),
        };
        let is_big_endian = match order {
            "<" | "=" => false,
            ">" => true,
            "|" if bytes == 1 => false,
            _ => return Err(()),
        };
        Ok(Self { kind, bytes, is_big_endian })
    }
}

/// Each element as the nearest half, ties to even.
pub(super) fn to_halves(number: Number, bytes: &[u8]) -> (Vec<f16>, Conversion) {
    let mut conversion = Conversion::default();
    let values =
        bytes.chunks_exact(number.bytes).map(|element| half(number, word(number, element), &mut conversion));
    (values.collect(), conversion)
}

/// One element as a double.
pub(super) fn to_double(number: Number, element: &[u8]) -> f64 {
    double(number, word(number, element))
}

/// Each element as a double, which holds all of them but integers beyond 2^53.
pub(super) fn to_doubles(number: Number, bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(number.bytes).map(|element| to_double(number, element)).collect()
}

/// The bits of an element.
fn word(number: Number, element: &[u8]) -> u64 {
    let behind = |word, &byte| word << 8 | u64::from(byte);
    match number.is_big_endian {
        true => element.iter().fold(0, behind),
        false => element.iter().rev().fold(0, behind),
    }
}

fn double(number: Number, word: u64) -> f64 {
    match (number.kind, number.bytes) {
        (NumberKind::Float, 2) => f16::from_bits(word as u16).to_f64(),
        (NumberKind::Float, 4) => f64::from(f32::from_bits(word as u32)),
        (NumberKind::Float, _) => f64::from_bits(word),
        (NumberKind::Signed, bytes) => {
            let unused = 64 - 8 * bytes as u32;
            ((word << unused) as i64 >> unused) as f64
        }
        (NumberKind::Unsigned, _) => word as f64,
        (NumberKind::Boolean, _) => f64::from(u8::from(word != 0)),
    }
}

fn half(number: Number, word: u64, conversion: &mut Conversion) -> f16 {
    if number.is_half() {
        let value = f16::from_bits(word as u16);
        conversion.nans += u64::from(value.is_nan());
        return value;
    }
    // A number that a double does not hold exactly is infinite as a half.
    conversion.half(double(number, word))
}
