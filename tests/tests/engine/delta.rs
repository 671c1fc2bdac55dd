//! What the delta adds to the registers, feature by feature, with results worked out by hand.

use ane_tests::reference::engine::numbers::half_bits;
use ane_tests::reference::engine::{Mode, Outcome};

use super::rig::{BINARY, CHANNEL_SUM, COPY, MULTIPLY, NORMALISE, RELU, Rig, TABLE, bits, table, through};

fn counted(count: u32) -> Vec<f64> {
    (0..count).map(|index| f64::from(index) + 1.0).collect()
}

/// Constants of 64 bytes each.
fn slots(slots: &[&[f64]]) -> Vec<u16> {
    let padded = slots.iter().flat_map(|slot| {
        let mut slot = bits(slot);
        slot.resize(32, 0);
        slot
    });
    padded.collect()
}

/// A table whose straight lines are those of `low * x + high`, whatever `x`.
fn line(slope: f64, intercept: f64) -> Vec<u16> {
    let mut line = table([-f64::INFINITY, f64::INFINITY, 0.0, 0.0], |_| 0.0, 64, 1);
    line[37..41].copy_from_slice(&bits(&[slope, intercept, slope, intercept]));
    line
}

/// Requirement: ORA-01
#[test]
fn groups_repeat_the_task_with_channels_and_coefficients_of_their_own() {
    // Two groups of two channels in and one out, each with a slot of its own.
    let mut rig = Rig::neural(Mode::M1, [2, 1, 1], [1, 1, 1], MULTIPLY);
    rig.set(0x24, 0x0001_0002).set(0x13818, 128).set(0x17814, 64).set(0x4818, 0x100);
    rig.engines(&[(0, 0x80)]).constants(&slots(&[&[1.0, 1.0], &[2.0, 2.0]]));
    rig.input(0, &bits(&[1.0, 2.0, 3.0, 4.0])).expect([2, 1, 1]);
    assert_eq!(rig.done(), [3.0, 14.0]);
}

/// Requirement: ORA-02
#[test]
fn planes_are_narrower_where_lanes_of_all_engines_are_more_than_outputs() {
    // Four outputs, four lanes, two engines: two outputs for each engine.
    let mut rig = Rig::neural(Mode::M1, [2, 1, 1], [4, 1, 1], MULTIPLY);
    rig.set(0x1C, 0x5000_A021 | 2 << 10).set(0x34, 1 << 19).engines(&[(0, 64), (64, 64)]);
    rig.constants(&slots(&[&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]])).input(0, &bits(&[1.0, 10.0]));
    assert_eq!(rig.done(), [31.0, 42.0, 75.0, 86.0]);
}

/// Requirement: ORA-03
#[test]
fn table_leads_the_coefficients_of_each_engine() {
    let mut rig = Rig::neural(Mode::M1, [1, 1, 1], [2, 1, 1], MULTIPLY | TABLE);
    rig.set(0x34, 1 << 19).engines(&[(0, 0xC0), (0xC0, 0xC0)]).input(0, &bits(&[3.0]));
    let chunks = [line(2.0, 1.0), slots(&[&[5.0]]), line(2.0, 1.0), slots(&[&[7.0]])];
    rig.constants(&chunks.concat());
    assert_eq!(rig.done(), [31.0, 43.0]);
}

/// Requirement: ORA-04
#[test]
fn accumulator_bias_is_added_before_post_scale_and_nonlinearity() {
    let mut rig = Rig::neural(Mode::M1, [2, 1, 1], [1, 1, 1], MULTIPLY | RELU);
    rig.engines(&[(0, 4)]).constants(&bits(&[1.0, 1.0])).input(0, &bits(&[1.0, 2.0]));
    rig.set(0xC80C, half_bits(-10.0).into()).set(0xC810, half_bits(-0.5).into());
    assert_eq!(rig.done(), [3.5]);
    let mut sum = Rig::neural(Mode::M1, [2, 1, 1], [1, 1, 1], CHANNEL_SUM);
    sum.set(0xC80C, half_bits(0.25).into()).input(0, &bits(&[1.0, 2.0]));
    assert_eq!(sum.done(), [3.25]);
}

/// Requirement: ORA-05
#[test]
fn signed_bytes_are_coefficients() {
    let mut rig = Rig::neural(Mode::M1, [2, 1, 1], [1, 1, 1], MULTIPLY);
    rig.set(0xC800, 0x81).engines(&[(0, 2)]).constant_bytes(&[0xFF, 0x80]);
    assert_eq!(rig.input(0, &bits(&[3.0, 0.5])).done(), [-67.0]);
}

/// Requirement: ORA-06
#[test]
fn sparse_slot_walks_phases_of_the_stride_and_leaves_zeros_out() {
    // 3x3 with stride 2 over 3x3 elements, padded to one output; taps 1 to 9, of which 5 is zero. One lane counts as two.
    let mut rig = Rig::neural(Mode::M1, [1, 3, 3], [1, 1, 1], MULTIPLY);
    rig.set(0x1C, 0x5001_4063).set(0xC800, 0x182).engines(&[(0, 64)]).set(0x1F800, 0x60);
    let slot = |bodies: &[(u8, &[f64])]| {
        let body = bodies.iter().flat_map(|(mask, taps)| {
            let taps = bits(taps).into_iter().flat_map(u16::to_le_bytes);
            [*mask].into_iter().chain(taps).collect::<Vec<u8>>()
        });
        let body: Vec<u8> = body.collect();
        [vec![body.len() as u8, 0, 0], body].concat()
    };
    let body = slot(&[(0x55, &[1.0, 3.0, 7.0, 9.0]), (0x11, &[2.0, 8.0]), (0x05, &[4.0, 6.0]), (0, &[])]);
    rig.constant_bytes(&body).input(0, &bits(&counted(9)));
    // The sum of squares to nine, without that of five.
    assert_eq!(rig.done(), [260.0]);
}

/// Requirement: ORA-07
#[test]
fn sparse_slot_that_promises_more_than_there_is_is_refused() {
    let mut rig = Rig::neural(Mode::M1, [1, 1, 1], [1, 1, 1], MULTIPLY);
    rig.set(0xC800, 0x182).engines(&[(0, 64)]).set(0x1F800, 0x60).input(0, &bits(&[3.0]));
    // Two positions of one byte; a mask without its half; a lane that there is not; a count beyond the chunk.
    assert_eq!(rig.constant_bytes(&[3, 0, 0, 1, 0, 0x3C]).done(), [3.0]);
    for body in [[1, 0, 0, 1, 0, 0x3C], [3, 0, 0, 2, 0, 0x3C], [0, 0, 0, 1, 0, 0x3C], [64, 0, 0, 1, 0, 0x3C]]
    {
        assert_eq!(rig.constant_bytes(&body).refused(), 0xC800, "{body:x?}");
    }
}

/// Requirement: ORA-08
#[test]
fn two_columns_side_by_side_are_lanes_with_a_kernel_moved_along() {
    // A 1x1 kernel of two lanes, two columns wide: the second lane's tap is the second of its row.
    let mut rig = Rig::neural(Mode::M1, [1, 1, 4], [1, 1, 4], MULTIPLY);
    rig.set(0x1C, 0x6000_A021).engines(&[(0, 8)]).constants(&bits(&[2.0, 0.0, 0.0, 2.0]));
    assert_eq!(rig.input(0, &bits(&counted(4))).done(), [2.0, 4.0, 6.0, 8.0]);
}

/// Requirement: ORA-09
#[test]
fn depths_repeat_the_task_with_the_depth_strides() {
    let mut rig = Rig::planar(COPY, [1, 1, 2], 0);
    rig.set(0x04, 2).set(0x18, 2).set(0x13814, 64).set(0x17810, 64).set(0x17808, 64).set(0x1780C, 64);
    rig.set(0x4814, 0x100).set(0x8804, u32::from(half_bits(3.0)) << 16);
    let inputs: Vec<u8> = bits(&[1.0, 2.0]).into_iter().flat_map(u16::to_le_bytes).collect();
    rig.machine.memory.load(0x0200_0000, &inputs);
    rig.machine.memory.load(0x0200_0040, &inputs);
    assert_eq!(rig.expect([2, 1, 2]).done(), [3.0, 6.0, 3.0, 6.0]);
}

/// Requirement: ORA-10
#[test]
fn source_that_lies_transposed_has_a_channel_for_each_column() {
    // Stored as three channels of two columns, meant as two channels of three.
    let stored = bits(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let lay = |rig: &mut Rig, source: u32| {
        for (index, element) in (0..).zip(&stored) {
            let at = 0x0100_0000 * (2 + source) + index / 2 * 64 + index % 2 * 2;
            rig.machine.memory.load(at, &element.to_le_bytes());
        }
    };
    let mut first = Rig::planar(COPY, [2, 1, 3], 0);
    lay(&mut first, 0);
    assert_eq!(first.set(0x30, 1 << 8).done(), counted(6)[..]);
    let mut second = Rig::planar(BINARY, [2, 1, 3], 0);
    lay(&mut second, 1);
    second.set(0x30, 1 << 9).input(0, &bits(&[10.0; 6]));
    assert_eq!(second.done(), [11.0, 12.0, 13.0, 14.0, 15.0, 16.0]);
}

/// Requirement: ORA-11
#[test]
fn normaliser_reads_a_column_for_each_channel_where_source_2_lies_transposed() {
    for (negated, wanted) in [(0, [20.0, 30.0, 500.0, 600.0]), (1, [0.0, 10.0, 100.0, 200.0])] {
        let mut rig = Rig::planar(NORMALISE, [2, 1, 2], negated << 18);
        // Two rows of a column for each channel: what is added, and the factors.
        rig.set(0x30, 1 << 9).input(0, &bits(&counted(4)));
        for (row, values) in [(0, [1.0, 2.0]), (64, [10.0, 100.0])] {
            let bytes: Vec<u8> = bits(&values).into_iter().flat_map(u16::to_le_bytes).collect();
            rig.machine.memory.load(0x0300_0000 + row, &bytes);
        }
        assert_eq!(rig.done(), wanted, "{negated}");
    }
}

/// Requirement: ORA-12
#[test]
fn magnitude_and_relu_of_source_2_act_on_the_planar_engine() {
    let mut copy = Rig::planar(COPY, [1, 1, 2], 1 << 6);
    assert_eq!(copy.input(0, &bits(&[-3.0, 5.0])).done(), [3.0, 5.0]);
    let mut sum = Rig::planar(BINARY, [1, 1, 2], 0);
    sum.set(0x4800, 1 << 4).input(0, &bits(&[-3.0, 5.0])).input(1, &bits(&[-3.0, 5.0]));
    assert_eq!(sum.done(), [-3.0, 10.0]);
}

/// Requirement: ORA-13
#[test]
fn tensors_of_bytes_go_through_a_table() {
    // Nothing becomes one, and one nothing, as in a logical not.
    let mut not = vec![0; 64];
    (not[0], not[1], not[41], not[42]) = (0x8001, 0x0001, 0x40, 1);
    not[4..36].fill(0x3C00);
    let mut rig = Rig::pass_through([1, 1, 4], TABLE);
    rig.set(0x08, 0).set(0x4804, 0x132).set(0x4830, 0x132).set(0x13838, 0x0100_0000);
    rig.set(0x17818, 0x0130_0000).set(0xC804, 0x0012_000C).engines(&[(0, 0x80)]).constants(&not);
    rig.machine.memory.load(0x0200_0000, &[0, 1, 1, 0]);
    assert_eq!(rig.run(), Outcome::Done { inferred: Vec::new() });
    assert_eq!(rig.machine.memory.bytes(0x0100_0000, 4), Some(vec![1, 0, 0, 1]));
}

/// Requirement: ORA-14
#[test]
fn pass_through_of_other_extents_writes_what_both_have() {
    for outputs in [1, 3, 5] {
        let mut rig = Rig::pass_through([1, 1, 4], 0);
        rig.input(0, &bits(&counted(4))).set(0x14, outputs | 1 << 16).expect([1, 1, 5]);
        let mut wanted = counted(4);
        wanted.resize(5, 0.0);
        wanted[outputs.min(4) as usize..].fill(0.0);
        assert_eq!(rig.done(), wanted, "{outputs}");
    }
}

/// Requirement: ORA-15
#[test]
fn table_modes_2_3_and_4_are_knots_below_zero_the_fraction_and_the_whole_part() {
    let ends = [-f64::INFINITY, f64::INFINITY, 0.0, 0.0];
    let mut knots = table(ends, |index| index, 1, 2);
    knots[39] = half_bits(3.0);
    // Knot 32 lies at zero, two for each unit; above, the line.
    assert_eq!([-4.0, -0.25, 2.0].map(|x| through(&knots, half_bits(x))), [24.0, 31.5, 6.0]);
    // With odd symmetry, the fraction and the whole part are the magnitude's.
    let of = |mode| [2.75, -2.75].map(|x| through(&table(ends, |_| 0.0, 0, mode), half_bits(x)));
    assert_eq!([of(0x63), of(0x64)], [[0.75, -0.75], [2.0, -2.0]]);
}

/// Requirement: ORA-16
#[test]
fn odd_table_gives_what_lies_below_at_its_low_bound_too() {
    let odd = table([1.0, 4.0, 9.0, 8.0], |_| 5.0, 3, 0x60);
    assert_eq!([1.0, -1.0, 1.5].map(|x| through(&odd, half_bits(x))), [9.0, -9.0, 5.0]);
}

/// Requirement: ORA-17
#[test]
fn bits_of_ports_and_blocks_at_rest_refuse_nothing() {
    let mut rig = Rig::pass_through([1, 1, 2], RELU);
    rig.input(0, &bits(&[-3.0, 5.0]));
    for register in (0x13820..=0x1382C).step_by(4).chain([0x1383C, 0x8800, 0x8804, 0x8808, 0x880C]) {
        rig.set(register, u32::MAX);
    }
    for (register, value) in [(0xC800, 0x7F), (0x13838, 0x0130_2031), (0x13850, 1), (0x4800, 0x33880)] {
        rig.set(register, value);
    }
    rig.set(0x4804, 0x0100_0132).set(0x34, 1 << 23).set(0x17800, 0x004C_0001);
    assert_eq!(rig.done(), [0.0, 5.0]);
}
