//! Real compiled programs, through the whole device: DART, queues, descriptors, engine.
//!
//! Each gives what it gave on an M1 (td 8; the numbers of the samples' own description), in this process and over the
//! device's socket.

use ane::container;
use ane::container::{Direction, Program};
use ane_device::Options;
use ane_tests::data::{self, Sample};
use ane_tests::known::{self, ByRegisters, assert_known, halves};
use ane_tests::runner::{EmbeddedRunner, Outcome, surfaces};
use ane_uapi::hw::space::Iova;
use half::f16;

/// Memory for the largest of them.
const MEMORY: usize = 16 << 20;

fn sample(name: &str) -> Option<Sample> {
    data::programs()?.into_iter().find(|sample| sample.name == name)
}

#[test]
fn sum_of_threes_and_twos_is_five() {
    known::sum().into_iter().for_each(assert_known::<ByRegisters>);
}

#[test]
fn relu_keeps_what_is_above_zero() {
    known::relu().into_iter().for_each(assert_known::<ByRegisters>);
}

#[test]
fn sigmoid_of_three_is_the_knot_that_the_m1_gives() {
    known::sigmoid().into_iter().for_each(assert_known::<ByRegisters>);
}

#[test]
fn convolution_with_twos_gives_what_the_m1_gives() {
    let Some(convolution) = known::convolution() else { return };
    let program = container::open(&convolution.bytes).unwrap();
    assert_eq!(known::run::<ByRegisters>(&program, &[halves([3.0; 3])]), halves([18.0; 3]));
    assert_known::<ByRegisters>(convolution);
}

#[test]
fn inner_product_uses_the_weights_in_the_constant_section() {
    let Some(mut sample) = sample("gemm") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let Some(zeros) = known::inner_product() else { return };
    let input = zeros.inputs[0].clone();
    assert_known::<ByRegisters>(zeros);
    // Output o takes input o twice: sixteen engines of 32 lanes each, rows of lanes (td 7.1).
    let weights = program.constants[0].bytes.as_ptr() as usize - sample.bytes.as_ptr() as usize;
    for output in 0..512 {
        let (engine, lane) = (output / 32, output % 32);
        let at = weights + engine * 0x8000 + (output * 32 + lane) * 2;
        sample.bytes[at..at + 2].copy_from_slice(&f16::from_f32(2.0).to_le_bytes());
    }
    let program = container::open(&sample.bytes).unwrap();
    let doubled: Vec<f16> = input.iter().map(|value| f16::from_f32(value.to_f32() * 2.0)).collect();
    assert_eq!(known::run::<ByRegisters>(&program, &[input]), doubled);
}

#[test]
fn concatenation_puts_the_second_input_first() {
    known::concatenation().into_iter().for_each(assert_known::<ByRegisters>);
}

/// With one task the second half of the output stays as it was (measured, td 8.1).
#[test]
fn chain_of_which_only_one_task_is_asked_for_runs_one() {
    let Some(sample) = sample("concat") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let mut runner = EmbeddedRunner::open(&Options::default(), MEMORY);
    runner.load(&program);
    for input in surfaces(&program, Direction::Input) {
        runner.fill(input, &halves(vec![1.0; input.shape.c as usize]));
    }
    runner.set_tasks(1);
    assert_eq!(runner.run(), Outcome::Done);
    let output = runner.take(surfaces(&program, Direction::Output)[0]);
    assert_eq!(output[..16384], halves(vec![1.0; 16384]));
    assert_eq!(output[16384..], halves(vec![0.0; 16]));
}

/// An address is computed and not clamped to the surface it belongs to (two results of an M1 depend on it, td 9).
#[test]
fn operand_that_reaches_behind_its_surface_is_what_lies_there() {
    let Some(sample) = sample("sum") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let mut stream = program.stream.to_vec();
    // Plane stride of source 2, in the record of the tile source.
    stream[0x190..0x194].copy_from_slice(&0x80_u32.to_le_bytes());
    let program = Program { stream: &stream, ..program };
    let mut runner = EmbeddedRunner::open(&Options::default(), MEMORY);
    runner.load(&program);
    let inputs = surfaces(&program, Direction::Input);
    inputs.iter().for_each(|input| runner.fill(input, &halves([1.0; 64])));
    let second = inputs.iter().find(|input| input.bar == 5).unwrap();
    let behind = Iova(runner.bar(second.bar).0 + 40 * 0x80);
    runner.write(behind, &f16::from_f32(189.5).to_le_bytes());
    assert_eq!(runner.run(), Outcome::Done);
    let output = runner.take(surfaces(&program, Direction::Output)[0]);
    let expected = (0..64).map(|c| match c {
        0..32 => 2.0,
        40 => 190.5,
        _ => 1.0,
    });
    assert_eq!(output, halves(expected));
}

/// Deviations are said: a task that needs inferred behaviour is noted, and one that does not is not.
#[test]
fn program_that_needs_nothing_inferred_is_carried_out_when_strict() {
    let Some(samples) = data::programs() else { return };
    for sample in samples {
        let program = container::open(&sample.bytes).unwrap();
        let options = Options { strict: true, ..Options::default() };
        let mut runner = EmbeddedRunner::open(&options, MEMORY);
        runner.load(&program);
        assert_eq!(runner.run(), Outcome::Done, "{}", sample.name);
        assert!(runner.guest.bus.device_mut().ane().inferred().is_none(), "{}", sample.name);
    }
}
