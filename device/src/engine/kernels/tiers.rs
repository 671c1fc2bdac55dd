//! The code of each tier: every kernel, compiled once for each kind of vector unit.
//!
//! A kernel that is generic over its vectors becomes a function with the features of a unit here, and [`Code`] is filled with
//! them. What a tier cannot do has no function.
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(unused_imports, reason = "the portable tier needs few of the parts that the others are made of")
)]

use super::{
    Abreast, Adding, Block, Code, Deal, Exponents, Extent, Finish, Gather, Interleave, Kernel, Magnitudes,
    OfChannels, Parted, Spread, Stream, Window, abreast, apart, convert, copy, deal, double, finish, lanes,
    measure, ordered, single, spread, vector,
};

/// The kernels of a tier, by the way it has to add.
macro_rules! kernel {
    (singles $name:ident, $lanes:ty, $doubles:ty, $rows:expr, $vectors:expr, $looked_at:expr, $part:expr, $together:expr $(, #[$feature:meta])?) => {
        $(#[$feature])?
        unsafe fn $name(block: &mut Block<'_>) {
            if let super::Adding::Singles { coefficients, begin, chunks, parted, ahead } = block.adding {
                let taps = super::single::Taps { coefficients, begin, chunks, ahead };
                // SAFETY: as the caller says.
                unsafe { super::single::run::<$lanes, $rows, $vectors, { $looked_at }>(block, taps, parted) }
            } else {
                // SAFETY: as the caller says.
                unsafe { double::run::<$doubles, $part, $together>(block, $rows, $vectors * <$lanes>::COUNT) }
            }
        }
    };
    (singles streams $lanes:ty, $rows:expr $(, #[$feature:meta])?) => {
        const _: () = assert!(<$lanes as super::lanes::Fused>::ROWS == $rows, "a tile has as many rows");

        $(#[$feature])?
        unsafe fn stream(coefficients: &mut super::Stream<'_>) -> u16 {
            use super::lanes::{Fused, Outputs};

            type Few = <$lanes as Fused>::Outputs;
            type Many = <$lanes as Fused>::ManyOutputs;

            if coefficients.sums.len() == Many::OUTPUTS {
                // SAFETY: as the caller says.
                unsafe { super::vector::run::<Many, { Many::CHAINS }>(coefficients) }
            } else {
                // SAFETY: as the caller says.
                unsafe { super::vector::run::<Few, { Few::CHAINS }>(coefficients) }
            }
        }

        $(#[$feature])?
        unsafe fn part(
            coefficients: &[f32],
            dropped: &[super::Exponents],
            operands: &[super::Exponents],
            chunks: &[usize],
            parted: &mut super::Parted,
        ) -> bool {
            // SAFETY: as the caller says.
            unsafe { super::apart::part::<$lanes, $rows>(coefficients, dropped, operands, chunks, parted) }
        }

        $(#[$feature])?
        unsafe fn interleave(channels: &mut super::Interleave<'_>) -> super::Magnitudes {
            // SAFETY: as the caller says.
            unsafe { super::abreast::interleave::<$lanes>(channels) }
        }

        $(#[$feature])?
        unsafe fn abreast(channels: &mut super::Abreast<'_>) {
            // SAFETY: as the caller says.
            unsafe { super::abreast::run::<$lanes>(channels) }
        }

        $(#[$feature])?
        unsafe fn separate(interleaved: &[u16], window: super::Window<'_>) {
            // SAFETY: as the caller says.
            unsafe { super::abreast::separate::<$lanes>(interleaved, window) }
        }
    };
    (doubles streams $lanes:ty, $rows:expr) => {};
    (singles has $name:expr) => {
        Some($name)
    };
    (doubles has $name:expr) => {
        None
    };
    (singles streamed $lanes:ty) => {{
        use super::lanes::{Fused, Outputs};
        [<$lanes as Fused>::Outputs::OUTPUTS, <$lanes as Fused>::ManyOutputs::OUTPUTS]
    }};
    (doubles streamed $lanes:ty) => {
        [0; 2]
    };
    (doubles $name:ident, $lanes:ty, $doubles:ty, $rows:expr, $vectors:expr, $looked_at:expr, $part:expr, $together:expr) => {
        unsafe fn $name(block: &mut Block<'_>) {
            // SAFETY: as the caller says.
            unsafe { double::run::<$doubles, $part, $together>(block, $rows, $vectors * <$lanes>::COUNT) }
        }
    };
}

/// The code of a tier: its vectors, the rows and vectors of blocks that fill its registers, and of how many rows it looks at each
/// product at a time. Sums in doubles that are watched take two registers each, and come in parts of a block.
macro_rules! code {
    (
        $module:ident, $way:ident, $lanes:ty, $doubles:ty, $(#[$feature:meta],)?
        many $rows:literal by $vectors:literal, looked at $looked_at:literal, doubles $part:literal by $together:literal, row $row:literal
    ) => {
        pub(super) mod $module {
            use super::lanes::Lanes;
            use super::{
                Block, Code, Deal, Exponents, Extent, Finish, Gather, Kernel, Spread, convert, copy, deal, double, finish, measure,
                ordered, spread as plane, apart,
            };

            const _: () = assert!($rows % $part == 0, "a block is whole parts");

            /// Vectors of a block of one row.
            const ROW: usize = $row;
            /// Half of them.
            const SHORT: usize = ROW / 2;

            const fn kernel(rows: usize, vectors: usize, run: unsafe fn(&mut Block<'_>)) -> Kernel {
                let has_singles = matches!(stringify!($way).as_bytes(), b"singles");
                Kernel { rows, columns: vectors * <$lanes>::COUNT, has_singles, run }
            }

            pub(in crate::engine::kernels) static CODE: Code = Code {
                many: kernel($rows, $vectors, many),
                narrow: kernel($rows, 1, narrow),
                row: kernel(1, ROW, row),
                short: kernel(1, SHORT, short),
                lanes: <$lanes>::COUNT,
                copy,
                deal,
                widen,
                spread,
                finish,
                raise,
                enter,
                scale,
                halves,
                tile,
                least,
                exact,
                drops,
                peak,
                dropped,
                exponents,
                part: kernel!($way has part),
                stream: kernel!($way has stream),
                streamed: kernel!($way streamed $lanes),
                abreast: kernel!($way has (super::OfChannels { interleave, compute: abreast, separate })),
            };

            kernel!($way many, $lanes, $doubles, $rows, $vectors, $looked_at, $part, $together $(, #[$feature])?);
            kernel!($way narrow, $lanes, $doubles, $rows, 1, $rows, $rows, 1 $(, #[$feature])?);
            kernel!($way row, $lanes, $doubles, 1, ROW, 1, 1, 4 $(, #[$feature])?);
            kernel!($way short, $lanes, $doubles, 1, SHORT, 1, 1, 4 $(, #[$feature])?);

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
            unsafe fn widen(from: &[u16], to: &mut [f32]) {
                // SAFETY: as the caller says.
                unsafe { convert::widen::<$lanes>(from, to) }
            }

            $(#[$feature])?
            unsafe fn spread(channel: &mut Spread<'_>) {
                // SAFETY: as the caller says.
                unsafe { plane::run::<$lanes>(channel) }
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
            unsafe fn enter(from: &[u16], to: &mut [u16]) {
                ordered::enter(from, to);
            }

            $(#[$feature])?
            unsafe fn scale(from: &[u16], factor: f64, to: &mut [u16]) {
                ordered::scale(from, factor, to);
            }

            $(#[$feature])?
            unsafe fn halves(all: &[u16]) -> Extent {
                measure::halves(all)
            }

            $(#[$feature])?
            unsafe fn tile(coefficients: &[f32], rows: usize, extents: &mut [Extent]) {
                measure::tile(coefficients, rows, extents);
            }

            $(#[$feature])?
            unsafe fn least(coefficients: &[f32], to: &mut [f32]) {
                measure::all_least(coefficients, to);
            }

            $(#[$feature])?
            unsafe fn exact(coefficients: &[f32], scale: f64, to: &mut [f64]) {
                measure::exact(coefficients, scale, to);
            }

            $(#[$feature])?
            unsafe fn drops(panel: &[f32], offsets: &[usize], columns: usize, rows: usize, least: &[f32]) -> bool {
                measure::drops(panel, offsets, columns, rows, least)
            }

            $(#[$feature])?
            unsafe fn dropped(coefficients: &[f32], to: &mut [Exponents]) {
                apart::dropped::<$rows>(coefficients, to);
            }

            $(#[$feature])?
            unsafe fn exponents(panel: &[f32], to: &mut [Exponents]) {
                apart::exponents::<{ $vectors * <$lanes>::COUNT }>(panel, to);
            }

            kernel!($way streams $lanes, $rows $(, #[$feature])?);

            $(#[$feature])?
            unsafe fn peak(units: &[i32], fates: &[i32]) -> Option<u32> {
                measure::peak(units, fates)
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
code!(
    for_avx512,
    singles,
    crate::engine::kernels::avx512::Avx512,
    crate::engine::kernels::avx512::Doubles512,
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,popcnt,bmi1")],
    many 8 by 3, looked at 8, doubles 8 by 1, row 8
);
#[cfg(target_arch = "x86_64")]
code!(
    for_avx2,
    singles,
    crate::engine::kernels::avx2::Avx2,
    crate::engine::kernels::avx2::Doubles256,
    #[target_feature(enable = "avx2,fma,f16c,popcnt,bmi1")],
    many 4 by 3, looked at 2, doubles 2 by 3, row 8
);
code!(
    for_portable,
    doubles,
    crate::engine::kernels::portable::Portable,
    crate::engine::kernels::portable::PortableDoubles,
    many 4 by 2, looked at 4, doubles 4 by 1, row 4
);
