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

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod block;
mod convert;
mod copy;
mod deal;
mod fast;
mod finish;
#[cfg(target_arch = "x86_64")]
mod intrinsics;
mod lanes;
mod m1;
mod narrow;
mod ordered;
#[cfg(target_arch = "x86_64")]
mod planar_avx2;
#[cfg(target_arch = "x86_64")]
mod planar_avx512;
pub(super) mod planar_single;
pub(super) mod planar_vector;
mod portable;
mod prefetch;
pub(super) mod turn;
mod window;

pub(crate) use self::block::{Block, Guard, Offsets};
pub(crate) use self::convert::Port;
pub(crate) use self::copy::{Gather, Source, Stretch};
pub(crate) use self::deal::{Deal, Strip};
pub(crate) use self::finish::{Finish, Pixels};
pub(crate) use self::narrow::{MAGNITUDE, SCALE};
pub(crate) use self::ordered::{LOWEST, half};
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

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2",
            Self::Portable => "portable",
        }
    }

    /// Whether this processor has it.
    #[must_use]
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let small = || {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
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
            Self::Avx512 if self.is_available() => &for_avx512::CODE,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 if self.is_available() => &for_avx2::CODE,
            _ => &for_portable::CODE,
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
    /// Coefficients of each tap.
    pub(crate) coefficients: usize,
    run: unsafe fn(&mut Block<'_>),
}

impl Kernel {
    /// Adds the taps of a block to its sums.
    ///
    /// # Panics
    ///
    /// Panics if the block is too small for the kernel, which is a mistake of this program and of no guest.
    pub(crate) fn run(&self, block: &mut Block<'_>) {
        assert!(
            block.fits(self.rows, self.columns, self.coefficients),
            "block holds what its kernel works on"
        );
        // SAFETY: kernels are found in a `Code`, which is handed out where the unit is there; the block fits.
        unsafe { (self.run)(block) };
    }
}

/// Everything that is compiled for one tier.
#[derive(Debug)]
pub(crate) struct Code {
    /// `fast`, for many rows.
    pub(crate) fast: Kernel,
    /// `fast`, for one row.
    pub(crate) fast_row: Kernel,
    /// `m1`, for many rows.
    pub(crate) m1: Kernel,
    /// `m1`, for one row.
    pub(crate) m1_row: Kernel,
    /// As [`Code::fast`], for few columns.
    pub(crate) fast_narrow: Kernel,
    /// As [`Code::m1`], for few columns.
    pub(crate) m1_narrow: Kernel,
    /// As [`Code::fast_row`], for half as many columns.
    pub(crate) fast_short: Kernel,
    /// As [`Code::m1_row`], for half as many columns.
    pub(crate) m1_short: Kernel,
    /// Numbers of a vector.
    pub(crate) lanes: usize,
    copy: unsafe fn(&mut Gather<'_>),
    deal: unsafe fn(&mut Deal<'_>),
    widen: unsafe fn(&[u16], bool, &mut [f32]),
    narrow: unsafe fn(&[f32], Port, &mut [u16]),
    finish: unsafe fn(&mut Finish<'_, '_>),
    raise: unsafe fn(&mut [u16], &[u16]),
    largest: unsafe fn(&[u16]) -> u16,
    enter: unsafe fn(&[u16], &mut [u16]),
}

impl Code {
    /// Reads halves as numbers; denormal ones as +0 if asked.
    pub(crate) fn widen(&self, from: &[u16], flush: bool, to: &mut [f32]) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.widen)(from, flush, to) };
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

    /// Turns sums into halves, as many as both slices have whole vectors of.
    pub(crate) fn narrow(&self, sums: &[f32], port: Port, to: &mut [u16]) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.narrow)(sums, port, to) };
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

    /// The bits of the largest magnitude, which may be no number.
    pub(crate) fn largest(&self, halves: &[u16]) -> u16 {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.largest)(halves) }
    }

    /// Copies halves as they enter the engine, as far as both slices go.
    pub(crate) fn enter(&self, from: &[u16], to: &mut [u16]) {
        // SAFETY: a `Code` is handed out where the unit is there.
        unsafe { (self.enter)(from, to) };
    }
}

/// The code of a tier: its lanes, and the rows and vectors of blocks that fill its registers.
macro_rules! code {
    ($module:ident, $lanes:ty, $(#[$feature:meta])? fast $rows:literal by $vectors:literal, m1 $m1_rows:literal, row $row:literal) => {
        mod $module {
            use super::lanes::Lanes;
            use super::{
                Block, Code, Deal, Finish, Gather, Kernel, Port, convert, copy, deal, fast, finish, m1, ordered,
            };

            /// Vectors of a block of one row.
            const ROW: usize = $row;
            /// Half of them.
            const SHORT: usize = ROW / 2;

            pub(super) static CODE: Code = Code {
                fast: Kernel { rows: $rows, columns: $vectors * <$lanes>::COUNT, coefficients: $rows, run: fast },
                fast_row: Kernel { rows: 1, columns: ROW * <$lanes>::COUNT, coefficients: 1, run: fast_row },
                m1: Kernel { rows: $m1_rows, columns: $vectors * <$lanes>::COUNT, coefficients: 2 * $m1_rows, run: m1 },
                m1_row: Kernel { rows: 1, columns: ROW * <$lanes>::COUNT, coefficients: 2 * 1, run: m1_row },
                fast_narrow: Kernel { rows: $rows, columns: <$lanes>::COUNT, coefficients: $rows, run: fast_narrow },
                m1_narrow: Kernel { rows: $m1_rows, columns: <$lanes>::COUNT, coefficients: 2 * $m1_rows, run: m1_narrow },
                fast_short: Kernel { rows: 1, columns: SHORT * <$lanes>::COUNT, coefficients: 1, run: fast_short },
                m1_short: Kernel { rows: 1, columns: SHORT * <$lanes>::COUNT, coefficients: 2 * 1, run: m1_short },
                lanes: <$lanes>::COUNT,
                copy,
                deal,
                widen,
                narrow,
                finish,
                raise,
                largest,
                enter,
            };

            $(#[$feature])?
            unsafe fn fast(block: &mut Block<'_>) {
                // SAFETY: as the caller says.
                unsafe { fast::run::<$lanes, $rows, $vectors>(block) }
            }

            $(#[$feature])?
            unsafe fn fast_row(block: &mut Block<'_>) {
                // SAFETY: as the caller says.
                unsafe { fast::run::<$lanes, 1, ROW>(block) }
            }

            $(#[$feature])?
            unsafe fn m1(block: &mut Block<'_>) {
                // SAFETY: as the caller says.
                unsafe { m1::run::<$lanes, $m1_rows, $vectors, 1>(block) }
            }

            $(#[$feature])?
            unsafe fn m1_row(block: &mut Block<'_>) {
                // SAFETY: as the caller says.
                unsafe { m1::run::<$lanes, 1, ROW, 2>(block) }
            }

            $(#[$feature])?
            unsafe fn fast_short(block: &mut Block<'_>) {
                // SAFETY: as the caller says.
                unsafe { fast::run::<$lanes, 1, SHORT>(block) }
            }

            $(#[$feature])?
            unsafe fn m1_short(block: &mut Block<'_>) {
                // SAFETY: as the caller says.
                unsafe { m1::run::<$lanes, 1, SHORT, 2>(block) }
            }

            $(#[$feature])?
            unsafe fn fast_narrow(block: &mut Block<'_>) {
                // SAFETY: as the caller says.
                unsafe { fast::run::<$lanes, $rows, 1>(block) }
            }

            $(#[$feature])?
            unsafe fn m1_narrow(block: &mut Block<'_>) {
                // SAFETY: as the caller says.
                unsafe { m1::run::<$lanes, $m1_rows, 1, 1>(block) }
            }

            $(#[$feature])?
            unsafe fn copy(gather: &mut Gather<'_>) {
                // SAFETY: as the caller says.
                unsafe { copy::run::<$lanes>(gather) }
            }

            $(#[$feature])?
            unsafe fn deal(coefficients: &mut Deal<'_>) {
                // SAFETY: as the caller says.
                unsafe { deal::run::<$lanes>(coefficients) }
            }

            $(#[$feature])?
            unsafe fn widen(from: &[u16], flush: bool, to: &mut [f32]) {
                // SAFETY: as the caller says.
                unsafe { convert::widen::<$lanes>(from, flush, to) }
            }

            $(#[$feature])?
            unsafe fn narrow(sums: &[f32], port: Port, to: &mut [u16]) {
                // SAFETY: as the caller says.
                unsafe { convert::narrow::<$lanes>(sums, &port, port.is_plain(), to) }
            }

            $(#[$feature])?
            unsafe fn finish(sums: &mut Finish<'_, '_>) {
                // SAFETY: as the caller says.
                unsafe { finish::run::<$lanes>(sums) }
            }

            $(#[$feature])?
            unsafe fn raise(keys: &mut [u16], operands: &[u16]) {
                ordered::raise(keys, operands);
            }

            $(#[$feature])?
            unsafe fn largest(halves: &[u16]) -> u16 {
                ordered::largest(halves)
            }

            $(#[$feature])?
            unsafe fn enter(from: &[u16], to: &mut [u16]) {
                ordered::enter(from, to);
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
code!(
    for_avx512,
    crate::engine::kernels::avx512::Avx512,
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
    fast 6 by 2, m1 8, row 8
);
#[cfg(target_arch = "x86_64")]
code!(
    for_avx2,
    crate::engine::kernels::avx2::Avx2,
    #[target_feature(enable = "avx2,fma,f16c")]
    fast 3 by 2, m1 4, row 4
);
code!(for_portable, crate::engine::kernels::portable::Portable, fast 3 by 1, m1 4, row 4);
