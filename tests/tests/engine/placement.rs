//! Where elements lie: coefficients, padding, groups, interleave, transposes, broadcast, windows.

use ane_tests::reference::engine::{Mode, TaskOutcome};

use super::rig::{BINARY, CHANNEL_MAXIMUM, COPY, MULTIPLY, NORMALISE, PASS_THROUGH, TaskRig, bits};

fn counted(count: u32) -> Vec<f64> {
    (0..count).map(|index| f64::from(index) + 1.0).collect()
}

#[test]
fn planes_of_lanes_are_dealt_to_the_engines_in_turn() {
    // Six outputs in planes of two over two engines: planes 0 and 2 are engine 0's, plane 1 is engine 1's.
    let mut rig = TaskRig::neural(Mode::M1, [2, 1, 1], [6, 1, 1], MULTIPLY);
    rig.set(0x1C, 0x5000_A021 | 1 << 10).set(0x34, 1 << 19);
    rig.engines(&[(0, 16), (0x40, 8)]).input(0, &bits(&[1.0, 10.0]));
    let mut constants = bits(&[1.0, 2.0, 3.0, 4.0, 11.0, 12.0, 13.0, 14.0]);
    constants.resize(32, 0);
    constants.extend(bits(&[21.0, 22.0, 23.0, 24.0]));
    rig.constants(&constants);
    assert_eq!(rig.done(), [31.0, 42.0, 251.0, 262.0, 141.0, 152.0]);
}

#[test]
fn padded_and_strided_kernel_reads_zero_outside() {
    // 3x3 of ones over 4x4 counted elements, padding 1, stride 2.
    let mut rig = TaskRig::neural(Mode::M1, [1, 4, 4], [1, 2, 2], MULTIPLY);
    rig.set(0x1C, 3 | 3 << 5 | 2 << 13 | 2 << 15 | 1 << 17 | 1 << 22 | 5 << 28);
    rig.engines(&[(0, 18)]).constants(&bits(&[1.0; 9])).input(0, &bits(&counted(16)));
    rig.make_strict();
    assert_eq!(rig.run(), TaskOutcome::Done { inferred: Vec::new() });
    assert_eq!(rig.done(), [14.0, 30.0, 57.0, 99.0]);
}

#[test]
fn stride_that_no_program_has_is_inferred() {
    // One tap with stride 3 over four elements.
    let mut rig = TaskRig::neural(Mode::M1, [1, 1, 4], [1, 1, 2], MULTIPLY);
    rig.set(0x1C, 1 | 1 << 5 | 3 << 13 | 1 << 15 | 5 << 28);
    rig.engines(&[(0, 2)]).constants(&bits(&[2.0])).input(0, &bits(&counted(4)));
    assert_eq!(rig.run(), TaskOutcome::Done { inferred: vec!["stride 3"] });
    assert_eq!(rig.done(), [2.0, 8.0]);
    rig.make_strict();
    assert_eq!(rig.refused(), 0x1C);
}

#[test]
fn padding_as_wide_as_the_kernel_is_refused_on_either_side() {
    for (padding, outputs) in [(1, 1), (0, 3)] {
        let mut rig = TaskRig::neural(Mode::M1, [1, 1, 2], [1, 1, outputs], MULTIPLY);
        rig.set(0x1C, 0x5000_A021 | padding << 17).engines(&[(0, 2)]);
        assert_eq!(rig.refused(), 0x1C);
    }
}

#[test]
fn interleaved_destination_builds_a_dense_packing() {
    // Rows of four values for each element: the coefficients of a runtime kernel (td 7.3).
    let mut rig = TaskRig::planar(COPY, [4, 1, 3], 0);
    rig.input(0, &bits(&counted(12))).set(0x17818, 0x0400_2031);
    rig.expect([1, 1, 12]);
    assert_eq!(rig.done(), [1.0, 4.0, 7.0, 10.0, 2.0, 5.0, 8.0, 11.0, 3.0, 6.0, 9.0, 12.0]);
}

#[test]
fn both_transposes_exchange_channels_and_columns() {
    let mut planar = TaskRig::planar(COPY, [2, 1, 3], 0);
    planar.set(0x30, 1 << 10);
    let mut neural = TaskRig::neural(Mode::M1, [2, 1, 3], [2, 1, 3], PASS_THROUGH);
    neural.set(0x24, 0x0001_4001).set(0x34, 1 << 28);
    for mut rig in [planar, neural] {
        rig.input(0, &bits(&counted(6))).expect([3, 1, 2]);
        assert_eq!(rig.done(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}

#[test]
fn broadcast_makes_an_operand_one_column_row_or_channel() {
    let wanted = [
        (4, [11.0, 12.0, 23.0, 24.0, 35.0, 36.0, 47.0, 48.0]),
        (5, [11.0, 22.0, 13.0, 24.0, 35.0, 46.0, 37.0, 48.0]),
        (7, [11.0, 22.0, 33.0, 44.0, 15.0, 26.0, 37.0, 48.0]),
    ];
    for (flag, wanted) in wanted {
        let mut rig = TaskRig::planar(BINARY, [2, 2, 2], 0);
        // Strides beyond the one column, row or channel have no effect.
        let second = [
            [10.0, 0.0, 20.0, 0.0, 30.0, 0.0, 40.0, 0.0],
            [10.0, 20.0, 0.0, 0.0, 30.0, 40.0, 0.0, 0.0],
            [10.0, 20.0, 30.0, 40.0, 0.0, 0.0, 0.0, 0.0],
        ][[4, 5, 7].iter().position(|&known| known == flag).expect("one of three")];
        rig.set(0x30, 1 << flag).input(0, &bits(&counted(8))).input(1, &bits(&second));
        assert_eq!(rig.done(), wanted, "flag {flag}");
    }
}

#[test]
fn normaliser_finds_its_factor_one_row_behind_what_it_subtracts() {
    let mut rig = TaskRig::planar(NORMALISE, [1, 2, 2], 1 << 18);
    rig.set(0x30, 1 << 5).input(0, &bits(&[5.0, 6.0, 7.0, 8.0])).input(1, &bits(&[1.0, 2.0, 10.0, 100.0]));
    assert_eq!(rig.done(), [40.0, 400.0, 60.0, 600.0]);
}

#[test]
fn channel_maximum_needs_its_padding_mode() {
    let mut rig = TaskRig::neural(Mode::M1, [3, 1, 1], [1, 1, 1], CHANNEL_MAXIMUM);
    rig.input(0, &bits(&[-5.0, -2.0, -9.0]));
    assert_eq!(rig.refused(), 0x4800);
    rig.set(0x4800, 1 << 2);
    assert_eq!(rig.done(), [-2.0]);
}

/// A copy of a row from chip to memory.
fn copy_from_chip(rig: &mut TaskRig) -> &mut TaskRig {
    rig.set(0x4804, 0).set(0x30, 0).set(0x4808, 0)
}

#[test]
fn source_that_fits_its_window_stays_readable() {
    let mut rig = TaskRig::planar(COPY, [1, 1, 8], 0);
    rig.input(0, &bits(&counted(8))).done();
    rig.input(0, &[0; 8]);
    assert_eq!(copy_from_chip(&mut rig).done(), counted(8)[..]);
}

#[test]
fn source_wider_than_its_window_leaves_bytes_that_nobody_knows() {
    let mut rig = TaskRig::planar(COPY, [1, 1, 8], 0);
    rig.set(0x2C, 2).input(0, &bits(&counted(8))).done();
    assert_eq!(copy_from_chip(&mut rig).refused(), 0x4808);
}

#[test]
fn task_that_is_refused_in_a_later_batch_leaves_no_trace() {
    let mut rig = TaskRig::planar(COPY, [1, 1, 8], 0);
    // The third batch reads from beyond the end of the buffer.
    rig.set(0x4804, 0).set(0x24, 3).set(0x4818, 0x1F_FFF0).set(0x8804, 0x3C00_3C00);
    assert_eq!(rig.refused(), 0x4808);
    let output = rig.machine.memory.bytes(0x0100_0000, 16).expect("the output is mapped");
    assert_eq!(output, [0; 16]);
}

#[test]
fn unmapped_page_faults_at_its_first_byte() {
    let mut rig = TaskRig::planar(COPY, [1, 1, 8], 0);
    rig.set(0x13808, 0x20_0000 - 64).set(0x1380C, 64).set(0x13810, 64);
    assert!(matches!(rig.run(), TaskOutcome::Done { .. }));
    rig.set(0x13808, 0x20_0000);
    assert_eq!(rig.run(), TaskOutcome::Fault { address: 0x0220_0000 });
}
