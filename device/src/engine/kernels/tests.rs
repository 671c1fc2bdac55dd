//! The vectors of newer processors against the portable one.

use super::planar_vector::{LANES, Portable, Vector, VectorWork};
use super::{planar_avx2, planar_avx512};

/// Halves of every kind, numbers of both signs among them.
fn halves() -> Vec<[u16; LANES]> {
    let step = |n: usize| (n as u16).wrapping_mul(0x9e37);
    let special =
        [0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00];
    let all: Vec<u16> = special.into_iter().chain((0..500).map(step)).collect();
    all.windows(LANES).map(|eight| eight.try_into().expect("eight")).collect()
}

/// The result of each operation for all pairs of vectors, as bits.
struct Every<'a>(&'a mut Vec<u64>);

impl VectorWork for Every<'_> {
    #[inline(always)]
    fn run<V: Vector>(self) {
        let halves = halves();
        for (a, b) in halves.iter().zip(halves.iter().rev().cycle().skip(7)) {
            let (a, b) = (V::decode(a), V::decode(b));
            let fine = a.times(V::splat(1.0 / 3.0));
            let results = [
                a.plus(b).settled(),
                a.times(b).settled(),
                a.flipped(V::splat(-0.0)),
                a.magnitude(),
                a.maximum(b),
                b.maximum(a),
                a.minimum(b),
                b.minimum(a),
                a.at_least(V::splat(0.0)),
                a.at_least(V::splat(f64::NEG_INFINITY)),
                fine,
            ];
            for result in results {
                self.0.extend(result.numbers().map(f64::to_bits));
                self.0.extend(result.encode().map(u64::from));
            }
        }
    }
}

/// On processors that have not what one of them takes there is nothing to compare.
#[test]
fn every_vector_gives_the_bits_of_the_portable_one() {
    let (mut expected, mut narrow, mut wide) = (Vec::new(), Vec::new(), Vec::new());
    Every(&mut expected).run::<Portable>();
    let has_narrow = planar_avx2::run(Every(&mut narrow)).is_none();
    let has_wide = planar_avx512::run(Every(&mut wide)).is_none();
    assert!(!has_narrow || narrow == expected);
    assert!(!has_wide || wide == expected);
}
