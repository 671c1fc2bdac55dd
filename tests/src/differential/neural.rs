//! Random neural tasks: convolutions of every kind, channel sums and maxima, pass-throughs, tables.

use super::random_case::{CONSTANTS, Making, Shape};
use super::task::{Task, align, half};
use crate::random::Random;

/// How the outputs read channels.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    Dense,
    Grouped(u32),
    Unicast(u32),
}

/// A random task.
pub fn task(making: &mut Making<'_>, is_last: bool) -> Task {
    let mut task = Task { flags: 0x3000_9800, ..Task::default() };
    let kind = making.random.below(5);
    let input = making.on_chip.map_or_else(|| shape(making.random), |kept| kept.shape);
    let (reads, outputs) = channels(making.random, kind, input.c);
    let (width, height) = if kind < 2 { kernel(making.random, &mut task, input) } else { (input.w, input.h) };
    if kind >= 2 {
        task.set(0x1c, 0x5000_a021);
    }
    let output = Shape { c: outputs, h: height, w: width };
    task.set(0x00, input.w | input.h << 16);
    task.set(0x04, 1);
    task.set(0x08, 0x22);
    task.set(0x0c, input.c);
    task.set(0x10, outputs);
    task.set(0x14, width | height << 16);
    task.set(0x18, 1);
    task.set(0x20, 0x2041);
    task.set(
        0x24,
        match reads {
            Reads::Dense => 0x0001_0001,
            Reads::Grouped(groups) => 0x0001_0000 | groups,
            Reads::Unicast(channels) => 0x4001 | channels << 16,
        },
    );
    task.set(0x28, 1 + making.random.below(8));
    let sh_min = making.random.below(5);
    task.set(0x34, 0x0400_0001 | sh_min << 12);
    let (scale, mode) = (post_scale(making.random), nonlinearity(making.random, kind));
    task.set(0xc810, scale);
    let input_channels = match reads {
        Reads::Dense => input.c,
        Reads::Grouped(groups) => input.c / groups,
        Reads::Unicast(channels) => channels,
    };
    match kind {
        0 | 1 => {
            coefficients(making, &mut task, outputs, input_channels);
            *task.registers.entry(0xc804).or_default() |= mode << 16 | 1 << 20;
        }
        2 => task.set(0xc804, 0x0010_0008 | mode << 16),
        3 => {
            task.set(0xc804, 0x0010_000b | mode << 16);
            task.set(0x4800, 4);
        }
        _ => task.set(0xc804, 0x0010_000c | mode << 16),
    }
    if mode == 2 {
        table(making, &mut task);
    }
    if making.random.below(8) == 0 {
        *task.registers.entry(0x4800).or_default() |= 1;
    }
    making.source1(&mut task, input, 1, 128 >> sh_min);
    let transposes = making.random.below(4) == 0;
    *task.registers.entry(0x34).or_default() |= u32::from(transposes) << 28;
    let stored = if transposes { Shape { c: output.w, h: output.h, w: output.c } } else { output };
    making.result(&mut task, stored, 1, is_last);
    task
}

fn shape(random: &mut Random) -> Shape {
    Shape { c: 1 + random.below(10), h: 1 + random.below(6), w: 1 + random.below(20) }
}

/// How outputs read channels, and how many there are.
fn channels(random: &mut Random, kind: u32, channels: u32) -> (Reads, u32) {
    if kind == 4 {
        return (Reads::Unicast(1), channels);
    }
    match random.below(3) {
        0 => {
            let width = 1 + random.below(channels);
            (Reads::Unicast(width), channels / width)
        }
        1 if kind < 2 && channels.is_multiple_of(2) => (Reads::Grouped(2), 2 * (1 + random.below(4))),
        _ => (Reads::Dense, 1 + random.below(9)),
    }
}

/// Kernel, stride and padding; gives the output's width and height.
fn kernel(random: &mut Random, task: &mut Task, input: Shape) -> (u32, u32) {
    let mut axis = |extent: u32| {
        let kernel = 1 + random.below(extent.min(4));
        let stride = 1 + random.below(3);
        let pad = random.below(kernel);
        let trailing = random.below(kernel);
        let out = (extent + pad + trailing - kernel) / stride + 1;
        (kernel, stride, pad, out)
    };
    let (kw, sx, px, width) = axis(input.w);
    let (kh, sy, py, height) = axis(input.h);
    task.set(0x1c, 0x5000_0000 | kw | kh << 5 | sx << 13 | sy << 15 | px << 17 | py << 22);
    (width, height)
}

fn post_scale(random: &mut Random) -> u32 {
    match random.below(4) {
        0 => half(random).into(),
        _ => 0x3c00,
    }
}

fn nonlinearity(random: &mut Random, kind: u32) -> u32 {
    match (random.below(4), kind) {
        (0, _) => 1,
        (1, 2..) => 2,
        _ => 0,
    }
}

/// Coefficients in the engine's packing (td 7.1).
fn coefficients(making: &mut Making<'_>, task: &mut Task, outputs: u32, input_channels: u32) {
    let conv = task.registers[&0x1c];
    let taps = input_channels * (conv & 0x1f) * (conv >> 5 & 0x1f);
    let lanes_log2 = (0..=3).filter(|log2| outputs.is_multiple_of(1 << log2)).max().unwrap_or(0);
    let lanes_log2 = making.random.below(lanes_log2 + 1);
    let lanes = 1 << lanes_log2;
    let engines_log2 = making.random.below(5);
    let engines = 1 << engines_log2;
    let is_bytes = making.random.below(6) == 0;
    let has_bias = !is_bytes && making.random.below(3) == 0;
    let size = if is_bytes { 1 } else { 2 };
    let slot = (taps + u32::from(has_bias)) * lanes * size;
    let planes = outputs / lanes;
    task.set(0x1c, conv | lanes_log2 << 10);
    *task.registers.entry(0x34).or_default() |= engines_log2 << 19;
    task.set(0x1_f800, 0x40);
    task.kernels = CONSTANTS | 1 << 5;
    for engine in 0..engines.min(planes) {
        let slots = (planes - engine).div_ceil(engines);
        let at = align(making.constants.len() as u32, 64);
        making.constants.resize(at as usize, 0);
        let halves = (slots * slot).div_ceil(2);
        for _ in 0..halves {
            let bytes = half(making.random).to_le_bytes();
            making.constants.extend(bytes);
        }
        task.set(0x1_f808 + 4 * engine, 0x81);
        task.set(0x1_f848 + 4 * engine, at);
        task.set(0x1_f888 + 4 * engine, align(slots * slot, 64));
    }
    task.set(0xc800, if is_bytes { 0x80 } else { 0x82 });
    task.set(0xc804, if has_bias { 0x10 } else { 0 } | if making.random.below(2) == 0 { 0x1c00 } else { 0 });
}

/// Modes of activation tables, each with the first and the number of its spacings (td 7.4).
pub(super) const MODES: [(u16, u32, u32); 9] = [
    (0x01, 0, 8),
    (0x00, 0, 8),
    (0x60, 0, 6),
    (0x61, 0, 6),
    (0x0a, 0, 6),
    (0xc5, 0, 5),
    (0xc6, 0, 5),
    (0x67, 0, 7),
    (0xc9, 0, 7),
];

/// A table of noise in one of the modes.
fn table(making: &mut Making<'_>, task: &mut Task) {
    let at = align(making.constants.len() as u32, 64);
    making.constants.resize(at as usize, 0);
    let (mode, least, end) = MODES[making.random.below(9) as usize];
    let mut halfwords: Vec<u16> = (0..64).map(|_| half(making.random)).collect();
    // A domain that some values are inside of.
    halfwords[0] = [0xc800, 0x0000, 0xfc00, 0x8001][making.random.below(4) as usize];
    halfwords[1] = [0x4800, 0x5000, 0x7c00][making.random.below(3) as usize];
    halfwords[41] = (least + making.random.below(end)) as u16;
    halfwords[42] = mode;
    making.constants.extend(halfwords.into_iter().flat_map(u16::to_le_bytes));
    task.set(0x1_f800, 0x40);
    task.set(0x1_f808, 0x81);
    task.set(0x1_f848, at);
    task.set(0x1_f888, 0x80);
    task.kernels = CONSTANTS | 1 << 5;
}
