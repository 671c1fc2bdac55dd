//! Products and a convolution whose outputs are known by their hash (numerics-array, vectors G1 to G3, F1 and F2).
//!
//! G1 to G3 follow from the rules. F1 and F2 are what real M1s computed: the relative errors that they printed with
//! sixteen digits are those of these outputs. Each runs as a program of constant coefficients, and as a product of two
//! inputs where it is a product; on the device, and on the second engine.

use ane::build::{BuildError, Convolution, Graph, Padding, Shape, Tail, Tensor, Weights};
use ane::tensor::nearest_half;
use ane_device::options::Numerics;
use ane_tests::differential::ProgramEnd;
use ane_tests::differential::built::surface::{of_graph, put, take};
use ane_tests::numpy::Generator;
use half::f16;
use sha2::{Digest, Sha256};

fn hash(halves: impl IntoIterator<Item = u16>) -> String {
    let bytes: Vec<u8> = halves.into_iter().flat_map(u16::to_le_bytes).collect();
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn halves(bits: &[u16]) -> Vec<f16> {
    bits.iter().map(|&bits| f16::from_bits(bits)).collect()
}

/// Singles times a double, as halves.
fn scaled(singles: &[f32], factor: f64) -> Vec<u16> {
    singles.iter().map(|&single| nearest_half(f64::from(single) * factor).to_bits()).collect()
}

/// A matrix with rows and columns exchanged.
fn transposed(matrix: &[u16], columns: usize) -> Vec<u16> {
    (0..columns).flat_map(|column| matrix.iter().skip(column).step_by(columns).copied()).collect()
}

/// Runs a program of one input on both engines.
fn run(
    shape: Shape,
    values: &[u16],
    second: Option<&[u16]>,
    operation: impl FnOnce(&mut Graph, Tensor) -> Result<Tensor, BuildError>,
) -> Vec<u16> {
    let (built, mut case) = of_graph(shape, values, Numerics::M1, operation);
    if let Some(second) = second {
        put(&mut case, &built, "second", second);
    }
    assert_eq!(case.compare(), Ok(ProgramEnd::Done));
    take(&case, &built, "result", &case.on_device().1)
}

/// `m` rows of `operands` with `k` columns times `n` rows of `coefficients`: by a convolution, and of two inputs.
fn products([m, k, n]: [usize; 3], operands: &[u16], coefficients: &[u16]) -> [Vec<u16>; 2] {
    let weights = halves(coefficients);
    let shape = Shape::new(k as u32, 1, m as u32);
    let by_convolution = run(shape, &transposed(operands, k), None, |graph, x| {
        graph.linear(x, n as u32, Weights::Half(&weights))
    });
    let columns = transposed(coefficients, k);
    let of_inputs = run(Shape::new(m as u32, 1, k as u32), operands, Some(&columns), |graph, x| {
        let second = graph.input("second", Shape::new(k as u32, 1, n as u32))?;
        graph.matmul(x, second, Tail::NONE)
    });
    [transposed(&by_convolution, m), of_inputs]
}

/// Halves of a linear congruential generator, with exponent fields from `low` to `high`.
fn generated(seed: u32, low: u32, high: u32, count: usize) -> Vec<u16> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let exponent = low + (state >> 8) % (high - low + 1);
        ((state >> 31) << 15 | exponent << 10 | (state >> 18 & 0x3ff)) as u16
    };
    (0..count).map(|_| next()).collect()
}

/// A matrix product of generated halves.
struct Generated {
    extents: [usize; 3],
    operands: (u32, u32, u32),
    coefficients: (u32, u32, u32),
    /// The first, the second and the last half of the output.
    some: [u16; 3],
    output: &'static str,
}

fn check(product: &Generated) {
    let [m, k, n] = product.extents;
    let (seed, low, high) = product.operands;
    let operands = generated(seed, low, high, m * k);
    let (seed, low, high) = product.coefficients;
    let coefficients = generated(seed, low, high, n * k);
    for output in products(product.extents, &operands, &coefficients) {
        assert_eq!([output[0], output[1], output[m * n - 1]], product.some);
        assert_eq!(hash(output), product.output);
    }
}

#[test]
fn product_g1_has_its_hash() {
    check(&Generated {
        extents: [8, 96, 16],
        operands: (11, 6, 15),
        coefficients: (12, 5, 13),
        some: [0xb7c0, 0x380c, 0x34d7],
        output: "069b0906c391ae979841de876dd4f74e5f7c6ac0085ff8238eb34c610f97bbe5",
    });
}

#[test]
fn product_g2_has_its_hash() {
    check(&Generated {
        extents: [5, 129, 7],
        operands: (13, 1, 14),
        coefficients: (14, 1, 15),
        some: [0x3c17, 0x9ae8, 0x3bab],
        output: "1893b42db0e34cbbf3a8adf598c508ef8481a92e7e50b4caad027a1484fc69ef",
    });
}

#[test]
fn product_g3_has_its_hash() {
    check(&Generated {
        extents: [16, 512, 32],
        operands: (15, 4, 14),
        coefficients: (16, 3, 12),
        some: [0xb915, 0xb744, 0xb42e],
        output: "ea5eb19cf46b49f923c53fdb6e5d2248a5100bb3372d46ad5bc7d486685d2fea",
    });
}

#[test]
fn product_f1_is_what_an_m1_computed() {
    let mut generator = Generator::new(0);
    let [x, w] = [64 * 256, 256 * 256].map(|count| generator.singles(count));
    let [operands, coefficients] = [&x, &w].map(|singles| scaled(singles, 1.0 / 16.0));
    assert_eq!(
        [&operands, &coefficients].map(|operand| hash(operand.clone())),
        [
            "0078c2b3fd5e7a0a3597ddbba2d419aba29dcb2107d62487dfa7a606b347f529",
            "f26c38279da4a269f03ae6a716d1cdbc6799bbd78b8a091e147efccd05cd2d95"
        ]
    );
    for output in products([64, 256, 256], &operands, &coefficients) {
        assert_eq!(hash(output), "5375a68804efbb2241c122fc5fabc07b6cb868c82cb0d1e3992ce40f456ee5d6");
    }
}

#[test]
fn convolution_f2_is_what_an_m1_computed() {
    let mut generator = Generator::new(1);
    let [x, w] = [16 * 32 * 32, 64 * 16 * 9].map(|count| generator.singles(count));
    let (operands, coefficients) = (scaled(&x, 1.0), scaled(&w, (2.0_f64 / 144.0).sqrt()));
    assert_eq!(
        [&operands, &coefficients].map(|operand| hash(operand.clone())),
        [
            "7cf1691be36022c8cedeec412624cd0b843fc3ddb8b55bb30b25080d5dde99ff",
            "5e5c7965c64a5220e5d30bc92a2bb7325217b32f99253a3d7dd046b2f80b2eb4"
        ]
    );
    let weights = halves(&coefficients);
    let output = run(Shape::new(16, 32, 32), &operands, None, |graph, input| {
        let convolution = Convolution::new(64, (3, 3), Weights::Half(&weights));
        graph.convolution(input, &Convolution { padding: Padding::all(1), tail: Tail::RELU, ..convolution })
    });
    assert_eq!(hash(output), "21535c0e4ca4559aa64aa2915d83680a4a72cc856a10d92c03a1eb5c468cc2df");
}
