//! Tensors on the client's side: dense halves in the order N, C, H, W.
//!
//! The engine wants each row of a plane at a multiple of 64 bytes; people have dense arrays, mostly in `.npy` files.
//!
//! * [`Tensor`]: a dense array of halves.
//! * [`nearest_half`]: a number as a half.
//! * [`Conversion`]: what becomes of numbers that are made halves.
//! * [`npy`]: the files of NumPy, in and out.
//! * [`tile`]: dense to what the engine reads, and back.
//! * [`bytes`]: the same of surfaces whose elements are bytes.

pub mod bytes;
mod halves;
pub mod npy;
pub mod tile;

pub(crate) use halves::overflows;
pub use halves::{Conversion, Unfit, nearest_half};

use half::f16;
use thiserror::Error;

use crate::container::{Axes, Element, Surface};

// Dense halves are copied as bytes to where the engine, which is little-endian, reads them.
const _: () = assert!(cfg!(target_endian = "little"), "tensors are copied as they lie in memory");

/// A dense array of halves, in the order N, C, H, W.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    shape: Axes<u32>,
    values: Vec<f16>,
}

/// Another number of values than the shape has elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{given} values for {expected} elements of shape {shape:?}")]
pub struct WrongLength {
    pub given: usize,
    pub expected: u64,
    pub shape: [u32; 4],
}

/// Elements that are made up for one input, at most. Containers that are a few kilobytes long can name an input of gigabytes:
/// values for it are made only if somebody brings them.
pub const MADE_UP_MAX: u64 = 1 << 27;

/// An input that is too large to make up values for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "input {name:?} has {elements} elements, more than the {MADE_UP_MAX} that are made up for an input without a file"
)]
pub struct TooLarge {
    pub name: String,
    pub elements: u64,
}

impl Tensor {
    /// A tensor of these values.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::container::Axes;
    /// use ane::tensor::Tensor;
    /// use half::f16;
    ///
    /// let shape = Axes { n: 1, c: 2, h: 1, w: 2 };
    /// let tensor = Tensor::new(shape, [1.0, 2.0, 3.0, 4.0].map(f16::from_f32).to_vec())?;
    /// assert_eq!(tensor.values()[2], f16::from_f32(3.0));
    /// # Ok::<(), ane::tensor::WrongLength>(())
    /// ```
    pub fn new(shape: Axes<u32>, values: Vec<f16>) -> Result<Self, WrongLength> {
        let expected = elements(shape);
        if values.len() as u64 == expected {
            Ok(Self { shape, values })
        } else {
            let shape = [shape.n, shape.c, shape.h, shape.w];
            Err(WrongLength { given: values.len(), expected, shape })
        }
    }

    /// A tensor of which each element is what `value` says of its place in the dense order.
    pub fn from_fn(shape: Axes<u32>, value: impl FnMut(u64) -> f16) -> Self {
        Self { shape, values: (0..elements(shape)).map(value).collect() }
    }

    /// A tensor of random values between -1 and 1, the same for each seed and on every machine.
    pub fn random(shape: Axes<u32>, seed: u64) -> Self {
        // Steele, Lea, Flood: SplitMix64. Good enough for test patterns, and four lines.
        let mut state = seed;
        Self::from_fn(shape, |_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            // The top 24 bits, which a single holds, as a number in [0, 1).
            let unit = ((mixed ^ mixed >> 31) >> 40) as f32 / (1 << 24) as f32;
            f16::from_f32(unit * 2.0 - 1.0)
        })
    }

    /// The same value for every element of `surface`.
    pub fn constant_for(surface: &Surface<'_>, value: f16) -> Result<Self, TooLarge> {
        check_size(surface)?;
        Ok(Self::from_fn(surface.shape, |_| value))
    }

    /// Random values for `surface`: truth values where its elements are bytes, else as [`random`](Self::random).
    pub fn random_for(surface: &Surface<'_>, seed: u64) -> Result<Self, TooLarge> {
        check_size(surface)?;
        let mut tensor = Self::random(surface.shape, seed);
        if surface.element == Element::Byte {
            for value in &mut tensor.values {
                *value = if *value < f16::ZERO { f16::ZERO } else { f16::ONE };
            }
        }
        Ok(tensor)
    }

    pub const fn shape(&self) -> Axes<u32> {
        self.shape
    }

    pub fn values(&self) -> &[f16] {
        &self.values
    }

    pub fn into_values(self) -> Vec<f16> {
        self.values
    }
}

fn check_size(surface: &Surface<'_>) -> Result<(), TooLarge> {
    let elements = elements(surface.shape);
    if elements > MADE_UP_MAX {
        return Err(TooLarge { name: surface.name.to_string(), elements });
    }
    Ok(())
}

/// True if an array of extents `given` is one of `extents`: the same, or with fewer or more axes of length 1.
///
/// With as many axes each has a place and a meaning, and has to have its extent: an image as H, W, C is not taken for one as
/// C, H, W because one axis has length 1 and the others are equal. Its elements would be read in another order than meant.
///
/// # Examples
///
/// ```
/// use ane::tensor::fits;
///
/// assert!(fits(&[16, 32], &[1, 16, 1, 32]) && fits(&[1, 16, 1, 32], &[16, 32]));
/// assert!(!fits(&[1, 1, 3, 3], &[1, 3, 1, 3]));
/// ```
pub fn fits(given: &[usize], extents: &[usize]) -> bool {
    let long = |shape: &[usize]| shape.iter().copied().filter(|&extent| extent != 1).collect::<Vec<_>>();
    given == extents || (given.len() != extents.len() && long(given) == long(extents))
}

/// How many elements a shape has. Shapes of surfaces have few enough for an aperture of 2^32 bytes.
pub fn elements(shape: Axes<u32>) -> u64 {
    [shape.n, shape.c, shape.h, shape.w]
        .into_iter()
        .fold(1, |product: u64, extent| product.saturating_mul(extent.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Axes<u32> = Axes { n: 1, c: 3, h: 2, w: 5 };

    #[test]
    fn values_of_another_number_are_refused() {
        let error = Tensor::new(SHAPE, vec![f16::ONE; 29]).unwrap_err();
        assert_eq!(error.to_string(), "29 values for 30 elements of shape [1, 3, 2, 5]");
    }

    #[test]
    fn array_fits_also_without_axes_of_length_one_or_with_more_of_them() {
        let wanted: [&[usize]; 4] = [&[1, 16, 1, 32], &[16, 32], &[16, 1, 1, 32], &[1, 1, 1]];
        let given: [&[&[usize]]; 4] = [
            &[&[1, 16, 1, 32], &[16, 32], &[16, 1, 32], &[1, 16, 32], &[1, 1, 16, 1, 32]],
            &[&[16, 32], &[1, 16, 1, 32], &[16, 32, 1]],
            &[&[16, 1, 1, 32], &[16, 32], &[16, 1, 32]],
            &[&[], &[1], &[1, 1, 1, 1]],
        ];
        for (wanted, given) in wanted.into_iter().zip(given) {
            assert!(given.iter().all(|given| fits(given, wanted)), "{wanted:?}");
        }
    }

    #[test]
    fn array_whose_axes_are_elsewhere_does_not_fit() {
        let wanted = [1, 16, 1, 32];
        let given: [&[usize]; 7] =
            [&[16, 1, 1, 32], &[1, 1, 16, 32], &[32, 16], &[512], &[16], &[16, 32, 32], &[2, 16, 32]];
        for given in given {
            assert!(!fits(given, &wanted), "{given:?}");
        }
    }

    #[test]
    fn random_values_depend_on_the_seed_and_stay_in_range() {
        let one = Tensor::random(SHAPE, 1);
        assert_eq!(one, Tensor::random(SHAPE, 1));
        assert_ne!(one, Tensor::random(SHAPE, 2));
        let big = Tensor::random(Axes { n: 1, c: 64, h: 64, w: 64 }, 0);
        let (low, high) = big.values().iter().fold((1.0_f32, -1.0_f32), |(low, high), value| {
            (low.min(value.to_f32()), high.max(value.to_f32()))
        });
        assert!((-1.0..-0.99).contains(&low) && (0.99..=1.0).contains(&high), "{low} {high}");
    }
}
