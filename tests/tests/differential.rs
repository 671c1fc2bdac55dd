//! Random programs on the device and on the interpreter that was written from the text.

use std::ops::Range;

use ane_tests::differential::random_case::case;
use ane_tests::differential::{End, compare_all, programs};

/// Programs of each kind.
const PROGRAMS: u64 = 20_000;

/// Even seeds; odd ones have a bit turned.
fn seeds(turned: bool, numbers: Range<u64>) -> Vec<u64> {
    numbers.map(|number| number * 2 + u64::from(turned)).collect()
}

#[test]
fn random_program_leaves_the_same_bytes_on_both() {
    let seeds = seeds(false, programs(PROGRAMS));
    let ends = compare_all(&seeds, |seed| case(seed, false).compare());
    assert!(
        ends[End::Done as usize] * 10 > seeds.len() as u64 * 8,
        "most programs run to their end: {ends:?}"
    );
}

#[test]
fn random_program_with_a_turned_bit_ends_the_same_or_is_refused() {
    // A turned bit may make a tensor of millions of elements, which takes the interpreter its time.
    let numbers = programs(PROGRAMS);
    let count = ((numbers.end - numbers.start) / 8).max(1_000);
    let seeds = seeds(true, numbers.start..numbers.start + count);
    let ends = compare_all(&seeds, |seed| case(seed, true).compare());
    assert!(ends.iter().all(|&count| count > 0), "every end occurs: {ends:?}");
}
