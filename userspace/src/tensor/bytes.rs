//! Surfaces whose elements are bytes: truth values and eight-bit numbers.
//!
//! The engine keeps a truth value in one byte, and a row of them at a multiple of 64 bytes, as it does with halves
//! (delta section 4). On the client's side every element is a half, which holds each number of eight bits exactly.
//! No source says whether a byte has a sign, so that -1 and 255 are the same byte going in, and 255 comes out.

use half::f16;
use thiserror::Error;

use crate::container::{Axes, Element, Surface};
use crate::tensor::elements;

#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum Error {
    #[error("strides let elements of one byte overlap, or leave the buffer of {buffer:#x} bytes")]
    Strides { buffer: u64 },
    #[error("element {place} is {value}, a byte holds whole numbers from -128 to 255")]
    Value { place: usize, value: f32 },
    #[error("surface has {wanted} elements, {given} values are given")]
    Length { wanted: u64, given: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Axes<u32>,
    strides: Axes<u64>,
    bytes: u64,
}

impl Layout {
    /// That of a surface of bytes; `None` if its elements are something else.
    pub fn of(surface: &Surface<'_>) -> Option<Result<Self, Error>> {
        (surface.element == Element::Byte).then(|| {
            let wrong = Error::Strides { buffer: surface.buffer_bytes };
            let bytes = reach(surface.shape, surface.strides).ok_or(wrong)?;
            let fits = bytes <= surface.buffer_bytes;
            if fits { Ok(Self { shape: surface.shape, strides: surface.strides, bytes }) } else { Err(wrong) }
        })
    }

    pub const fn shape(&self) -> Axes<u32> {
        self.shape
    }

    /// Elements of the surface: at most as many as its buffer has bytes.
    pub const fn elements(&self) -> usize {
        let Axes { n, c, h, w } = self.shape;
        n as usize * c as usize * h as usize * w as usize
    }

    /// From the first byte of the surface to the last.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Puts dense values where the engine looks for them; what lies in the gaps stays.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] and [`Error::Value`]; nothing was copied then.
    pub fn tile(&self, values: &[f16], memory: &mut [u8]) -> Result<(), Error> {
        let wanted = elements(self.shape);
        if values.len() as u64 != wanted {
            return Err(Error::Length { wanted, given: values.len() });
        }
        let byte = |(place, value): (usize, &f16)| {
            byte(value.to_f32()).ok_or(Error::Value { place, value: value.to_f32() })
        };
        let bytes: Vec<u8> = values.iter().enumerate().map(byte).collect::<Result<_, _>>()?;
        for (at, byte) in self.places().zip(bytes) {
            if let Some(to) = memory.get_mut(at) {
                *to = byte;
            }
        }
        Ok(())
    }

    /// Takes dense values from where the engine put them.
    ///
    /// # Errors
    ///
    /// [`Error::Length`]; nothing was copied then.
    pub fn untile(&self, memory: &[u8], into: &mut [f16]) -> Result<(), Error> {
        let wanted = elements(self.shape);
        if into.len() as u64 != wanted {
            return Err(Error::Length { wanted, given: into.len() });
        }
        for (at, value) in self.places().zip(into) {
            *value = f16::from_f32(memory.get(at).copied().unwrap_or_default().into());
        }
        Ok(())
    }

    /// Offset of each element in the dense order. All are below the length, which a buffer was found to have.
    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let (Axes { n, c, h, w }, strides) = (self.shape, self.strides);
        let rows = (0..n).flat_map(move |n| (0..c).flat_map(move |c| (0..h).map(move |h| [n, c, h])));
        rows.flat_map(move |[n, c, h]| {
            let row = u64::from(n) * strides.n + u64::from(c) * strides.c + u64::from(h) * strides.h;
            (0..w).map(move |w| (row + u64::from(w) * strides.w) as usize)
        })
    }
}

/// The byte that is this number, with or without a sign.
fn byte(value: f32) -> Option<u8> {
    let whole = value as i32;
    let is_byte = (-128..=255).contains(&whole) && whole as f32 == value;
    // Two's complement: the low eight bits.
    is_byte.then_some(whole as u8)
}

/// Bytes up to the last element, if no two share one: each axis steps over all that the faster ones reach.
fn reach(shape: Axes<u32>, strides: Axes<u64>) -> Option<u64> {
    let axes = [(shape.w, strides.w), (shape.h, strides.h), (shape.c, strides.c), (shape.n, strides.n)];
    axes.iter().try_fold(1_u64, |reach, &(count, stride)| {
        let steps = u64::from(count.checked_sub(1)?);
        let is_clear = steps == 0 || stride >= reach;
        is_clear.then(|| steps.checked_mul(stride)?.checked_add(reach)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::Direction;

    fn surface(shape: Axes<u32>, strides: Axes<u64>) -> Surface<'static> {
        Surface {
            name: "b".into(),
            direction: Direction::Input,
            bar: 4,
            element: Element::Byte,
            shape,
            dims: None,
            strides,
            total_bytes: 0x100,
            buffer_bytes: 0x100,
        }
    }

    const SHAPE: Axes<u32> = Axes { n: 1, c: 2, h: 2, w: 3 };
    const STRIDES: Axes<u64> = Axes { n: 0x100, c: 0x80, h: 0x40, w: 1 };

    #[test]
    fn bytes_come_back_from_their_rows() {
        let layout = Layout::of(&surface(SHAPE, STRIDES)).unwrap().unwrap();
        let values: Vec<f16> = (0..12_u8).map(|value| f16::from_f32(value.into())).collect();
        let mut memory = vec![0xaa; 0x100];
        layout.tile(&values, &mut memory).unwrap();
        assert_eq!((&memory[0..4], &memory[0xc0..0xc4]), (&[0, 1, 2, 0xaa][..], &[9, 10, 11, 0xaa][..]));
        let mut back = [f16::ONE; 12];
        layout.untile(&memory, &mut back).unwrap();
        assert_eq!(back[..], values);
        assert!(layout.untile(&memory, &mut back[1..]).is_err());
        assert_eq!(layout.bytes(), 0xc3);
    }

    #[test]
    fn number_that_is_no_byte_is_refused_with_its_place() {
        let layout = Layout::of(&surface(SHAPE, STRIDES)).unwrap().unwrap();
        for bad in [0.5, 256.0, -129.0, f32::NAN, f32::INFINITY] {
            let mut values = [f16::ZERO; 12];
            values[7] = f16::from_f32(bad);
            let error = layout.tile(&values, &mut [0; 0x100]).unwrap_err();
            assert!(error.to_string().starts_with("element 7 is "), "{error}");
        }
        let mut memory = [0; 0x100];
        layout.tile(&[f16::NEG_ONE; 12], &mut memory).unwrap();
        assert_eq!(memory[0], 0xff);
        assert_eq!(layout.tile(&[], &mut memory), Err(Error::Length { wanted: 12, given: 0 }));
    }

    #[test]
    fn strides_that_overlap_wrap_or_leave_the_buffer_are_refused() {
        for bad in [Axes { w: 0, ..STRIDES }, Axes { h: 2, ..STRIDES }, Axes { c: u64::MAX, ..STRIDES }] {
            assert!(Layout::of(&surface(SHAPE, bad)).unwrap().is_err(), "{bad:?}");
        }
        let many = Axes { c: u32::MAX, ..SHAPE };
        assert!(Layout::of(&surface(many, STRIDES)).unwrap().is_err());
        let halves = Surface { element: Element::Half, ..surface(SHAPE, STRIDES) };
        assert_eq!(Layout::of(&halves), None);
    }
}
