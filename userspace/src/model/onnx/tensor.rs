//! `TensorProto`: elements of every type as numbers.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use half::{bf16, f16};

use crate::model::network::array::{Array, elements};
use crate::model::network::{Fault, Kind};
use crate::model::protobuf::{Damage, Message};

/// What is wrong with a tensor.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The message is damaged.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// Extents and elements.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// An element that is no number, or of a type that is not read.
    #[error("elements of type {0} are not read")]
    Element(u64),
    /// Elements in another file.
    #[error("elements lie in another file, {0:?}, which is not read")]
    External(String),
}

/// The kind of elements of a type.
pub(super) const fn kind(element: u64) -> Option<Kind> {
    match element {
        1 | 10 | 11 | 16 => Some(Kind::Real),
        2..=7 | 12 | 13 => Some(Kind::Integer),
        9 => Some(Kind::Bool),
        _ => None,
    }
}

/// The name and the elements of a tensor.
///
/// # Errors
///
/// What is wrong with it.
pub fn read(bytes: &[u8]) -> Result<(String, Array, Kind), Error> {
    let (mut name, mut element, mut dims) = (String::new(), 0, Vec::new());
    let mut raw: Option<&[u8]> = None;
    let (mut singles, mut integers, mut doubles) = (Vec::new(), Vec::new(), Vec::new());
    let mut external = None;
    Message::new("TensorProto", bytes).for_each(|number, field| {
        match number {
            1 => field.integers("TensorProto", &mut dims)?,
            2 => element = field.number(),
            4 => field.singles(&mut singles),
            5 | 7 | 11 => field.integers("TensorProto", &mut integers)?,
            8 => name = field.text(),
            9 => raw = Some(field.bytes()),
            10 => field.doubles(&mut doubles),
            13 => external = Some(field.text()),
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    if let Some(external) = external {
        return Err(Error::External(external));
    }
    let kind = kind(element).ok_or(Error::Element(element))?;
    let extent = |&extent: &i64| {
        usize::try_from(extent).map_err(|_| Fault::Wrong { what: "extent", value: extent, dims: Vec::new() })
    };
    let dims = dims.iter().map(extent).collect::<Result<Vec<_>, _>>()?;
    elements(&dims)?;
    let values: Vec<f64> = match raw {
        Some(raw) => numbers(element, raw).ok_or(Error::Element(element))?,
        None if !doubles.is_empty() => doubles,
        None if !singles.is_empty() => singles.into_iter().map(f64::from).collect(),
        None => integers.into_iter().map(|value| stored(element, value)).collect(),
    };
    Ok((name, Array::new(dims, values)?, kind))
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
        _ => return None,
    })
}
