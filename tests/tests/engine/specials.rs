//! Lines 9 to 12 and 14 of the arithmetic notes: what is not a number, zeros, and activation tables.

use ane_tests::reference::engine::Mode;
use ane_tests::reference::engine::numbers::{half_bits, half_value, power_of_two};

use super::arithmetic::binary;
use super::programs::LoadedProgram;
use super::rig::{BINARY, COPY, REDUCE, RELU, TABLE, TaskRig, bits, pair, table, through};

const NAN: u16 = 0x7E00;
const INFINITY: u16 = 0x7C00;
/// log2 e, as the compiler writes it.
const LOG2_E: u32 = 0x3DC5;

fn tanh() -> Vec<u16> {
    table([0.0, 4.0, 0.0, 1.0], |index| (index / 8.0).tanh(), 3, 0x60)
}

fn exp2() -> Vec<u16> {
    let infinity = f64::INFINITY;
    table([-infinity, infinity, 0.0, infinity], |index| (index / 32.0).exp2(), 5, 0x0A)
}

fn log2() -> Vec<u16> {
    table([0.0, f64::INFINITY, -45440.0, f64::INFINITY], |index| (0.5 + index / 64.0).log2(), 6, 0xC9)
}

fn square_root() -> Vec<u16> {
    table([0.0, f64::INFINITY, 0.0, f64::INFINITY], |index| (index / 16.0).sqrt(), 4, 0xC5)
}

fn reciprocal_root() -> Vec<u16> {
    let knot = |index: f64| 1.0 / (index.max(1.0) / 16.0).sqrt();
    table([0.0, f64::INFINITY, f64::INFINITY, 0.0], knot, 4, 0xC6)
}

fn reciprocal() -> Vec<u16> {
    let knot = |index: f64| 1.0 / (0.5 + index / 64.0);
    table([power_of_two(-16), f64::INFINITY, f64::INFINITY, 0.0], knot, 6, 0x67)
}

/// A value times log2 e, then the base-2 exponential.
fn exponential(element: u16) -> f64 {
    let mut rig = TaskRig::planar(COPY, [1, 1, 1], 0);
    rig.set(0x8804, LOG2_E << 16).input(0, &[element]);
    through(&exp2(), rig.done_bits()[0])
}

#[test]
fn numerics_9_nan_is_infinity_everywhere() {
    for nan in [NAN, 0x7C01, 0xFE00, 0xFFFF] {
        assert_eq!(binary(2, nan, half_bits(3.0)), INFINITY, "maximum");
        assert_eq!(binary(0, nan, 0), INFINITY, "addition");
        assert_eq!(through(&tanh(), nan), 1.0);
        assert_eq!(exponential(nan), f64::INFINITY);
        let mut relu = TaskRig::pass_through([1, 1, 1], RELU);
        assert_eq!(relu.input(0, &[nan]).done_bits(), [INFINITY]);
    }
}

#[test]
fn numerics_9_nan_in_a_register_is_infinity() {
    let mut rig = TaskRig::pass_through([1, 1, 1], 0);
    rig.set(0xC810, u32::from(NAN)).input(0, &bits(&[-2.0]));
    assert_eq!(rig.done(), [-f64::INFINITY]);
}

#[test]
fn numerics_9_sigmoid_of_nan_is_one() {
    let Some(mut program) = LoadedProgram::new("sigmoid", Mode::M1) else { return };
    program.machine.memory.load(program.bars[5], &NAN.to_le_bytes());
    assert_eq!(program.output(2)[0], 1.0);
}

#[test]
fn numerics_9_lane_of_a_softmax_that_holds_nan_takes_all_the_mass() {
    let elements = [half_bits(1.0), NAN, half_bits(30.0), half_bits(-2.0)];
    assert_eq!(softmax(&elements), [0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn softmax_of_equal_elements_is_even() {
    assert_eq!(softmax(&bits(&[7.0; 8])), [0.125; 8]);
}

/// Softmax of one row by five tasks, as td 8.3 describes them, each through memory.
fn softmax(row: &[u16]) -> Vec<f64> {
    let extents = [1, 1, row.len() as u32];
    let mut maximum = TaskRig::planar(REDUCE, extents, 2);
    maximum.input(0, row);
    let largest = maximum.done_bits();

    let mut subtract = TaskRig::planar(BINARY, extents, 1 << 18);
    subtract.set(0x30, 1 << 4).set(0x8804, LOG2_E << 16).input(0, row).input(1, &largest);
    let powers = subtract.done_bits();

    let mut exponential = TaskRig::pass_through(extents, TABLE);
    exponential.engines(&[(0, 0x80)]).constants(&exp2()).input(0, &powers);
    let terms = exponential.done_bits();

    let mut total = TaskRig::planar(REDUCE, extents, 1 << 12);
    let share = total.input(0, &terms).done_bits();

    let mut multiply = TaskRig::planar(BINARY, extents, 1 << 2);
    multiply.set(0x30, 1 << 4).input(0, &terms).input(1, &share);
    multiply.done()
}

#[test]
fn numerics_10_what_has_no_value_is_zero() {
    assert_eq!(binary(0, INFINITY, 0xFC00), 0, "infinity minus infinity");
    assert_eq!(binary(1, INFINITY, 0x8000), 0, "infinity times zero");
    let minus_one = half_bits(-1.0);
    for table in [square_root(), reciprocal_root(), log2()] {
        assert_eq!(through(&table, minus_one), 0.0);
    }
    let mut rsqrt = TaskRig::planar(REDUCE, [1, 1, 1], 2 << 12);
    assert_eq!(rsqrt.input(0, &[minus_one]).done_bits(), [0]);
}

#[test]
fn numerics_10_what_follows_goes_on_with_zero() {
    let mut rig = TaskRig::planar(BINARY, [1, 1, 1], 0);
    rig.set(0x8804, pair(5.0, 2.0)).input(0, &[INFINITY]).input(1, &[0xFC00]);
    assert_eq!(rig.done(), [10.0]);
}

#[test]
fn numerics_11_minus_zero_echoes_as_zero_through_an_addition() {
    assert_eq!(binary(0, 0x8000, 0), 0);
}

#[test]
fn numerics_11_reciprocals_of_minus_zero_are_infinity() {
    for post in [1, 2] {
        let mut rig = TaskRig::planar(REDUCE, [1, 1, 1], 2 | post << 12);
        // A maximum of one element, times one, plus -0 all the way.
        rig.set(0x8808, pair(-0.0, 1.0)).input(0, &[0x8000]);
        assert_eq!(rig.done_bits(), [INFINITY]);
    }
    assert_eq!(through(&reciprocal(), 0x8000), f64::INFINITY);
    assert_eq!(through(&reciprocal_root(), 0x8000), f64::INFINITY);
}

#[test]
fn numerics_11_square_root_of_minus_zero_is_zero() {
    assert_eq!(half_bits(through(&square_root(), 0x8000)), 0);
}

#[test]
fn numerics_12_logarithm_of_zero_is_what_the_table_holds() {
    assert_eq!(through(&log2(), 0), -45440.0);
}

#[test]
fn numerics_12_exponential_reaches_infinity_near_11_094() {
    let first = half_bits(11.09375);
    assert_eq!(exponential(first), f64::INFINITY);
    assert!(exponential(first - 1).is_finite());
}

#[test]
fn numerics_12_square_reaches_infinity_at_256() {
    let square = |element: f64| {
        let mut rig = TaskRig::planar(COPY, [1, 1, 1], 4 << 2);
        rig.input(0, &bits(&[element])).done()[0]
    };
    assert_eq!([square(256.0), square(-255.875)], [f64::INFINITY, 65472.0]);
}

#[test]
fn numerics_14_sigmoid_is_within_its_measured_error_on_every_half() {
    let Some(mut program) = LoadedProgram::new("sigmoid", Mode::M1) else { return };
    let finite: Vec<u16> = (0..=u16::MAX).filter(|bits| bits & 0x7C00 != 0x7C00).collect();
    let mut worst = 0.0_f64;
    for row in finite.chunks(77) {
        program.fill("image", 2, |index| row.get(index as usize).map_or(0.0, |&bits| half_value(bits)));
        for (&element, result) in row.iter().zip(program.output(2)) {
            worst = worst.max((result - 1.0 / (1.0 + (-half_value(element)).exp())).abs());
        }
    }
    assert_eq!((worst * 10000.0).round(), 34.0, "worst error {worst}");
}

#[test]
fn numerics_14_sigmoid_is_flat_outside_its_domain() {
    let Some(mut program) = LoadedProgram::new("sigmoid", Mode::M1) else { return };
    // The domain is [-9.938, 8.320]; beyond it the table has a value for each side.
    let (low, high) = (-9.9375, 8.3203125);
    let values = [f64::NEG_INFINITY, -65504.0, -10.0, low, low + 0.0078125, 8.0, high, 9.0, 65504.0];
    program.fill("image", 2, |index| values.get(index as usize).copied().unwrap_or(0.0));
    let output = program.output(2);
    assert_eq!((&output[..4], &output[6..9]), (&[0.0; 4][..], &[1.0; 3][..]));
    assert!(output[4] > 0.0 && output[5] < 1.0, "{output:?}");
}

#[test]
fn numerics_14_tanh_is_odd_and_within_its_measured_error() {
    let table = tanh();
    for element in (0..0x7C00).step_by(397) {
        let (x, up, down) =
            (half_value(element), through(&table, element), through(&table, element | 0x8000));
        assert_eq!(up, -down);
        assert!((up - x.tanh()).abs() < 0.0017, "tanh({x}) is {up}");
    }
}

#[test]
fn numerics_14_tails_are_straight_lines() {
    // Leaky ReLU: left slope 0.25, right slope 1, knots unused (td 7.4).
    let mut leaky = table([-f64::INFINITY, f64::INFINITY, 0.0, 0.0], |_| 0.0, 64, 1);
    leaky[37..41].copy_from_slice(&bits(&[0.25, 0.0, 1.0, 0.0]));
    let results = [-8.0, 0.0, 8.0].map(|x| through(&leaky, half_bits(x)));
    assert_eq!(results, [-2.0, 0.0, 8.0]);
}

#[test]
fn numerics_14_table_of_another_mode_is_refused() {
    for (spacing, mode) in [(0, 8), (0, 0x20), (0, 0x10), (65, 1), (6, 0x0A), (5, 0xC5), (7, 0x67)] {
        let mut rig = TaskRig::pass_through([1, 1, 1], TABLE);
        rig.engines(&[(0, 0x80)]).constants(&table([0.0; 4], |_| 0.0, spacing, mode));
        assert_eq!(rig.refused(), 0xC804, "spacing {spacing}, mode {mode:#x}");
    }
}
