//! The constant section of a transcribed program: what `how` says, with coefficients that are made up.
//!
//! The packing is that of the task-descriptor notes (td 7, delta 5): chunks of engines, slots of planes, rows of lanes; slots
//! of groups padded to 64 bytes; tables in front; zeros left out where the kernel is sparse.

use std::collections::BTreeMap;

use half::f16;

use super::{Oracle, registers};
use crate::data;
use crate::random::Random;

type Registers = BTreeMap<u32, u32>;

#[derive(Clone, Debug, Default)]
pub struct MadeConstants {
    pub section: Vec<u8>,
    /// Coefficients of each layer, `[output][tap]`, and its biases.
    pub layers: Vec<(Vec<f16>, Vec<f16>)>,
    pub operand: Vec<f16>,
}

fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1 << count) - 1)
}

fn get(registers: &Registers, address: u32) -> u32 {
    registers.get(&address).copied().unwrap_or(0)
}

/// Numbers around zero, none of them zero, that sums of `taps` keep near one.
fn numbers(random: &mut Random, count: usize, taps: usize) -> Vec<f16> {
    let scale = 2.0 / (taps as f32).sqrt();
    let number = |random: &mut Random| {
        let part = random.below(0x1_0000) as f32 / 32768.0 - 1.0;
        let value = f16::from_f32(part * scale);
        if value == f16::ZERO { f16::from_f32(0.01) } else { value }
    };
    (0..count).map(|_| number(random)).collect()
}

fn bytes(values: &[f16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A published table by name.
pub(crate) fn table(name: &str) -> Vec<u8> {
    let file = data::folder().join("oracles/luts.txt");
    let text = std::fs::read_to_string(file).expect("tables lie beside the programs");
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name)).expect("a known table");
    let words =
        line.split_whitespace().skip(1).map(|word| u32::from_str_radix(word, 16).expect("hexadecimal"));
    let mut table: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    table.resize(128, 0);
    table
}

/// A table that is described: knots, tails and bounds of a comparison or a limit.
fn described(name: &str) -> Vec<u8> {
    let mut table = [0u16; 64];
    let limit = |digits: &str| f16::from_f32(digits.parse().expect("a number")).to_bits();
    table[41] = 0x40;
    table[42] = 1;
    if name == "not" {
        (table[0], table[1]) = (0x8001, 1);
        table[4..36].fill(0x3c00);
    } else if let Some(digits) = name.strip_prefix("max") {
        let limit = limit(digits);
        table[..4].copy_from_slice(&[limit, 0x7c00, limit, 0x7c00]);
        table[4..37].fill(limit);
        (table[37], table[39]) = (0x3c00, 0x3c00);
    } else {
        panic!("no such table: {name}");
    }
    table.iter().flat_map(|half| half.to_le_bytes()).collect()
}

/// Whether a task multiplies with coefficients.
fn multiplies(registers: &Registers) -> bool {
    let mac = get(registers, 0xc804);
    bits(get(registers, 0x34), 4, 3) == 0 && mac & 0xf == 0 && get(registers, 0x1f800) & 0x40 != 0
}

/// Groups of a task.
fn groups(registers: &Registers) -> usize {
    bits(get(registers, 0x24), 0, 13) as usize
}

/// The coefficients of one task, all groups, `[output][tap]`, as the chunk of each engine has them.
pub fn chunks(registers: &Registers, weights: &[f16], biases: &[f16], lead: &[u8]) -> Vec<Vec<u8>> {
    let (lanes, engines) = (1 << bits(get(registers, 0x1c), 10, 3), 1 << bits(get(registers, 0x34), 19, 3));
    let (count, groups) = (biases.len(), groups(registers));
    let (each, taps) = (count / groups, weights.len() / count);
    let is_sparse = get(registers, 0xc800) & 0x100 != 0;
    // Behind whole rounds the outputs are dealt evenly.
    let lanes = if each < lanes * engines { each.div_ceil(engines) } else { lanes };
    let mut chunks = vec![lead.to_vec(); engines];
    for group in 0..groups {
        for plane in 0..each / lanes {
            let chunk = &mut chunks[plane % engines];
            let first = group * each + plane * lanes;
            if get(registers, 0xc804) & 0x10 != 0 {
                chunk.extend(bytes(&biases[first..first + lanes]));
            }
            let at = |tap: usize, lane: usize| weights[(first + lane) * taps + tap];
            if is_sparse {
                let body = sparse(registers, taps, lanes, at);
                chunk.extend_from_slice(&(body.len() as u32).to_le_bytes()[..3]);
                chunk.extend(body);
            } else {
                let row = |tap| (0..lanes).map(move |lane| (tap, lane));
                chunk.extend((0..taps).flat_map(row).flat_map(|(tap, lane)| at(tap, lane).to_le_bytes()));
            }
            if groups > 1 {
                chunk.resize(chunk.len().next_multiple_of(64), 0);
            }
        }
    }
    chunks
}

/// Packs the coefficients of one task into the section.
fn pack(section: &mut [u8], registers: &Registers, weights: &[f16], biases: &[f16], lead: &[u8]) {
    for (engine, chunk) in (0..).zip(chunks(registers, weights, biases, lead)) {
        let (base, size) = (get(registers, 0x1f848 + 4 * engine), get(registers, 0x1f888 + 4 * engine));
        assert!(chunk.len() <= size as usize, "engine {engine}: {:#x} of {size:#x}", chunk.len());
        assert!(chunk.len() + 64 > size as usize, "engine {engine}: {:#x} of {size:#x}", chunk.len());
        section[base as usize..][..chunk.len()].copy_from_slice(&chunk);
    }
}

/// The body of a sparse slot.
fn sparse(registers: &Registers, taps: usize, lanes: usize, at: impl Fn(usize, usize) -> f16) -> Vec<u8> {
    let conv = get(registers, 0x1c);
    let of = |low, count| bits(conv, low, count) as usize;
    let (kw, kh, sx, sy) = (of(0, 5), of(5, 5), of(13, 2), of(15, 2));
    let mask_lanes = if lanes == 1 { 2 } else { lanes };
    let mut positions = Vec::new();
    for channel in 0..taps / (kw * kh) {
        for (phase_y, phase_x) in (0..sy).flat_map(|y| (0..sx).map(move |x| (y, x))) {
            for (row, column) in (0..kh.div_ceil(sy)).flat_map(|y| (0..kw.div_ceil(sx)).map(move |x| (y, x)))
            {
                let (y, x) = (row * sy + phase_y, column * sx + phase_x);
                for lane in 0..mask_lanes {
                    let is_there = y < kh && x < kw && lane < lanes;
                    let value = is_there.then(|| at((channel * kh + y) * kw + x, lane));
                    positions.push(value.filter(|value| *value != f16::ZERO));
                }
            }
        }
    }
    let mut body = Vec::new();
    for eight in positions.chunks(8) {
        body.push((0..).zip(eight).fold(0, |mask, (bit, value)| mask | u8::from(value.is_some()) << bit));
        body.extend(bytes(&eight.iter().flatten().copied().collect::<Vec<_>>()));
    }
    body
}

/// Coefficients and biases of `outputs` outputs with `taps` taps.
fn layer(random: &mut Random, outputs: usize, taps: usize, has_bias: bool) -> (Vec<f16>, Vec<f16>) {
    let weights = numbers(random, outputs * taps, taps);
    let biases = if has_bias { numbers(random, outputs, 4) } else { vec![f16::ZERO; outputs] };
    (weights, biases)
}

fn packed(section: &mut [u8], tasks: &[Registers], (weights, biases): &(Vec<f16>, Vec<f16>)) {
    let taps = weights.len() / biases.len();
    let mut first = 0;
    for registers in tasks.iter().filter(|registers| multiplies(registers)) {
        let count = bits(get(registers, 0x10), 0, 17) as usize * groups(registers);
        let end = first + count;
        pack(section, registers, &weights[first * taps..end * taps], &biases[first..end], &[]);
        first = end;
    }
    assert_eq!(first, biases.len(), "tasks make all outputs");
}

/// Makes the constants of a program.
///
/// # Panics
///
/// If the record asks for something that is not known here.
pub fn make(oracle: &Oracle, random: &mut Random) -> MadeConstants {
    let mut made =
        MadeConstants { section: vec![0; oracle.constant_bytes.max(64)], ..MadeConstants::default() };
    let tasks = registers(&oracle.tasks);
    let number = |name: &str| oracle.mil(name).parse::<usize>().expect("a number");
    let put = |section: &mut Vec<u8>, at: usize, bytes: &[u8]| {
        section[at..at + bytes.len()].copy_from_slice(bytes);
    };
    for how in &oracle.how {
        let (kind, argument) = how.split_once(':').unwrap_or((how, ""));
        match kind {
            "lut" | "lutraw" => {
                let (name, at) = argument.split_once('@').unwrap_or((argument, "0"));
                let table = if kind == "lut" { table(name) } else { described(name) };
                put(&mut made.section, at.parse().expect("an offset"), &table);
            }
            "f16" => {
                let values = argument.split(',').flat_map(|part| {
                    let (value, count) = part.split_once('*').unwrap_or((part, "1"));
                    let value = f16::from_f32(value.parse().expect("a number"));
                    vec![value; count.parse().expect("a count")]
                });
                let values: Vec<f16> = values.collect();
                put(&mut made.section, 0, &bytes(&values));
            }
            "f16row" => {
                made.operand = numbers(random, argument.parse().expect("a count"), 1);
                put(&mut made.section, 0, &bytes(&made.operand));
            }
            "chan" => {
                let count = oracle.constant_bytes / 4;
                made.operand = numbers(random, count, 1);
                for (index, part) in argument.split(',').enumerate() {
                    let (_, value) = part.split_once('=').expect("a value");
                    let values = match value {
                        "const" => made.operand.clone(),
                        value => vec![f16::from_f32(value.parse().expect("a number")); count],
                    };
                    put(&mut made.section, index * 2 * count, &bytes(&values));
                }
            }
            "conv" | "convsparse" => {
                let (kh, kw) = oracle.mil("k").split_once(',').expect("a kernel");
                let kernel = kh.parse::<usize>().expect("rows") * kw.parse::<usize>().expect("columns");
                let inputs = oracle.surfaces[0].shape[1] / number("groups");
                let mut layer =
                    layer(random, oracle.output().shape[1], inputs * kernel, oracle.mil("bias") == "1");
                if oracle.mil("zero_out0") == "1" {
                    let taps = inputs * kernel;
                    // The record's sizes have these zeros left out.
                    let zeros = if taps > 64 { 64 } else { taps };
                    layer.0[..zeros].fill(f16::ZERO);
                }
                packed(&mut made.section, &tasks, &layer);
                made.layers.push(layer);
            }
            "matvec" => {
                let layer = layer(random, number("N"), number("K"), false);
                packed(&mut made.section, &tasks, &layer);
                made.layers.push(layer);
            }
            "ffn" => ffn(oracle, random, &tasks, &mut made),
            _ => assert!(how == "zero" || how.contains('='), "no such constants: {how}"),
        }
    }
    made
}

/// Two layers with a table in between, which lies in front of each chunk of the first. Which hidden channels a task makes
/// follows from where it writes them.
fn ffn(oracle: &Oracle, random: &mut Random, tasks: &[Registers], made: &mut MadeConstants) {
    let number = |name: &str| oracle.mil(name).parse::<usize>().expect("a number");
    let (inputs, hidden, outputs) = (number("K"), number("H"), number("N"));
    let layers = [layer(random, hidden, inputs, true), layer(random, outputs, hidden, true)];
    let lead = table(oracle.mil("act"));
    let mut next = 0;
    for registers in tasks.iter().filter(|registers| multiplies(registers)) {
        let count = bits(get(registers, 0x10), 0, 17) as usize;
        let is_first = bits(get(registers, 0xc804), 16, 2) == 2;
        let (layer, first) = if is_first {
            let interleave = bits(get(registers, 0x17818), 24, 4);
            let plane = get(registers, 0x17804) / get(registers, 0x1780c);
            (&layers[0], (plane * interleave) as usize)
        } else {
            next += count;
            (&layers[1], next - count)
        };
        let taps = layer.0.len() / layer.1.len();
        let (weights, biases) =
            (&layer.0[first * taps..(first + count) * taps], &layer.1[first..first + count]);
        pack(&mut made.section, registers, weights, biases, if is_first { &lead } else { &[] });
    }
    made.layers = layers.into();
}
