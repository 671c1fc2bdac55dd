//! How the number in a field is shown to a person.

use ane_uapi::register::{Field, Show};
use half::f16;
use serde::Serialize;

/// A number that prints and serialises as `0x…` with a fixed width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub u32);

impl std::fmt::Display for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

/// An offset or address that prints and serialises as `0x…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub u64);

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl Serialize for Word {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Address {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The number in a field as text, without the field's name.
pub(crate) fn shown(field: &Field, value: u32) -> String {
    match field.show {
        Show::Decimal => value.to_string(),
        Show::Hex => format!("{value:#x}"),
        Show::Bytes(shift) => format!("{:#x} bytes", u64::from(value) << shift),
        Show::SignedBytes(shift) => signed_bytes(value, shift),
        Show::Half => number(f16::from_bits(value as u16).to_f64(), value),
        Show::Single => number(f32::from_bits(value).into(), value),
        Show::Log2 => power(value),
        Show::Log2PlusOne => match value.checked_sub(1) {
            Some(exponent) => format!("{value}: {}", power(exponent)),
            None => "none".to_owned(),
        },
        Show::Codes(_) => {
            field.code(value).map_or_else(|| format!("{value} (unknown)"), |code| code.name.to_owned())
        }
    }
}

fn power(exponent: u32) -> String {
    match 1_u32.checked_shl(exponent) {
        Some(count) => format!("2^{exponent} = {count}"),
        None => format!("2^{exponent}"),
    }
}

/// A stride, which may lead backwards.
fn signed_bytes(value: u32, shift: u8) -> String {
    let bytes = (value << shift).cast_signed();
    let minus = if bytes < 0 { "-" } else { "" };
    format!("{minus}{:#x} bytes", bytes.unsigned_abs())
}

/// A floating-point number, with its bits where the number alone does not give them back.
fn number(value: f64, bits: u32) -> String {
    if value.is_nan() { format!("nan ({bits:#x})") } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::td::{common, planar, tile_source};
    use ane_uapi::register::Register;

    use super::*;

    fn show(register: &Register, field: &str, word: u32) -> String {
        let field = register.fields.iter().find(|row| row.name == field).expect("the register has the field");
        shown(field, field.of(word))
    }

    #[test]
    fn half_is_shown_as_its_number() {
        assert_eq!(show(&planar::BIAS_SCALE.info, "scale", 0x3dc5_0000), "1.4423828125");
        assert_eq!(show(&planar::BIAS_SCALE.info, "bias", 0x7e01), "nan (0x7e01)");
    }

    #[test]
    fn logarithm_is_shown_with_its_count() {
        assert_eq!(show(&common::CONV_CFG.info, "ocg_size", 5 << 10), "2^5 = 32");
    }

    #[test]
    fn stride_is_shown_in_bytes_and_may_be_negative_and_an_address_may_not() {
        assert_eq!(show(&tile_source::BASE_ADDR1.info, "units", 0xffff_ffc0), "0xffffffc0 bytes");
        assert_eq!(show(&tile_source::ROW_STRIDE1.info, "units", 0x40), "0x40 bytes");
        assert_eq!(show(&tile_source::ROW_STRIDE1.info, "units", 0xffff_ffc0), "-0x40 bytes");
    }

    #[test]
    fn value_that_no_enumeration_names_is_said_to_be_unknown() {
        assert_eq!(show(&common::CFG.info, "class", 3 << 4), "planar binary");
        assert_eq!(show(&common::CFG.info, "class", 1 << 4), "1 (unknown)");
    }
}
