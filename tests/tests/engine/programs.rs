//! The compiled programs with the results that a real M1 gave.

use ane::container::{self, Direction, Program, Role};
use ane_tests::data;
use ane_tests::random::Random;
use ane_tests::reference::engine::numbers::{half_bits, half_value, round_half};
use ane_tests::reference::engine::{Mode, ReferenceMachine, TaskOutcome};

/// A program in memory, its BARs placed apart from each other.
pub(crate) struct LoadedProgram {
    pub(crate) machine: ReferenceMachine,
    pub(crate) bars: [u32; 32],
    first: usize,
    count: u16,
    inputs: Vec<(String, u8, u32)>,
    output: (u8, u32),
}

impl LoadedProgram {
    /// Loads one of the known programs, if they are to be had.
    pub(crate) fn new(name: &str, mode: Mode) -> Option<Self> {
        let sample = data::programs()?.into_iter().find(|sample| sample.name == name)?;
        Some(Self::place(&container::open(&sample.bytes).expect("a real program opens"), mode))
    }

    fn place(program: &Program<'_>, mode: Mode) -> Self {
        let (mut machine, mut bars) = (ReferenceMachine::new(mode), [0; 32]);
        for bar in &program.bars {
            let address = 0x0100_0000 * (u32::from(bar.index) + 1);
            bars[usize::from(bar.index)] = address;
            machine.memory.map(address, bar.bytes as u32);
            match bar.role {
                Role::Tasks => machine.memory.load(address, program.stream),
                Role::Constants(index) => machine.memory.load(address, program.constants[index].bytes),
                _ => {}
            }
        }
        let channels = |surface: &container::Surface<'_>| surface.shape.c * surface.shape.h * surface.shape.w;
        let inputs = program.surfaces_of(Direction::Input);
        let inputs =
            inputs.map(|surface| (surface.name.to_string(), surface.bar, channels(surface))).collect();
        let output = program.surfaces_of(Direction::Output).next().expect("a program has an output");
        Self {
            machine,
            bars,
            first: program.first_task_bytes as usize / 4,
            count: program.task_count as u16,
            inputs,
            output: (output.bar, channels(output)),
        }
    }

    /// Fills an input; `spacing` is 64 bytes where each element is a channel, 2 where all are one row.
    pub(crate) fn fill(&mut self, name: &str, spacing: u32, element: impl Fn(u32) -> f64) {
        let input = self.inputs.iter().find(|input| input.0 == name).expect("the program has the input");
        let (base, count) = (self.bars[usize::from(input.1)], input.2);
        for index in 0..count {
            let bits = half_bits(element(index)).to_le_bytes();
            self.machine.memory.load(base + index * spacing, &bits);
        }
    }

    pub(crate) fn run(&mut self) -> TaskOutcome {
        self.machine.run_chain(self.bars[0], self.first, self.count, &self.bars)
    }

    /// Runs to the end; the output's elements.
    pub(crate) fn output(&mut self, spacing: u32) -> Vec<f64> {
        assert_eq!(self.run(), TaskOutcome::Done { inferred: Vec::new() });
        let base = self.bars[usize::from(self.output.0)];
        let element = |index| {
            let bytes = self.machine.memory.bytes(base + index * spacing, 2).expect("mapped");
            half_value(u16::from_le_bytes([bytes[0], bytes[1]]))
        };
        (0..self.output.1).map(element).collect()
    }
}

#[test]
fn sum_of_three_and_two_is_five() {
    let Some(mut program) = LoadedProgram::new("sum", Mode::M1) else { return };
    program.fill("image", 64, |_| 3.0);
    program.fill("image2", 64, |_| 2.0);
    assert_eq!(program.output(64), [5.0; 64]);
}

#[test]
fn relu_keeps_five_and_clears_minus_three() {
    let Some(mut program) = LoadedProgram::new("relu", Mode::M1) else { return };
    program.fill("image", 2, |index| [-3.0, 5.0][index as usize % 2]);
    let output = program.output(2);
    assert_eq!(output.len(), 77);
    assert_eq!(output[..4], [0.0, 5.0, 0.0, 5.0]);
}

#[test]
fn numerics_14_sigmoid_of_three_is_the_value_that_silicon_gave() {
    let Some(mut program) = LoadedProgram::new("sigmoid", Mode::M1) else { return };
    program.fill("image", 2, |_| 3.0);
    assert_eq!(program.output(2), [0.952_636_718_75; 77]);
}

#[test]
fn conv_of_threes_is_eighteen_in_every_mode() {
    for mode in [Mode::M1, Mode::Exact] {
        let Some(mut program) = LoadedProgram::new("conv", mode) else { return };
        program.fill("image", 64, |_| 3.0);
        assert_eq!(program.output(64), [18.0; 3], "{mode:?}");
    }
}

#[test]
fn conv_of_one_two_three_is_twelve() {
    let Some(mut program) = LoadedProgram::new("conv", Mode::M1) else { return };
    program.fill("image", 64, |index| f64::from(index) + 1.0);
    assert_eq!(program.output(64), [12.0; 3]);
}

#[test]
fn gemm_with_patched_weights_is_plain_arithmetic() {
    let Some(mut program) = LoadedProgram::new("gemm", Mode::M1) else { return };
    // Small integers: every product and every sum is exact, whatever the order.
    let weight = |o: u32, i: u32| f64::from((o * 7 + i * 3) % 5) - 2.0;
    let operand = |i: u32| f64::from(i % 7) - 3.0;
    let constants = program.bars[1];
    for o in 0..512 {
        let (engine, lane) = (o / 32, o % 32);
        for i in 0..512 {
            let at = constants + engine * 0x8000 + (i * 32 + lane) * 2;
            program.machine.memory.load(at, &half_bits(weight(o, i)).to_le_bytes());
        }
    }
    program.fill("image", 64, operand);
    let wanted: Vec<f64> =
        (0..512).map(|o| round_half((0..512).map(|i| weight(o, i) * operand(i)).sum())).collect();
    assert_eq!(program.output(64), wanted);
}

#[test]
fn gemm_modes_stay_close_to_each_other_on_random_weights() {
    let mut results = Vec::new();
    for mode in [Mode::Exact, Mode::M1] {
        let Some(mut program) = LoadedProgram::new("gemm", mode) else { return };
        let mut random = Random::new(512);
        let constants = program.bars[1];
        for at in (0..0x80000).step_by(2) {
            let weight = f64::from(random.below(2000)) / 1000.0 - 1.0;
            program.machine.memory.load(constants + at, &half_bits(weight).to_le_bytes());
        }
        program.fill("image", 64, |index| f64::from(index % 13) / 13.0);
        results.push(program.output(64));
    }
    let far = |other: &[f64]| results[0].iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    // Sums lie below 32, where two halves are 2^-6 apart; 512 products are off by half a unit each at most.
    assert!(far(&results[1]) < 0.02, "{}", far(&results[1]));
}

#[test]
fn concat_puts_the_second_input_first_in_task_order() {
    let Some(mut program) = LoadedProgram::new("concat", Mode::M1) else { return };
    program.fill("input_0", 64, |index| f64::from(index % 2000));
    program.fill("input_1", 64, |index| -f64::from(index) - 1.0);
    let output = program.output(64);
    let large: Vec<f64> = (0..16384).map(|index| f64::from(index % 2000)).collect();
    let small: Vec<f64> = (0..16).map(|index| -f64::from(index) - 1.0).collect();
    assert_eq!((&output[..16384], &output[16384..]), (&large[..], &small[..]));
}

#[test]
fn concat_cut_to_one_task_skips_the_second() {
    let Some(mut program) = LoadedProgram::new("concat", Mode::M1) else { return };
    program.fill("input_0", 64, |_| 1.0);
    program.fill("input_1", 64, |_| 2.0);
    program.count = 1;
    let output = program.output(64);
    assert_eq!(output[16383..16385], [1.0, 0.0]);
}
