//! Random planar tasks: every class, with broadcasts, batches and constants.

use super::neural::{geometry, source};
use super::random_case::{CaseMaker, Shape};
use super::task::{TaskDraft, half};
use crate::random::Random;

pub fn task(making: &mut CaseMaker<'_>, is_last: bool) -> TaskDraft {
    let mut task = TaskDraft { flags: 0x3000_9800, ..TaskDraft::default() };
    // Copy, binary, normalise, reduce, binary then reduce.
    let class = 2 + making.random.below(5);
    let is_binary = matches!(class, 3 | 4 | 6);
    let reduces = class >= 5;
    let (stored, width, times) = source(making);
    let is_kept = making.passed.is_some() || making.on_chip.is_some();
    // A source on chip is taken whole; a source in memory may be stretched.
    let mut map = if is_kept { 0 } else { axes(making.random) };
    if width == 2 && making.feature(6, "transposed source 1") {
        map |= 1 << 8;
    }
    let shape = if map & 1 << 8 != 0 { stored.transposed() } else { stored };
    if is_binary {
        map |= axes(making.random) << 4;
    }
    if is_binary && making.feature(if class == 4 { 2 } else { 6 }, "transposed source 2") {
        map |= 1 << 9;
    }
    if class == 4 && !(shape.h == 1 && making.feature(2, "one row and its factors")) && map & 1 << 9 == 0 {
        map |= 1 << 5;
    }
    if times.depths == 1 && making.feature(8, "broadcast along depth") {
        map |= 1 << if is_binary { 2 + 4 * making.random.below(2) } else { 2 };
    }
    let transposes = making.random.below(4) == 0;
    let width_log2 = making.random.below(6);
    let stored_width = if making.feature(8, "result of bytes") { 1 } else { 2 };
    geometry(&mut task, shape, shape, times);
    let second_width = if is_binary && making.feature(6, "source 2 of bytes") { 1 } else { 2 };
    let second_format = if is_binary { making.format(second_width) << 2 } else { 0 };
    task.set(0x08, making.format(width) | second_format | making.format(stored_width) << 4);
    task.set(0x1c, 0x5000_a021);
    task.set(0x24, 0x0001_0000 | times.groups);
    task.set(0x28, 1 + making.random.below(8));
    task.set(0x2c, width_log2);
    task.set(0x30, map | u32::from(transposes) << 10);
    task.set(0x34, class << 4 | 1);
    constants(making.random, &mut task, is_binary, reduces, class);
    if !reduces && making.feature(5, "magnitude") {
        *task.registers.entry(0x8800).or_default() |= 1 << 6;
    }
    if is_binary && making.feature(5, "ReLU on source 2") {
        *task.registers.entry(0x4800).or_default() |= 1 << 4;
    }
    let first = broadcast(shape, map);
    let first = if map & 1 << 8 != 0 { first.transposed() } else { first };
    making.source1(&mut task, first, width, times, 1 << width_log2);
    if is_binary {
        let second = source2(shape, map, class);
        making.source2(&mut task, second, second_width, times);
    }
    let result = if reduces { Shape { h: 1, w: 1, ..shape } } else { shape };
    let stored = if transposes { result.transposed() } else { result };
    making.result(&mut task, stored, stored_width, times, is_last);
    task
}

/// The extents of source 2 as it is stored. That of class 4 has its factors in a second row, and where it lies
/// transposed, a column for each channel.
pub(super) const fn source2(shape: Shape, map: u32, class: u32) -> Shape {
    let second = broadcast(shape, map >> 4);
    match (class, map & 1 << 9 != 0) {
        (4, true) => Shape { h: 2, w: 1, ..second }.transposed(),
        (4, false) => Shape { h: 2, ..second },
        (_, true) => second.transposed(),
        (_, false) => second,
    }
}

/// Axes along which a source is broadcast: columns, rows, channels.
pub(super) fn axes(random: &mut Random) -> u32 {
    random.below(16) & random.below(16) & 0b1011
}

/// The extents of a source that is broadcast so.
pub(super) const fn broadcast(shape: Shape, map: u32) -> Shape {
    Shape {
        w: if map & 1 != 0 { 1 } else { shape.w },
        h: if map & 2 != 0 { 1 } else { shape.h },
        c: if map & 8 != 0 { 1 } else { shape.c },
    }
}

fn constants(random: &mut Random, task: &mut TaskDraft, is_binary: bool, reduces: bool, class: u32) {
    let operation = match (class, is_binary) {
        (4, _) => 0,
        (_, true) => random.below(5),
        (_, false) => 4 * random.below(2),
    };
    let second = if is_binary { 2 + random.below(2) } else { 0 };
    let (reduction, post) = if reduces { (2 * random.below(2), random.below(3)) } else { (0, 0) };
    // A task that reduces is a maximum task if it does so by maxima. A task on elements, or on sums of maxima, may be
    // either.
    let is_maximum = reduction == 2 || (operation == 2 || !reduces) && random.below(2) == 0;
    task.set(0x4800, u32::from(is_maximum) << 2);
    let relu = u32::from(random.below(4) == 0);
    let negates = u32::from(random.below(4) == 0);
    task.set(0x8800, reduction | operation << 2 | relu << 5 | post << 12 | negates << 16 | second << 18);
    let mut constant = |usual: u16| if random.below(3) == 0 { half(random) } else { usual };
    let (bias, scale, pre_scale) = (constant(0), constant(0x3c00), constant(0x3c00));
    let epsilon = if reduces { constant(0) } else { 0 };
    task.set(0x8804, u32::from(bias) | u32::from(scale) << 16);
    task.set(0x8808, u32::from(epsilon) | u32::from(pre_scale) << 16);
    let final_scale = if random.below(3) == 0 { random.word() } else { 1.0_f32.to_bits() };
    task.set(0x880c, final_scale);
}
