//! The published probes, line by line of the numerics notes: what the array has to reproduce.

use super::{Numerics, halves, output, sum};

/// The fp16 output of a sum of these numbers, each times one.
fn m1(terms: &[f32]) -> f32 {
    let taps: Vec<_> = terms.iter().map(|&term| (term, 1.0)).collect();
    halves::value(output::of(sum::of(Numerics::M1, &taps), None, halves::ONE))
}

fn repeated(pattern: [f32; 3]) -> f32 {
    m1(&pattern.repeat(16))
}

/// Requirement: ENG-07
#[test]
fn numerics_2_cancellation_survivors_are_those_of_the_probes() {
    for b in [1024.0, 3000.0, 4090.0] {
        assert_eq!(repeated([b, -b, 1.0]), 16.0, "B = {b}");
        assert_eq!(repeated([b, 1.0, -b]), 16.0, "B = {b}");
    }
    for b in [4096.0, 8000.0, 16000.0, 30000.0] {
        assert_eq!(repeated([b, -b, 1.0]), 4.0, "B = {b}");
        assert_eq!(repeated([b, 1.0, -b]), 4.0, "B = {b}");
    }
}

#[test]
fn numerics_2_ones_behind_a_large_term_survive_as_in_the_probes() {
    let behind = |first: f32, ones: usize| {
        let mut terms = vec![1.0; ones + 1];
        terms[0] = first;
        m1(&terms)
    };
    // 5116 is a multiple of four, as is 8208 of eight: the output's own rounding loses nothing.
    assert_eq!(behind(4096.0, 1024), 5116.0);
    assert_eq!(behind(8192.0, 16), 8208.0);
}

#[test]
fn numerics_2_sixteen_thousand_ones_sum_exactly() {
    assert_eq!(m1(&vec![1.0; 16000]), 16000.0);
}

#[test]
fn numerics_3_product_is_rounded_before_it_is_added() {
    // (1 + 2^-10)^2 is 1 + 2^-9 + 2^-20; the last digit is gone before -1 - 2^-9 could uncover it.
    let near_one = 1.0 + 2f32.powi(-10);
    let taps = [(near_one, near_one), (-1.0, 1.0 + 2f32.powi(-9))];
    assert_eq!(sum::of(Numerics::M1, &taps), 0.0);
    assert_eq!(sum::of(Numerics::Exact, &taps), 2f64.powi(-20));
}

#[test]
fn numerics_4_output_saturates_at_two_to_the_fifteenth() {
    assert_eq!(m1(&[32752.0, 0.0]), 32752.0);
    assert_eq!(m1(&[16384.0, 16384.0]), f32::INFINITY);
    assert_eq!(m1(&[-16384.0, -16384.0]), f32::NEG_INFINITY);
}

#[test]
fn numerics_4_interior_partial_beyond_the_limit_is_not_cancelled() {
    assert_eq!(m1(&[20000.0, 20000.0, 0.0, 0.0, -20000.0, 0.0, 0.0, 0.0]), f32::INFINITY);
}

#[test]
fn numerics_4_single_tap_passes_sixty_thousand() {
    assert_eq!(m1(&[60000.0]), 60000.0);
}

#[test]
fn numerics_5_denormals_are_flushed_in_the_accumulator_only() {
    let denormal = halves::value(0x0200);
    assert_eq!(m1(&[denormal, denormal]).to_bits(), 0);
    assert_eq!(output::pass_through(0x0001, halves::ONE), 0x0001);
}

#[test]
fn numerics_6_output_is_rounded_half_to_even() {
    assert_eq!(m1(&[2048.0, 0.0, 0.0, 0.0, 1.0]), 2048.0);
    assert_eq!(m1(&[2050.0, 0.0, 0.0, 0.0, 1.0]), 2052.0);
}
