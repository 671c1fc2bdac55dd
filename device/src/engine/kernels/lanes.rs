//! What a vector unit has to offer: numbers side by side, and the few things that are done to them.
//!
//! A value of such a type exists only where the processor has the unit, since the one way to a first value is
//! the unsafe [`Lanes::splat`] or [`Lanes::load`]; everything that starts from a value is safe.

/// Lanes of the longest vector of any tier.
pub(super) const LONGEST: usize = 16;

/// Numbers side by side.
pub(super) trait Lanes: Copy {
    /// How many.
    const COUNT: usize;

    /// The same number everywhere.
    ///
    /// # Safety
    ///
    /// The processor has the unit.
    unsafe fn splat(number: f32) -> Self;

    /// Numbers that lie in a row.
    ///
    /// # Safety
    ///
    /// The processor has the unit, and `COUNT` numbers can be read.
    unsafe fn load(from: *const f32) -> Self;

    /// Halves that lie in a row; NaN as +infinity.
    ///
    /// # Safety
    ///
    /// The processor has the unit, and `COUNT` halves can be read.
    unsafe fn load_halves(from: *const u16) -> Self;

    /// Writes those of the numbers whose bits are set in the mask.
    ///
    /// # Safety
    ///
    /// These can be written.
    #[inline(always)]
    unsafe fn store_some(self, to: *mut f32, mask: u16) {
        let mut numbers = [0.0; LONGEST];
        // SAFETY: no vector is longer.
        unsafe { self.store(numbers.as_mut_ptr()) };
        for (lane, number) in numbers.into_iter().enumerate() {
            if mask >> lane & 1 == 1 {
                // SAFETY: as the caller says.
                unsafe { to.wrapping_add(lane).write(number) };
            }
        }
    }

    /// Writes the numbers in a row.
    ///
    /// # Safety
    ///
    /// `COUNT` numbers can be written.
    unsafe fn store(self, to: *mut f32);

    /// Writes the numbers, none of them a NaN, as the nearest halves, ties to even.
    ///
    /// # Safety
    ///
    /// `COUNT` halves can be written.
    unsafe fn store_halves(self, to: *mut u16);

    /// The same number everywhere, where there is a value already.
    fn number(self, number: f32) -> Self;

    /// Sum.
    fn add(self, other: Self) -> Self;

    /// Difference.
    fn sub(self, other: Self) -> Self;

    /// Product.
    fn mul(self, other: Self) -> Self;

    /// `a * b + self`, where the product is exact in single precision, so that it does not matter whether it is fused.
    fn plus_product(self, a: Self, b: Self) -> Self;

    /// `self - a * b`, likewise.
    fn minus_product(self, a: Self, b: Self) -> Self;

    /// The magnitude.
    fn magnitude(self) -> Self;

    /// The larger magnitude; where `other` is a NaN, that of `self`.
    fn peak(self, other: Self) -> Self;

    /// The number, and +0 where it is denormal as a half.
    fn flush(self) -> Self;

    /// The number, and +0 for what is none.
    fn or_zero(self) -> Self;

    /// The number, and infinity from a magnitude on.
    fn limited(self, limit: Self) -> Self;

    /// The bits that are in `mask`, those in `flipped` turned over.
    fn masked(self, mask: u32, flipped: u32) -> Self;

    /// The power of two of the larger magnitude, times one or one and a half, as far as the gate lets it through: the
    /// exponent's bits that are in [`POWER`], and all others where the gate has them set.
    fn larger_power(self, other: Self, gate: Self) -> Self;
}

/// The sign.
pub(super) const SIGN: u32 = 0x8000_0000;
/// Bits of the exponent.
pub(super) const EXPONENT: u32 = 0x7f80_0000;
/// Bits of the exponent that every gate lets through.
pub(super) const POWER: u32 = 0x1f80_0000;
