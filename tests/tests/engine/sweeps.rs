//! The sweeps of td 10: one register of the compiled ReLU changed at a time.

use ane_tests::reference::engine::{Mode, TaskOutcome};

use super::programs::LoadedProgram;

/// The compiled ReLU with registers changed behind its own records.
fn relu_with(changes: &[(u32, u32)]) -> Option<(LoadedProgram, TaskOutcome)> {
    let mut program = LoadedProgram::new("relu", Mode::M1)?;
    program.fill("image", 2, |index| [-3.0, 5.0][index as usize % 2]);
    let bars = program.bars;
    let stream = program.machine.memory.bytes(bars[0], 0x274).expect("the stream is mapped");
    let words = stream.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    let changes = changes.iter().flat_map(|&(register, value)| [register, value]);
    let words: Vec<u32> = words.chain(changes).collect();
    let outcome = program.machine.run_task(&words, &bars);
    Some((program, outcome))
}

fn output(program: &LoadedProgram) -> Vec<u8> {
    program.machine.memory.bytes(program.bars[4], 8).expect("the output is mapped")
}

#[track_caller]
fn hangs(changes: &[(u32, u32)], wanted: u32) {
    let Some((program, outcome)) = relu_with(changes) else { return };
    assert!(matches!(outcome, TaskOutcome::Hangs { register, .. } if register == wanted), "{outcome:?}");
    assert_eq!(output(&program), [0; 8], "nothing was written");
}

#[track_caller]
fn changes_nothing(changes: &[(u32, u32)]) {
    let Some((program, outcome)) = relu_with(changes) else { return };
    assert_eq!(outcome, TaskOutcome::Done { inferred: Vec::new() }, "{changes:x?}");
    assert_eq!(output(&program), [0, 0, 0, 0x45, 0, 0, 0, 0x45], "{changes:x?}");
}

#[test]
fn zero_where_something_is_needed_hangs() {
    for register in [0x04, 0x18, 0x1C, 0x24, 0x28, 0x13838, 0x17818] {
        hangs(&[(register, 0)], register);
    }
}

#[test]
fn more_unicast_outputs_than_inputs_hang() {
    hangs(&[(0x10, 64)], 0x10);
}

#[test]
fn patch_on_a_neural_task_hangs() {
    hangs(&[(0x2C, 4)], 0x2C);
}

#[test]
fn planar_class_on_a_neural_task_hangs() {
    hangs(&[(0x34, 0x33)], 0x1383C);
}

#[test]
fn disabled_source_hangs() {
    hangs(&[(0x13800, 0x33880)], 0x13800);
}

#[test]
fn channel_stride_shorter_than_a_row_tile_hangs() {
    for stride in [0, 0x10, 0x90, 0x9F] {
        hangs(&[(0x480C, stride)], 0x480C);
    }
    changes_nothing(&[(0x480C, 0xA1)]);
}

#[test]
fn result_on_chip_with_its_dma_enabled_hangs() {
    hangs(&[(0x4830, 0)], 0x4830);
}

#[test]
fn coefficients_or_a_table_from_an_idle_channel_hang() {
    hangs(&[(0xC804, 0)], 0x1F808);
    hangs(&[(0xC804, 0x12_000C)], 0x1F808);
}

#[test]
fn registers_that_do_not_matter_change_nothing() {
    let free = [
        (0x0C, 4),
        (0x20, 0),
        (0x30, 0x4AA),
        (0x38, 0),
        (0x3C, 5),
        (0x1380C, 0x1000),
        (0x13810, 0x1000),
        (0x13814, 0),
        (0x13818, 0x40),
        (0x13800, 1),
        (0x13840, 0),
        (0x13808, 1),
        (0x4800, 0x100),
        (0x4808, 0x4000),
        (0x4810, 0),
        (0x4814, 0x10),
        (0x4834, 0x8000),
        (0x4838, 0x10),
        (0x17808, 0),
        (0x1780C, 0x1000),
        (0x8800, 0xFFFF_FFFF),
        (0x8804, 0xFFFF_FFFF),
        (0x880C, 0x7FC0_0000),
        (0xC800, 0),
        (0xC800, 0x82),
        (0xC808, 0xFFFF),
        (0xC80C, 0x1F_FFFF),
        (0xC804, 0x01_000C),
    ];
    for change in free {
        changes_nothing(&[change]);
    }
}

#[test]
fn source_left_on_chip_by_a_stream_can_be_read_back() {
    let Some((mut program, _)) = relu_with(&[]) else { return };
    let mut registers = program.machine.registers.clone();
    registers.insert(0x4804, 0);
    let mut words = vec![0; 10];
    words[8] = 0x0102_4025;
    words.extend(registers.iter().flat_map(|(&register, &value)| [register, value]));
    program.machine.memory.load(program.bars[4], &[0; 8]);
    let bars = program.bars;
    assert_eq!(program.machine.run_task(&words, &bars), TaskOutcome::Done { inferred: Vec::new() });
    assert_eq!(output(&program), [0, 0, 0, 0x45, 0, 0, 0, 0x45]);
}

#[test]
fn post_scale_multiplies_before_the_nonlinearity() {
    // 0 zeroes, a NaN's pattern gives +infinity (td 4.4).
    for (post_scale, wanted) in [(0, [0, 0]), (0x7E00, [0x00, 0x7C])] {
        let Some((program, _)) = relu_with(&[(0xC810, post_scale)]) else { return };
        assert_eq!(output(&program)[2..4], wanted);
    }
}

/// The outcome of a program's first task with one bit of one register flipped, for every bit of every register.
fn flipped(name: &str) -> Vec<(TaskOutcome, bool)> {
    let Some(mut program) = LoadedProgram::new(name, Mode::M1) else { return Vec::new() };
    let bars = program.bars;
    let stream = program.machine.memory.bytes(bars[0], 0x274).expect("the stream is mapped");
    let words: Vec<u32> =
        stream.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect();
    let start = program.machine.clone();
    program.machine.run_task(&words, &bars);
    let registers = program.machine.registers.clone();
    let flips =
        registers.iter().flat_map(|(&register, &value)| (0..32).map(move |bit| [register, value ^ 1 << bit]));
    let run = |flip: [u32; 2]| {
        let mut machine = start.clone();
        let outcome = machine.run_task(&[words.as_slice(), &flip].concat(), &bars);
        (outcome, machine.memory == start.memory && machine.chip == start.chip)
    };
    flips.map(run).collect()
}

#[test]
fn flipped_bit_leaves_no_trace_of_a_task_that_does_not_end() {
    for name in ["relu", "sum", "conv"] {
        for (outcome, untouched) in flipped(name) {
            assert!(untouched || matches!(outcome, TaskOutcome::Done { .. }), "{name}: {outcome:?}");
        }
    }
}
