//! Where seed 002 differs from the vendor's pages.

use ane_uapi::hw::mover::model::{self, Outcome};
use ane_uapi::hw::mover::status::wait_is_over;

use crate::rig::Rig;

/// Requirement: MOVER-34
#[test]
fn profiles_differ_where_the_table_says_and_nowhere_else() {
    let mut rig = Rig::new("seed");
    assert_eq!(rig.status(), 0x408);
    // Returns at once.
    rig.command([0, 0x1000, 8, 1], 0x40);
    assert_eq!(rig.status(), 0x408);
    // The window of instruction RAM has no end by the seed's text; there is no memory there.
    rig.transfer([0, 0x5000, 8, 1]);
    assert_eq!(rig.model(&model::LAST_OUTCOME, 0), Outcome::OutsideWindow as u32);
    // The error flag, which has no other use.
    assert_eq!(rig.status(), 0x418);
    assert!(wait_is_over(rig.status(), 0x13 & 3));
    rig.mover.reset();
    assert_eq!(rig.status(), 0x408);
}

#[test]
fn busy_and_queue_bits_are_the_same_in_both() {
    let mut words = ["seed", "isa"].map(|settings| {
        let mut rig = Rig::new(settings);
        rig.command([0, 0x1000, 512, 3], 0x40);
        let busy = rig.status();
        rig.command([0, 0x1000, 512, 3], 0x40);
        [busy, rig.status()]
    });
    for word in words.iter_mut().flatten() {
        *word &= !0x30;
    }
    assert_eq!(words, [[0x409, 0x301]; 2]);
}
