//! Transcribed programs of Apple's compiler, through the whole device: each gives what its operation means.

mod built;

use std::collections::BTreeMap;

use ane::container::{self, Direction, Program};
use ane::device::{Device, Location};
use ane::model::Model;
use ane::session::Session;
use ane::tensor::Tensor;
use ane_device::Options;
use ane_tests::oracles::{self, Oracle, constants, meaning};
use ane_tests::random::Random;
use ane_tests::runner::{EmbeddedRunner, Outcome, surfaces};
use half::f16;

/// Memory for the largest of them: sixteen megabytes of coefficients, and operands.
const MEMORY: usize = 64 << 20;

/// The device's result for the inputs.
fn run(oracle: &Oracle, made: &constants::MadeConstants, inputs: &[Vec<f16>]) -> Vec<f64> {
    let stream = oracle.stream();
    let program = oracle.program(&stream, made);
    let mut runner = EmbeddedRunner::open(&Options::default(), MEMORY);
    runner.load(&program);
    for (input, values) in oracle.inputs().zip(inputs) {
        runner.fill(&input.surface(), &input.stored(values));
    }
    assert_eq!(runner.run(), Outcome::Done, "{}", oracle.name);
    let output = oracle.output();
    let taken = runner.take(&output.surface());
    if !output.is_bytes {
        return taken.into_iter().map(f16::to_f64).collect();
    }
    let bytes: Vec<u8> = taken.into_iter().flat_map(|half| half.to_le_bytes()).collect();
    let rows = bytes.chunks_exact(usize::try_from(output.strides[2]).unwrap());
    rows.flat_map(|row| row[..output.shape[3]].iter().map(|byte| f64::from(*byte))).collect()
}

/// Numbers of its own for each program.
fn seed(oracle: &Oracle) -> u64 {
    oracle.name.bytes().fold(7, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()))
}

fn check(oracle: &Oracle) {
    let random = &mut Random::new(seed(oracle));
    let made = constants::make(oracle, random);
    let inputs = oracles::inputs(oracle, random);
    let wanted = meaning::of(oracle, &inputs, &made);
    let found = run(oracle, &made, &inputs);
    assert_eq!(found.len(), wanted.values.len(), "{}", oracle.name);
    for (at, (found, value)) in found.iter().zip(&wanted.values).enumerate() {
        let error = (found - value).abs();
        let most = wanted.near + wanted.part * value.abs();
        assert!(error <= most, "{}: element {at} is {found}, not {value}", oracle.name);
    }
}

/// All programs of families whose names begin so.
fn check_all(families: &[&str]) {
    let Some(all) = oracles::all() else { return };
    let mut count = 0;
    for oracle in all.iter().filter(|oracle| families.iter().any(|family| oracle.name.starts_with(family))) {
        check(oracle);
        count += 1;
    }
    assert!(count > 0, "{families:?}");
}

/// Requirement: ORA-18
#[test]
fn grouped_dense_and_depthwise_convolutions_give_what_they_mean() {
    check_all(&["conv_k"]);
}

/// Requirement: ORA-19
#[test]
fn elementwise_programs_give_what_they_mean() {
    check_all(&["binary", "bcast", "logical", "unary"]);
}

/// Requirement: ORA-20
#[test]
fn reductions_and_softmax_give_what_they_mean() {
    check_all(&["reduce", "softmax"]);
}

/// Requirement: ORA-21
#[test]
fn tiles_and_transpositions_give_what_they_mean() {
    check_all(&["tile", "transpose"]);
}

/// Requirement: ORA-22
#[test]
fn matrix_products_and_chains_give_what_they_mean() {
    check_all(&["matmul", "linear", "chain"]);
}

/// An ANEC has no element types, and truth values are bytes.
#[test]
fn flat_file_whose_tasks_move_bytes_takes_and_gives_their_values() {
    let Some(oracle) = oracles::named("logical_not_1x1x64x64") else { return };
    let made = constants::make(&oracle, &mut Random::new(seed(&oracle)));
    let stream = oracle.stream();
    let program = oracle.program(&stream, &made);
    let model = Model::read(&oracle.anec(&program)).unwrap();
    let device = Device::open(&Location::Embedded, &Options::default()).unwrap();
    let mut session = Session::load(&device, &model).unwrap();
    let shape = model.inputs()[0].shape;
    let truth = Tensor::from_fn(shape, |at| if at % 3 == 0 { f16::ONE } else { f16::ZERO });
    session.set_at(0, &truth).unwrap();
    session.run().unwrap();
    let found = session.get_at(0).unwrap();
    assert!(truth.values().iter().zip(found.values()).all(|(x, y)| x.to_f32() + y.to_f32() == 1.0));
}

/// A program that takes 2560 rows of 1600 numbers to as many, with its task stream changed.
fn check_chained(name: &str, change: impl FnOnce(&mut [u8]), is_right: impl Fn(f64, f64) -> bool) {
    let Some(bytes) = oracles::chained(name) else { return };
    let program = container::open(&bytes).unwrap();
    let mut stream = program.stream.to_vec();
    change(&mut stream);
    let program = Program { stream: &stream, ..program };
    let random = &mut Random::new(17);
    let values: Vec<f16> = (0..2560 * 1600)
        .map(|_| f16::from_bits(random.below(0x1_0000) as u16))
        .map(|half| if half.is_finite() { half } else { f16::ZERO })
        .collect();
    let mut runner = EmbeddedRunner::open(&Options::default(), MEMORY);
    runner.load(&program);
    runner.fill(surfaces(&program, Direction::Input)[0], &values);
    assert_eq!(runner.run(), Outcome::Done);
    let results = runner.take(surfaces(&program, Direction::Output)[0]);
    for (value, result) in values.iter().zip(results) {
        assert!(is_right(value.to_f64(), result.to_f64()), "{name} of {value} is {result}");
    }
}

/// Requirement: ORA-23
#[test]
fn sigmoid_whose_first_task_passes_its_result_straight_on_is_within_its_table() {
    check_chained("sigmoid", |_| {}, |x, y| (1.0 / (1.0 + (-x).exp()) - y).abs() < 5e-3);
}

/// Puts ones where L2 names a place for what is passed on, in the tasks that pass it and in those that take it.
fn hide_places(stream: &mut [u8]) {
    let (words, _) = stream.as_chunks_mut::<4>();
    let mut task = 0;
    loop {
        let word = |at: usize| u32::from_le_bytes(words[task + at]);
        let next = word(7) as usize / 4;
        let (mut at, mut places) = (10 + (word(6) >> 24 & 1) as usize, BTreeMap::new());
        while at < 157 {
            let (first, count) = (word(at) & 0x3ff_fffc, word(at) as usize >> 26);
            places.extend((first..).step_by(4).zip(at + 1..=at + 1 + count));
            at += 2 + count;
        }
        let passes = |register| word(places[&register]) & 3 == 3;
        let ports = [(passes(0x4804), 0x4808), (passes(0x4830), 0x4834)];
        assert!(ports.iter().any(|(passes, _)| *passes), "each of the tasks does");
        for (_, first) in ports.into_iter().filter(|(passes, _)| *passes) {
            for register in (first..first + 20).step_by(4) {
                words[task + places[&register]] = [0xff; 4];
            }
        }
        if next == 0 {
            return;
        }
        task = next;
    }
}

/// Requirement: ORA-41
#[test]
fn what_passes_straight_on_has_no_address() {
    check_chained("sigmoid", hide_places, |x, y| (1.0 / (1.0 + (-x).exp()) - y).abs() < 5e-3);
}

/// By the integer part and the fraction of tables, and a magnitude.
#[test]
fn ceil_is_exact() {
    check_chained("ceil", |_| {}, |x, y| x.ceil() == y);
}
