//! The file of constants, `weight.bin`: each constant has a header of 64 bytes, and its elements at an offset that the header
//! has. Header and elements begin at multiples of 64 bytes.
//!
//! | bytes | of the header |
//! | --- | --- |
//! | 0..4 | 0xdeadbeef |
//! | 4..8 | type of the elements |
//! | 8..16 | bytes of the elements |
//! | 16..24 | offset of the elements in the file |
//! | 24..32 | bits at their end that mean nothing, for elements smaller than a byte |
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use half::{bf16, f16};

use super::program::ElementType;

const SENTINEL: u32 = 0xdead_beef;

/// The elements behind the header at `offset`; on failure what is wrong.
pub(super) fn read(file: &[u8], offset: u64, element: ElementType) -> Result<&[u8], String> {
    let inside = |offset: u64, bytes: u64| {
        let (start, end) = (usize::try_from(offset).ok()?, usize::try_from(offset.checked_add(bytes)?).ok()?);
        file.get(start..end)
    };
    let outside = |what: &str, offset: u64, bytes: u64| {
        let length = file.len();
        format!(
            "{what}, {bytes} bytes at offset {offset:#x}, lies outside of the file of constants, which has {length}"
        )
    };
    let header = inside(offset, 64).ok_or_else(|| outside("a header", offset, 64))?;
    let word = |at: usize| {
        header.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |&bytes| u32::from_le_bytes(bytes))
    };
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at.saturating_add(4))) << 32;
    if word(0) != SENTINEL {
        return Err(format!(
            "there is {:#x} instead of 0xdeadbeef at offset {offset:#x} of the constants",
            word(0)
        ));
    }
    if type_of(word(4)) != Some(element) {
        return Err(format!(
            "constants at offset {offset:#x} are of type {}, wanted is {element:?}",
            word(4)
        ));
    }
    inside(long(16), long(8)).ok_or_else(|| outside("a constant", long(16), long(8)))
}

const fn type_of(number: u32) -> Option<ElementType> {
    Some(match number {
        1 => ElementType::Half,
        2 => ElementType::Single,
        3 => ElementType::Whole(8, false),
        4 => ElementType::Whole(8, true),
        5 => ElementType::Brain,
        6 => ElementType::Whole(16, true),
        7 => ElementType::Whole(16, false),
        8 => ElementType::Whole(4, true),
        9 => ElementType::Whole(1, false),
        10 => ElementType::Whole(2, false),
        11 => ElementType::Whole(4, false),
        12 => ElementType::Whole(3, false),
        13 => ElementType::Whole(6, false),
        14 => ElementType::Whole(32, true),
        15 => ElementType::Whole(32, false),
        _ => return None,
    })
}

/// `count` elements as numbers; `None` where they are fewer or more, or no numbers.
pub(super) fn numbers(bytes: &[u8], element: ElementType, count: usize) -> Option<Vec<f64>> {
    macro_rules! each {
        ($number:ty) => {{
            let (chunks, rest) = bytes.as_chunks();
            let fits = rest.is_empty() && chunks.len() == count;
            fits.then(|| chunks.iter().map(|&bytes| <$number>::from_le_bytes(bytes).into()).collect())
        }};
    }
    match element {
        ElementType::Half => each!(f16),
        ElementType::Brain => each!(bf16),
        ElementType::Single => each!(f32),
        ElementType::Double => each!(f64),
        ElementType::Whole(16, true) => each!(i16),
        ElementType::Whole(16, false) => each!(u16),
        ElementType::Whole(32, true) => each!(i32),
        ElementType::Whole(32, false) => each!(u32),
        ElementType::Bool => {
            (bytes.len() == count).then(|| bytes.iter().map(|&byte| f64::from(byte != 0)).collect())
        }
        ElementType::Whole(8, true) => each!(i8),
        ElementType::Whole(bits @ (1..=4 | 6 | 8), signed) => packed(bytes, bits, signed, count),
        ElementType::Whole(..) | ElementType::Text | ElementType::Other => None,
    }
}

/// Whole numbers of few bits, the lowest bits of a byte first.
fn packed(bytes: &[u8], bits: u8, signed: bool, count: usize) -> Option<Vec<f64>> {
    let all = count.checked_mul(usize::from(bits))?;
    if bytes.len() != all.div_ceil(8) {
        return None;
    }
    let bit = |at: usize| bytes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 != 0);
    let number = |index: usize| {
        let start = index.saturating_mul(usize::from(bits));
        let value = (0..usize::from(bits))
            .fold(0_i32, |value, place| value | i32::from(bit(start.saturating_add(place))) << place);
        let is_below = signed && value >> (bits - 1) & 1 != 0;
        f64::from(if is_below { value - (1 << bits) } else { value })
    };
    Some((0..count).map(number).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(kind: u32, bytes: u64, offset: u64) -> Vec<u8> {
        let mut file = vec![0; 64];
        file.extend(SENTINEL.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend(bytes.to_le_bytes());
        file.extend(offset.to_le_bytes());
        file.resize(128, 0);
        file.extend([0x00, 0x3c, 0x00, 0xc0]);
        file
    }

    #[test]
    fn elements_are_where_the_header_says() {
        let file = file(1, 4, 128);
        let bytes = read(&file, 64, ElementType::Half).unwrap();
        assert_eq!(numbers(bytes, ElementType::Half, 2), Some(vec![1.0, -2.0]));
        assert_eq!(numbers(bytes, ElementType::Half, 3), None);
    }

    #[test]
    fn constant_outside_of_the_file_is_refused_with_its_offset() {
        for (bytes, offset) in [(5, 128), (4, 1 << 40), (u64::MAX, 128), (1, u64::MAX)] {
            let why = read(&file(1, bytes, offset), 64, ElementType::Half).unwrap_err();
            assert!(why.contains(&format!("{offset:#x}")) && why.contains("outside"), "{why}");
        }
        assert!(read(&file(1, 4, 128), u64::MAX, ElementType::Half).unwrap_err().contains("outside"));
        assert!(read(&file(1, 4, 128), 0, ElementType::Half).unwrap_err().contains("0xdeadbeef"));
        assert!(read(&file(2, 4, 128), 64, ElementType::Half).unwrap_err().contains("type 2"));
    }

    #[test]
    fn whole_numbers_of_few_bits_are_packed_from_the_lowest_bit_on() {
        let bits = |bits, signed| ElementType::Whole(bits, signed);
        assert_eq!(numbers(&[0xf2, 0x08], bits(4, true), 3), Some(vec![2.0, -1.0, -8.0]));
        assert_eq!(numbers(&[0b1101_0110], bits(1, false), 3), Some(vec![0.0, 1.0, 1.0]));
        assert_eq!(numbers(&[0b1101_0110, 0x02], bits(3, false), 4), Some(vec![6.0, 2.0, 3.0, 1.0]));
    }
}
