//! Dense arrays of any rank in double precision: what is known of a model before it runs.

use std::sync::{Arc, OnceLock};

use super::fault::Fault;

/// Most elements of one array that is computed before the run. Larger ones do not fit the engine either.
pub const ELEMENTS_MAX: u64 = 1 << 26;

/// Most axes of a tensor. (Chosen) Models have up to six; the bound keeps loops over axes short.
pub const RANK_MAX: usize = 12;

/// A dense array, last axis fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    dims: Vec<usize>,
    elements: Arc<Elements>,
}

/// Elements that arrays of different extents share, and what was found in them: a small model may name a large constant often.
#[derive(Debug)]
struct Elements {
    list: Box<[f64]>,
    magnitudes: OnceLock<Magnitudes>,
}

/// The magnitudes of an array's elements. NaNs have none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::model) struct Magnitudes {
    /// The largest, or 0.
    pub(in crate::model) largest: f64,
    /// The element of the smallest magnitude from 2^53 on: a double may stand for its neighbours too.
    pub(in crate::model) inexact: Option<f64>,
}

impl Magnitudes {
    fn of(list: &[f64]) -> Self {
        const END: f64 = (1_u64 << 53) as f64;
        let largest = list.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        let beyond = list.iter().copied().filter(|value| value.abs() >= END);
        Self { largest, inexact: beyond.reduce(|a, b| if b.abs() < a.abs() { b } else { a }) }
    }
}

impl PartialEq for Elements {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl FromIterator<f64> for Elements {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        Self { list: values.into_iter().collect(), magnitudes: OnceLock::new() }
    }
}

impl Array {
    /// An array of these values; there have to be as many as the extents say.
    ///
    /// # Errors
    ///
    /// [`Fault::Elements`], [`Fault::Length`].
    pub fn new(dims: Vec<usize>, values: Vec<f64>) -> Result<Self, Fault> {
        let count = elements(&dims)?;
        if values.len() == count {
            let elements = Elements { list: values.into(), magnitudes: OnceLock::new() };
            Ok(Self { dims, elements: Arc::new(elements) })
        } else {
            Err(Fault::Length { dims, values: values.len() })
        }
    }

    pub fn scalar(value: f64) -> Self {
        Self::of(Vec::new(), [value])
    }

    /// A list of numbers.
    pub fn list(values: impl IntoIterator<Item = f64>) -> Self {
        let elements: Elements = values.into_iter().collect();
        Self { dims: vec![elements.list.len()], elements: Arc::new(elements) }
    }

    fn of(dims: Vec<usize>, values: impl IntoIterator<Item = f64>) -> Self {
        Self { dims, elements: Arc::new(values.into_iter().collect()) }
    }

    /// The result of `value` for each place in the dense order.
    ///
    /// # Errors
    ///
    /// [`Fault::Elements`].
    pub fn from_fn(dims: Vec<usize>, value: impl FnMut(usize) -> f64) -> Result<Self, Fault> {
        let count = elements(&dims)?;
        Ok(Self::of(dims, (0..count).map(value)))
    }

    /// Extent of each axis.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The elements.
    pub fn values(&self) -> &[f64] {
        &self.elements.list
    }

    /// The magnitudes of the elements, which are looked at once however many arrays share them.
    pub(in crate::model) fn magnitudes(&self) -> Magnitudes {
        *self.elements.magnitudes.get_or_init(|| Magnitudes::of(self.values()))
    }

    pub fn only(&self) -> Option<f64> {
        match *self.values() {
            [value] => Some(value),
            _ => None,
        }
    }

    /// The same elements with other extents.
    ///
    /// # Errors
    ///
    /// [`Fault::Length`] where that are other numbers of elements.
    pub fn reshaped(&self, dims: Vec<usize>) -> Result<Self, Fault> {
        if elements(&dims)? == self.values().len() {
            Ok(Self { dims, elements: Arc::clone(&self.elements) })
        } else {
            Err(Fault::Length { dims, values: self.values().len() })
        }
    }

    /// Each element put through `f`.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Self::of(self.dims.clone(), self.values().iter().map(|&value| f(value)))
    }

    /// An array of `dims` whose element at each place is this one's at `at + place * steps` along each axis.
    pub(super) fn gather(&self, dims: &[usize], base: usize, steps: &[isize]) -> Result<Self, Fault> {
        let mut walk = Walk::new(dims, base, steps);
        Self::from_fn(dims.to_vec(), |_| self.values().get(walk.next_place()).copied().unwrap_or(f64::NAN))
    }
}

/// Number of elements.
///
/// # Errors
///
/// [`Fault::Elements`] above [`ELEMENTS_MAX`], [`Fault::Rank`] above [`RANK_MAX`].
pub fn elements(dims: &[usize]) -> Result<usize, Fault> {
    is_rank(dims.len())?;
    // Extents beside one of 0 count too: strides are products of them.
    let most = dims.iter().try_fold(1_u64, |all, &extent| all.checked_mul(extent.max(1) as u64));
    match most {
        Some(most) if most <= ELEMENTS_MAX => Ok(if dims.contains(&0) { 0 } else { most as usize }),
        _ => Err(Fault::Elements { dims: dims.to_vec() }),
    }
}

/// A number that has to be a whole one, or the end of those that are kept if it lies behind that.
///
/// # Errors
///
/// [`Fault::NotWhole`].
#[expect(clippy::cast_possible_truncation, reason = "a number behind an end is that end")]
pub fn whole(value: f64) -> Result<i64, Fault> {
    // An infinite number has a fraction that is none.
    if value.fract() == 0.0 { Ok(value as i64) } else { Err(Fault::NotWhole { value }) }
}

/// A whole number in a type of so many bits, of which only the lowest are kept. Those of 64 bits stay: doubles do not have all of their
/// digits, and what would leave them is refused before.
pub fn wrapped(value: f64, bits: u8, has_sign: bool) -> f64 {
    if bits >= 64 {
        return value;
    }
    let all = f64::from(bits).exp2();
    let rest = value.rem_euclid(all);
    if has_sign && rest >= all / 2.0 { rest - all } else { rest }
}

/// Refuses more axes than a tensor can have. A list of extents may be as long as a constant.
///
/// # Errors
///
/// [`Fault::Rank`].
pub const fn is_rank(rank: usize) -> Result<(), Fault> {
    if rank > RANK_MAX { Err(Fault::Rank { rank }) } else { Ok(()) }
}

/// Distance of neighbours along each axis.
pub fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for axis in (0..dims.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1] * dims[axis + 1];
    }
    strides
}

/// Strides of an operand of `dims` that is stretched to `to`: 0 along axes that it has not, or of extent 1.
pub fn stretched(dims: &[usize], to: &[usize]) -> Vec<isize> {
    let own = strides(dims);
    let missing = to.len() - dims.len();
    let stride = |axis: usize| match axis.checked_sub(missing) {
        Some(axis) if dims[axis] != 1 => own[axis].cast_signed(),
        _ => 0,
    };
    (0..to.len()).map(stride).collect()
}

/// The places of an array's elements in the dense order of its extents.
#[derive(Debug)]
pub struct Walk<'a> {
    dims: &'a [usize],
    steps: &'a [isize],
    index: Vec<usize>,
    at: isize,
}

impl<'a> Walk<'a> {
    pub fn new(dims: &'a [usize], base: usize, steps: &'a [isize]) -> Self {
        Self { dims, steps, index: vec![0; dims.len()], at: base.cast_signed() }
    }

    /// The place of the next element.
    pub fn next_place(&mut self) -> usize {
        let place = self.at;
        for axis in (0..self.dims.len()).rev() {
            self.index[axis] += 1;
            // A step that leads outside is taken back before anything is read there.
            self.at = self.at.wrapping_add(self.steps[axis]);
            if self.index[axis] < self.dims[axis] {
                break;
            }
            self.at = self.at.wrapping_sub(self.steps[axis].wrapping_mul(self.index[axis].cast_signed()));
            self.index[axis] = 0;
        }
        place.cast_unsigned()
    }
}

/// The extents of both operands together, as NumPy stretches them.
///
/// # Errors
///
/// [`Fault::Broadcast`].
pub fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>, Fault> {
    let rank = a.len().max(b.len());
    let at = |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |axis| dims[axis]);
    let axis = |axis| match (at(a, axis), at(b, axis)) {
        (1, extent) | (extent, 1) => Some(extent),
        (a, b) => (a == b).then_some(a),
    };
    let dims: Option<Vec<usize>> = (0..rank).map(axis).collect();
    dims.ok_or_else(|| Fault::Broadcast { first: a.to_vec(), second: b.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_arrays_share_are_looked_at_once() {
        let array = Array::list([1.0, -(2_f64.powi(60)), 2_f64.powi(53), f64::NAN]);
        let same = array.reshaped(vec![2, 2]).unwrap();
        let wanted = Magnitudes { largest: 2_f64.powi(60), inexact: Some(2_f64.powi(53)) };
        assert_eq!(array.magnitudes(), wanted);
        assert_eq!(same.elements.magnitudes.get(), Some(&wanted));
        let other = same.map(|value| value / 4096.0);
        assert_eq!(other.elements.magnitudes.get(), None);
        assert_eq!(other.magnitudes(), Magnitudes { largest: 2_f64.powi(48), inexact: None });
    }
}
