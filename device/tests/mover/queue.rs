//! The command queue (mover 9, vectors 9 to 16, 20, 21).

use ane_device::mover::{Note, Settings};
use ane_uapi::hw::mover::Profile;
use ane_uapi::hw::mover::command::{NOTHING, WAIT};
use ane_uapi::hw::mover::model::{self, Outcome};
use ane_uapi::hw::mover::regs::Core;
use ane_uapi::hw::mover::status::wait_is_over;

use crate::rig::{Rig, isa};

/// A copy of 512 units, which takes 704 cycles.
const LONG: [u32; 4] = [0, 0x1000, 512, 3];
const END: u64 = 704;

const B: [u32; 4] = [0x100, 0x200, 1, 3];
const C: [u32; 4] = [0x100, 0x300, 1, 3];

fn busy(settings: &str) -> Rig {
    let mut rig = Rig::new(settings);
    rig.fill(0x1000, &[0xbb; 0x10]);
    rig.command(LONG, 0x40);
    rig
}

/// Vector 9.
///
/// Requirement: MOVER-22
#[test]
fn compact_copy_adds_the_base_to_its_source() {
    let mut rig = isa();
    rig.set(0x2c, 0x10);
    rig.fill(0x150, &[0xcc; 0x20]);
    rig.set(0x10, 0xc230_0540);
    rig.rest();
    assert_eq!(rig.scratch[0x300..0x320], [0xcc; 0x20]);
    assert_eq!(rig.status(), 0x428);
}

/// Vector 10.
#[test]
fn compact_copy_to_configuration_loads_a_whole_descriptor() {
    let mut rig = isa();
    rig.set(0x2c, 0x1000);
    let words = [0x100u32, 0x200, 0xc000_0002, 0].map(u32::to_le_bytes).concat();
    rig.fill(0x1_0020, &words);
    rig.set(0x10, 0x8116_0240);
    assert_eq!([88, 89, 90, 91].map(|word| rig.configured(word)), [0x100, 0x200, 0xc000_0002, 0]);
}

/// Vector 11.
#[test]
fn each_thread_has_a_base_and_other_cores_see_that_of_t0() {
    let mut rig = isa();
    rig.poke(Core::T0, 0x2c, 0x10);
    rig.poke(Core::T1, 0x2c, 0x20);
    let seen = [Core::T0, Core::T1, Core::Other, Core::B].map(|core| rig.peek(core, 0x2c));
    assert_eq!(seen, [0x10, 0x20, 0x10, 0]);
    rig.fill(0x140, &[1; 0x10]);
    rig.fill(0x240, &[2; 0x10]);
    rig.poke(Core::T0, 0x10, 0xc130_0440);
    rig.rest();
    rig.poke(Core::T1, 0x10, 0xc131_0440);
    assert_eq!([rig.scratch[0x300], rig.scratch[0x310]], [1, 2]);
}

#[test]
fn compact_command_uses_the_base_as_it_is_when_it_is_processed() {
    let mut rig = busy("isa");
    rig.set(0x2c, 0);
    rig.set(0x10, 0xc140_0040);
    rig.set(0x2c, 0x100);
    rig.rest();
    assert_eq!(rig.scratch[0x400..0x410], [0xbb; 0x10]);
}

/// Vector 12.
#[test]
fn parameters_are_captured_when_the_command_is_written() {
    let mut rig = busy("isa");
    rig.command(B, 0x40);
    rig.parameters([0x100, 0x400, 4, 0]);
    rig.rest();
    assert_eq!(rig.scratch[0x2000..0x2010], [0xbb; 0x10]);
    assert_eq!(rig.scratch[0x4000..0x4010], [0; 0x10]);
}

/// Vector 13.
#[test]
fn status_counts_free_slots_and_credits_while_the_mover_is_busy() {
    let mut rig = busy("isa");
    assert_eq!(rig.status(), 0x429);
    rig.command(B, 0x40);
    assert_eq!(rig.status(), 0x301);
    rig.command(C, 0x40);
    assert_eq!(rig.status(), 0x211);
}

/// Vector 14.
///
/// Requirement: MOVER-16
#[test]
fn queue_of_four_is_full_before_the_credits_run_out_and_the_next_write_waits() {
    let mut rig = busy("isa");
    rig.command(B, 0x40);
    rig.set(0x10, NOTHING);
    rig.command(C, 0x40);
    rig.set(0x10, NOTHING);
    assert_eq!(rig.status(), 0x015);
    rig.set(0x10, NOTHING);
    assert_eq!(rig.mover.cycle(), END);
    // B has started; NOP, C, NOP and the new one are queued.
    assert_eq!(rig.status() & 0x0f0d, 0x0005);
    assert_eq!(rig.model(&model::WAITED_CYCLES, 0), END as u32);
    let mut rig = busy("isa");
    rig.set(0x10, 0xc120_0040);
    for _ in 0..3 {
        rig.set(0x10, NOTHING);
    }
    assert_eq!(rig.status(), 0x025);
}

/// Vector 15.
///
/// Requirement: MOVER-20
#[test]
fn command_without_a_credit_is_refused_by_name_and_what_was_queued_runs() {
    let mut rig = busy("isa");
    rig.command(B, 0x40);
    rig.command(C, 0x40);
    rig.command([0x100, 0x500, 1, 3], 0x40);
    assert_eq!(rig.status(), 0x211);
    assert!(rig.refused()[0].ends_with("refused: parameter credits exhausted"));
    assert_eq!(rig.model(&model::LAST_OUTCOME, 0), Outcome::NoCredit as u32);
    rig.rest();
    assert_eq!([0x2000, 0x3000, 0x5000].map(|at| rig.scratch[at]), [0xbb, 0xbb, 0]);
    assert_eq!(rig.status(), 0x428);
}

#[test]
fn command_without_a_credit_waits_where_the_bug_is_switched_off() {
    let mut rig = busy("isa,wait-for-credit");
    rig.command(B, 0x40);
    rig.command(C, 0x40);
    rig.command([0x100, 0x500, 1, 3], 0x40);
    assert_eq!(rig.mover.cycle(), END);
    rig.rest();
    assert_eq!([0x2000, 0x3000, 0x5000].map(|at| rig.scratch[at]), [0xbb; 3]);
    assert_eq!(rig.refused(), Vec::<String>::new());
}

/// Vector 16.
///
/// Requirement: MOVER-19
#[test]
fn direct_write_behind_a_wait_sees_the_copy_finished() {
    let mut rig = isa();
    rig.fill(0x1000, &[0x99; 0x400]);
    rig.command([0x100, 0x200, 64, 3], 0x40);
    rig.set(0x10, WAIT);
    rig.command([0x2004, 0, 0xdead_beef, 0], 0x666);
    assert_eq!(rig.scratch[0x2004..0x2008], [0x99; 4]);
    rig.time = 87;
    assert_eq!(rig.status() & 0xd, 1);
    rig.rest();
    assert_eq!(
        rig.scratch[0x2000..0x200c],
        [0x99, 0x99, 0x99, 0x99, 0xef, 0xbe, 0xad, 0xde, 0x99, 0x99, 0x99, 0x99]
    );
    rig.command([0x2008, 0, 0x1122_3344, 0x5566_7788], 0x766);
    assert_eq!(rig.scratch[0x2008..0x2010], [0x44, 0x33, 0x22, 0x11, 0x88, 0x77, 0x66, 0x55]);
}

/// Vector 16, last line.
#[test]
fn direct_write_that_is_malformed_or_outside_scratch_writes_nothing() {
    let mut rig = isa();
    let before = rig.memories();
    rig.command([0, 0, 1, 1], 0x66);
    rig.time += 10;
    rig.set(0x10, 0x8000_0066);
    rig.time += 10;
    rig.command([0x20_0000, 0, 1, 1], 0x666);
    rig.time += 10;
    rig.command([0x1f_fffc, 0, 1, 1], 0x766);
    assert_eq!(rig.refused().len(), 4);
    assert!(rig.memories() == before);
}

/// Vector 20.
#[test]
fn unknown_command_is_refused_by_name_and_the_queue_goes_on() {
    let mut rig = isa();
    rig.set(0x10, 0x8000_0055);
    rig.set(0x10, NOTHING);
    rig.rest();
    assert!(rig.refused()[0].ends_with("opcode 0x55 is unknown"));
    assert_eq!(rig.status(), 0x428);
}

/// Vector 21.
///
/// Requirement: MOVER-21, MOVER-30
#[test]
fn vendors_wait_loop_ends_exactly_when_the_queue_is_empty_and_the_mover_idle() {
    for settings in ["isa", "seed"] {
        let mut rig = busy(settings);
        rig.command([0x100, 0x200, 8, 3], 0x40);
        let over = (0..2_000).find(|&time| {
            rig.time = time;
            let status = rig.status();
            wait_is_over(status, 1)
        });
        assert_eq!(over, Some(END + 11), "{settings}");
    }
}

/// Requirement: MOVER-23
#[test]
fn loop_on_bit_0_alone_sees_no_gap_between_two_transfers_and_is_warned_of_one_before() {
    let settings = Settings { profile: Profile::Isa, check: true, ..Settings::default() };
    let mut rig = Rig::with(settings);
    rig.command(LONG, 0x40);
    rig.command(B, 0x40);
    for time in 0..END + 2 {
        rig.time = time;
        assert_eq!(rig.status() & 1, 1, "{time}");
    }
    assert_eq!(rig.mover.take_notes(), []);
    rig.rest();
    // Commands leave the queue one in a cycle, so the second of two is still there.
    rig.set(0x10, NOTHING);
    rig.command(B, 0x40);
    assert_eq!(rig.status() & 0xf09, 0x300);
    assert_eq!(rig.mover.take_notes(), [Note::IdleWithCommandsQueued { queued: 1 }]);
}

#[test]
fn reset_empties_the_queue_and_ends_the_transfer() {
    let mut rig = busy("isa");
    rig.command(B, 0x40);
    rig.set(0x10, NOTHING);
    rig.command(C, 0x40);
    rig.set(0x10, NOTHING);
    rig.set(0x2c, 5);
    rig.mover.reset();
    assert_eq!((rig.status(), rig.get(0x2c)), (0x428, 0));
    rig.set(0x10, 0x40);
    rig.rest();
    assert_eq!(rig.scratch[0x2000..0x2010], [0; 0x10]);
}
