//! The loops of each vector unit that this machine has, against copies of single bytes.

use proptest::prelude::*;

use super::*;

/// The bytes in memory before.
const BEFORE: u8 = 0xee;

/// A way to run a copy, and its name.
type Run = (&'static str, fn(Copy));

/// Every way to run a copy here.
fn runs() -> Vec<Run> {
    let mut runs: Vec<Run> = vec![("the best", Copy::run), ("none", Copy::run_on_any)];
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has it.
        runs.push(("AVX2", |copy| unsafe { copy.run_on_avx2() }));
    }
    runs
}

fn by_bytes(rows: Rows, from: &[u8], into: &mut [u8]) {
    for row in 0..rows.count {
        let place = &mut into[row * rows.into..];
        place[..rows.bytes].copy_from_slice(&from[row * rows.from..][..rows.bytes]);
        if rows.behind == Behind::Cleared && row + 1 < rows.count {
            place[rows.bytes..rows.into].fill(0);
        }
    }
}

fn reach(rows: Rows, step: usize) -> usize {
    (rows.count - 1) * step + rows.bytes
}

proptest! {
    #[test]
    fn every_vector_unit_copies_what_single_bytes_are(
        count in 1_usize..40,
        bytes in prop_oneof![1_usize..5, 5_usize..70, 70_usize..200].prop_map(|halves| 2 * halves),
        gap in prop_oneof![Just(0_usize), 1_usize..80, 80_usize..300],
        behind in prop::sample::select(vec![Behind::Kept, Behind::Cleared, Behind::Spilled]),
    ) {
        let pitch = bytes + gap;
        // Only behind rows without a gap may something be spilled, because the next one follows at once.
        let (from, into) = if behind == Behind::Spilled { (pitch, bytes) } else { (bytes, pitch) };
        let rows = Rows { count, bytes, from, into, behind };
        let source: Vec<u8> = (0..reach(rows, from)).map(|at| (at % 211) as u8 + 1).collect();
        let mut expected = vec![BEFORE; reach(rows, into)];
        by_bytes(rows, &source, &mut expected);
        for (unit, run) in runs() {
            let mut memory = vec![BEFORE; reach(rows, into)];
            // SAFETY: both are as long as the rows reach.
            run(unsafe { Copy::new(rows, source.as_ptr(), memory.as_mut_ptr()) });
            prop_assert_eq!(&memory, &expected, "{}", unit);
        }
    }
}
