//! Programs of Apple's compiler, transcribed as register words, on the device and on the second engine.
//!
//! Other tests hold their meaning; here both engines have to leave the same bytes. Surfaces and coefficients
//! are noise,
//! but for activation tables and sparse slots, which have a form.

mod listed;

use std::collections::BTreeMap;
use std::path::Path;

use ane_device::options::Numerics;
use ane_tests::data;
use ane_tests::differential::packing::{CoefficientFormat, Kernel, Packing};
use ane_tests::differential::task::halves;
use ane_tests::differential::{Case, ProgramEnd};
use ane_tests::random::Random;
use serde_json::Value;

/// From one region to the next.
const REGION: u32 = 0x0200_0000;

/// Multiply-accumulates of a program that the second engine has the time for.
const WORK_MAX: u64 = 30_000_000;

/// The registers that a task sees.
type TaskRegisters = BTreeMap<u32, u32>;

fn field(registers: &TaskRegisters, address: u32, high: u32, low: u32) -> u32 {
    registers.get(&address).copied().unwrap_or_default() >> low & (u32::MAX >> (31 - (high - low)))
}

fn number(value: &Value) -> u32 {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).expect("a number of 32 bits")
}

fn words(task: &Value) -> Vec<u32> {
    let word = |word: &Value| u32::from_str_radix(word.as_str().expect("text"), 16).expect("hexadecimal");
    task.as_array().expect("words").iter().map(word).collect()
}

/// The register file as each task sees it.
fn register_files(tasks: &[Vec<u32>]) -> Vec<TaskRegisters> {
    let mut held = TaskRegisters::new();
    let files = tasks.iter().map(|words| {
        let mut at = 10 + (words[6] >> 24 & 1) as usize;
        while at < words.len() {
            let (first, count) = (words[at] & 0x03ff_fffc, (words[at] >> 26) as usize + 1);
            held.extend((first..).step_by(4).zip(words[at + 1..].iter().copied().take(count)));
            at += 1 + count;
        }
        held.clone()
    });
    files.collect()
}

/// Multiply-accumulates of a task, or elements if it has none.
fn work(registers: &TaskRegisters) -> u64 {
    let part = |address, high, low| u64::from(field(registers, address, high, low));
    let outputs = part(0x14, 14, 0) * part(0x14, 30, 16) * part(0x10, 16, 0) * part(0x24, 12, 0);
    let multiplies = field(registers, 0x34, 6, 4) == 0 && field(registers, 0xc804, 2, 0) == 0;
    let channels = if field(registers, 0x24, 14, 14) == 1 { part(0x24, 31, 16) } else { part(0x0c, 16, 0) };
    let taps = channels * part(0x1c, 4, 0) * part(0x1c, 9, 5);
    if multiplies { outputs * taps } else { outputs * 4 }
}

/// A sigmoid of few knots: domain from -8 to 8, and straight lines that stay inside.
fn table() -> Vec<u16> {
    let mut table = vec![0; 64];
    (table[0], table[1], table[3]) = (0xc800, 0x4800, 0x3c00);
    for (index, knot) in table[4..37].iter_mut().enumerate() {
        *knot = 0x3000 + 96 * index as u16;
    }
    (table[41], table[42]) = (1, 1);
    table
}

/// Puts what has a form where a task looks for it in the constants.
fn put_forms(registers: &TaskRegisters, constants: &mut [u8], random: &mut Random) {
    if field(registers, 0x34, 6, 4) != 0 {
        return;
    }
    let multiplies = field(registers, 0xc804, 3, 0) == 0;
    let table = (field(registers, 0xc804, 17, 16) == 2).then(table);
    let is_sparse = multiplies && field(registers, 0xc800, 8, 8) == 1;
    let lanes = 1 << field(registers, 0x1c, 12, 10);
    let kernel = Kernel {
        channels: field(registers, 0x0c, 16, 0),
        extent: (field(registers, 0x1c, 4, 0), field(registers, 0x1c, 9, 5)),
        stride: (field(registers, 0x1c, 14, 13), field(registers, 0x1c, 16, 15)),
    };
    let packing = Packing {
        lanes,
        engines: 1 << field(registers, 0x34, 21, 19),
        outputs: field(registers, 0x10, 16, 0),
        groups: field(registers, 0x24, 12, 0),
        pads_groups: false,
        kernel,
        has_bias: field(registers, 0xc804, 4, 4) == 1,
        format: CoefficientFormat::Sparse(lanes),
    };
    for engine in 0..16 {
        if field(registers, 0x1_f808 + 4 * engine, 0, 0) == 0 || (table.is_none() && !is_sparse) {
            continue;
        }
        let bytes = if is_sparse {
            packing.chunk(engine, table.as_deref(), random)
        } else {
            table.iter().flatten().flat_map(|halfword| halfword.to_le_bytes()).collect()
        };
        let at = field(registers, 0x1_f848 + 4 * engine, 31, 0) as usize;
        let room = constants.len().saturating_sub(at).min(bytes.len());
        constants[at..at + room].copy_from_slice(&bytes[..room]);
    }
}

/// A transcribed program with noise in its surfaces, its tasks, and where they lie; none if it is too large for the second
/// engine.
fn transcribed(path: &Path) -> Option<(Case, Vec<Vec<u32>>, Vec<usize>)> {
    let text = std::fs::read_to_string(path).expect("the program can be read");
    let program: Value = serde_json::from_str(&text).expect("JSON");
    let tasks: Vec<Vec<u32>> = program["tasks"].as_array()?.iter().map(words).collect();
    let files = register_files(&tasks);
    if files.iter().map(work).sum::<u64>() > WORK_MAX {
        return None;
    }
    let mut random = Random::new(46);
    let mut stream = Vec::new();
    for (offset, words) in program["task_offsets"].as_array()?.iter().zip(&tasks) {
        stream.resize(number(offset) as usize, 0);
        stream.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
    // The network id of the request, which is put into the first descriptor.
    stream[2] = 0x40;
    let mut constants = halves(&mut random, number(&program["constants"]["size"]) as usize);
    for registers in &files {
        put_forms(registers, &mut constants, &mut random);
    }
    let mut contents = vec![(0, stream), (1, constants)];
    let scratch = number(&program["scratch"]) as usize;
    if scratch > 0 {
        contents.push((3, halves(&mut random, scratch)));
    }
    for surface in program["surfaces"].as_array()? {
        let batches = number(&surface["strides"][0]) * number(&surface["shape"][0]);
        let bytes = batches.max(number(&surface["total_bytes"])) as usize;
        let is_boolean = number(&surface["element"]) == 3;
        let bytes = match is_boolean {
            true => (0..bytes).map(|_| random.below(2) as u8).collect(),
            false => halves(&mut random, bytes),
        };
        contents.push((number(&surface["bar"]), bytes));
    }
    let mut bars = [0; 32];
    let regions = contents.into_iter().map(|(bar, bytes)| {
        bars[bar as usize] = REGION * (bar + 1);
        (REGION * (bar + 1), bytes)
    });
    let regions = regions.collect();
    let first_words = tasks[0].len() as u32;
    let case = Case { regions, bars, tasks: tasks.len() as u16, first_words, numerics: Numerics::M1 };
    let offsets = program["task_offsets"].as_array()?.iter().map(|offset| number(offset) as usize);
    let offsets = offsets.collect();
    Some((case, tasks, offsets))
}

#[test]
fn compiled_program_leaves_the_same_bytes_on_both() {
    let Some(paths) = data::transcribed() else { return };
    let mut compared = 0;
    for path in paths {
        let Some((case, ..)) = transcribed(&path) else { continue };
        assert_eq!(case.compare_to_the_end(), Ok(ProgramEnd::Done), "{}", path.display());
        compared += 1;
    }
    assert!(compared > 30, "{compared} programs");
}
