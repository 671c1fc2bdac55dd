//! The rules of the array and lines 1 to 8 of the arithmetic notes, each as the test of its number.

use ane_tests::reference::engine::numbers::{half_bits, power_of_two};
use ane_tests::reference::engine::{Mode, TaskOutcome};

use super::rig::{BINARY, BINARY_REDUCE, CHANNEL_SUM, COPY, MULTIPLY, REDUCE, RELU, TaskRig, bits, pair};

/// A sum of the elements through the array, coefficients all one.
fn sum(elements: &[f64]) -> f64 {
    TaskRig::dot(Mode::M1, elements, &vec![1.0; elements.len()])
}

/// A planar operation on one element of each source.
pub(crate) fn binary(operation: u32, a: u16, b: u16) -> u16 {
    let mut rig = TaskRig::planar(BINARY, [1, 1, 1], operation << 2);
    rig.input(0, &[a]).input(1, &[b]);
    rig.done_bits()[0]
}

#[test]
fn numerics_1_eight_bit_coefficients_are_halves_before_they_multiply() {
    let mut rig = TaskRig::neural(Mode::M1, [1, 1, 1], [1, 1, 1], MULTIPLY);
    rig.set(0xC800, 0x80).engines(&[(0, 1)]).constant_bytes(&[0xF8]).input(0, &bits(&[3.0]));
    assert_eq!(rig.done(), [744.0]);
}

#[test]
fn array_4_each_product_is_rounded_by_itself_to_units() {
    // Half a unit each: two of them are two units, and of opposite signs nothing.
    let half_a_unit = power_of_two(-17);
    assert_eq!(sum(&[half_a_unit, half_a_unit]), power_of_two(-15));
    assert_eq!(sum(&[half_a_unit, -half_a_unit]), 0.0);
    let small = power_of_two(-14);
    assert_eq!(TaskRig::dot(Mode::Exact, &[small, small], &[0.125, 0.125]), 2.0 * half_a_unit);
}

#[test]
fn array_5_cancelled_values_leave_every_one_of_sixteen_ones() {
    for big in [1024.0, 4096.0, 16000.0, 30000.0] {
        assert_eq!(sum(&[big, -big, 1.0].repeat(16)), 16.0, "+{big}, -{big}, +1");
        assert_eq!(sum(&[big, 1.0, -big].repeat(16)), 16.0, "+{big}, +1, -{big}");
    }
}

#[test]
fn array_5_sixteen_thousand_ones_sum_exactly() {
    assert_eq!(sum(&[1.0; 16000]), 16000.0);
}

#[test]
fn array_6_32752_passes_and_32768_is_infinite() {
    for mode in [Mode::M1, Mode::Exact] {
        assert_eq!(TaskRig::dot(mode, &[32752.0, 0.0], &[1.0, 1.0]), 32752.0, "{mode:?}");
        assert_eq!(TaskRig::dot(mode, &[32768.0, 0.0], &[1.0, 1.0]), f64::INFINITY, "{mode:?}");
        assert_eq!(TaskRig::dot(mode, &[-32768.0, 0.0], &[1.0, 1.0]), -f64::INFINITY, "{mode:?}");
    }
    assert_eq!(TaskRig::dot(Mode::M1, &[60000.0], &[1.0]), f64::INFINITY, "a single tap is no exception");
}

#[test]
fn array_6_inner_partial_beyond_the_limit_is_not_cancelled() {
    assert_eq!(sum(&[20000.0, 20000.0, 0.0, 0.0, -20000.0, -20000.0]), f64::INFINITY);
}

#[test]
fn array_8_output_rounds_half_away_from_zero() {
    assert_eq!([sum(&[2048.0, 1.0]), sum(&[-2048.0, -1.0])], [2050.0, -2050.0]);
    assert_eq!(sum(&[2050.0, 1.0]), 2052.0);
}

#[test]
fn array_8_post_scale_comes_before_the_rounding_and_zero_is_positive() {
    let mut rig = TaskRig::neural(Mode::M1, [2, 1, 1], [1, 1, 1], MULTIPLY);
    rig.engines(&[(0, 4)]).constants(&bits(&[1.0, 1.0])).input(0, &bits(&[4096.0, 2.0]));
    assert_eq!(rig.set(0xC810, 0x3A00).done(), [3074.0]);
    rig.input(0, &bits(&[20000.0, 0.0]));
    assert_eq!(rig.set(0xC810, 0x4000).done(), [40000.0]);
    rig.input(0, &bits(&[0.0, 0.0]));
    assert_eq!(rig.set(0xC810, 0xBC00).done_bits(), [0]);
}

#[test]
fn array_10_channel_sum_goes_through_the_same_array() {
    let mut rig = TaskRig::neural(Mode::M1, [3, 1, 1], [1, 1, 1], CHANNEL_SUM);
    rig.input(0, &[0x0080, 0x0080, 0x0040]);
    assert_eq!(rig.done_bits(), [0x0200]);
    rig.input(0, &bits(&[20000.0, 20000.0, -20000.0]));
    assert_eq!(rig.done(), [f64::INFINITY]);
}

#[test]
fn planar_addition_and_subtraction_round_half_away_from_zero() {
    assert_eq!(binary(0, half_bits(2048.0), half_bits(1.0)), half_bits(2050.0));
    assert_eq!(binary(0, half_bits(-2048.0), half_bits(-1.0)), half_bits(-2050.0));
    assert_eq!(binary(0, half_bits(4096.0), half_bits(-1.0)), half_bits(4096.0));
}

#[test]
fn numerics_4_elementwise_multiply_overflows_at_the_limit_of_halves() {
    assert_eq!(binary(1, half_bits(32752.0), half_bits(2.0)), half_bits(65504.0));
    assert_eq!(binary(1, half_bits(256.0), half_bits(256.0)), 0x7C00);
    assert_eq!(binary(0, half_bits(65504.0), half_bits(65504.0)), 0x7C00);
}

#[test]
fn numerics_4_reduction_rounds_to_65504_before_it_overflows() {
    let reduced = |last: f64| {
        let mut rig = TaskRig::planar(REDUCE, [1, 1, 3], 0);
        rig.input(0, &bits(&[32752.0, 32752.0, last]));
        rig.done()[0]
    };
    assert_eq!([reduced(15.0), reduced(16.0)], [65504.0, f64::INFINITY]);
}

#[test]
fn numerics_5_denormals_echo_elementwise() {
    assert_eq!(binary(0, 1, 0), 1);
    assert_eq!(binary(1, 1, half_bits(1.0)), 1);
    let mut rig = TaskRig::pass_through([1, 1, 2], 0);
    rig.input(0, &[1, 0x8000]);
    assert_eq!(rig.done_bits(), [1, 0x8000]);
}

#[test]
fn numerics_7_bias_comes_before_post_scale_and_post_scale_before_the_nonlinearity() {
    let mut rig = TaskRig::neural(Mode::M1, [2, 1, 1], [1, 1, 1], MULTIPLY | RELU | 1 << 4);
    rig.engines(&[(0, 6)]).constants(&bits(&[-10.0, 2.0, 3.0])).input(0, &bits(&[1.0, 2.0]));
    // (1*2 + 2*3 - 10) * -0.5
    rig.set(0xC810, u32::from(half_bits(-0.5)));
    assert_eq!(rig.run(), TaskOutcome::Done { inferred: vec!["bias row beside a post-scale"] });
    assert_eq!(rig.done(), [1.0]);
}

#[test]
fn numerics_7_planar_bias_comes_before_scale_and_final_scale_before_relu() {
    let mut rig = TaskRig::planar(COPY, [1, 1, 2], 1 << 5);
    rig.set(0x8804, pair(1.0, 3.0)).set(0x8808, pair(0.0, 2.0)).set(0x880C, (-0.5_f32).to_bits());
    rig.input(0, &bits(&[4.0, -4.0]));
    // ((2x + 1) * 3) * -0.5
    assert_eq!(rig.done(), [0.0, 10.5]);
}

#[test]
fn numerics_7_reduction_scales_adds_epsilon_and_takes_the_reciprocal_root() {
    // rsqrt(mean((a - b)^2) + 0.75), then + 1, then * 8.
    let mut rig = TaskRig::planar(BINARY_REDUCE, [2, 1, 4], 4 << 2 | 2 << 12 | 1 << 18);
    rig.set(0x8808, pair(0.75, 1.0)).set(0x880C, 0.25_f32.to_bits()).set(0x8804, pair(1.0, 8.0));
    rig.input(0, &bits(&[1.0, 2.0, 3.0, 4.0, 0.5, 0.5, 0.5, 0.5]));
    rig.input(1, &bits(&[2.0, 3.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0]));
    // Means: 1 + 0.75 and 0.25 + 0.75.
    let wanted = [(1.0 / 1.75_f64.sqrt() + 1.0) * 8.0, 16.0];
    assert_eq!(bits(&rig.done()), bits(&wanted));
}

#[test]
fn numerics_7_products_enter_a_reduction_unrounded() {
    let a = 1.0 + power_of_two(-10);
    let mut rig = TaskRig::planar(BINARY_REDUCE, [1, 1, 2], 1 << 2);
    rig.input(0, &bits(&[a, -1.0])).input(1, &bits(&[a, 1.0 + 2.0 * power_of_two(-10)]));
    assert_eq!(rig.done(), [power_of_two(-20)]);
}

#[test]
fn numerics_8_every_run_and_every_batch_position_gives_the_same_bytes() {
    let row = bits(&[0.1, 7.7, -3.3, 1e-3, 512.0, 0.25, 9.9, -0.7]);
    let mut rig = TaskRig::planar(REDUCE, [1, 1, 8], 0);
    // Four batches: the group strides move every base.
    rig.set(0x24, 4).set(0x13818, 64).set(0x17814, 64).set(0x17808, 64).set(0x1780C, 64);
    rig.set(0x4818, 0x100);
    for batch in 0..4 {
        let bytes: Vec<u8> = row.iter().flat_map(|half| half.to_le_bytes()).collect();
        rig.machine.memory.load(0x0200_0000 + 64 * batch, &bytes);
    }
    rig.expect([4, 1, 1]);
    let first = rig.done_bits();
    assert_eq!(first, [first[0]; 4]);
    assert_eq!(rig.done_bits(), first);
}
