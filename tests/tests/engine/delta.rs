//! The delta's additions to the registers, feature by feature, with results worked out by hand.

use ane_tests::reference::engine::numbers::half_bits;
use ane_tests::reference::engine::{Mode, TaskOutcome};

use super::rig::{
    BINARY, CHANNEL_SUM, COPY, MULTIPLY, NORMALISE, REDUCE, RELU, TABLE, TaskRig, bits, table, through,
};

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
    let mut rig = TaskRig::neural(Mode::M1, [2, 1, 1], [1, 1, 1], MULTIPLY);
    rig.set(0x24, 0x0001_0002).set(0x13818, 128).set(0x17814, 64).set(0x4818, 0x100);
    rig.engines(&[(0, 0x80)]).constants(&slots(&[&[1.0, 1.0], &[2.0, 2.0]]));
    rig.input(0, &bits(&[1.0, 2.0, 3.0, 4.0])).expect([2, 1, 1]);
    assert_eq!(rig.done(), [3.0, 14.0]);
}

/// Requirement: ORA-02
#[test]
fn planes_are_narrower_where_lanes_of_all_engines_are_more_than_outputs() {
    // Four outputs, four lanes, two engines: two outputs for each engine.
    let mut rig = TaskRig::neural(Mode::M1, [2, 1, 1], [4, 1, 1], MULTIPLY);
    rig.set(0x1C, 0x5000_A021 | 2 << 10).set(0x34, 1 << 19).engines(&[(0, 64), (64, 64)]);
    rig.constants(&slots(&[&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]])).input(0, &bits(&[1.0, 10.0]));
    assert_eq!(rig.done(), [31.0, 42.0, 75.0, 86.0]);
}

/// Requirement: ORA-03
#[test]
fn table_leads_the_coefficients_of_each_engine() {
    let mut rig = TaskRig::neural(Mode::M1, [1, 1, 1], [2, 1, 1], MULTIPLY | TABLE);
    rig.set(0x34, 1 << 19).engines(&[(0, 0xC0), (0xC0, 0xC0)]).input(0, &bits(&[3.0]));
    let chunks = [line(2.0, 1.0), slots(&[&[5.0]]), line(2.0, 1.0), slots(&[&[7.0]])];
    rig.constants(&chunks.concat());
    assert_eq!(rig.done(), [31.0, 43.0]);
}

/// Requirement: ORA-04
#[test]
fn accumulator_bias_is_added_before_post_scale_and_nonlinearity() {
    let mut rig = TaskRig::neural(Mode::M1, [2, 1, 1], [1, 1, 1], MULTIPLY | RELU);
    rig.engines(&[(0, 4)]).constants(&bits(&[1.0, 1.0])).input(0, &bits(&[1.0, 2.0]));
    rig.set(0xC80C, half_bits(-10.0).into()).set(0xC810, half_bits(-0.5).into());
    assert_eq!(rig.done(), [3.5]);
    let mut sum = TaskRig::neural(Mode::M1, [2, 1, 1], [1, 1, 1], CHANNEL_SUM);
    sum.set(0xC80C, half_bits(0.25).into()).input(0, &bits(&[1.0, 2.0]));
    assert_eq!(sum.done(), [3.25]);
}

/// Requirement: ORA-05
#[test]
fn signed_bytes_are_coefficients() {
    let mut rig = TaskRig::neural(Mode::M1, [2, 1, 1], [1, 1, 1], MULTIPLY);
    rig.set(0xC800, 0x81).engines(&[(0, 2)]).constant_bytes(&[0xFF, 0x80]);
    assert_eq!(rig.input(0, &bits(&[3.0, 0.5])).done(), [-67.0]);
}

/// Requirement: ORA-06
#[test]
fn sparse_slot_walks_phases_of_the_stride_and_leaves_zeros_out() {
    // 3x3 with stride 2 over 3x3 elements, padded to one output; taps 1 to 9, of which 5 is zero. One lane counts as two.
    let mut rig = TaskRig::neural(Mode::M1, [1, 3, 3], [1, 1, 1], MULTIPLY);
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
    let mut rig = TaskRig::neural(Mode::M1, [1, 1, 1], [1, 1, 1], MULTIPLY);
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
    let mut rig = TaskRig::neural(Mode::M1, [1, 1, 4], [1, 1, 4], MULTIPLY);
    rig.set(0x1C, 0x6000_A021).engines(&[(0, 8)]).constants(&bits(&[2.0, 0.0, 0.0, 2.0]));
    assert_eq!(rig.input(0, &bits(&counted(4))).done(), [2.0, 4.0, 6.0, 8.0]);
}

/// Requirement: ORA-09
#[test]
fn depths_repeat_the_task_with_the_depth_strides() {
    let mut rig = TaskRig::planar(COPY, [1, 1, 2], 0);
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
    let lay = |rig: &mut TaskRig, source: u32| {
        for (index, element) in (0..).zip(&stored) {
            let at = 0x0100_0000 * (2 + source) + index / 2 * 64 + index % 2 * 2;
            rig.machine.memory.load(at, &element.to_le_bytes());
        }
    };
    let mut first = TaskRig::planar(COPY, [2, 1, 3], 0);
    lay(&mut first, 0);
    assert_eq!(first.set(0x30, 1 << 8).done(), counted(6)[..]);
    let mut second = TaskRig::planar(BINARY, [2, 1, 3], 0);
    lay(&mut second, 1);
    second.set(0x30, 1 << 9).input(0, &bits(&[10.0; 6]));
    assert_eq!(second.done(), [11.0, 12.0, 13.0, 14.0, 15.0, 16.0]);
}

/// Requirement: ORA-11
#[test]
fn normaliser_reads_a_column_for_each_channel_where_source_2_lies_transposed() {
    for (negated, wanted) in [(0, [20.0, 30.0, 500.0, 600.0]), (1, [0.0, 10.0, 100.0, 200.0])] {
        let mut rig = TaskRig::planar(NORMALISE, [2, 1, 2], negated << 18);
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
    let mut copy = TaskRig::planar(COPY, [1, 1, 2], 1 << 6);
    assert_eq!(copy.input(0, &bits(&[-3.0, 5.0])).done(), [3.0, 5.0]);
    let mut sum = TaskRig::planar(BINARY, [1, 1, 2], 0);
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
    let mut rig = TaskRig::pass_through([1, 1, 4], TABLE);
    rig.set(0x08, 0).set(0x4804, 0x132).set(0x4830, 0x132).set(0x13838, 0x0100_0000);
    rig.set(0x17818, 0x0130_0000).set(0xC804, 0x0012_000C).engines(&[(0, 0x80)]).constants(&not);
    rig.machine.memory.load(0x0200_0000, &[0, 1, 1, 0]);
    assert_eq!(rig.run(), TaskOutcome::Done { inferred: Vec::new() });
    assert_eq!(rig.machine.memory.bytes(0x0100_0000, 4), Some(vec![1, 0, 0, 1]));
}

/// Requirement: ORA-14
#[test]
fn pass_through_of_other_extents_writes_what_both_have() {
    for outputs in [1, 3, 5] {
        let mut rig = TaskRig::pass_through([1, 1, 4], 0);
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
    let mut rig = TaskRig::pass_through([1, 1, 2], RELU);
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

/// Requirement: ORA-33
#[test]
fn broadcast_along_depth_does_nothing_in_a_task_of_one_depth() {
    for bit in [2, 6] {
        let mut sum = TaskRig::planar(BINARY, [2, 1, 2], 0);
        sum.set(0x30, 1 << bit).input(0, &bits(&counted(4))).input(1, &bits(&[10.0; 4]));
        assert_eq!(sum.done(), [11.0, 12.0, 13.0, 14.0], "bit {bit}");
    }
}

/// Requirement: ORA-34
#[test]
fn elementwise_task_takes_either_padding_mode_and_a_reduction_its_own() {
    for operation in 0..=4 {
        let mut task = TaskRig::planar(BINARY, [1, 1, 2], operation << 2);
        task.input(0, &bits(&[-3.0, 5.0])).input(1, &bits(&[2.0, 4.0]));
        let unpadded = task.done();
        assert_eq!(task.set(0x4800, 1 << 2).done(), unpadded, "{operation}");
        assert_eq!(task.set(0x4800, 2 << 2).refused(), 0x4800, "{operation}");
    }
    for (reduction, other) in [(0, 1), (2, 0)] {
        let mut task = TaskRig::planar(REDUCE, [1, 1, 2], reduction);
        assert_eq!(task.set(0x4800, other << 2).refused(), 0x4800, "{reduction}");
    }
}

/// Requirement: ORA-35
#[test]
fn source_2_of_bytes_is_read_as_a_source_1_of_bytes_is() {
    // Bytes of two channels in memory, rows of 64 bytes, and on chip.
    let bytes: [&[u8]; 2] = [&[1, 0xFF], &[3, 0x80]];
    let sums = [11.0, 19.0, 33.0, -88.0];
    let mut sum = TaskRig::planar(BINARY, [2, 1, 2], 0);
    sum.input(0, &bits(&[10.0, 20.0, 30.0, 40.0]));
    for (row, values) in (0..).zip(bytes) {
        sum.machine.memory.load(0x0300_0000 + 64 * row, values);
    }
    sum.set(0x08, 0x22).set(0x1383C, 0x0100_0000);
    assert_eq!(sum.done(), sums);
    // The port has the format of bytes or none that is known.
    assert_eq!(sum.set(0x1383C, 0x2030).refused(), 0x1383C);
    // A copy leaves bytes on chip, 16 of them for each channel.
    let mut kept = TaskRig::planar(COPY, [2, 1, 2], 0);
    kept.set(0x08, 0x02).set(0x4830, 0x130).set(0x4834, 0x8000).set(0x4838, 16).set(0x483C, 32);
    kept.set(0x17800, 0).input(0, &bits(&[1.0, -1.0, 3.0, -128.0]));
    assert_eq!(kept.run(), TaskOutcome::Done { inferred: Vec::new() });
    kept.set(0x08, 0x22).set(0x34, BINARY << 4 | 1).set(0x8800, 2 << 18);
    kept.set(0x481C, 0x8000).set(0x4820, 16).set(0x4824, 32).input(0, &bits(&[10.0, 20.0, 30.0, 40.0]));
    kept.set(0x17800, 1).set(0x4830, 0x172).set(0x4834, 0x10_0000);
    assert_eq!(kept.done(), sums);
}

/// Requirement: ORA-36
#[test]
fn bytes_without_a_sign_are_read_and_written_so() {
    let mut copy = TaskRig::planar(COPY, [1, 1, 4], 0);
    copy.set(0x08, 0x21).set(0x13838, 0x0100_0000).set(0x4804, 0x132);
    copy.machine.memory.load(0x0200_0000, &[0, 1, 0x80, 0xFF]);
    assert_eq!(copy.done(), [0.0, 1.0, 128.0, 255.0]);
    let mut store = TaskRig::planar(COPY, [1, 1, 4], 0);
    store.set(0x08, 0x12).set(0x17818, 0x0100_0000).set(0x4830, 0x132);
    store.input(0, &bits(&[-3.0, 2.5, 200.0, 300.0]));
    assert_eq!(store.run(), TaskOutcome::Done { inferred: Vec::new() });
    assert_eq!(store.machine.memory.bytes(0x0100_0000, 4), Some(vec![0, 3, 200, 255]));
}

/// Requirement: ORA-37
#[test]
fn plane_that_is_not_full_has_rows_as_wide_as_it_has_outputs() {
    let run = |chunks: &[&[f64]], sizes: &[(u32, u32)]| {
        // Five outputs of two channels; four lanes.
        let mut rig = TaskRig::neural(Mode::M1, [2, 1, 1], [5, 1, 1], MULTIPLY);
        rig.set(0x1C, 0x5000_A021 | 2 << 10).set(0x34, 2 << 19).engines(sizes);
        rig.constants(&slots(chunks)).input(0, &bits(&[1.0, 10.0]));
        rig
    };
    let wanted = [31.0, 42.0, 75.0, 86.0, 109.0];
    // Two for each of four engines, and one for the third; the fourth has nothing.
    let even: &[&[f64]] = &[&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], &[9.0, 10.0]];
    assert_eq!(run(even, &[(0, 64), (64, 64), (128, 64)]).done(), wanted);
    // Four for the first, and one.
    let filled: &[&[f64]] = &[&[1.0, 2.0, 5.0, 6.0, 3.0, 4.0, 7.0, 8.0], &[9.0, 10.0]];
    assert_eq!(run(filled, &[(0, 64), (64, 64)]).done(), wanted);
    // Coefficients that a task wrote have room for all lanes in each row (td 7.3).
    let mut written = TaskRig::neural(Mode::M1, [12, 1, 1], [5, 1, 1], MULTIPLY);
    written.set(0x1C, 0x5000_A021 | 2 << 10).set(0x34, 1 << 19).set(0xC800, 0x1_0082);
    let rows = [vec![1.0; 48], [7.0, 9.0, 9.0, 9.0].repeat(12)].concat();
    written.engines(&[(0, 128), (128, 128)]).input(0, &bits(&[1.0; 12]));
    let mut halves = bits(&rows[..48]);
    halves.resize(64, 0);
    halves.extend(bits(&rows[48..]));
    assert_eq!(written.constants(&halves).done(), [12.0, 12.0, 12.0, 12.0, 84.0]);
    // The bytes of the channels are neither.
    for sizes in [&[(0, 64), (64, 128)][..], &[(0, 64)]] {
        assert_eq!(run(filled, sizes).refused(), 0x10, "{sizes:?}");
    }
}

/// Requirement: ORA-38
#[test]
fn sparse_planes_with_fewer_outputs_than_lanes_are_refused() {
    // Nobody knows the masks of two lanes, nor those of planes that are dealt evenly or are not full.
    for (outputs, lanes_log2, engines) in [(2, 1, 1), (8, 3, 2), (5, 2, 2)] {
        let mut rig = TaskRig::neural(Mode::M1, [1, 1, 1], [outputs, 1, 1], MULTIPLY);
        rig.set(0x1C, 0x5000_A021 | lanes_log2 << 10).set(0x34, (engines - 1) << 19);
        rig.set(0xC800, 0x182).engines(&[(0, 64), (64, 64)]).set(0x1F800, 0x60);
        rig.constant_bytes(&[3, 0, 0, 1, 0, 0x3C]).input(0, &bits(&[3.0]));
        assert!(matches!(rig.run(), TaskOutcome::Refused { .. }), "{outputs}");
    }
}

/// Requirement: ORA-39
#[test]
fn bit_of_cfg_that_puts_source_2_in_memory_does_nothing_where_there_is_none() {
    let mut relu = TaskRig::pass_through([1, 1, 2], RELU);
    assert_eq!(relu.set(0x34, 2).input(0, &bits(&[-3.0, 5.0])).done(), [0.0, 5.0]);
    let mut copy = TaskRig::planar(COPY, [1, 1, 2], 0);
    assert_eq!(copy.set(0x34, COPY << 4 | 3).input(0, &bits(&[-3.0, 5.0])).done(), [-3.0, 5.0]);
}

/// Requirement: ORA-40
#[test]
fn base_of_ones_refuses_nothing_of_a_port_that_moves_nothing() {
    // The first task keeps its source and its result on chip, the second one reads both there.
    let mut rig = TaskRig::planar(COPY, [1, 1, 2], 0);
    rig.set(0x4804, 0x171).set(0x4808, 0).set(0x4830, 0x170).set(0x17800, 0).set(0x17804, u32::MAX);
    rig.set(0x1381C, u32::MAX).set(0x1F848, u32::MAX).set(0x4834, 0x8000).input(0, &bits(&[-3.0, 5.0]));
    assert_eq!(rig.run(), TaskOutcome::Done { inferred: Vec::new() });
    rig.set(0x34, BINARY << 4 | 1).set(0x08, 0x2A).set(0x8800, 2 << 18).set(0x4804, 0x170);
    rig.set(0x13808, u32::MAX).set(0x17804, 0).set(0x17800, 1).set(0x4830, 0x172).set(0x4834, 0x10_0000);
    rig.set(0x481C, 0x8000);
    assert_eq!(rig.done(), [-6.0, 10.0]);
}

/// Requirement: ORA-42
#[test]
fn sparse_chunk_of_zeros_has_no_coefficients_however_many_slots_it_has() {
    // Three outputs of one engine and lane: three slots, back to back.
    let mut rig = TaskRig::neural(Mode::M1, [1, 1, 1], [3, 1, 1], MULTIPLY);
    rig.set(0xC800, 0x182).engines(&[(0, 64)]).set(0x1F800, 0x60).input(0, &bits(&[3.0]));
    assert_eq!(rig.constant_bytes(&[0; 64]).done(), [0.0; 3]);
    // The first alone is empty, or the last.
    let slot = [3, 0, 0, 1, 0, 0x3C];
    let with = |rig: &mut TaskRig, slots: &[&[u8]]| {
        let mut chunk = slots.concat();
        chunk.resize(64, 0);
        rig.constant_bytes(&chunk);
    };
    with(&mut rig, &[&[0; 3], &slot, &slot]);
    assert!(matches!(rig.run(), TaskOutcome::Refused { .. }));
    with(&mut rig, &[&slot, &slot, &slot]);
    assert_eq!(rig.done(), [3.0; 3]);
}
