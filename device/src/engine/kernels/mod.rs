//! Loops that compute many numbers at once, in a tier for each kind of vector unit.
//!
//! A kernel is written once, over the operations of [`lanes`], and compiled for each tier. Which tiers there
//! are is found out at run time. All of them give the bytes that [`numerics`](super::numerics) defines.
//!
//! The compiler ends each of the functions made here with `vzeroupper`, because they are what is compiled for the unit:
//! upper halves of registers left dirty would slow down whatever runs next (goal C9).
#![expect(unsafe_code, reason = "code for a unit may be called where the unit is there")]
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "sizes are those of arrays and of checked blocks"
)]
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "the portable tier needs few of the parts that the others are made of")
)]

mod abreast;
mod apart;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod block;
mod convert;
mod copy;
mod deal;
mod double;
mod finish;
#[cfg(target_arch = "x86_64")]
mod intrinsics;
mod lanes;
mod measure;
mod ordered;
#[cfg(target_arch = "x86_64")]
mod planar_avx2;
#[cfg(target_arch = "x86_64")]
mod planar_avx512;
pub(super) mod planar_single;
pub(super) mod planar_vector;
mod portable;
mod prefetch;
mod single;
mod spread;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
mod tiers;
pub(super) mod turn;
mod vector;
mod window;

pub(crate) use self::abreast::{Abreast, Interleave, Magnitudes};
pub(crate) use self::apart::{Exponents, Parted, TOGETHER, any_in_common};
pub(crate) use self::block::{Adding, Block, Offsets};
pub(crate) use self::copy::{Gather, Source, Stretch};
pub(crate) use self::deal::{Deal, Strip};
pub(crate) use self::double::SCALE;
pub(crate) use self::finish::{Finish, Pixels, Port};
pub(crate) use self::measure::{Extent, GRANULE};
pub(crate) use self::ordered::{LOWEST, half};
pub(crate) use self::spread::Spread;
pub(crate) use self::vector::{MOST_OUTPUTS, Stream, Tap};
pub(crate) use self::window::Window;

/// A kind of vector unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// AVX-512 (F, BW, DQ, VL) with FMA and F16C: sixteen singles.
    Avx512,
    /// AVX2 with FMA and F16C: eight singles.
    Avx2,
    /// Whatever the compiler may assume.
    Portable,
}

impl Tier {
    /// Every tier, the best first.
    pub const ALL: [Self; 3] = [Self::Avx512, Self::Avx2, Self::Portable];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2",
            Self::Portable => "portable",
        }
    }

    /// Whether this processor has the unit.
    #[must_use]
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let small = || {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
                    && is_x86_feature_detected!("popcnt")
                    && is_x86_feature_detected!("bmi1")
            };
            let large = || {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            };
            match self {
                Self::Avx512 => small() && large(),
                Self::Avx2 => small(),
                Self::Portable => true,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Self::Portable
        }
    }

    /// The best that this processor has.
    #[must_use]
    pub fn best() -> Self {
        Self::ALL.into_iter().find(|tier| tier.is_available()).unwrap_or(Self::Portable)
    }

    /// The code for this tier, or the portable code where the processor does not have it.
    pub(crate) fn code(self) -> &'static Code {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 if self.is_available() => &tiers::for_avx512::CODE,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 if self.is_available() => &tiers::for_avx2::CODE,
            _ => &tiers::for_portable::CODE,
        }
    }
}

/// A kernel, and the size of the blocks that it works on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    /// Rows of a block.
    pub(crate) rows: usize,
    /// Columns of a block.
    pub(crate) columns: usize,
    /// Whether it adds in single precision, which needs a multiplication and an addition with one rounding.
    pub(crate) has_singles: bool,
    run: unsafe fn(&mut Block<'_>),
}

impl Kernel {
    /// Adds the taps of a block to its sums.
    ///
    /// # Panics
    ///
    /// Panics if the block is too small for the kernel, which is a mistake of this program and of no guest.
    pub(crate) fn run(&self, block: &mut Block<'_>) {
        assert!(block.fits(self.rows, self.columns), "block holds what its kernel works on");
        // SAFETY: kernels are found in a `Code`, which is handed out where the unit is there; the block fits.
        unsafe { (self.run)(block) };
    }
}

/// Parts taps by their coefficients, the exponents that these drop, those of their operands, and chunks.
type Part = unsafe fn(&[f32], &[Exponents], &[Exponents], &[usize], &mut Parted) -> bool;

/// Looks for products that are dropped. The arguments are a panel, the places of its taps, its columns, its rows, and the
/// limits from which products count.
type Drops = unsafe fn(&[f32], &[usize], usize, usize, &[f32]) -> bool;

/// Everything that is compiled for one tier.
#[derive(Debug)]
pub(crate) struct Code {
    /// For many rows.
    pub(crate) many: Kernel,
    /// The same, for few columns.
    pub(crate) narrow: Kernel,
    pub(crate) row: Kernel,
    /// The same, for half as many columns.
    pub(crate) short: Kernel,
    /// Numbers of a vector.
    pub(crate) lanes: usize,
    copy: unsafe fn(&mut Gather<'_>),
    deal: unsafe fn(&mut Deal<'_>),
    widen: unsafe fn(&[u16], &mut [f32]),
    spread: unsafe fn(&mut Spread<'_>),
    finish: unsafe fn(&mut Finish<'_, '_>),
    raise: unsafe fn(&mut [u16], &[u16]),
    enter: unsafe fn(&[u16], &mut [u16]),
    scale: unsafe fn(&[u16], f64, &mut [u16]),
    halves: unsafe fn(&[u16]) -> Extent,
    tile: unsafe fn(&[f32], usize, &mut [Extent]),
    least: unsafe fn(&[f32], &mut [f32]),
    exact: unsafe fn(&[f32], f64, &mut [f64]),
    drops: Drops,
    peak: unsafe fn(&[i32], &[i32]) -> Option<u32>,
    dropped: unsafe fn(&[f32], &mut [Exponents]),
    exponents: unsafe fn(&[f32], &mut [Exponents]),
    part: Option<Part>,
    stream: Option<unsafe fn(&mut Stream<'_>) -> u16>,
    /// Outputs that are streamed together, few and many.
    streamed: [usize; 2],
    abreast: Option<OfChannels>,
}

/// Interleaves channels, computes outputs of channels that are, and takes them apart.
#[derive(Clone, Copy, Debug)]
struct OfChannels {
    interleave: unsafe fn(&mut Interleave<'_>) -> Magnitudes,
    compute: unsafe fn(&mut Abreast<'_>),
    separate: unsafe fn(&[u16], Window<'_>),
}

impl Code {
    /// Reads halves as the array does.
    pub(crate) fn widen(&self, from: &[u16], to: &mut [f32]) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.widen)(from, to) };
    }

    /// Writes rows of a plane.
    pub(crate) fn spread(&self, spread: &mut Spread<'_>) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.spread)(spread) };
    }

    /// Copies operands into panels.
    ///
    /// # Panics
    ///
    /// Panics if something leads outside, which is a mistake of this program and of no guest.
    pub(crate) fn copy(&self, gather: &mut Gather<'_>) {
        assert!(gather.fits(self.lanes), "operands and panels hold what is copied");
        // SAFETY: a `Code` is handed out where the unit is there, and everything fits.
        unsafe { (self.copy)(gather) };
    }

    /// Deals out coefficients to tiles.
    ///
    /// # Panics
    ///
    /// Panics if something leads outside, which is a mistake of this program and of no guest.
    pub(crate) fn deal(&self, deal: &mut Deal<'_>) {
        assert!(deal.fits(), "planes and tiles hold what is dealt out");
        // SAFETY: a `Code` is handed out where the unit is there, and everything fits.
        unsafe { (self.deal)(deal) };
    }

    /// Turns the sums of a block into halves, where they belong in the output.
    pub(crate) fn finish(&self, finish: &mut Finish<'_, '_>) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.finish)(finish) };
    }

    /// Puts the larger of a key and that of an operand into each key's place, as far as both go.
    pub(crate) fn raise(&self, keys: &mut [u16], operands: &[u16]) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.raise)(keys, operands) };
    }

    /// Copies halves as they enter the engine, as far as both slices go.
    pub(crate) fn enter(&self, from: &[u16], to: &mut [u16]) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.enter)(from, to) };
    }

    /// Multiplies halves with a number outside of the array, as far as both slices go.
    pub(crate) fn scale(&self, from: &[u16], factor: f64, to: &mut [u16]) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.scale)(from, factor, to) };
    }

    pub(crate) fn measure(&self, halves: &[u16]) -> Extent {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.halves)(halves) }
    }

    /// Measures each granule of a tile of so many rows.
    pub(crate) fn measure_tile(&self, tile: &[f32], rows: usize, extents: &mut [Extent]) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.tile)(tile, rows, extents) };
    }

    /// For each coefficient, the magnitude from which on an operand is not dropped.
    pub(crate) fn least(&self, coefficients: &[f32], to: &mut [f32]) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.least)(coefficients, to) };
    }

    /// Coefficients as sums of doubles take them, scaled.
    pub(crate) fn exact(&self, coefficients: &[f32], scale: f64, to: &mut [f64]) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.exact)(coefficients, scale, to) };
    }

    /// Whether a block of a kernel drops a product of these operands: `least` has the magnitude from which on a
    /// tap of a row counts.
    pub(crate) fn drops(&self, kernel: &Kernel, panel: &[f32], offsets: &Offsets, least: &[f32]) -> bool {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.drops)(panel, offsets.each(), kernel.columns, kernel.rows, least) }
    }

    /// The largest magnitude of the units whose fate is open, if there is any.
    pub(crate) fn peak(&self, units: &[i32], fates: &[i32]) -> Option<u32> {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.peak)(units, fates) }
    }

    /// The exponents of operands that any coefficient of a tap drops, for each tap of a tile.
    pub(crate) fn dropped(&self, coefficients: &[f32], to: &mut [Exponents]) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.dropped)(coefficients, to) };
    }

    /// The exponents of the operands of each tap of a panel.
    pub(crate) fn exponents(&self, panel: &[f32], to: &mut [Exponents]) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.exponents)(panel, to) };
    }

    /// Parts the taps of a block by the exponents that they drop and those of their operands, of which there are [`TOGETHER`] more than
    /// taps. Gives nothing where no product is dropped, or kernels do not ask for it.
    pub(crate) fn part<'a>(
        &self,
        coefficients: &[f32],
        [dropped, operands]: [&[Exponents]; 2],
        chunks: &[usize],
        parted: &'a mut Parted,
    ) -> Option<&'a Parted> {
        let run = self.part?;
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { run(coefficients, dropped, operands, chunks, parted) }.then_some(&*parted)
    }

    /// The most outputs that are streamed together, of which `fits` says that they lie side by side; none if a matrix cannot be
    /// read in place.
    pub(crate) fn streamed(&self, fits: impl Fn(usize) -> bool) -> Option<usize> {
        self.stream?;
        self.streamed.into_iter().rev().find(|&together| fits(together))
    }

    /// Adds taps whose coefficients are read where they are, where that can be done; gives the largest magnitude of a
    /// coefficient, as the bits of a half.
    pub(crate) fn stream(&self, stream: &mut Stream<'_>) -> u16 {
        let Some(run) = self.stream else { return 0 };
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { run(stream) }
    }

    /// Channels that are computed abreast, if any are.
    pub(crate) fn abreast(&self) -> Option<usize> {
        self.abreast.map(|_| self.lanes)
    }

    /// Interleaves channels, as many as are computed abreast, and measures them; nothing where none are.
    pub(crate) fn interleave(&self, channels: &mut Interleave<'_>) -> Magnitudes {
        let Some(OfChannels { interleave, .. }) = self.abreast else { return Magnitudes::NONE };
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { interleave(channels) }
    }

    /// Computes outputs of interleaved channels; nothing where none are computed abreast.
    ///
    /// # Panics
    ///
    /// Panics if something leads outside, which is a mistake of this program and of no guest.
    pub(crate) fn run_abreast(&self, abreast: &mut Abreast<'_>) {
        let Some(OfChannels { compute, .. }) = self.abreast else { return };
        assert!(abreast.fits(self.lanes), "planes and results hold what is computed");
        // SAFETY: a `Code` is handed out where the unit is there, and everything fits.
        unsafe { compute(abreast) }
    }

    /// Takes interleaved channels apart, into the rows of a window; nothing where none are computed abreast.
    pub(crate) fn separate(&self, interleaved: &[u16], window: Window<'_>) {
        let Some(OfChannels { separate, .. }) = self.abreast else { return };
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { separate(interleaved, window) }
    }
}
