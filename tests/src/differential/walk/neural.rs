//! Neural tasks: convolutions with coefficients from anywhere, channel reductions, pass-throughs, tables.

use super::place::{Shape, UsedPlaces};
use super::planar::{geometry, result, source1};
use super::written::Delta;
use super::{CONSTANTS, DATA, MODES, table_at};
use crate::differential::neural::ChannelReads;
use crate::differential::packing::{self, CoefficientFormat, Packing};
use crate::differential::task::{align, half};
use crate::random::Random;

/// Multiply-accumulates that a task may have: the interpreter is slow.
const WORK_MAX: u32 = 60_000;

/// The operation of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NeuralKind {
    Convolution,
    Sum,
    Maximum,
    PassThrough,
}

pub(super) fn task(random: &mut Random, known: &mut UsedPlaces, task: &mut Delta) {
    let kind = [
        NeuralKind::Convolution,
        NeuralKind::Convolution,
        NeuralKind::Sum,
        NeuralKind::Maximum,
        NeuralKind::PassThrough,
    ][random.below(5) as usize];
    let input = known.shape(random);
    let (mut conv, mut plane) = (0x5000_a021, (input.w, input.h));
    if kind == NeuralKind::Convolution {
        (conv, plane) = kernel(random, input);
    }
    let (reads, outputs) = channels(random, kind, input.c);
    let each = match reads {
        ChannelReads::Dense => input.c,
        ChannelReads::Unicast(each) => each,
    };
    let taps = each * (conv & 0x1f) * (conv >> 5 & 0x1f);
    let outputs = match reads {
        ChannelReads::Dense => outputs.min(WORK_MAX / (taps * plane.0 * plane.1)).max(1),
        ChannelReads::Unicast(_) => outputs,
    };
    let output = Shape { c: outputs, h: plane.1, w: plane.0 };
    geometry(task, input, output, 1 + random.below(input.h + 2));
    task.set(0x08, 0x22);
    task.set(0x1c, conv);
    task.set(
        0x24,
        match reads {
            ChannelReads::Dense => 0x0001_0001,
            ChannelReads::Unicast(each) => 0x4001 | each << 16,
        },
    );
    task.set(0x2c, 0);
    let (sh_min, is_transposed) = (random.below(5), random.below(4) == 0);
    task.set(0x34, 0x0400_0001 | sh_min << 12 | u32::from(is_transposed) << 28);
    let padding_mode = u32::from(kind == NeuralKind::Maximum);
    task.set(0x4800, u32::from(random.below(8) == 0) | padding_mode << 2);
    let nonlinearity = if kind == NeuralKind::Convolution { random.below(2) } else { random.below(3) };
    let operation = match kind {
        NeuralKind::Convolution => 0,
        NeuralKind::Sum => 0x8,
        NeuralKind::Maximum => 0xb,
        NeuralKind::PassThrough => 0xc,
    };
    task.set(0xc804, 1 << 20 | nonlinearity << 16 | operation);
    task.set(0xc808, 0);
    // A maximum has no accumulator.
    let has_addend = kind != NeuralKind::Maximum && random.below(4) == 0;
    task.set(0xc80c, if has_addend { half(random).into() } else { 0 });
    task.set(0xc810, if random.below(4) == 0 { half(random).into() } else { 0x3c00 });
    if kind == NeuralKind::Convolution {
        coefficients(random, known, task, outputs, each);
    } else if nonlinearity == 2 {
        table(random, known, task);
    }
    source1(random, known, task, (input, 1), 128 >> sh_min);
    let stored = if is_transposed { output.transposed() } else { output };
    result(random, known, task, stored, 1);
}

/// There is one group: no source says whether a group may read what the one before wrote, and in crowded memory it would.
fn channels(random: &mut Random, kind: NeuralKind, channels: u32) -> (ChannelReads, u32) {
    const OUTPUTS: [u32; 12] = [1, 2, 3, 4, 8, 12, 16, 17, 24, 32, 48, 64];
    if kind == NeuralKind::PassThrough {
        return (ChannelReads::Unicast(1), channels);
    }
    if random.below(4) == 0 {
        let each = 1 + random.below(channels);
        return (ChannelReads::Unicast(each), 1 + random.below(channels / each));
    }
    (ChannelReads::Dense, OUTPUTS[random.below(12) as usize])
}

/// Kernel, stride and padding, large ones too; gives the output's columns and rows.
fn kernel(random: &mut Random, input: Shape) -> (u32, (u32, u32)) {
    let mut axis = |extent: u32| {
        let most = if random.below(8) == 0 { 31 } else { 5 };
        let kernel = 1 + random.below(most);
        let (stride, before) = (1 + random.below(3), random.below(kernel));
        // As many zeros behind as it takes for one output at least.
        let least = kernel.saturating_sub(extent + before);
        let after = (least + random.below(2)).min(kernel - 1);
        let reach = extent + before + after;
        let kernel = kernel.min(reach);
        let out = (reach - kernel) / stride + 1;
        let out = if random.below(4) == 0 { 1 + random.below(out) } else { out };
        (kernel, stride, before.min(kernel - 1), out)
    };
    let (kw, sx, px, width) = axis(input.w);
    let (kh, sy, py, height) = axis(input.h);
    (0x5000_0000 | kw | kh << 5 | sx << 13 | sy << 15 | px << 17 | py << 22, (width, height))
}

/// Chunks of coefficients anywhere in memory, shared or one behind the other (td 7.1, delta 5).
fn coefficients(random: &mut Random, known: &UsedPlaces, task: &mut Delta, outputs: u32, channels: u32) {
    let engines_log2 = random.below(5);
    let conv = task.registers[&0x1c];
    let kernel = packing::Kernel {
        channels,
        extent: (conv & 0x1f, conv >> 5 & 0x1f),
        stride: (conv >> 13 & 3, conv >> 15 & 3),
    };
    let format = match random.below(12) {
        0 => CoefficientFormat::Unsigned,
        1 => CoefficientFormat::Signed,
        _ => CoefficientFormat::Half,
    };
    let has_bias = format == CoefficientFormat::Half && task.registers[&0xc80c] == 0 && random.below(3) == 0;
    let packing = |lanes| Packing {
        lanes,
        engines: 1 << engines_log2,
        outputs,
        groups: 1,
        pads_groups: false,
        kernel,
        has_bias,
        format,
    };
    let fits = |log2: &u32| {
        let packing = packing(1 << log2);
        !packing.is_narrow() && !packing.is_open() && outputs.is_multiple_of(1 << log2)
    };
    let lanes: Vec<u32> = (0..=5).filter(fits).collect();
    let lanes_log2 = lanes[random.below(lanes.len() as u32) as usize];
    let packing = packing(1 << lanes_log2);
    task.add(0x1c, lanes_log2 << 10);
    task.add(0x34, engines_log2 << 19);
    task.add(0xc804, if has_bias { 0x10 } else { 0 } | if random.below(2) == 0 { 0x1c00 } else { 0 });
    let format = match format {
        CoefficientFormat::Unsigned => 0x80,
        CoefficientFormat::Signed => 0x81,
        _ => 0x82,
    };
    task.set(0xc800, format | random.below(2) << 16);
    task.set(0x1_f800, 0x40);
    let whole = align(packing.chunk_bytes(0), 64);
    // The address of something that an earlier task read or wrote, of the constants, or any address.
    let recent = known.memory.len().checked_sub(1 + random.below(3) as usize);
    let at = match (recent, random.below(3)) {
        (Some(recent), 0) => known.memory[recent].1.at,
        (_, 1) => CONSTANTS.0 + 64 * random.below(CONSTANTS.1 / 64),
        _ => DATA.0 + 64 * random.below(DATA.1 / 64),
    };
    let (base, room) = if at < DATA.0 { CONSTANTS } else { DATA };
    let is_shared = random.below(4) == 0 || packing.used() * whole > room;
    let total = if is_shared { whole } else { packing.used() * whole };
    let at = at.clamp(base, base + room.saturating_sub(total));
    let (bar, offset) = known.bar(random, at);
    task.kernels = if bar == 1 { random.below(2) << 5 | bar } else { bar | 1 << 5 };
    for engine in 0..16 {
        let is_used = engine < packing.used();
        task.set(0x1_f808 + 4 * engine, if is_used { 0x81 } else { 0x80 });
        if is_used {
            task.set(0x1_f848 + 4 * engine, offset + if is_shared { 0 } else { engine * whole });
            // As long as it is, and no longer: the device tells by this how planes are dealt (td 7.1).
            task.set(0x1_f888 + 4 * engine, align(packing.chunk_bytes(engine), 64));
        }
    }
}

/// One of the tables, or what an earlier task made of one: then it is refused mostly.
fn table(random: &mut Random, known: &UsedPlaces, task: &mut Delta) {
    let recent = known.memory.last().filter(|_| random.below(16) == 0);
    let at = recent.map_or(table_at(random.below(MODES.len() as u32)), |known| known.1.at);
    let (bar, offset) = known.bar(random, at);
    let engines_log2 = random.below(5);
    task.kernels = bar | 1 << 5;
    task.add(0x34, engines_log2 << 19);
    task.set(0x1_f800, 0x40);
    for engine in 0..16 {
        task.set(0x1_f808 + 4 * engine, if engine < 1 << engines_log2 { 0x81 } else { 0x80 });
        task.set(0x1_f848 + 4 * engine, offset);
        task.set(0x1_f888 + 4 * engine, 0x80);
    }
}
