//! The common parts of registers of this kind of processor, of any length: methods made from the names of
//! instructions.

/// Instructions by name, as methods of the register that they work on.
macro_rules! instructions {
    ($(
        $name:ident $(<const $constant:ident: $of:ty>)? ($self:ident $(, $argument:ident: $type:ty)*) -> $result:ty
            = $instruction:expr;
    )*) => {
        $(
            #[inline(always)]
            fn $name $(<const $constant: $of>)? ($self $(, $argument: $type)*) -> $result {
                // SAFETY: a value of this type exists only where the processor has the unit.
                unsafe { $instruction }
            }
        )*
    };
}

/// Instructions that make a register, or write one: unsafe as they are.
macro_rules! memory {
    ($(
        $name:ident ($($argument:ident: $type:ty),*) $(-> $result:ty)? = $instruction:expr;
    )*) => {
        $(
            #[inline(always)]
            unsafe fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: the unit is there, and so is the memory, as the caller says.
                unsafe { $instruction }
            }
        )*
    };
}

/// The part of [`Outputs`](super::lanes::Outputs) for halves, which is the same for all lengths of registers of singles.
macro_rules! sixteen_halves {
    () => {
        type Halves = std::arch::x86_64::__m256i;

        #[inline(always)]
        unsafe fn load(from: *const u16) -> Self::Halves {
            // SAFETY: the unit is there, and so are the halves, as the caller says.
            unsafe { _mm256_loadu_si256(from.cast()) }
        }

        #[inline(always)]
        fn magnitudes(halves: Self::Halves) -> Self::Halves {
            // SAFETY: halves of this kind come from `load`, which is called where the processor has the unit.
            unsafe { _mm256_and_si256(halves, _mm256_set1_epi16(i16::MAX)) }
        }

        #[inline(always)]
        fn larger(a: Self::Halves, b: Self::Halves) -> Self::Halves {
            // SAFETY: as above.
            unsafe { _mm256_max_epi16(a, b) }
        }

        #[inline(always)]
        #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "sixteen bits of a word")]
        fn largest(magnitudes: Self::Halves) -> u16 {
            // There is an instruction for the smallest one: that of the complements.
            // SAFETY: as above.
            unsafe {
                let half = _mm_max_epi16(
                    _mm256_castsi256_si128(magnitudes),
                    _mm256_extracti128_si256::<1>(magnitudes),
                );
                let complements = _mm_xor_si128(half, _mm_set1_epi16(-1));
                !(_mm_cvtsi128_si32(_mm_minpos_epu16(complements)) as u16)
            }
        }
    };
}

/// The methods of a [`Vector`](super::planar_vector::Vector), each compiled for processors that have these features.
///
/// Each is written once and made twice: as a method of the type itself, which only runs where the features are, and as the
/// trait's method, which calls the former. The type itself must exist only on such processors.
macro_rules! vector_methods {
    ($vector:ident, $features:literal; $(
        $(#[$documentation:meta])*
        fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty $body:block
    )*) => {
        impl $vector {
            $(
                $(#[$documentation])*
                #[inline]
                #[target_feature(enable = $features)]
                fn $name($($argument: $type),*) -> $result $body
            )*
        }

        impl Vector for $vector {
            $(
                #[inline(always)]
                fn $name($($argument: $type),*) -> $result {
                    // SAFETY: a vector of this type is only made and used below `run`, which asks for the features.
                    unsafe { $vector::$name($($argument),*) }
                }
            )*
        }
    };
}

pub(super) use {instructions, memory, sixteen_halves, vector_methods};
