//! XMOV, its parameters, and the wait of a thread (mover 9, vectors 17 to 19).

use ane_uapi::hw::mover::model::{self, Outcome};

use crate::rig::{Rig, isa};

/// A rig with a descriptor in bank 0, for the later chip.
fn described(size: u32) -> Rig {
    let mut rig = isa();
    let bytes: Vec<u8> = (0..0x20).collect();
    rig.fill(0x1000, &bytes);
    rig.fill(0x2000, &[0xff; 0x30]);
    rig.configure(88, &[0x100, 0x200, size, 0]);
    rig
}

/// Vector 17.
///
/// Requirement: MOVER-02
#[test]
fn xmov_does_what_the_command_with_the_same_parameters_does() {
    for word in [0x4000_0000, 0x4080_0000, 0x4000_0001] {
        for size in [0xc000_0002, 0xc001_0002] {
            let mut rig = described(size);
            rig.issue(0, word);
            let mut other = described(size);
            other.transfer([0x100, 0x200, 2, 3]);
            rig.rest();
            assert!(rig.memories() == other.memories(), "{word:#x}");
        }
    }
    let mut rig = described(0x0000_0002);
    rig.issue(0, 0x4000_0000);
    assert_eq!(rig.scratch[0x2000..0x2030], [[0; 0x20].as_slice(), &[0xff; 0x10]].concat());
}

#[test]
fn earlier_chip_has_the_parameters_elsewhere() {
    let mut rig = Rig::new("isa,wormhole");
    rig.fill(0x1000, &[7; 0x10]);
    rig.configure(76, &[0x100, 0x200, 0xc000_0001, 0]);
    rig.issue(0, 0x4000_0000);
    assert_eq!(rig.scratch[0x2000..0x2010], [7; 0x10]);
}

/// Vector 18.
///
/// Requirement: MOVER-04
#[test]
fn thread_takes_its_parameters_from_the_bank_of_its_state() {
    let mut rig = described(0xc000_0002);
    rig.fill(0x3000, &[9; 0x10]);
    rig.configure(0x100 + 88, &[0x300, 0x400, 0xc000_0001, 0]);
    rig.configure(0x200, &[0, 1, 0]);
    rig.issue(1, 0x4000_0000);
    assert_eq!(rig.scratch[0x4000..0x4010], [9; 0x10]);
    assert_eq!(rig.scratch[0x2000..0x2020], [0xff; 0x20]);
    rig.issue(0, 0x4000_0000);
    assert_eq!(rig.scratch[0x2000..0x2004], [0, 1, 2, 3]);
}

#[test]
fn word_that_is_no_xmov_is_refused() {
    let mut rig = described(0xc000_0002);
    rig.issue(0, 0x4100_0000);
    assert_eq!(rig.model(&model::LAST_OUTCOME, 0), Outcome::NotXmov as u32);
    assert_eq!(
        rig.refused(),
        ["instruction 0x41000000 of thread 0 refused: instruction 0x41000000 has opcode 0x41 and is no xmov"]
    );
}

/// A copy of 64 units from cycle 0 on.
fn copying(settings: &str) -> Rig {
    let mut rig = Rig::new(settings);
    rig.configure(88, &[0, 0x800, 0xc000_0001, 0]);
    rig.configure(76, &[0, 0x800, 0xc000_0001, 0]);
    rig.command([0, 0x400, 64, 3], 0x40);
    rig
}

/// Vector 19, last line.
///
/// Requirement: MOVER-07
#[test]
fn thread_waits_until_the_mover_can_start_and_then_takes_one_cycle() {
    let mut rig = copying("isa");
    rig.time = 10;
    rig.issue(0, 0x4000_0000);
    assert_eq!(rig.mover.cycle(), 88);
    assert_eq!(rig.model(&model::WAITED_CYCLES, 0), 78);
    // A transfer of no units leaves the mover idle, so only the thread itself holds the next.
    let mut rig = isa();
    rig.issue(0, 0x4000_0000);
    rig.issue(1, 0x4000_0000);
    assert_eq!(rig.mover.cycle(), 0);
    rig.issue(0, 0x4000_0000);
    assert_eq!(rig.mover.cycle(), 1);
}

/// Vector 19.
///
/// Requirement: MOVER-06
#[test]
fn stallwait_lets_a_thread_go_one_cycle_behind_the_condition() {
    for (settings, condition) in [("isa", 0x200), ("isa,wormhole", 0x1000)] {
        for block in [0x01, 0x10] {
            let mut rig = copying(settings);
            rig.stallwait(0, block, condition);
            rig.time = 10;
            rig.issue(0, 0x4000_0000);
            assert_eq!(rig.mover.cycle(), 89, "{settings}, block {block:#x}");
        }
    }
}

#[test]
fn stallwait_for_the_other_chips_condition_waits_for_nothing_but_its_cycle() {
    let mut rig = isa();
    rig.stallwait(0, 0x10, 0x1000);
    rig.issue(0, 0x4000_0000);
    assert_eq!(rig.mover.cycle(), 1);
}

#[test]
fn zero_masks_stand_for_others_that_do_not_concern_the_mover() {
    let mut rig = copying("isa");
    rig.stallwait(0, 0, 0x200);
    rig.stallwait(1, 0x10, 0);
    rig.time = 88;
    rig.issue(0, 0x4000_0000);
    assert_eq!(rig.mover.cycle(), 88);
}

/// Requirement: MOVER-31
#[test]
fn condition_is_met_once_the_transfer_is_over() {
    let mut rig = copying("isa");
    rig.time = 500;
    rig.stallwait(0, 0x10, 0x200);
    rig.issue(0, 0x4000_0000);
    assert_eq!(rig.mover.cycle(), 501);
}

#[test]
fn stallwait_of_one_thread_does_not_keep_others_from_feeding_the_mover() {
    let mut rig = copying("isa");
    rig.stallwait(0, 0x10, 0x200);
    rig.command([0, 0x900, 8, 3], 0x40);
    rig.issue(1, 0x4000_0000);
    // After the copy and the command.
    assert_eq!(rig.mover.cycle(), 88 + 11);
}
