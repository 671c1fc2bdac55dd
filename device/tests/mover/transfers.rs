//! Directions, destinations, refusals and cycles (mover 9, vectors 1 to 8, 22, 23, 25).

use ane_device::mover::{Note, Settings};
use ane_uapi::hw::mover::Profile;
use ane_uapi::hw::mover::model::{self, Outcome};
use ane_uapi::hw::mover::regs::Core;

use crate::rig::{Rig, isa};

const IDLE: u32 = 0x428;

/// Vector 1.
///
/// Requirement: MOVER-01, MOVER-11, MOVER-17
#[test]
fn copy_moves_whole_units_inside_scratch_whichever_mover_the_command_names() {
    for command in [0x40, 0x140] {
        let mut rig = isa();
        let bytes: Vec<u8> = (0..0x20).collect();
        rig.fill(0x1000, &bytes);
        rig.scratch[0x2020] = 0x77;
        rig.transfer([0x100, 0x200, 2, 3]);
        rig.set(0x10, command);
        rig.rest();
        assert_eq!(rig.scratch[0x2000..0x2020], bytes);
        assert_eq!(rig.scratch[0x2020], 0x77);
        assert_eq!(rig.status(), IDLE);
    }
}

/// Requirement: MOVER-14
#[test]
fn parameters_and_command_read_as_zero_and_status_cannot_be_written() {
    let mut rig = isa();
    rig.transfer([0x100, 0x200, 2, 3]);
    rig.set(0x2c, 0x10);
    rig.set(0x14, u32::MAX);
    assert_eq!([0x00, 0x04, 0x08, 0x0c, 0x10].map(|offset| rig.get(offset)), [0; 5]);
    assert_eq!((rig.status(), rig.get(0x2c)), (IDLE, 0x10));
}

/// Vector 2.
///
/// Requirement: MOVER-08, MOVER-13
#[test]
fn fill_of_scratch_reads_no_source_however_absurd_its_address() {
    let mut rig = isa();
    rig.fill(0x3000, &[0xff; 0x50]);
    rig.transfer([0xffff_ffff, 0x300, 4, 0]);
    assert_eq!(rig.scratch[0x3000..0x3050], [[0; 0x40].as_slice(), &[0xff; 0x10]].concat());
    assert_eq!((rig.status(), rig.refused()), (IDLE, vec![]));
}

/// Vector 3.
///
/// Requirement: MOVER-09
#[test]
fn copy_to_configuration_space_lands_in_its_words() {
    let mut rig = isa();
    let bytes = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0];
    rig.fill(0x1000, &bytes);
    rig.transfer([0x100, 0x10, 1, 1]);
    assert_eq!(rig.configuration[0x100..0x110], bytes);
    let words = [64, 65, 66, 67].map(|word| rig.configured(word));
    assert_eq!(words, [0x4433_2211, 0x8877_6655, 0xccbb_aa99, 0x00ff_eedd]);
}

/// Vector 4.
#[test]
fn copy_to_instruction_ram_starts_at_its_window() {
    let mut rig = isa();
    let bytes: Vec<u8> = (0..0x4000u32).map(|n| (n * 7 + n / 256) as u8).collect();
    rig.fill(0x8000, &bytes);
    rig.transfer([0x800, 0x4000, 0x400, 1]);
    assert_eq!(rig.instructions[..0x4000], bytes);
    assert_eq!(rig.instructions[0x4000..0x4010], [0; 16]);
}

/// Vector 5.
///
/// Requirement: MOVER-10
#[test]
fn fill_of_configuration_space_and_of_instruction_ram_writes_zeros() {
    let mut rig = isa();
    rig.configuration[0x200..0x230].fill(0xaa);
    rig.instructions[..0x20].fill(0xaa);
    rig.transfer([0, 0x20, 2, 2]);
    rig.transfer([0, 0x4000, 1, 2]);
    assert_eq!(rig.configuration[0x200..0x230], [[0; 0x20].as_slice(), &[0xaa; 0x10]].concat());
    assert_eq!(rig.instructions[..0x20], [[0; 0x10].as_slice(), &[0xaa; 0x10]].concat());
}

/// Vector 6.
#[test]
fn transfer_to_nowhere_takes_its_time_and_changes_nothing() {
    for destination in [0x1000, 0x5000, 0x3fff] {
        let mut rig = isa();
        rig.scratch[..0x80].fill(0x55);
        let before = rig.memories();
        rig.command([0, destination, 8, 1], 0x40);
        assert_eq!(rig.status() & 1, 1);
        rig.time = 10;
        assert_eq!(rig.status() & 1, 1);
        rig.time = 11;
        assert_eq!(rig.status(), IDLE, "{destination:#x}");
        assert!(rig.memories() == before && rig.refused().is_empty());
    }
}

/// Vector 7.
#[test]
fn transfer_that_leaves_its_memory_is_refused_whole_by_name() {
    for (parameters, outcome, message) in [
        ([0, 0xfff, 2, 1], Outcome::OutsideWindow, "leaves its window"),
        ([0, 0x4fff, 2, 2], Outcome::OutsideWindow, "leaves its window"),
        ([0, 0x2_0000, 1, 3], Outcome::OutsideScratch, "leaves scratch"),
        ([0x1_ffff, 0, 2, 3], Outcome::OutsideScratch, "leaves scratch"),
        ([0x1_ffff, 0, 2, 1], Outcome::OutsideScratch, "leaves scratch"),
        ([0, 0x1_ffff, 2, 0], Outcome::OutsideScratch, "leaves scratch"),
        ([0xffff_ffff, 0, 2, 3], Outcome::OutsideScratch, "leaves scratch"),
        ([0, 0xffff_ffff, 0xffff, 3], Outcome::OutsideScratch, "leaves scratch"),
        // The low 32 bits of these byte addresses lie in scratch.
        ([0x1000_0100, 0, 2, 3], Outcome::OutsideScratch, "leaves scratch"),
        ([0, 0x1000_0100, 2, 3], Outcome::OutsideScratch, "leaves scratch"),
        ([0, 0x1000_0100, 2, 0], Outcome::OutsideScratch, "leaves scratch"),
    ] {
        let mut rig = isa();
        rig.scratch.fill(0x55);
        rig.configuration.fill(0x66);
        rig.instructions.fill(0x77);
        let before = rig.memories();
        rig.transfer(parameters);
        assert!(rig.memories() == before, "{parameters:x?}");
        assert!(rig.refused()[0].ends_with(message), "{parameters:x?}");
        assert_eq!(rig.model(&model::LAST_OUTCOME, 0), outcome as u32);
        assert_eq!((rig.model(&model::REFUSED, 0), rig.status()), (1, IDLE));
    }
}

#[test]
fn refusal_names_command_parameters_and_reason() {
    let mut rig = isa();
    rig.transfer([0x1_ffff, 0x10, 2, 3]);
    assert_eq!(
        rig.refused(),
        [
            "mover command 0x00000040 of core b (0x1ffff, 0x10, 0x2, 0x3) refused: scratch to scratch of 2 units \
          from unit 0x1ffff to unit 0x10 leaves scratch"
        ]
    );
}

/// Vector 8.
#[test]
fn size_has_sixteen_bits_and_direction_two() {
    let mut rig = isa();
    rig.fill(0x1000, &[0xcc; 0x40]);
    rig.transfer([0x100, 0x200, 0x1_0003, 3]);
    assert_eq!(rig.scratch[0x2000..0x2040], [[0xcc; 0x30].as_slice(), &[0; 0x10]].concat());
    rig.transfer([0x100, 0x300, 0x1_0000, 3]);
    assert_eq!(rig.scratch[0x3000..0x3010], [0; 16]);
    rig.transfer([0x100, 0x400, 1, 7]);
    assert_eq!(rig.scratch[0x4000..0x4010], [0xcc; 16]);
    rig.transfer([0x100, 0x10, 1, 0xffff_fffd]);
    assert_eq!(rig.configuration[0x100..0x110], [0xcc; 16]);
}

/// Cycles for which a transfer keeps the mover busy.
fn busy(settings: &str, units: u32, direction: u32) -> u64 {
    let mut rig = Rig::new(settings);
    rig.command([0, 0, units, direction], 0x40);
    (0..10_000)
        .find(|&time| {
            rig.time = time;
            rig.status() & 1 == 0
        })
        .unwrap()
}

/// Vector 22.
///
/// Requirement: MOVER-28, MOVER-29
#[test]
fn mover_is_busy_for_as_long_as_the_table_says_with_contention_and_without() {
    for (units, copy, fill) in [(1, [2, 4], [1, 3]), (8, [11, 32], [8, 24]), (64, [88, 256], [64, 192])] {
        for (settings, cycles) in [("isa", copy[0]), ("isa,contended", copy[1])] {
            assert_eq!([3, 1].map(|direction| busy(settings, units, direction)), [cycles; 2], "{units}");
        }
        assert_eq!([busy("isa", units, 0), busy("isa,contended", units, 0)], fill, "{units}");
        let elsewhere = ["isa", "isa,contended"].map(|settings| busy(settings, units, 2));
        assert_eq!(elsewhere, [u64::from(units); 2], "{units}");
    }
}

#[test]
fn contention_can_be_switched_while_the_device_runs() {
    let mut rig = isa();
    rig.set_model(&model::CONTROL, 0, 1);
    rig.transfer([0, 0x100, 64, 3]);
    assert_eq!([rig.model(&model::LAST_CYCLES, 0), rig.model(&model::TRANSFERS, 0)], [256, 1]);
    rig.set_model(&model::CONTROL, 0, 0);
    rig.transfer([0, 0x100, 64, 3]);
    assert_eq!([rig.model(&model::LAST_CYCLES, 0), rig.model(&model::BUSY_CYCLES, 0)], [88, 344]);
}

/// Vector 23: configuration space has no words that act, so it is plain storage.
#[test]
fn configuration_words_are_plain_storage_in_every_place() {
    let mut rig = isa();
    rig.fill(0, &[0x5a; 0x1000]);
    for at in (0..0x10_000u32).step_by(0x1000) {
        rig.transfer([0, at / 16, 0x100, 1]);
    }
    assert!(rig.configuration.iter().all(|&byte| byte == 0x5a));
}

/// Vector 25.
#[test]
fn overlapping_copy_is_as_if_by_way_of_a_snapshot_and_noted() {
    let settings = Settings { profile: Profile::Isa, check: true, ..Settings::default() };
    for (source, destination) in [(0x100, 0x101), (0x101, 0x100)] {
        let mut rig = Rig::with(settings);
        let bytes: Vec<u8> = (0..0x30).map(|n| n + 1).collect();
        rig.fill(source * 16, &bytes);
        rig.transfer([source as u32, destination as u32, 3, 3]);
        assert_eq!(rig.scratch[destination * 16..][..0x30], bytes);
        assert!(matches!(rig.mover.take_notes()[..], [Note::Overlap(_)]));
    }
    let mut rig = Rig::with(settings);
    rig.transfer([0x100, 0x103, 3, 3]);
    assert_eq!(rig.mover.take_notes(), []);
}

/// Requirement: MOVER-32
#[test]
fn clock_gates_are_stored_and_change_no_transfer() {
    let mut rig = isa();
    rig.set(0x24, 0xff);
    assert_eq!(rig.get(0x24), 0x7f);
    rig.poke(Core::T2, 0x24, 0x3f);
    assert_eq!(rig.get(0x24), 0x3f);
    rig.set(0x28, u32::MAX);
    assert_eq!(rig.get(0x28), 0x01ff_007f);
    rig.fill(0, &[1; 16]);
    rig.transfer([0, 1, 1, 3]);
    assert_eq!(rig.scratch[16..32], [1; 16]);
}
