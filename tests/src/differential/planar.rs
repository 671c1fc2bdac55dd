//! Random planar tasks: every class, with broadcasts, batches and constants.

use super::random_case::{Making, Shape};
use super::task::{Task, half};
use crate::random::Random;

/// A random task.
pub fn task(making: &mut Making<'_>, is_last: bool) -> Task {
    let mut task = Task { flags: 0x3000_9800, ..Task::default() };
    // Copy, binary, normalise, reduce, binary then reduce.
    let class = 2 + making.random.below(5);
    let is_binary = matches!(class, 3 | 4 | 6);
    let reduces = class >= 5;
    let kept = making.on_chip.filter(|_| making.random.below(2) == 0).map(|kept| kept.shape);
    making.on_chip = making.on_chip.filter(|_| kept.is_some());
    let shape = kept.unwrap_or_else(|| Shape {
        c: 1 + making.random.below(8),
        h: 1 + making.random.below(5),
        w: 1 + making.random.below(20),
    });
    let batches = if kept.is_none() && making.random.below(4) == 0 { 1 + making.random.below(3) } else { 1 };
    let mut map = if kept.is_none() { axes(making.random) } else { 0 };
    if is_binary {
        map |= axes(making.random) << 4;
    }
    if class == 4 {
        map |= 1 << 5;
    }
    let transposes = making.random.below(4) == 0;
    let width_log2 = making.random.below(6);
    task.set(0x00, shape.w | shape.h << 16);
    task.set(0x04, 1);
    task.set(0x08, if is_binary { 0x2a } else { 0x22 });
    task.set(0x0c, shape.c);
    task.set(0x10, shape.c);
    task.set(0x14, shape.w | shape.h << 16);
    task.set(0x18, 1);
    task.set(0x1c, 0x5000_a021);
    task.set(0x24, 0x0001_0000 | batches);
    task.set(0x28, 1 + making.random.below(8));
    task.set(0x2c, width_log2);
    task.set(0x30, map | u32::from(transposes) << 10);
    task.set(0x34, class << 4 | 1);
    constants(making.random, &mut task, is_binary, reduces, class);
    making.source1(&mut task, broadcast(shape, map), batches, 1 << width_log2);
    if is_binary {
        let mut second = broadcast(shape, map >> 4);
        if class == 4 {
            second.h = 2;
        }
        making.source2(&mut task, second, batches);
    }
    let result = if reduces { Shape { h: 1, w: 1, ..shape } } else { shape };
    let stored = if transposes { Shape { c: result.w, h: result.h, w: result.c } } else { result };
    making.result(&mut task, stored, batches, is_last);
    task
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

fn constants(random: &mut Random, task: &mut Task, is_binary: bool, reduces: bool, class: u32) {
    let operation = match (class, is_binary) {
        (4, _) => 0,
        (_, true) => random.below(5),
        (_, false) => 4 * random.below(2),
    };
    let second = if is_binary { 2 + random.below(2) } else { 0 };
    let (reduction, post) = if reduces { (2 * random.below(2), random.below(3)) } else { (0, 0) };
    // A maximum of elements is a maximum task or not; one that reduces is.
    let is_maximum = reduction == 2 || operation == 2 && random.below(2) == 0;
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
