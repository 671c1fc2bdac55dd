//! Every half through every activation table that the builder makes, on both engines.

use ane::build::{BuildError, Graph, Shape, Tensor, activation, script};
use ane_device::options::Numerics;
use ane_tests::differential::ProgramEnd;
use ane_tests::differential::built::surface::{of_graph, take};
use ane_tests::stored::stored;
use half::f16;

/// All 65,536 halves in one surface.
const ALL: Shape = Shape::new(8, 16, 512);

/// Sends all halves through `operation`, the same way on both, and gives what comes out in their order.
fn every_half(operation: impl FnOnce(&mut Graph, Tensor) -> Result<Tensor, BuildError>) -> Vec<f64> {
    let halves: Vec<u16> = (0..=u16::MAX).collect();
    let (built, case) = of_graph(ALL, &halves, Numerics::M1, operation);
    assert_eq!(case.compare(), Ok(ProgramEnd::Done));
    let (_, left) = case.on_device();
    let results = take(&case, &built, "result", &left);
    results.into_iter().map(|bits| f16::from_bits(bits).to_f64()).collect()
}

/// The largest error over all numbers between `low` and `high`.
fn worst(results: &[f64], low: f64, high: f64, error: impl Fn(f64, f64) -> f64) -> f64 {
    let numbers = (0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f64());
    let within = numbers.zip(results).filter(|(x, _)| (low..=high).contains(x));
    within.map(|(x, &y)| error(x, y).abs()).fold(0.0, f64::max)
}

/// The smallest result that has all its bits.
const NORMAL: f64 = 6.2e-5;
/// The largest half.
const MAX: f64 = 65504.0;

#[test]
fn activation_sigmoid_of_every_half_is_within_0_0035() {
    let results = every_half(|graph, input| graph.activation(input, activation::sigmoid()));
    assert!(worst(&results, -MAX, MAX, |x, y| y - 1.0 / (1.0 + (-x).exp())) < 0.0035);
}

#[test]
fn activation_silu_of_every_half_is_within_0_016() {
    let results = every_half(|graph, input| graph.activation(input, activation::silu()));
    // Above that the nearest half is further away.
    assert!(worst(&results, -MAX, 16.0, |x, y| y - x / (1.0 + (-x).exp())) < 0.016);
}

#[test]
fn activation_gelu_of_every_half_is_within_0_007() {
    let results = every_half(|graph, input| graph.activation(input, activation::gelu()));
    let inner = |x: f64| (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
    assert!(worst(&results, -MAX, 8.0, |x, y| y - 0.5 * x * (1.0 + inner(x).tanh())) < 0.007);
}

#[test]
fn activation_tanh_of_every_half_is_within_0_0018() {
    let results = every_half(|graph, input| graph.activation(input, activation::tanh()));
    assert!(worst(&results, -MAX, MAX, |x, y| y - x.tanh()) < 0.0018);
}

#[test]
fn activation_exp2_of_every_half_is_relatively_within_0_001() {
    let results = every_half(|graph, input| graph.activation(input, activation::exp2()));
    assert!(worst(&results, -14.0, 15.99, |x, y| y / x.exp2() - 1.0) < 0.001);
}

#[test]
fn activation_exp_of_every_half_is_relatively_within_0_01() {
    let results = every_half(Graph::exp);
    // The exponent is rounded to fp16 on its way: half a unit in the last place of 14 is 0.004.
    assert!(worst(&results, -9.0, 11.0, |x, y| y / x.exp() - 1.0) < 0.01);
}

#[test]
fn activation_log2_of_every_half_is_within_0_008() {
    let results = every_half(|graph, input| graph.activation(input, activation::log2()));
    assert!(worst(&results, 6e-8, MAX, |x, y| y - x.log2()) < 0.008);
}

#[test]
fn activation_ln_of_every_half_is_within_0_016() {
    let results = every_half(Graph::ln);
    // `ln 2` as a half is too large by 0.00025, of which there are up to 24.
    assert!(worst(&results, 6e-8, MAX, |x, y| y - x.ln()) < 0.016);
}

#[test]
fn activation_sqrt_of_every_half_is_relatively_within_0_001() {
    let results = every_half(|graph, input| graph.activation(input, activation::sqrt()));
    assert!(worst(&results, 6e-8, MAX, |x, y| y / x.sqrt() - 1.0) < 0.001);
}

#[test]
fn activation_rsqrt_of_every_half_is_relatively_within_0_0015() {
    let results = every_half(|graph, input| graph.activation(input, activation::rsqrt()));
    assert!(worst(&results, 6e-8, MAX, |x, y| y * x.sqrt() - 1.0) < 0.0015);
}

#[test]
fn activation_reciprocal_of_every_half_is_relatively_within_0_001() {
    let results = every_half(|graph, input| graph.activation(input, activation::reciprocal()));
    assert!(worst(&results, 1.0 / MAX, 1.0 / NORMAL, |x, y| y * x - 1.0) < 0.001);
    assert!(worst(&results, -1.0 / NORMAL, -1.0 / MAX, |x, y| y * x - 1.0) < 0.001);
}

#[test]
fn activation_clamp_of_every_half_is_exact() {
    let bounds = (f16::from_f32(-1.5), f16::from_f32(6.0));
    let results = every_half(|graph, input| graph.activation(input, activation::clamp(bounds.0, bounds.1)));
    assert!(worst(&results, -MAX, MAX, |x, y| y - x.clamp(-1.5, 6.0)) == 0.0);
}

#[test]
fn activation_clamp_whose_bounds_cross_is_that_of_the_planar_engine() {
    let no_arrays = |_: &str, _: u64| Err(String::new());
    for words in [["%0", "low=1", "high=-1"], ["%0", "low=2", "high=2"], ["%0", "low=inf", "high=0.5"]] {
        let of = |operation: &str| {
            every_half(|graph, input| {
                Ok(script::add(graph, operation, &[input], &words, no_arrays).expect("is offered"))
            })
        };
        let (table, planar) = (of("clamp"), of("clip"));
        let numbers = (0..=u16::MAX).filter(|bits| !f16::from_bits(*bits).is_nan());
        for (bits, (table, planar)) in
            numbers.map(|bits| (bits, (table[usize::from(bits)], planar[usize::from(bits)])))
        {
            assert_eq!(table, planar, "{words:?} of {}", f16::from_bits(bits));
        }
    }
}

#[test]
fn activation_leaky_relu_of_every_half_is_rounded_once() {
    let slope = f16::from_f32(0.25);
    let results = every_half(|graph, input| graph.activation(input, activation::leaky_relu(slope)));
    // A quarter of a denormal may lie between two halves.
    let leaky = |x: f64| if x < 0.0 { stored(0.25 * x).to_f64() } else { x };
    assert!(worst(&results, -MAX, MAX, |x, y| y - leaky(x)) == 0.0);
}

#[test]
fn activation_relu_of_every_half_is_exact_with_and_without_a_table() {
    let table = every_half(|graph, input| graph.activation(input, activation::relu()));
    let plain = every_half(Graph::relu);
    assert!(worst(&table, -MAX, MAX, |x, y| y - x.max(0.0)) == 0.0);
    assert!(worst(&plain, -MAX, MAX, |x, y| y - x.max(0.0)) == 0.0);
}
