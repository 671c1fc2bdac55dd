//! Ranges of device addresses against the plainest statement of what one is.

use ane_tests::random::Random;
use ane_uapi::hw::space::{Iova, IovaRange};

/// The aperture, as the founding document gives it.
const APERTURE: u128 = 0xe000_0000;

/// True if there is a byte, and every byte lies in the aperture; in numbers that cannot wrap.
fn ought_to_exist(base: u64, len: u64) -> bool {
    len > 0 && u128::from(base) + u128::from(len) <= APERTURE
}

#[test]
fn range_is_made_exactly_when_every_byte_lies_in_the_aperture() {
    let edges = [0, 1, 0x3fff, 0x4000, 0xdfff_ffff, 0xe000_0000, 0xe000_0001, 0xffff_ffff, 1 << 32];
    let huge = [(1 << 32) + 1, u64::MAX - 1, u64::MAX];
    let mut random = Random::new(0x5eed_0004);
    let mut numbers: Vec<u64> = edges.into_iter().chain(huge).collect();
    numbers.extend((0..200).map(|_| random.next() >> random.below(64)));
    for &base in &numbers {
        for &len in &numbers {
            let range = IovaRange::new(base, len);
            assert_eq!(range.is_ok(), ought_to_exist(base, len), "{len:#x} bytes at {base:#x}");
            if let Ok(range) = range {
                assert_eq!(u64::from(range.base().0), base);
                assert_eq!(u64::from(range.len()), len);
                assert_eq!(u64::from(range.end().0), base + len);
                assert!(range.contains(range.base()) && !range.contains(range.end()));
            }
        }
    }
}

#[test]
fn ranges_overlap_or_cover_as_their_bytes_do() {
    let ranges: Vec<IovaRange> =
        (0..6).flat_map(|base| (1..6).filter_map(move |len| IovaRange::new(base, len).ok())).collect();
    for a in &ranges {
        for b in &ranges {
            let both = (0..16).map(Iova).filter(|byte| a.contains(*byte) && b.contains(*byte)).count();
            assert_eq!(a.overlaps(*b), both > 0, "{a:?} {b:?}");
            assert_eq!(a.covers(*b), both == b.len() as usize, "{a:?} {b:?}");
        }
    }
}
