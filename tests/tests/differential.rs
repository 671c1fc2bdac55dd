//! Random programs on the device and on the interpreter that was written from the text.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use ane_tests::differential::neural::UNKNOWN_PADDING;
use ane_tests::differential::random_case::program;
use ane_tests::differential::{ProgramEnd, compare_all, programs};

/// Programs of each kind.
const PROGRAMS: u64 = 20_000;

/// Features that the device refuses in some combinations: a depth beside a reduction, or beside sparse
/// coefficients. Programs with one of these may be refused, and are counted. Those whose padding no size shows
/// have to be.
const MAY_BE_REFUSED: &[&str] = &["depth", UNKNOWN_PADDING];

/// Even seeds; odd ones have a bit turned.
fn seeds(turned: bool, numbers: Range<u64>) -> Vec<u64> {
    numbers.map(|number| number * 2 + u64::from(turned)).collect()
}

#[test]
fn random_program_leaves_the_same_bytes_on_both() {
    let seeds = seeds(false, programs(PROGRAMS));
    let by_feature = Mutex::new(BTreeMap::<&str, [u64; 4]>::new());
    let ends = compare_all(&seeds, |seed| {
        let program = program(seed, false);
        let end = if program.features.iter().any(|feature| MAY_BE_REFUSED.contains(feature)) {
            program.case.compare()
        } else {
            program.case.compare_to_the_end()
        };
        let end = end.map_err(|difference| format!("{difference}\n  {:?}", program.features))?;
        let mut by_feature = by_feature.lock().unwrap_or_else(PoisonError::into_inner);
        for feature in program.features {
            by_feature.entry(feature).or_default()[end as usize] += 1;
        }
        Ok(end)
    });
    assert!(
        ends[ProgramEnd::Done as usize] * 10 > seeds.len() as u64 * 8,
        "most programs run to their end: {ends:?}"
    );
    for (feature, [done, hang, refused, fault]) in by_feature.into_inner().expect("no program differed") {
        println!("{feature}: {done} done, {hang} would hang, {refused} refused, {fault} fault");
        assert!(
            MAY_BE_REFUSED.contains(&feature) || done * 200 > seeds.len() as u64,
            "{feature}: {done} done"
        );
        assert!(feature != UNKNOWN_PADDING || done == 0, "{feature}: {done} done");
    }
}

#[test]
fn random_program_runs_to_its_end_on_the_interpreter_whatever_it_does() {
    let mut by_feature = BTreeMap::<&str, [u32; 2]>::new();
    for seed in seeds(false, 0..1_000) {
        let program = program(seed, false);
        let (end, why, _) = program.case.on_reference(program.case.machine());
        for feature in program.features {
            by_feature.entry(feature).or_default()[usize::from(end != ProgramEnd::Done)] += 1;
        }
        if end != ProgramEnd::Done {
            println!("{seed}: {why}");
        }
    }
    println!("{by_feature:#?}");
    assert!(by_feature.len() > 17, "{by_feature:?}");
    for (feature, [done, other]) in by_feature {
        assert!(feature == UNKNOWN_PADDING || done > 9 * other, "{feature}: {done} done, {other} not");
    }
}

#[test]
fn random_program_with_a_turned_bit_ends_the_same_or_is_refused() {
    // A turned bit may make a tensor of millions of elements, which takes the interpreter its time.
    let numbers = programs(PROGRAMS);
    let count = ((numbers.end - numbers.start) / 8).max(1_000);
    let seeds = seeds(true, numbers.start..numbers.start + count);
    let ends = compare_all(&seeds, |seed| program(seed, true).case.compare());
    assert!(ends.iter().all(|&count| count > 0), "every end occurs: {ends:?}");
}
