//! The packers' reports (mover 9, vector 24).

use ane_device::mover::{Note, Settings};
use ane_uapi::hw::mover::model::{self, Outcome, TILES};

use crate::rig::{Rig, isa};

fn finish(rig: &mut Rig, packer: u32, bytes: u32, zeros: u32) {
    rig.set_model(&model::PACK_MASK, 0, zeros);
    rig.set_model(&model::PACK_TILE, packer, bytes);
}

/// Vector 24.
///
/// Requirement: MOVER-24
#[test]
fn tiles_are_looked_at_taken_out_and_summed_up() {
    let mut rig = isa();
    finish(&mut rig, 0, 32, 0xa);
    finish(&mut rig, 0, 48, 0xb);
    assert_eq!([0x18, 0x1c, 0x20].map(|offset| rig.get(offset)), [48, 80, 0xb]);
    assert_eq!([0x30, 0x30, 0x34, 0x30].map(|offset| rig.get(offset)), [32, 32, 0xa, 48]);
    assert_eq!(rig.get(0x38) & 3, 0);
    rig.set(0x34, 0);
    assert_eq!(rig.get(0x38) & 3, 1);
    rig.set(0x1c, 0x0001_0000);
    assert_eq!(rig.get(0x1c), 0);
}

#[test]
fn packers_are_0x100_apart_and_do_not_know_of_each_other() {
    let mut rig = isa();
    finish(&mut rig, 1, 16, 1);
    finish(&mut rig, 2, 64, 2);
    assert_eq!([0x30, 0x130, 0x230, 0x330].map(|offset| rig.get(offset)), [0, 16, 64, 0]);
    rig.set(0x1c, 0x0004_0000);
    assert_eq!([0x11c, 0x21c].map(|offset| rig.get(offset)), [16, 0]);
    assert_eq!(rig.get(0x38) & 0xff, 0b0100_0001);
}

#[test]
fn threads_have_sums_of_their_own_and_the_last_tile_belongs_to_one() {
    let mut rig = isa();
    finish(&mut rig, 0, 32, 0);
    finish(&mut rig, 0, 48 | 1 << 16, 0);
    assert_eq!([0x18, 0x58, 0x98].map(|offset| rig.get(offset)), [0, 48, 0]);
    assert_eq!([0x1c, 0x5c, 0x9c].map(|offset| rig.get(offset)), [32, 48, 0]);
}

#[test]
fn queue_that_is_full_loses_the_tile_by_name() {
    let mut rig = isa();
    for _ in 0..TILES {
        finish(&mut rig, 3, 16, 0);
    }
    assert_eq!(rig.get(0x38) >> 6 & 3, 2);
    finish(&mut rig, 3, 16, 0);
    finish(&mut rig, 0, 3 << 16, 0);
    assert_eq!(rig.model(&model::LAST_OUTCOME, 0), Outcome::TileLost as u32);
    assert_eq!(rig.model(&model::REFUSED, 0), 2);
}

#[test]
fn empty_queue_reads_as_zero_at_once_and_is_noted() {
    let mut rig = Rig::with(Settings { check: true, ..Settings::default() });
    assert_eq!((rig.get(0x330), rig.get(0x34)), (0, 0));
    assert_eq!(rig.mover.take_notes(), [Note::NoTile { packer: 3 }, Note::NoTile { packer: 0 }]);
}

#[test]
fn address_and_scalers_are_kept_as_wide_as_they_are() {
    let mut rig = isa();
    rig.set(0x38, 0xff12_3456);
    assert_eq!(rig.get(0x38), 0x1234_5655);
    rig.set(0x3c, u32::MAX);
    assert_eq!(rig.get(0x3c), 0x07ff_ffff);
}
