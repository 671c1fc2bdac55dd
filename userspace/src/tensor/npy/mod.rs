//! The files of NumPy: one array each, behind a header in the words of Python.
//!
//! A file is untrusted and may be a pipe. The header is bounded, the shape is checked against what the caller can
//! take before a byte of the data is read, and then exactly as many bytes are read as the shape says.
//!
//! * [`header`]: the dictionary.
//! * [`Array`]: a header with data, and the way from its numbers to halves.
//! * [`View`]: the same of a file that is in memory already, an element at a time.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod header;
mod numbers;

use std::io::{self, Read, Write};

use half::f16;
use thiserror::Error;
use zerocopy::IntoBytes;

pub use header::{BadHeader, Header};
pub use numbers::{Number, NumberKind};

use super::{Conversion, Tensor, fits};

use crate::container::{Axes, Surface};

#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Header(#[from] BadHeader),
    #[error("array of shape {shape:?} has more than the {limit} elements that are wanted")]
    TooMany { shape: Vec<u64>, limit: u64 },
    #[error("file ends {missing} bytes before the array of shape {shape:?} does")]
    Short { shape: Vec<u64>, missing: u64 },
    #[error("file goes on behind the array of shape {shape:?}")]
    Long { shape: Vec<u64> },
    #[error("array has shape {given:?}, wanted is {wanted:?} or the same without axes of length 1")]
    Shape {
        given: Vec<u64>,
        /// The extents of the model, or N, C, H, W.
        wanted: Vec<usize>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    header: Header,
    bytes: Vec<u8>,
}

impl Array {
    pub fn read(mut from: impl Read, limit: u64) -> Result<Self, Error> {
        let header = Header::read(&mut from)?;
        let bytes = data_bytes(&header, limit)?;
        let mut data = Vec::new();
        // One more, to see whether the file goes on. Memory grows with what arrives, not with what is promised.
        from.take(bytes.saturating_add(1)).read_to_end(&mut data)?;
        check_end(&header, data.len() as u64, bytes)?;
        Ok(Self { header, bytes: data })
    }

    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The elements in the order of C, as doubles.
    pub fn doubles(&self) -> Vec<f64> {
        let values = numbers::to_doubles(self.header.number, &self.bytes);
        if self.header.is_fortran { in_order_of_c(&self.header.shape, &values) } else { values }
    }

    /// The array as a tensor of `shape`, if it [`fits`].
    pub fn to_tensor(&self, shape: Axes<u32>) -> Result<(Tensor, Conversion), Error> {
        self.check_fits(&[shape.n, shape.c, shape.h, shape.w].map(|extent| extent as usize))?;
        Ok(self.tensor_of(shape))
    }

    /// The array as the tensor of a surface, if it [`fits`] the surface's [extents](Surface::extents).
    pub fn to_tensor_of(&self, surface: &Surface<'_>) -> Result<(Tensor, Conversion), Error> {
        self.check_fits(&surface.extents())?;
        Ok(self.tensor_of(surface.shape))
    }

    /// Refuses it if it is no array of these extents.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`].
    pub fn check_fits(&self, extents: &[usize]) -> Result<(), Error> {
        // An extent beyond all memory fits none.
        let given = self.header.shape.iter().map(|&extent| usize::try_from(extent).unwrap_or(usize::MAX));
        if fits(&given.collect::<Vec<_>>(), extents) {
            Ok(())
        } else {
            Err(Error::Shape { given: self.header.shape.clone(), wanted: extents.to_vec() })
        }
    }

    /// What became of its numbers as halves, for people; `None` of halves, which are taken as they are.
    pub fn told(&self, conversion: &Conversion) -> Option<String> {
        let number = self.header.number;
        let words = conversion.words().map_or(String::new(), |words| format!(", {words}"));
        (!number.is_half()).then(|| format!("converted from {number} to fp16{words}"))
    }

    fn tensor_of(&self, shape: Axes<u32>) -> (Tensor, Conversion) {
        let (values, conversion) = self.halves();
        (Tensor { shape, values }, conversion)
    }

    /// The elements in the order of C, as halves.
    pub fn halves(&self) -> (Vec<f16>, Conversion) {
        let (mut values, mut conversion) = numbers::to_halves(self.header.number, &self.bytes);
        if self.header.is_fortran {
            values = in_order_of_c(&self.header.shape, &values);
        }
        conversion.first_nan = values.iter().position(|value| value.is_nan()).map(|place| place as u64);
        (values, conversion)
    }
}

/// An array in a file that is in memory. It takes no memory for its elements.
#[derive(Clone, Debug)]
pub struct View<'a> {
    header: Header,
    bytes: &'a [u8],
}

impl<'a> View<'a> {
    /// The array in a whole file of at most `limit` elements.
    ///
    /// # Errors
    ///
    /// As [`Array::read`].
    pub fn of(file: &'a [u8], limit: u64) -> Result<Self, Error> {
        let mut bytes = file;
        let header = Header::read(&mut bytes)?;
        check_end(&header, bytes.len() as u64, data_bytes(&header, limit)?)?;
        Ok(Self { header, bytes })
    }

    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The elements in the order of C, as doubles, which hold all of them but integers beyond 2^53.
    pub fn doubles(&self) -> Box<dyn Iterator<Item = f64> + '_> {
        let number = self.header.number;
        let elements = self.bytes.chunks_exact(number.bytes());
        let double = move |element| numbers::to_double(number, element);
        if self.header.is_fortran {
            let elements = move |place| elements.clone().nth(place);
            Box::new(places_in_order_of_c(&self.header.shape).map_while(elements).map(double))
        } else {
            Box::new(elements.map(double))
        }
    }
}

/// Bytes of the elements.
fn data_bytes(header: &Header, limit: u64) -> Result<u64, Error> {
    let count = header.elements().filter(|&count| count <= limit);
    let bytes = count.and_then(|count| count.checked_mul(header.number.bytes() as u64));
    bytes.ok_or_else(|| Error::TooMany { shape: header.shape.clone(), limit })
}

/// Refuses elements that are not as many bytes as the shape says.
fn check_end(header: &Header, given: u64, wanted: u64) -> Result<(), Error> {
    let shape = || header.shape.clone();
    match given.cmp(&wanted) {
        std::cmp::Ordering::Less => Err(Error::Short { shape: shape(), missing: wanted - given }),
        std::cmp::Ordering::Greater => Err(Error::Long { shape: shape() }),
        std::cmp::Ordering::Equal => Ok(()),
    }
}

/// Elements whose first axis is the fastest, with the last one the fastest.
fn in_order_of_c<T: Copy>(shape: &[u64], fortran: &[T]) -> Vec<T> {
    places_in_order_of_c(shape).map_while(|place| fortran.get(place).copied()).collect()
}

/// For each element in the order of C, its place among elements whose first axis is the fastest. The shape is that of elements that
/// are in memory.
fn places_in_order_of_c(shape: &[u64]) -> impl Iterator<Item = usize> {
    // With an empty axis the others may be of any length, and their product is none of anything.
    let is_empty = shape.contains(&0);
    let (mut stride, mut left) = (1, 0);
    // For each axis: its extent, the distance of its elements, and the next element.
    let mut axes: Vec<(u64, u64, u64)> = Vec::with_capacity(shape.len());
    if !is_empty {
        for &extent in shape {
            axes.push((extent, stride, 0));
            // The product of all extents is the length of a list that is in memory.
            stride *= extent;
        }
        left = stride;
    }
    let mut at = 0;
    std::iter::from_fn(move || {
        left = u64::checked_sub(left, 1)?;
        let place = at;
        for (extent, stride, index) in axes.iter_mut().rev() {
            *index += 1;
            at += *stride;
            if index < extent {
                break;
            }
            at -= *stride * *index;
            *index = 0;
        }
        Some(place as usize)
    })
}

/// Writes a tensor: version 1.0, little-endian halves, the order of C.
///
/// # Examples
///
/// ```
/// use ane::container::Axes;
/// use ane::tensor::{Tensor, npy};
///
/// let shape = Axes { n: 1, c: 2, h: 3, w: 4 };
/// let tensor = Tensor::random(shape, 7);
/// let mut file = Vec::new();
/// npy::write(&mut file, &tensor)?;
/// let array = npy::Array::read(&file[..], 24)?;
/// assert_eq!(array.to_tensor(shape)?.0, tensor);
/// # Ok::<(), npy::Error>(())
/// ```
pub fn write(mut into: impl Write, tensor: &Tensor) -> io::Result<()> {
    into.write_all(&Header::of_halves(tensor.shape()).encode())?;
    into.write_all(tensor.values().as_bytes())
}

/// The same with other extents, of as many elements.
pub fn write_as(mut into: impl Write, extents: &[usize], tensor: &Tensor) -> io::Result<()> {
    let shape = extents.iter().map(|&extent| extent as u64).collect();
    into.write_all(&Header { shape, ..Header::of_halves(tensor.shape()) }.encode())?;
    into.write_all(tensor.values().as_bytes())
}

/// Writes a tensor whose values are bytes: version 1.0, unsigned, the order of C.
pub fn write_bytes(mut into: impl Write, tensor: &Tensor) -> io::Result<()> {
    let header = Header { number: Number::BYTE, ..Header::of_halves(tensor.shape()) };
    into.write_all(&header.encode())?;
    // Values that came out of bytes; a conversion saturates.
    let bytes: Vec<u8> = tensor.values().iter().map(|value| value.to_f32() as u8).collect();
    into.write_all(&bytes)
}

#[cfg(test)]
mod tests;
