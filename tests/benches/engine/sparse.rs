//! A convolution whose coefficients are stored without their zeros, or as bytes, beside its twin of plain halves.
//!
//! The builder makes plain coefficients. The twin has the same registers, but for those that say how coefficients lie, and
//! its chunks are packed by the code that packs those of transcribed programs.

use ane::build::{Built, Convolution, Graph, Padding, Shape, Weights};
use ane::container::Program;
use ane_tests::oracles::constants::chunks;
use ane_tests::oracles::registers;
use ane_tests::random::Random;
use half::f16;

const CHANNELS: u32 = 64;
const SIDE: u32 = 56;
const KERNEL: (u32, u32) = (3, 3);
const TAPS: usize = CHANNELS as usize * 9;
/// Words that say how coefficients lie: kernel DMA's master and chunks, and KernelCfg.
const MASTER: u32 = 0x1f800;
const BASE: u32 = 0x1f848;
const SIZE: u32 = 0x1f888;
const KERNEL_CFG: u32 = 0xc800;

/// Whole numbers from -8 to 7, every fourth of them 0, with a sign or without.
fn numbers(is_signed: bool) -> Vec<i32> {
    let mut random = Random::new(1);
    let mut next = || {
        let word = random.word();
        if word >> 30 == 0 { 0 } else { (word >> 8 & 15) as i32 - if is_signed { 8 } else { 0 } }
    };
    (0..CHANNELS as usize * TAPS).map(|_| next()).collect()
}

pub(crate) fn input() -> Vec<f16> {
    (0..CHANNELS * SIDE * SIDE).map(|at| f16::from_f32((at * 37 % 113) as f32 / 256.0 - 0.2)).collect()
}

fn program(weights: Weights<'_>) -> Built {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(CHANNELS, SIDE, SIDE)).expect("fits");
    let convolution = Convolution {
        stride: (2, 2),
        padding: Padding { right: 1, bottom: 1, ..Padding::NONE },
        lanes: Some(4),
        engines: Some(16),
        ..Convolution::new(CHANNELS, KERNEL, weights)
    };
    let y = graph.convolution(x, &convolution).expect("fits");
    graph.output("y", y).expect("computed");
    graph.build().expect("can be built")
}

fn halves(is_signed: bool) -> Vec<f16> {
    numbers(is_signed).into_iter().map(|number| f16::from_f32(number as f32 / 64.0)).collect()
}

/// Plain halves.
pub(crate) fn dense() -> Built {
    program(Weights::Half(&halves(true)))
}

/// The same numbers, of which zeros are left out, with the constants that go with it.
pub(crate) fn sparse() -> (Built, Vec<u8>) {
    let weights = halves(true);
    let mut built = program(Weights::Half(&weights));
    for (register, bit) in [(KERNEL_CFG, 0x100), (MASTER, 0x20)] {
        let word = built.register_mut(0, register).expect("written");
        word.set(word.get() | bit);
    }
    let words = built.words(0).expect("a task").iter().map(|word| word.get()).collect();
    let registers = registers(&[words]).pop().expect("of a task");
    let mut constants = Vec::new();
    for (engine, chunk) in (0..).zip(chunks(&registers, &weights, &[f16::ZERO; CHANNELS as usize], &[])) {
        let base = constants.len() as u32;
        constants.extend(chunk);
        constants.resize(constants.len().next_multiple_of(64), 0);
        built.register_mut(0, BASE + 4 * engine).expect("written").set(base);
        let size = constants.len() as u32 - base;
        built.register_mut(0, SIZE + 4 * engine).expect("written").set(size);
    }
    (built, constants)
}

/// The program of [`sparse`], with its constants.
pub(crate) fn with_constants<'a>(built: &'a Built, constants: &'a [u8]) -> Program<'a> {
    let mut program = built.program();
    program.constants[0].bytes = constants;
    program
}

/// Bytes without a sign.
pub(crate) fn of_bytes() -> Built {
    let bytes: Vec<u8> = numbers(false).into_iter().map(|number| number as u8).collect();
    program(Weights::Bytes(&bytes))
}

/// The same numbers as halves.
pub(crate) fn of_halves() -> Built {
    let halves: Vec<f16> = numbers(false).into_iter().map(|number| f16::from_f32(number as f32)).collect();
    program(Weights::Half(&halves))
}
