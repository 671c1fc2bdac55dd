//! Random walks over one crowded memory, on the device and on the interpreter that was written from the text.

use ane_tests::differential::walk::case;
use ane_tests::differential::{ProgramEnd, compare_all, programs};

/// Programs that every run compares.
const PROGRAMS: u64 = 6_000;

#[test]
fn walk_over_crowded_memory_leaves_the_same_bytes_on_both() {
    let seeds: Vec<u64> = programs(PROGRAMS).collect();
    let ends = compare_all(&seeds, |seed| case(seed).compare_to_the_end());
    assert!(
        ends[ProgramEnd::Done as usize] * 2 > seeds.len() as u64,
        "most programs run to their end: {ends:?}"
    );
}
