//! What a vector unit has to offer: numbers side by side, and the few things that are done to them.
//!
//! A value of such a type exists only where the processor has the unit, since the one way to a first value is
//! the unsafe [`Lanes::splat`] or [`Lanes::load`]; everything that starts from a value is safe.

/// Numbers side by side.
pub(super) trait Lanes: Copy {
    /// How many.
    const COUNT: usize;
    /// A product as the narrow adder takes it.
    type Product: Copy;

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

    /// Sum.
    fn add(self, other: Self) -> Self;

    /// Product.
    fn mul(self, other: Self) -> Self;

    /// `a * b + self`, where the product is exact in single precision, so that it does not matter whether it is fused.
    fn plus_product(self, a: Self, b: Self) -> Self;

    /// The larger magnitude; where `other` is a NaN, that of `self`.
    fn peak(self, other: Self) -> Self;

    /// The number, and +0 where it is denormal as a half.
    fn flush(self) -> Self;

    /// The product, rounded and flushed as [`product`](crate::engine::numerics::product) has it. All products are
    /// [`SCALE`] times as large as they say they are.
    fn product(self, other: Self) -> Self::Product;

    /// A product that a tile starts with.
    fn first(product: Self::Product) -> Self;

    /// The 12-bit add of a second product to the first, both rounded.
    fn add_second(self, product: Self::Product) -> Self;

    /// The 12-bit add of a later product.
    fn add_later(self, product: Self::Product) -> Self;
}

/// What the accumulators of `m1` are too large by, so that 2^-14, the smallest product that survives, becomes 2: the
/// magnitudes from there on are those with the highest bit of the exponent set.
pub(crate) const SCALE: f32 = 32768.0;

/// Bits of the exponent.
pub(super) const EXPONENT: u32 = 0x7f80_0000;
/// What survives a flush, if [`SCALE`] times as large.
pub(super) const SURVIVES: f32 = 2.0;
/// Times a power of two `2^e`, this is a number whose own last digit is worth `2^(e-10)`, and it remains so whatever of a
/// magnitude below `2^(e+1)` is added: adding it rounds to eleven digits. With 2 in place of smaller powers it rounds
/// as halves do, whose digits end there.
pub(super) const ROUND: f32 = 12288.0;
/// The same for twelve digits.
pub(super) const ALIGN: f32 = 6144.0;
