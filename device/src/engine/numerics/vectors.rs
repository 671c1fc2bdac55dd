//! The vectors of the array's specification: what hardware printed, or follows from what it printed.

use sha2::{Digest, Sha256};

use super::{Numerics, halves, output, sum};

/// Number, bias, operands, coefficients, the accumulator in units or whether it overflowed below zero, and the output.
/// Halves in hexadecimal; behind a star, how often one comes.
type Vector = (u32, Option<u16>, &'static str, &'static str, Result<i64, bool>, u16);

#[rustfmt::skip]
const VECTORS: [Vector; 75] = [
    (1, None, "0100", "3c00", Ok(1), 0x0100),
    (2, None, "0080", "3c00", Ok(1), 0x0100),
    (3, None, "0040", "3c00", Ok(0), 0x0000),
    (4, None, "0180", "3c00", Ok(2), 0x0200),
    (5, None, "00c0", "3c00", Ok(1), 0x0100),
    (6, None, "8080", "3c00", Ok(-1), 0x8100),
    (7, None, "0400", "3c00", Ok(4), 0x0400),
    (8, None, "0300", "3c00", Ok(3), 0x0300),
    (9, None, "0100", "5c00", Ok(256), 0x1c00),
    (10, None, "1c00", "1c00", Ok(1), 0x0100),
    (11, None, "1400", "1c00", Ok(0), 0x0000),
    (12, None, "0200", "3400", Ok(1), 0x0100),
    (13, None, "0400", "3000", Ok(0), 0x0000),
    (14, None, "0a00", "3000", Ok(2), 0x0200),
    (15, None, "2a00", "0c00", Ok(0), 0x0000),
    (16, None, "2e00", "0c00", Ok(2), 0x0200),
    (17, None, "3100", "0c00", Ok(3), 0x0300),
    (18, None, "b300", "0c00", Ok(-4), 0x8400),
    (19, None, "0355", "3a00", Ok(2), 0x0200),
    (20, None, "01ab", "3e00", Ok(3), 0x0300),
    (21, None, "0255", "3e00", Ok(3), 0x0300),
    (22, None, "0780", "3380", Ok(0), 0x0000),
    (23, None, "03f6", "3380", Ok(0), 0x0000),
    (24, None, "0a00", "2e00", Ok(0), 0x0000),
    (25, None, "6400 0100 e400", "3c00*3", Ok(1), 0x0100),
    (26, None, "6400 0040 e400", "3c00*3", Ok(0), 0x0000),
    (27, None, "7400 3c00 f400", "3c00*3", Ok(65536), 0x3c00),
    (28, None, "0080*2", "3c00*2", Ok(2), 0x0200),
    (29, None, "0080 8080", "3c00*2", Ok(0), 0x0000),
    (30, None, "0001*2", "3c00*2", Ok(0), 0x0000),
    (31, None, "3c00*64", "3c00*64", Ok(4194304), 0x5400),
    (32, None, "3c00*16000", "3c00*16000", Ok(1048576000), 0x73d0),
    (33, None, "3c00 bc00", "3c00*2", Ok(0), 0x0000),
    (34, None, "6800 3c00", "3c00*2", Ok(134283264), 0x6801),
    (35, None, "e800 bc00", "3c00*2", Ok(-134283264), 0xe801),
    (36, None, "6801 3c00", "3c00*2", Ok(134414336), 0x6802),
    (37, None, "6c00 4000", "3c00*2", Ok(268566528), 0x6c01),
    (38, None, "ec00 c000", "3c00*2", Ok(-268566528), 0xec01),
    (39, None, "3c00 1000", "3c00*2", Ok(65568), 0x3c01),
    (40, None, "3c00 0c00", "3c00*2", Ok(65552), 0x3c00),
    (41, None, "3c00 1000 8800", "3c00*3", Ok(65560), 0x3c00),
    (42, None, "3c00 1000 0800", "3c00*3", Ok(65576), 0x3c01),
    (43, None, "77ff", "3c00", Ok(2146435072), 0x77ff),
    (44, None, "7800", "3c00", Err(false), 0x7c00),
    (45, None, "f800", "3c00", Err(true), 0xfc00),
    (46, None, "7bff", "3c00", Err(false), 0x7c00),
    (47, None, "7400 73ff", "3c00*2", Ok(2146959360), 0x7800),
    (48, None, "7400*2", "3c00*2", Err(false), 0x7c00),
    (49, None, "7753 6960", "3c00*2", Ok(2146435072), 0x77ff),
    (50, None, "7753 6968", "3c00*2", Err(false), 0x7c00),
    (51, None, "7400*2 f400*2 3c00", "3c00*5", Err(false), 0x7c00),
    (52, None, "6fff*4", "3c00*4", Ok(2146435072), 0x77ff),
    (53, None, "7000*4", "3c00*4", Err(false), 0x7c00),
    (54, None, "5bff*128", "3c00*128", Ok(2146435072), 0x77ff),
    (55, None, "5c00*128", "3c00*128", Err(false), 0x7c00),
    (56, None, "57f0", "5c00", Ok(2130706432), 0x77f0),
    (57, None, "5800", "5c00", Err(false), 0x7c00),
    (58, None, "7c00", "2c00", Ok(268435456), 0x6c00),
    (59, None, "7e00", "2c00", Ok(402653184), 0x6e00),
    (60, None, "fc00", "2c00", Ok(-268435456), 0xec00),
    (61, None, "7c00", "0000", Ok(0), 0x0000),
    (62, None, "7c00 fc00", "3c00*2", Err(false), 0x7c00),
    (63, None, "8000", "2c00", Ok(0), 0x0000),
    (64, Some(0xf400), "7400*2", "3c00*2", Ok(1073741824), 0x7400),
    (65, Some(0xf400), "7400*3", "3c00*3", Err(false), 0x7c00),
    (66, Some(0x5000), "77fe", "3c00", Err(false), 0x7c00),
    (67, Some(0x0010), "0000", "3c00", Ok(0), 0x0000),
    (68, Some(0x0080), "0000", "3c00", Ok(1), 0x0100),
    (69, Some(0x0080), "0080", "3c00", Ok(2), 0x0200),
    (70, Some(0x63d1), "3400", "3c00", Ok(65585152), 0x63d2),
    (71, None, "199d 2c23 b667 1e04 9c9e 1cff b438 32f9", "2c18 b4a4 1c89 2aec 3200 be59 badb a65a", Ok(12579), 0x3224),
    (72, None, "35a3 b5f1 be39 3c62 2f45 b4da 2fce 359b", "281e be72 245b 314a 3ca8 b633 3a71 a8fc", Ok(71995), 0x3c65),
    (73, None, "35a9 bbbf 160c 06c1 15ed 84b4 8b65 243e a9f2 2fef 9df3 117c", "0824 9040 b02e 23a8 b74f 2a0e 9208 ab9f b1b9 139b b5cb 9c48", Ok(605), 0x20ba),
    (74, None, "31b0 c58d 3dde 911f a894 1c8f 2efb aee0 2e81 a39c 96fd bd50 2d46 b7f2 a42c 9b46", "0c2b ae0e ac00 1a07 45f6 35e8 019e ae41 1a48 3f48 16d5 001c 992f 3f94 b577 c248", Ok(-47093), 0xb9c0),
    (75, None, "2db6 935b a1b0 b37e 1b3b 2c69 a291 9182 b310 ab49 1c06 b124 23ca b0dc aec9 111a 967d 9617 b310 ac6d 1db1 94e1 a195 99b4", "2c31 9fdc 33d2 1865 309e a5c3 9d34 14e3 a2d7 22f5 a7de 1ff0 b3b4 187e 9813 141d 2ead 1f60 9600 33d2 30a6 a6fb 9f12 a8a5", Ok(-1120), 0xa460),
];

/// A vector as the array is handed it.
pub(in crate::engine) struct Given {
    /// The number of the vector in the specification.
    pub(in crate::engine) number: u32,
    /// The first value of the accumulator.
    pub(in crate::engine) bias: Option<u16>,
    /// Operands and coefficients.
    pub(in crate::engine) taps: Vec<sum::Tap>,
    /// The accumulator at its end.
    pub(in crate::engine) units: Result<i64, bool>,
    pub(in crate::engine) output: u16,
}

/// All vectors, read.
pub(in crate::engine) fn all() -> Vec<Given> {
    let read = |text: &str| -> Vec<u16> {
        let words = text.split(' ').flat_map(|word| {
            let (half, times) = word.split_once('*').unwrap_or((word, "1"));
            std::iter::repeat_n(u16::from_str_radix(half, 16).unwrap(), times.parse().unwrap())
        });
        words.collect()
    };
    let given = |&(number, bias, operands, coefficients, units, output): &Vector| {
        let (operands, coefficients) = (read(operands), read(coefficients));
        assert_eq!(operands.len(), coefficients.len(), "{number}");
        Given { number, bias, taps: operands.into_iter().zip(coefficients).collect(), units, output }
    };
    VECTORS.iter().map(given).collect()
}

/// A product of two matrices that come from seeds.
pub(in crate::engine) struct Matrices {
    /// Rows, taps and columns.
    pub(in crate::engine) sizes: [usize; 3],
    /// `[row][tap]`
    pub(in crate::engine) operands: Vec<u16>,
    /// `[column][tap]`
    pub(in crate::engine) coefficients: Vec<u16>,
    /// The first two halves of the product and the last.
    some: [u16; 3],
    /// SHA-256 of the whole product.
    hash: &'static str,
}

impl Matrices {
    /// Fails unless these are the product, `[row][column]`.
    pub(in crate::engine) fn check(&self, product: &[u16]) {
        assert_eq!([product[0], product[1], product[product.len() - 1]], self.some);
        let bytes: Vec<u8> = product.iter().flat_map(|half| half.to_le_bytes()).collect();
        let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, self.hash);
    }
}

/// G1 to G3.
pub(in crate::engine) fn matrices() -> [Matrices; 3] {
    let made = |sizes: [usize; 3], a: [u32; 3], b: [u32; 3], some, hash| {
        let [rows, taps, columns] = sizes;
        let (operands, coefficients) = (generated(a, rows * taps), generated(b, columns * taps));
        Matrices { sizes, operands, coefficients, some, hash }
    };
    [
        made(
            [8, 96, 16],
            [11, 6, 15],
            [12, 5, 13],
            [0xb7c0, 0x380c, 0x34d7],
            "069b0906c391ae979841de876dd4f74e5f7c6ac0085ff8238eb34c610f97bbe5",
        ),
        made(
            [5, 129, 7],
            [13, 1, 14],
            [14, 1, 15],
            [0x3c17, 0x9ae8, 0x3bab],
            "1893b42db0e34cbbf3a8adf598c508ef8481a92e7e50b4caad027a1484fc69ef",
        ),
        made(
            [16, 512, 32],
            [15, 4, 14],
            [16, 3, 12],
            [0xb915, 0xb744, 0xb42e],
            "ea5eb19cf46b49f923c53fdb6e5d2248a5100bb3372d46ad5bc7d486685d2fea",
        ),
    ]
}

/// So many halves from a seed, with exponent fields from `low` to `high`.
fn generated([seed, low, high]: [u32; 3], count: usize) -> Vec<u16> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (field, significand) = (low + (state >> 8) % (high - low + 1), state >> 18 & 0x3ff);
        (state >> 31 << 15 | field << 10 | significand) as u16
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Requirement: ENG-07
#[test]
fn every_vector_has_its_accumulator_and_its_output() {
    for Given { number, bias, taps, units, output } in all() {
        assert_eq!(sum::m1(bias, &taps), units, "accumulator of {number}");
        assert_eq!(output::of(sum::of(Numerics::M1, bias, &taps), halves::ONE), output, "output of {number}");
    }
}

#[test]
fn products_of_generated_matrices_have_their_hashes() {
    for matrices in matrices() {
        let [rows, taps, columns] = matrices.sizes;
        let output = |at: usize| {
            let operands = matrices.operands.chunks_exact(taps).nth(at / columns).unwrap();
            let coefficients = matrices.coefficients.chunks_exact(taps).nth(at % columns).unwrap();
            let taps: Vec<_> = operands.iter().copied().zip(coefficients.iter().copied()).collect();
            output::of(sum::of(Numerics::M1, None, &taps), halves::ONE)
        };
        matrices.check(&(0..rows * columns).map(output).collect::<Vec<_>>());
    }
}
