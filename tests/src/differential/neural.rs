//! Random neural tasks: convolutions of every kind, channel sums and maxima, pass-throughs, tables.

use super::packing::{CoefficientFormat, Kernel, Packing};
use super::random_case::{CONSTANTS, CaseMaker, Shape, Times};
use super::task::{TaskDraft, align, half};
use crate::random::Random;

/// A grouped task whose channels have the same sizes with either padding, so that it is refused.
pub const UNKNOWN_PADDING: &str = "padding that no size shows";

/// How the outputs read channels of their group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ChannelReads {
    Dense,
    Unicast(u32),
}

pub fn task(making: &mut CaseMaker<'_>, is_last: bool) -> TaskDraft {
    let mut task = TaskDraft { flags: 0x3000_9800, ..TaskDraft::default() };
    let kind = making.random.below(5);
    let (input, width, times) = source(making);
    let (reads, outputs) = channels(making.random, kind, input.c);
    let (columns, rows) = if kind < 2 { kernel(making, &mut task, input) } else { (input.w, input.h) };
    let mut output = Shape { c: outputs, h: rows, w: columns };
    if kind >= 2 {
        task.set(0x1c, 0x5000_a021);
    }
    if kind == 4 && making.passed.is_none() && making.feature(4, "pass-through of other extents") {
        making.may_pass = false;
        output.h = (output.h + making.random.below(4)).saturating_sub(2).max(1);
        output.w = (output.w + making.random.below(8)).saturating_sub(4).max(1);
    }
    let stored_width = if making.feature(8, "result of bytes") { 1 } else { 2 };
    geometry(&mut task, input, output, times);
    task.set(0x08, making.format(width) | making.format(stored_width) << 4);
    task.set(0x20, 0x2041);
    let unicast = match reads {
        ChannelReads::Dense => 1 << 16,
        ChannelReads::Unicast(channels) => 1 << 14 | channels << 16,
    };
    task.set(0x24, unicast | times.groups);
    task.set(0x28, 1 + making.random.below(8));
    let (sh_min, inert) = (making.random.below(5), u32::from(making.random.below(8) == 0) << 23);
    task.set(0x34, 0x0400_0001 | sh_min << 12 | inert);
    let (scale, mode) = (post_scale(making.random), nonlinearity(making, kind));
    task.set(0xc810, scale);
    if kind == 4 {
        // A pass-through goes around the accumulator.
        task.set(0xc80c, making.random.word() & 0xffff);
    } else if kind < 3 && making.feature(4, "accumulator bias") {
        task.set(0xc80c, half(making.random).into());
    }
    match kind {
        0 | 1 => {
            let reads = match reads {
                ChannelReads::Dense => input.c,
                ChannelReads::Unicast(channels) => channels,
            };
            coefficients(making, &mut task, (outputs, times.groups), reads, mode == 2);
            *task.registers.entry(0xc804).or_default() |= mode << 16 | 1 << 20;
        }
        2 => task.set(0xc804, 0x0010_0008 | mode << 16),
        3 => {
            task.set(0xc804, 0x0010_000b | mode << 16);
            task.set(0x4800, 4);
        }
        _ => task.set(0xc804, 0x0010_000c | mode << 16),
    }
    if mode == 2 && kind >= 2 {
        let table = table(making);
        place_table(making, &mut task, &table);
    }
    if making.random.below(8) == 0 {
        *task.registers.entry(0x4800).or_default() |= 1;
    }
    making.source1(&mut task, input, width, times, 128 >> sh_min);
    if (output.h, output.w) != (input.h, input.w) && kind == 4 {
        // The two engines do not agree on whether more of such a source than the overlap stays on chip.
        making.on_chip = None;
    }
    let transposes = making.random.below(4) == 0;
    *task.registers.entry(0x34).or_default() |= u32::from(transposes) << 28;
    let written = Shape { c: outputs, h: output.h.min(rows), w: output.w.min(columns) };
    let stored = if transposes { written.transposed() } else { written };
    making.result(&mut task, stored, stored_width, times, is_last);
    task
}

/// The source of a task: a result that the one before passes on or left on chip, or memory.
pub(super) fn source(making: &mut CaseMaker<'_>) -> (Shape, u32, Times) {
    if let Some((shape, width)) = making.passed {
        return (shape, width, Times::ONCE);
    }
    if let Some(kept) = making.on_chip.filter(|_| making.random.below(2) == 0) {
        return (kept.shape, kept.width, Times::ONCE);
    }
    making.on_chip = None;
    let width = if making.feature(8, "source of bytes") { 1 } else { 2 };
    let groups = if making.feature(4, "groups") { 2 + making.random.below(2) } else { 1 };
    let depths = if making.feature(12, "depth") { 2 + making.random.below(2) } else { 1 };
    (shape(making.random), width, Times { groups, depths })
}

/// Extents, and the words that are the same in every task.
pub(super) fn geometry(task: &mut TaskDraft, input: Shape, output: Shape, times: Times) {
    task.set(0x00, input.w | input.h << 16);
    task.set(0x04, times.depths);
    task.set(0x0c, input.c);
    task.set(0x10, output.c);
    task.set(0x14, output.w | output.h << 16);
    task.set(0x18, times.depths);
}

fn shape(random: &mut Random) -> Shape {
    Shape { c: 1 + random.below(10), h: 1 + random.below(6), w: 1 + random.below(20) }
}

/// How outputs read channels, and how many there are.
fn channels(random: &mut Random, kind: u32, channels: u32) -> (ChannelReads, u32) {
    if kind == 4 {
        return (ChannelReads::Unicast(1), channels);
    }
    if random.below(3) == 0 {
        let width = 1 + random.below(channels);
        return (ChannelReads::Unicast(width), channels / width);
    }
    (ChannelReads::Dense, 1 + random.below(9))
}

/// Kernel, stride and padding; gives the output's width and height.
fn kernel(making: &mut CaseMaker<'_>, task: &mut TaskDraft, input: Shape) -> (u32, u32) {
    let steps = if making.feature(8, "two columns side by side") { 2 } else { 1 };
    let mut axis = |extent: u32, stride: u32| {
        let random = &mut *making.random;
        let kernel = 1 + random.below(extent.min(4));
        let stride = 1 + random.below(stride);
        let pad = random.below(kernel);
        let trailing = random.below(kernel);
        let out = (extent + pad + trailing - kernel) / stride + 1;
        (kernel, stride, pad, out)
    };
    let (kw, sx, px, width) = axis(input.w, if steps == 2 { 1 } else { 3 });
    let (kh, sy, py, height) = axis(input.h, if steps == 2 { 1 } else { 3 });
    task.set(0x1c, 1 << 30 | steps << 28 | kw | kh << 5 | sx << 13 | sy << 15 | px << 17 | py << 22);
    (width, height)
}

fn post_scale(random: &mut Random) -> u32 {
    match random.below(4) {
        0 => half(random).into(),
        _ => 0x3c00,
    }
}

fn nonlinearity(making: &mut CaseMaker<'_>, kind: u32) -> u32 {
    match (making.random.below(4), kind) {
        (0, _) => 1,
        (1, 2..) => 2,
        (1, _) if making.feature(2, "table beside coefficients") => 2,
        _ => 0,
    }
}

/// Coefficients in the engine's packing (td 7.1, delta 5).
fn coefficients(
    making: &mut CaseMaker<'_>,
    task: &mut TaskDraft,
    (outputs, groups): (u32, u32),
    channels: u32,
    has_table: bool,
) {
    let conv = task.registers[&0x1c];
    let steps = conv >> 28 & 3;
    let outputs = outputs * steps;
    let lanes_log2 = making.random.below(5);
    let engines_log2 = making.random.below(5);
    let kernel = Kernel {
        channels,
        extent: ((conv & 0x1f) + steps - 1, conv >> 5 & 0x1f),
        stride: (conv >> 13 & 3, conv >> 15 & 3),
    };
    let (lanes, engines) = (steps << lanes_log2, 1 << engines_log2);
    let mut packing = Packing {
        lanes,
        engines,
        outputs,
        groups,
        pads_groups: false,
        kernel,
        has_bias: false,
        format: CoefficientFormat::Half,
    };
    let lanes_log2 = if packing.is_narrow() {
        making.features.push("planes narrower than the lanes");
        lanes_log2
    } else {
        let may_be_ragged = making.random.below(4) == 0;
        let fits = (0..=lanes_log2).rev().find(|log2| {
            let packing = Packing { lanes: steps << log2, ..packing };
            *log2 == 0 || ((may_be_ragged || !packing.is_ragged()) && !packing.is_open())
        });
        fits.expect("planes of one lane fit")
    };
    packing.lanes = steps << lanes_log2;
    if packing.is_ragged() {
        making.features.push("plane that is not full");
    }
    let small = making.random.below(2);
    packing.format = format(making, packing, steps, small);
    // Reading: what begins the sum is a bias row or the accumulator's bias.
    let has_addend = task.registers.get(&0xc80c).is_some_and(|addend| *addend != 0);
    let is_bytes = matches!(packing.format, CoefficientFormat::Unsigned | CoefficientFormat::Signed);
    packing.has_bias = !is_bytes && !has_addend && making.random.below(3) == 0;
    let is_sparse = matches!(packing.format, CoefficientFormat::Sparse(_));
    if !is_sparse && packing.shows_padding() {
        if packing.hides_padding() {
            making.features.push(UNKNOWN_PADDING);
        } else if making.random.below(8) != 0 {
            packing.pads_groups = true;
            making.features.push("padding of groups");
        }
    }
    task.set(0x1c, conv | lanes_log2 << 10);
    *task.registers.entry(0x34).or_default() |= engines_log2 << 19 | small << 2;
    task.set(0x1_f800, if is_sparse { 0x60 } else { 0x40 });
    task.kernels = CONSTANTS | 1 << 5;
    // Reading: the engines have one table, in as many places.
    let table = has_table.then(|| table(making));
    for engine in 0..packing.used() {
        let at = align(making.constants.len() as u32, 64);
        making.constants.resize(at as usize, 0);
        let chunk = packing.chunk(engine, table.as_deref(), making.random);
        task.set(0x1_f808 + 4 * engine, 0x81);
        task.set(0x1_f848 + 4 * engine, at);
        task.set(0x1_f888 + 4 * engine, align(chunk.len() as u32, 64));
        making.constants.extend(chunk);
    }
    let format = match packing.format {
        CoefficientFormat::Half => 0x82,
        CoefficientFormat::Unsigned => 0x80,
        CoefficientFormat::Signed => 0x81,
        CoefficientFormat::Sparse(_) => 0x182,
    };
    task.set(0xc800, format);
    let binary_point = if making.random.below(2) == 0 { 0x1c00 } else { 0 };
    task.set(0xc804, u32::from(packing.has_bias) << 4 | binary_point);
}

fn format(making: &mut CaseMaker<'_>, packing: Packing, steps: u32, small: u32) -> CoefficientFormat {
    match making.random.below(8) {
        0 => return CoefficientFormat::Unsigned,
        1 => {
            making.features.push("signed bytes");
            return CoefficientFormat::Signed;
        }
        2 | 3 => {}
        _ => return CoefficientFormat::Half,
    }
    let counted = match packing.width() {
        1 => [2, 4][small as usize],
        width @ 4.. => width,
        _ => return CoefficientFormat::Half,
    };
    if steps != 1 || packing.is_narrow() || packing.is_ragged() {
        return CoefficientFormat::Half;
    }
    making.features.push("sparse coefficients");
    CoefficientFormat::Sparse(counted)
}

/// Modes of activation tables, each with the first and the number of its spacings (td 7.4).
pub(super) const MODES: [(u16, u32, u32); 12] = [
    (0x01, 0, 8),
    (0x00, 0, 8),
    (0x60, 0, 6),
    (0x61, 0, 6),
    (0x0a, 0, 6),
    (0xc5, 0, 5),
    (0xc6, 0, 5),
    (0x67, 0, 7),
    (0xc9, 0, 7),
    (0x02, 0, 8),
    (0x63, 0, 8),
    (0x64, 0, 8),
];

/// Modes that were known before the others: the first of them.
pub(super) const FIRST_MODES: u32 = 9;

/// A table of noise in one of the modes.
fn table(making: &mut CaseMaker<'_>) -> Vec<u16> {
    let modes = if making.feature(3, "table modes 2, 3 and 4") { 9..12 } else { 0..FIRST_MODES };
    let (mode, least, end) = MODES[(modes.start + making.random.below(modes.end - modes.start)) as usize];
    let mut halfwords: Vec<u16> = (0..64).map(|_| half(making.random)).collect();
    // A domain that some values are inside of.
    halfwords[0] = [0xc800, 0x0000, 0xfc00, 0x8001][making.random.below(4) as usize];
    halfwords[1] = [0x4800, 0x5000, 0x7c00][making.random.below(3) as usize];
    halfwords[41] = (least + making.random.below(end)) as u16;
    halfwords[42] = mode;
    if matches!(mode & 0xf, 3 | 4) {
        // The fraction and the whole part have no use for knots and slopes.
        halfwords[4..41].fill(0);
    }
    halfwords
}

/// A table that no coefficients go with.
fn place_table(making: &mut CaseMaker<'_>, task: &mut TaskDraft, table: &[u16]) {
    let at = align(making.constants.len() as u32, 64);
    making.constants.resize(at as usize, 0);
    making.constants.extend(table.iter().flat_map(|halfword| halfword.to_le_bytes()));
    task.set(0x1_f800, 0x40);
    task.set(0x1_f808, 0x81);
    task.set(0x1_f848, at);
    task.set(0x1_f888, 0x80);
    task.kernels = CONSTANTS | 1 << 5;
}
