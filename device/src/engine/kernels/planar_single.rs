//! Planar passes of one operation in singles, with the processor's own conversions from and to halves.
//!
//! Eight elements at a time: AVX2 and F16C, which every x86-64 processor since 2013 has. A processor without
//! them gets no [`PassInSingles`], and its caller computes in doubles.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Step {
    Copy,
    Add,
    Multiply,
    Maximum,
    Minimum,
}

/// A pass that this processor can do.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there is none elsewhere"))]
pub(in crate::engine) struct PassInSingles {
    step: Step,
    /// Sign bits that are flipped, of the first and the second.
    signs: [u32; 2],
    /// Results below this become it: zero, or what is minus infinity as a half.
    least: f32,
}

#[cfg(not(target_arch = "x86_64"))]
impl PassInSingles {
    pub(in crate::engine) fn new(_: Step, _: bool, _: bool, _: bool) -> Option<Self> {
        None
    }

    pub(in crate::engine) fn run(&self, _: &[u16], _: &[u16], _: &mut [u16]) {}
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions, behind a check that the processor has them")]
mod avx2 {
    use core::arch::x86_64::*;

    use super::{PassInSingles, Step};
    use crate::engine::kernels::planar_vector::{LANES, padded};

    /// A finite magnitude that is infinity as a half. Of infinity itself rounding would make a NaN.
    const LARGE: f32 = 131_072.0;

    impl PassInSingles {
        /// The pass, if the processor can do it.
        pub(in crate::engine) fn new(
            step: Step,
            negates_first: bool,
            negates_second: bool,
            relu: bool,
        ) -> Option<Self> {
            let sign = |negates| if negates { 1 << 31 } else { 0 };
            let has_all =
                std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("f16c");
            has_all.then_some(Self {
                step,
                signs: [sign(negates_first), sign(negates_second)],
                least: if relu { 0.0 } else { -LARGE },
            })
        }

        /// Computes as many elements as the shortest slice has.
        pub(in crate::engine) fn run(&self, a: &[u16], b: &[u16], out: &mut [u16]) {
            // SAFETY: there is no pass unless the processor has the instructions.
            unsafe { self.dispatch(a, b, out) }
        }

        #[target_feature(enable = "avx2,f16c")]
        fn dispatch(&self, a: &[u16], b: &[u16], out: &mut [u16]) {
            match self.step {
                Step::Copy => self.each(a, b, out, |a, _| a),
                Step::Add => self.each(a, b, out, |a, b| _mm256_add_ps(a, b)),
                Step::Multiply => self.each(a, b, out, |a, b| _mm256_mul_ps(a, b)),
                // The sign of a zero does not matter: the bias makes it +0.
                Step::Maximum => self.each(a, b, out, |a, b| _mm256_max_ps(a, b)),
                Step::Minimum => self.each(a, b, out, |a, b| _mm256_min_ps(a, b)),
            }
        }

        #[inline]
        #[target_feature(enable = "avx2,f16c")]
        fn each(&self, a: &[u16], b: &[u16], out: &mut [u16], step: impl Fn(__m256, __m256) -> __m256) {
            let (a_whole, a_rest) = a.as_chunks::<LANES>();
            let (b_whole, b_rest) = b.as_chunks::<LANES>();
            let (out_whole, out_rest) = out.as_chunks_mut::<LANES>();
            for ((a, b), out) in a_whole.iter().zip(b_whole).zip(out_whole) {
                *out = self.one(a, b, &step);
            }
            let rest = self.one(&padded(a_rest), &padded(b_rest), &step);
            out_rest.iter_mut().zip(rest).for_each(|(out, value)| *out = value);
        }

        #[inline]
        #[target_feature(enable = "avx2,f16c")]
        fn one(
            &self,
            a: &[u16; LANES],
            b: &[u16; LANES],
            step: impl Fn(__m256, __m256) -> __m256,
        ) -> [u16; LANES] {
            let [a, b] = [(a, self.signs[0]), (b, self.signs[1])].map(|(x, sign)| {
                _mm256_xor_ps(decode(x), _mm256_castsi256_ps(_mm256_set1_epi32(sign.cast_signed())))
            });
            let result = step(a, b);
            // A NaN becomes +0.
            let settled = _mm256_and_ps(result, _mm256_cmp_ps::<_CMP_ORD_Q>(result, result));
            let biased = _mm256_add_ps(settled, _mm256_setzero_ps());
            let bounded = _mm256_max_ps(biased, _mm256_set1_ps(self.least));
            encode(_mm256_min_ps(bounded, _mm256_set1_ps(LARGE)))
        }
    }

    /// Eight numbers; a NaN is +infinity.
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn decode(halves: &[u16; LANES]) -> __m256 {
        // SAFETY: the array has the sixteen bytes that are read, at any alignment.
        let halves = unsafe { _mm_loadu_si128(halves.as_ptr().cast()) };
        // Of a NaN and another number this is the second.
        _mm256_min_ps(_mm256_cvtph_ps(halves), _mm256_set1_ps(f32::INFINITY))
    }

    /// The nearest halves of finite numbers, ties away from zero: the last bit of a single, set, takes an exact tie up and moves
    /// nothing else.
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn encode(numbers: __m256) -> [u16; LANES] {
        let mut halves = [0; LANES];
        let up = _mm256_or_ps(numbers, _mm256_castsi256_ps(_mm256_set1_epi32(1)));
        let rounded = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(up);
        // SAFETY: the array has the sixteen bytes that are written, at any alignment.
        unsafe { _mm_storeu_si128(halves.as_mut_ptr().cast(), rounded) };
        halves
    }
}
