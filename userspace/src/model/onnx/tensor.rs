//! `TensorProto`: elements of every type as numbers.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use half::{bf16, f16};

use crate::model::layers::extent;
use crate::model::neighbour_files::{Beside, Files};
use crate::model::network::array::{Array, elements, wrapped};
use crate::model::network::{Fault, Kind};
use crate::model::protobuf::{Damage, Field, Message};
use crate::tensor::nearest_half;

/// The fault of a tensor.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TensorError {
    /// The message is damaged.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// Extents and elements.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// An element that is no number, or of a type that is not read.
    #[error("elements of type {0} are not read")]
    Element(u64),
    /// Elements in another file, which cannot be read.
    #[error("elements lie in another file: {0}")]
    External(String),
}

/// The kind of elements of a type.
pub(super) const fn kind(element: u64) -> Option<Kind> {
    match element {
        1 | 10 | 11 | 16 => Some(Kind::Real),
        2..=7 | 12 | 13 | 21 | 22 | 25 | 26 => Some(Kind::Integer),
        9 => Some(Kind::Bool),
        _ => None,
    }
}

/// The name and the elements of a tensor that has them in itself.
///
/// # Errors
///
/// Its fault.
pub fn read(bytes: &[u8]) -> Result<(String, Array, Kind), TensorError> {
    read_beside(bytes, &Files::new(&Beside::Nothing), |_| Ok(()))
}

/// The same, with elements that may lie in another file. `has_room` is asked before there are any.
pub(super) fn read_beside(
    bytes: &[u8],
    files: &Files<'_>,
    has_room: impl Fn(usize) -> Result<(), Fault>,
) -> Result<(String, Array, Kind), TensorError> {
    let (mut name, mut element, mut dims) = (String::new(), 0, Vec::new());
    let mut raw: Option<&[u8]> = None;
    let (mut singles, mut integers, mut doubles) = (Vec::new(), Vec::new(), Vec::new());
    let (mut is_external, mut external) = (false, External::default());
    Message::new("TensorProto", bytes).for_each(|number, field| {
        match number {
            1 => field.integers("TensorProto", &mut dims)?,
            2 => element = field.number(),
            4 => field.singles(&mut singles),
            5 | 7 | 11 => field.integers("TensorProto", &mut integers)?,
            8 => name = field.text(),
            9 => raw = Some(field.bytes()),
            10 => field.doubles(&mut doubles),
            13 => external.entry(field.bytes())?,
            14 => is_external = field.number() == 1,
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    let kind = kind(element).ok_or(TensorError::Element(element))?;
    let dims = dims.into_iter().map(extent).collect::<Result<Vec<_>, _>>()?;
    let count = elements(&dims)?;
    has_room(count)?;
    let file;
    if is_external {
        file = files.read(&external.location).map_err(TensorError::External)?;
        let bits = bits(element).ok_or(TensorError::Element(element))?;
        raw = Some(external.part(&file, count.saturating_mul(bits).div_ceil(8))?);
    }
    let values: Vec<f64> = match raw {
        Some(raw) => numbers(element, raw).ok_or(TensorError::Element(element))?,
        None if !doubles.is_empty() => doubles,
        None if !singles.is_empty() => singles.into_iter().map(f64::from).collect(),
        None => match packed(element) {
            Some(_) => {
                let bytes: Vec<u8> = integers.into_iter().map(|value| value as u8).collect();
                numbers(element, &bytes).ok_or(TensorError::Element(element))?
            }
            None => integers.into_iter().map(|value| stored(element, value)).collect(),
        },
    };
    // The last byte of packed elements may have room for more.
    let values = match packed(element) {
        Some(bits) if values.len() < count.saturating_add(8 / bits) => {
            values.into_iter().take(count).collect()
        }
        _ => values,
    };
    Ok((name, Array::new(dims, values)?, kind))
}

/// The name of a tensor, if it has one.
pub(super) fn name(bytes: &[u8]) -> Option<String> {
    only(bytes, 8, |field| field.text()).filter(|name| !name.is_empty())
}

/// The type of its elements.
pub(super) fn element(bytes: &[u8]) -> Option<u64> {
    only(bytes, 2, |field| field.number())
}

/// One field of a tensor that is not damaged.
fn only<T>(bytes: &[u8], wanted: u64, value: impl Fn(Field<'_>) -> T) -> Option<T> {
    let mut found = None;
    let read = Message::new("TensorProto", bytes).for_each(|number, field| {
        if number == wanted {
            found = Some(value(field));
        }
        Ok::<(), Damage>(())
    });
    read.ok().and(found)
}

/// Where elements lie in another file.
#[derive(Debug, Default)]
struct External {
    location: String,
    offset: Option<String>,
    length: Option<String>,
}

impl External {
    /// An entry of the list that says it: a key and a text.
    fn entry(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        let (mut key, mut value) = (String::new(), String::new());
        Message::new("StringStringEntryProto", bytes).for_each(|number, field| {
            match number {
                1 => key = field.text(),
                2 => value = field.text(),
                _ => {}
            }
            Ok::<(), Damage>(())
        })?;
        match key.as_str() {
            "location" => self.location = value,
            "offset" => self.offset = Some(value),
            "length" => self.length = Some(value),
            _ => {}
        }
        Ok(())
    }

    /// The `wanted` bytes of the file that the elements are.
    fn part<'f>(&self, file: &'f [u8], wanted: usize) -> Result<&'f [u8], TensorError> {
        let number = |text: &Option<String>, otherwise: usize| match text {
            None => Some(otherwise),
            Some(text) => text.parse().ok(),
        };
        let (offset, length) = (number(&self.offset, 0), number(&self.length, wanted));
        let part = offset.zip(length).and_then(|(offset, length)| {
            let part = file.get(offset..offset.checked_add(length)?)?;
            (length == wanted).then_some(part)
        });
        part.ok_or_else(|| {
            let (offset, length) = (self.offset.as_deref().unwrap_or("0"), self.length.as_deref());
            let length = length.map_or_else(|| wanted.to_string(), str::to_owned);
            let (location, all) = (&self.location, file.len());
            TensorError::External(format!(
                "{length} bytes at {offset} of {location:?}, which has {all}, are not the {wanted} of the tensor"
            ))
        })
    }
}

const fn bits(element: u64) -> Option<usize> {
    match element {
        2 | 3 | 9 => Some(8),
        4 | 5 | 10 | 16 => Some(16),
        1 | 6 | 12 => Some(32),
        7 | 11 | 13 => Some(64),
        _ => packed(element),
    }
}

/// The nearest number of a type, where a layer's results are rounded to it.
pub(super) fn nearest(element: u64) -> Option<fn(f64) -> f64> {
    match element {
        1 => Some(|value| f64::from(value as f32)),
        10 => Some(|value| nearest_half(value).to_f64()),
        _ => None,
    }
}

/// A type of whole numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    bits: u8,
    has_sign: bool,
}

/// The type of whole numbers with this number in the standard.
pub(super) fn whole(element: u64) -> Option<Whole> {
    let bits = bits(element).and_then(|bits| u8::try_from(bits).ok());
    let has_sign = matches!(element, 3 | 5 | 6 | 7 | 22 | 26);
    bits.filter(|_| kind(element) == Some(Kind::Integer)).map(|bits| Whole { bits, has_sign })
}

impl Whole {
    /// A whole number in this type, of whose bits only the lowest are kept.
    pub(super) fn wrapped(self, value: f64) -> f64 {
        wrapped(value, self.bits, self.has_sign)
    }

    /// Whether it has fewer bits than the largest type.
    pub(super) const fn is_narrow(self) -> bool {
        self.bits < 64
    }
}

/// Bits of an element of which a byte has several.
const fn packed(element: u64) -> Option<usize> {
    match element {
        21 | 22 => Some(4),
        25 | 26 => Some(2),
        _ => None,
    }
}

/// Whole numbers of so many bits, the first of a byte in its lowest ones.
fn unpacked(raw: &[u8], bits: usize, has_sign: bool) -> Vec<f64> {
    let each = |&byte: &u8| {
        (0..8 / bits).map(move |at| {
            // To the top of a byte, and down again with its sign.
            let top = byte << (8 - bits - at * bits);
            f64::from(if has_sign {
                i16::from(top.cast_signed() >> (8 - bits))
            } else {
                i16::from(top >> (8 - bits))
            })
        })
    };
    raw.iter().flat_map(each).collect()
}

/// An element that is stored as a whole number: a half by its bits.
fn stored(element: u64, value: i64) -> f64 {
    match element {
        10 => f16::from_bits(value as u16).to_f64(),
        16 => bf16::from_bits(value as u16).to_f64(),
        _ => value as f64,
    }
}

fn numbers(element: u64, raw: &[u8]) -> Option<Vec<f64>> {
    macro_rules! each {
        ($number:ty) => {
            raw.as_chunks().0.iter().map(|&bytes| <$number>::from_le_bytes(bytes) as f64).collect()
        };
    }
    Some(match element {
        1 => each!(f32),
        2 | 9 => raw.iter().map(|&byte| f64::from(byte)).collect(),
        3 => each!(i8),
        4 => each!(u16),
        5 => each!(i16),
        6 => each!(i32),
        7 => each!(i64),
        10 => raw.as_chunks().0.iter().map(|&bytes| f16::from_le_bytes(bytes).to_f64()).collect(),
        11 => each!(f64),
        12 => each!(u32),
        13 => each!(u64),
        16 => raw.as_chunks().0.iter().map(|&bytes| bf16::from_le_bytes(bytes).to_f64()).collect(),
        21 | 22 => unpacked(raw, 4, element == 22),
        25 | 26 => unpacked(raw, 2, element == 26),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_asked_for_before_elements_are_read() {
        // A list of four singles, of which there is none.
        let message = [0x08, 4, 0x10, 1];
        let files = Files::new(&Beside::Nothing);
        let read = |room| {
            let has_room = |count| if count > room { Err(Fault::Stored) } else { Ok(()) };
            read_beside(&message, &files, has_room).unwrap_err()
        };
        assert_eq!(read(3), TensorError::Fault(Fault::Stored));
        assert_eq!(read(4), TensorError::Fault(Fault::Length { dims: vec![4], values: 0 }));
    }
}
