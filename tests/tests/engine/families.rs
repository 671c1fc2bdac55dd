//! Chains of tasks as the delta describes them (sections 3.4, 4 and 6), of which no transcribed program is at hand: built
//! with the words that it names, on both engines.

use ane_tests::reference::engine::numbers::half_bits;
use ane_tests::reference::engine::{Mode, TaskOutcome};

use super::rig::{BINARY, BINARY_REDUCE, COPY, MULTIPLY, NORMALISE, REDUCE, TaskRig, bits, pair};

/// Where on chip results are kept, beside each other.
const KEPT: u32 = 0x8000;
const BESIDE: u32 = 0xA000;

/// A table for numbers below, at and above zero, with steep knots between the smallest halves.
fn sign_table(below: f64, zero: f64, above: f64) -> Vec<u16> {
    let mut table = vec![0; 64];
    (table[0], table[1]) = (0x8001, 0x0001);
    (table[2], table[3]) = (half_bits(below), half_bits(above));
    table[4..37].fill(half_bits(zero));
    (table[41], table[42]) = (0x40, 1);
    table
}

/// Sends the result to a place on chip, with strides of channels and rows.
fn to_chip(rig: &mut TaskRig, base: u32, channel: u32, row: u32) {
    rig.set(0x4830, 0x0050_0170).set(0x17800, 0).set(0x17818, 0x0100_0000);
    rig.set(0x4834, base).set(0x4838, channel).set(0x483C, row);
}

/// Sends the result to memory, past a window of its own.
fn to_memory(rig: &mut TaskRig, format: u32) {
    rig.set(0x4830, 0x0050_017A).set(0x17800, 0xC1).set(0x17818, format).set(0x4834, 0x10_0000);
}

/// Takes a source from the chip: its base register, with strides of channels and rows.
fn from_chip(rig: &mut TaskRig, register: u32, base: u32, channel: u32, row: u32) {
    rig.set(register, base).set(register + 4, channel).set(register + 8, row);
}

fn done(rig: &mut TaskRig) {
    assert_eq!(rig.run(), TaskOutcome::Done { inferred: Vec::new() });
}

/// Requirement: ORA-43
#[test]
fn comparison_interleaves_its_operands_and_subtracts_them_by_signed_bytes() {
    let mut rig = TaskRig::pass_through([8, 2, 4], 0);
    rig.set(0xC804, 0x0010_1C0C);
    let first: Vec<f64> = (0..64).map(|n| f64::from(n * 7 % 11)).collect();
    let second: Vec<f64> = (0..64).map(|n| f64::from(n * 5 % 11)).collect();
    for (place, values) in [(KEPT, &first), (KEPT + 16, &second)] {
        to_chip(&mut rig, place, 32, 256);
        rig.input(0, &bits(values));
        done(&mut rig);
    }
    // Two channels to one, +1 and -1, behind a table that is 1 below zero; sixteen outputs' worth of bytes.
    rig.set(0x08, 0x02).set(0x0C, 16).set(0x24, 1 | 1 << 14 | 2 << 16).set(0x4804, 0x170);
    from_chip(&mut rig, 0x4808, KEPT, 16, 256);
    to_memory(&mut rig, 0x0130_0000);
    rig.set(0x4830, 0x0050_010A).set(0xC800, 0x81).set(0xC804, MULTIPLY | 2 << 16).set(0x34, 2 << 19 | 1);
    let chunk = 0xC0;
    rig.engines(&[(0, chunk), (chunk, chunk), (2 * chunk, chunk), (3 * chunk, chunk)]);
    let mut bytes: Vec<u8> = sign_table(1.0, 0.0, 0.0).into_iter().flat_map(u16::to_le_bytes).collect();
    bytes.extend([1, 0xFF, 1, 0xFF]);
    bytes.resize(chunk as usize, 0);
    rig.constant_bytes(&bytes.repeat(4));
    done(&mut rig);
    for index in 0..64_u32 {
        let wanted = u8::from(first[index as usize] < second[index as usize]);
        let at = 0x0100_0000 + index / 4 * 64 + index % 4;
        assert_eq!(rig.machine.memory.bytes(at, 1), Some(vec![wanted]), "{index}");
    }
}

/// Requirement: ORA-44
#[test]
fn selection_multiplies_by_the_condition_and_by_its_opposite() {
    let mut rig = TaskRig::pass_through([2, 1, 4], 2 << 16);
    let condition = [[1, 0, 0, 1], [0, 1, 1, 0]];
    let lay_condition = |rig: &mut TaskRig| {
        for (channel, row) in (0..).zip(condition) {
            rig.machine.memory.load(0x0200_0000 + 64 * channel, &row);
        }
    };
    // The condition is loaded and kept; two tables make it and its opposite halves.
    lay_condition(&mut rig);
    rig.set(0x08, 0x20).set(0x4804, 0x0050_0131).set(0x13838, 0x0100_0000).set(0x4808, 0);
    rig.set(0xC800, 0x80).set(0xC804, 0x0012_000C);
    rig.constants(&[sign_table(1.0, 0.0, 1.0), sign_table(0.0, 1.0, 0.0)].concat());
    to_chip(&mut rig, KEPT, 16, 32);
    rig.engines(&[(0, 0x80)]);
    done(&mut rig);
    to_chip(&mut rig, BESIDE, 16, 32);
    rig.set(0x4804, 0x100).engines(&[(0x80, 0x80)]);
    done(&mut rig);
    // Each is multiplied with one operand, which stays on chip, and both products are added.
    rig.set(0x08, 0x2A).set(0x24, 0x0001_0001).set(0x2C, 9).set(0x34, BINARY << 4 | 3);
    rig.set(0x4804, 0x0150_0170);
    rig.set(0x8800, 2 << 18 | 1 << 2).set(0x8804, 0x3C00_0000).set(0x8808, 0x3C00_0000);
    rig.set(0x880C, 1.0_f32.to_bits()).set(0x1383C, 0x2030).set(0x481C, 0xC000);
    let values = [[1.0, f64::INFINITY, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [-1.0; 8]];
    for (mask, values) in [(KEPT, values[0]), (BESIDE, values[1])] {
        from_chip(&mut rig, 0x4808, mask, 16, 32);
        to_chip(&mut rig, mask, 16, 32);
        rig.input(1, &bits(&values));
        done(&mut rig);
    }
    from_chip(&mut rig, 0x4808, KEPT, 16, 32);
    from_chip(&mut rig, 0x481C, BESIDE, 16, 32);
    rig.set(0x34, BINARY << 4 | 1).set(0x4804, 0x0050_0170).set(0x8800, 2 << 18);
    to_memory(&mut rig, 0x0130_2031);
    // Zero times infinity is zero.
    assert_eq!(rig.done(), [1.0, -1.0, -1.0, 4.0, -1.0, 6.0, 7.0, -1.0]);
}

/// Requirement: ORA-45
#[test]
fn layer_norm_lays_its_mean_and_its_factors_into_two_rows_of_a_transposed_source() {
    let extents = [2, 2, 2];
    let values = [1.0, 3.0, 1.0, 3.0, 0.0, 8.0, 8.0, 0.0];
    let mut rig = TaskRig::planar(REDUCE, extents, 0);
    // The mean of each channel, stored as one row of columns.
    rig.input(0, &bits(&values)).set(0x30, 0x400).set(0x880C, 0.25_f32.to_bits());
    to_chip(&mut rig, KEPT, 0x40, 0x20);
    done(&mut rig);
    // One over the root of the variance, a row behind it.
    rig.set(0x34, BINARY_REDUCE << 4 | 3).set(0x08, 0x2A).set(0x30, 0x503).set(0x4804, 0x0150_0170);
    from_chip(&mut rig, 0x4808, KEPT, 0x40, 0x20);
    rig.set(0x8800, 3 << 18 | 4 << 2 | 2 << 12).set(0x8808, pair(0.0, 1.0)).set(0x1383C, 0x2030);
    rig.set(0x481C, BESIDE).set(0x4820, 16).set(0x4824, 32).input(1, &bits(&values));
    to_chip(&mut rig, KEPT + 0x20, 0x40, 0x20);
    done(&mut rig);
    // The difference to the mean, times the factor.
    rig.set(0x34, NORMALISE << 4 | 1).set(0x30, 0x200).set(0x4804, 0x0050_0172).set(0x8800, 3 << 18);
    rig.set(0x4808, 0).set(0x480C, 16).set(0x4810, 32).set(0x880C, 1.0_f32.to_bits());
    from_chip(&mut rig, 0x481C, KEPT, 0x40, 0x20);
    to_memory(&mut rig, 0x0130_2031);
    rig.set(0x17808, 64).set(0x1780C, 128).expect(extents);
    assert_eq!(rig.done(), [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0]);
}

/// Requirement: ORA-46
#[test]
fn cast_of_bytes_is_a_planar_copy() {
    let mut cast = TaskRig::planar(COPY, [1, 2, 3], 0);
    cast.set(0x08, 0x20).set(0x4804, 0x0050_0132).set(0x13838, 0x0100_0000);
    to_memory(&mut cast, 0x0130_2031);
    cast.machine.memory.load(0x0200_0000, &[1, 0, 1]);
    cast.machine.memory.load(0x0200_0040, &[0, 0, 1]);
    assert_eq!(cast.done(), [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
}

/// Requirement: ORA-47
#[test]
fn sum_of_one_channel_each_goes_through_the_accumulator_and_a_table() {
    // As the reciprocal root does (0x00121c08): the addend comes before the table.
    let mut rig = TaskRig::neural(Mode::M1, [2, 1, 2], [2, 1, 2], 0x0012_1C08);
    rig.set(0x24, 0x0001_4001).set(0xC80C, half_bits(2.0).into()).set(0x34, 1 << 19 | 1);
    rig.engines(&[(0, 0x80), (0, 0x80)]).constants(&sign_table(-1.0, 0.0, 1.0));
    assert_eq!(rig.input(0, &bits(&[-3.0, -2.0, -1.0, 5.0])).done(), [-1.0, 0.0, 1.0, 1.0]);
}
