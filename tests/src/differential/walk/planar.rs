//! Planar tasks, and the operands and results that neural ones have as well.

use super::place::{PlaceInMemory, PlaceOnChip, Shape, UsedPlaces};
use super::written::Delta;
use crate::differential::planar::{axes, broadcast, source2 as extents};
use crate::differential::task::{align, half};
use crate::random::Random;

/// Copies, binary operations, normalisations and reductions, with broadcast and batches.
pub(super) fn task(random: &mut Random, known: &mut UsedPlaces, task: &mut Delta) {
    let class = 2 + random.below(5);
    let is_binary = matches!(class, 3 | 4 | 6);
    let reduces = class >= 5;
    let batches = if random.below(5) == 0 { 2 + random.below(3) } else { 1 };
    let whole = known.shape(random);
    let shape = if batches == 1 { whole } else { Shape { h: 1, ..whole } };
    let mut map = axes(random) | if is_binary { axes(random) << 4 } else { 0 };
    let is_turned = [random.below(6) == 0, is_binary && random.below(4) == 0];
    map |= u32::from(is_turned[0]) << 8 | u32::from(is_turned[1]) << 9;
    // Rows of class 4 are two, whatever the others have; of one row, or turned, this needs no saying.
    let needs_saying = !is_turned[1] && (shape.h > 1 || random.below(2) == 0);
    map |= u32::from(class == 4 && needs_saying) << 5;
    let is_transposed = random.below(4) == 0;
    let patch = random.below(8);
    geometry(task, shape, shape, 1 + random.below(shape.h + 2));
    task.set(0x08, if is_binary { 0x2a } else { 0x22 });
    task.set(0x1c, 0x5000_a021);
    task.set(0x24, 0x0001_0000 | batches);
    task.set(0x2c, patch);
    task.set(0x30, map | u32::from(is_transposed) << 10);
    task.set(0x34, class << 4 | 1);
    arithmetic(random, task, (class, is_binary, reduces));

    let first = broadcast(shape, map);
    let first = if is_turned[0] { first.transposed() } else { first };
    source1(random, known, task, (first, batches), 1 << patch);
    if is_binary {
        source2(random, known, task, extents(shape, map, class), batches);
    }
    let result_shape = if reduces { Shape { h: 1, w: 1, ..shape } } else { shape };
    let stored = if is_transposed { result_shape.transposed() } else { result_shape };
    result(random, known, task, stored, batches);
}

fn arithmetic(random: &mut Random, task: &mut Delta, (class, is_binary, reduces): (u32, bool, bool)) {
    let operation = match (class, is_binary) {
        (4, _) => 0,
        (_, true) => random.below(5),
        (_, false) => 4 * random.below(2),
    };
    let selector = if is_binary { 2 + random.below(2) } else { 0 };
    let (reduction, post) = if reduces { (2 * random.below(2), random.below(3)) } else { (0, 0) };
    let relu2 = u32::from(is_binary && random.below(6) == 0);
    task.set(0x4800, u32::from(reduction == 2) << 2 | relu2 << 4 | random.below(2) << 8);
    let relu = u32::from(random.below(4) == 0);
    let negates = u32::from(random.below(4) == 0);
    let magnitude = u32::from(!reduces && random.below(6) == 0);
    task.set(
        0x8800,
        reduction | operation << 2 | relu << 5 | magnitude << 6 | post << 12 | negates << 16 | selector << 18,
    );
    let mut constant = |usual: u16| u32::from(if random.below(3) == 0 { half(random) } else { usual });
    task.set(0x8804, constant(0) | constant(0x3c00) << 16);
    task.set(0x8808, if reduces { constant(0) } else { 0 } | constant(0x3c00) << 16);
    let final_scale =
        if random.below(3) == 0 { f32::from_bits(0x3d00_0000 + random.below(1 << 26)) } else { 1.0 };
    task.set(0x880c, final_scale.to_bits());
}

/// Extents, and the words that are the same in every task.
pub(super) fn geometry(task: &mut Delta, input: Shape, output: Shape, tile_height: u32) {
    task.set(0x00, input.w | input.h << 16);
    task.set(0x04, 1);
    task.set(0x0c, input.c);
    task.set(0x10, output.c);
    task.set(0x14, output.w | output.h << 16);
    task.set(0x18, 1);
    task.set(0x28, tile_height);
}

/// Where source 1 comes from, and what is left of it on chip; `tile` columns make a row of a window.
pub(super) fn source1(
    random: &mut Random,
    known: &mut UsedPlaces,
    task: &mut Delta,
    (shape, batches): (Shape, u32),
    tile: u32,
) {
    let kind = if known.chip.is_empty() { 1 + random.below(2) } else { random.below(3) };
    task.set(0x4804, 0x0050_0170 | kind);
    if kind == 0 {
        let place = known.on_chip(random, shape, batches);
        set_chip(task, 0x4808, place);
        return;
    }
    let place = known.in_memory(random, shape, batches, false);
    let (bar, at) = known.bar(random, place.at);
    task.set(0x1_3800, 0x0003_3881);
    set_memory(task, 0x1_3808, at + random.below(64), place);
    task.set(0x1_3838, 0x2031 | format(random, place.interleave));
    task.operands |= bar | 1 << 5;
    let mut window = known.on_chip(random, shape, batches);
    window.channel = window.channel.max(align(2 * shape.w.min(tile), 16));
    set_chip(task, 0x4808, window);
    known.memory.push((shape, place));
    if kind == 1 && batches == 1 {
        known.chip.push((shape, window));
    }
}

fn source2(random: &mut Random, known: &mut UsedPlaces, task: &mut Delta, shape: Shape, batches: u32) {
    if !known.chip.is_empty() && random.below(2) == 0 {
        let place = known.on_chip(random, shape, batches);
        set_chip(task, 0x481c, place);
        return;
    }
    let place = known.in_memory(random, shape, batches, false);
    let (bar, at) = known.bar(random, place.at);
    task.set(0x1_3804, 0x0003_3880);
    set_memory(task, 0x1_381c, at, place);
    // The enable of the first port is that of both.
    task.set(0x1_3800, 0x0003_3881);
    task.set(0x1_383c, 0x2030 | random.below(2) | format(random, place.interleave));
    task.operands |= (bar | 1 << 5) << 6;
    let window = known.beside(random, shape, batches);
    set_chip(task, 0x481c, window);
    task.add(0x4804, 1 << 24);
    task.add(0x34, 1 << 1);
    known.memory.push((shape, place));
}

/// Where the result goes; `shape` is as stored.
pub(super) fn result(
    random: &mut Random,
    known: &mut UsedPlaces,
    task: &mut Delta,
    shape: Shape,
    batches: u32,
) {
    let kind = random.below(3);
    let place = known.on_chip(random, shape, batches);
    task.set(0x4830, 0x0050_0170 | kind);
    set_chip(task, 0x4834, place);
    if kind == 0 {
        task.set(0x1_7800, 0xc0);
        known.chip.push((shape, place));
        return;
    }
    let place = known.in_memory(random, shape, batches, true);
    let (bar, at) = known.bar(random, place.at);
    task.set(0x1_7800, 0x0400_00c1);
    set_memory(task, 0x1_7804, at, place);
    task.set(0x1_7818, 0x0030_2031 | format(random, place.interleave));
    task.operands |= (bar | 1 << 5) << 12;
    known.memory.push((shape, place));
}

/// An interleave; one is one, said or not.
fn format(random: &mut Random, interleave: u32) -> u32 {
    if interleave == 1 { random.below(2) << 24 } else { interleave << 24 }
}

fn set_memory(task: &mut Delta, first: u32, at: u32, place: PlaceInMemory) {
    for (address, value) in (first..).step_by(4).zip([at, place.row, place.plane, place.plane, place.group]) {
        task.set(address, value);
    }
}

fn set_chip(task: &mut Delta, first: u32, place: PlaceOnChip) {
    for (address, value) in
        (first..).step_by(4).zip([place.at, place.channel, place.row, place.row, place.group])
    {
        task.set(address, value);
    }
}
