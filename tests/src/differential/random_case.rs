//! Random programs: chains of a few small tasks whose operands lie anywhere they may.

use ane_device::options::Numerics;

use super::task::{Layout, Task, align, halves};
use super::{Case, STEP, neural, planar};
use crate::random::Random;

/// Device addresses of the regions: BAR 0, 1, 3 and up, with room between them.
const BASES: [(usize, u32); 6] =
    [(0, 0x10_0000), (1, 0x20_0000), (3, 0x30_0000), (4, 0x40_0000), (5, 0x50_0000), (6, 0x60_0000)];

/// Bytes of each region but the stream.
const REGION: u32 = 0x8000;

/// BAR of the constants.
pub const CONSTANTS: u32 = 1;
/// BAR of the result.
pub const RESULT: u32 = 4;
/// BAR of source 1.
pub const SOURCE1: u32 = 5;
/// BAR of source 2.
pub const SOURCE2: u32 = 6;

/// Extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Channels.
    pub c: u32,
    /// Rows.
    pub h: u32,
    /// Columns.
    pub w: u32,
}

/// A tensor that an earlier task left on chip.
#[derive(Clone, Copy, Debug)]
pub struct OnChip {
    /// Its extents.
    pub shape: Shape,
    /// Base, channel stride, row stride, group stride.
    pub place: [u32; 4],
}

/// What the tasks of a case share while it is made.
pub struct Making<'r> {
    /// Where randomness comes from.
    pub random: &'r mut Random,
    /// What the constant section holds.
    pub constants: Vec<u8>,
    /// What lies on chip, to be read by a later task.
    pub on_chip: Option<OnChip>,
    /// Where on chip nothing of use lies yet.
    pub free: u32,
    /// Where the next result may go, behind its BAR.
    pub result: u32,
}

impl Making<'_> {
    /// Room on chip for a tensor of `batches` batches, and its strides.
    pub fn chip(&mut self, shape: Shape, batches: u32) -> [u32; 4] {
        let channel = align(2 * shape.w, 16) + 16 * self.random.below(3);
        let row = channel * shape.c + 16 * self.random.below(3);
        let group = row * shape.h + 16 * self.random.below(2);
        let base = self.free + 16 * self.random.below(4);
        self.free = align(base + group * batches, 16);
        [base, channel, row, group]
    }

    /// Strides in memory of a tensor of `batches` batches: row, plane, group, interleave; and all its bytes.
    pub fn memory(&mut self, shape: Shape, batches: u32) -> ([u32; 4], u32) {
        let interleave = if self.random.below(4) == 0 { 1 + self.random.below(8) } else { 1 };
        let row = align(2 * shape.w * interleave, 64) + 64 * self.random.below(2);
        let plane = row * shape.h + 64 * self.random.below(2);
        let group = plane * shape.c.div_ceil(interleave) + 64 * self.random.below(2);
        ([row, plane, group, interleave], group * batches)
    }

    /// Where source 1 comes from, and what the window says of it.
    pub fn source1(&mut self, task: &mut Task, shape: Shape, batches: u32, tile: u32) {
        if let Some(kept) = self.on_chip.filter(|kept| kept.shape == shape) {
            task.set(0x4804, 0x0050_0170);
            self.set_chip(task, 0x4808, kept.place);
            return;
        }
        let ([row, plane, group, interleave], bytes) = self.memory(shape, batches);
        let at = 64 * self.random.below((REGION.saturating_sub(bytes) / 64).max(1));
        task.set(0x1_3800, 0x0003_3881);
        task.set(0x1_3808, at + self.random.below(64));
        task.set(0x1_380c, row);
        task.set(0x1_3810, plane);
        task.set(0x1_3814, plane);
        task.set(0x1_3818, group);
        task.set(0x1_3838, 0x2031 | interleave << 24);
        task.operands |= SOURCE1 | 1 << 5;
        let keeps = self.random.below(2) == 0;
        let mut place = self.chip(shape, batches);
        place[1] = place[1].max(align(2 * shape.w.min(tile), 16));
        task.set(0x4804, 0x0050_0170 | if keeps { 1 } else { 2 });
        self.set_chip(task, 0x4808, place);
        if keeps && batches == 1 {
            self.on_chip = Some(OnChip { shape, place });
        }
    }

    /// Where source 2 comes from; it is never on chip but by chance.
    pub fn source2(&mut self, task: &mut Task, shape: Shape, batches: u32) {
        let ([row, plane, group, interleave], bytes) = self.memory(shape, batches);
        let at = 64 * self.random.below((REGION.saturating_sub(bytes) / 64).max(1));
        task.set(0x1_3804, 0x0003_3880);
        task.set(0x1_381c, at);
        task.set(0x1_3820, row);
        task.set(0x1_3824, plane);
        task.set(0x1_3828, plane);
        task.set(0x1_382c, group);
        task.set(
            0x1_383c,
            0x2030 | self.random.below(2) | if interleave == 1 { 0 } else { interleave << 24 },
        );
        task.operands |= (SOURCE2 | 1 << 5) << 6;
        let place = self.chip(shape, batches);
        self.set_chip(task, 0x481c, place);
        *task.registers.entry(0x4804).or_default() |= 1 << 24;
        *task.registers.entry(0x34).or_default() |= 1 << 1;
    }

    /// Where the result goes; `shape` is as stored. The last task of a chain goes to memory.
    pub fn result(&mut self, task: &mut Task, shape: Shape, batches: u32, is_last: bool) {
        let kind = if is_last { 1 + self.random.below(2) } else { self.random.below(3) };
        let place = self.chip(shape, batches);
        task.set(0x4830, 0x0050_0170 | kind);
        self.set_chip(task, 0x4834, place);
        if kind == 0 && batches == 1 {
            self.on_chip = Some(OnChip { shape, place });
        }
        if kind == 0 {
            return;
        }
        let ([row, plane, group, interleave], bytes) = self.memory(shape, batches);
        task.set(0x1_7800, 0x0400_00c1);
        task.set(0x1_7804, self.result);
        task.set(0x1_7808, row);
        task.set(0x1_780c, plane);
        task.set(0x1_7810, plane);
        task.set(0x1_7814, group);
        task.set(0x1_7818, 0x0030_2031 | interleave << 24);
        task.operands |= (RESULT | 1 << 5) << 12;
        self.result = align(self.result + bytes, 64);
    }

    fn set_chip(&self, task: &mut Task, at: u32, [base, channel, row, group]: [u32; 4]) {
        task.set(at, base);
        task.set(at + 4, channel);
        task.set(at + 8, row);
        task.set(at + 0xc, row);
        task.set(at + 0x10, group);
    }
}

/// A random program. With `turned`, a bit of one of its tasks was turned afterwards.
pub fn case(seed: u64, turned: bool) -> Case {
    let mut random = Random::new(seed);
    let count = 1 + random.below(3);
    let numerics = if random.below(4) == 0 { Numerics::Exact } else { Numerics::M1 };
    let mut making = Making { random: &mut random, constants: Vec::new(), on_chip: None, free: 0, result: 0 };
    let mut tasks: Vec<Task> = (0..count)
        .map(|index| {
            let is_last = index + 1 == count;
            let layout = Layout::random(making.random);
            let mut task = if making.random.below(2) == 0 {
                neural::task(&mut making, is_last)
            } else {
                planar::task(&mut making, is_last)
            };
            task.layout = layout;
            task
        })
        .collect();
    let mut constants = std::mem::take(&mut making.constants);
    if turned {
        let index = random.below(count) as usize;
        tasks[index].turn_a_bit(&mut random);
    }
    constants.resize(constants.len().max(REGION as usize), 0);
    let mut bars = [0; 32];
    let regions = BASES
        .into_iter()
        .map(|(bar, base)| {
            bars[bar] = base;
            let bytes = match bar {
                0 => Task::stream(&tasks),
                1 => constants.clone(),
                _ => halves(&mut random, REGION as usize),
            };
            (base, bytes)
        })
        .collect();
    debug_assert!(count * STEP < REGION, "the stream stays in its region");
    let first_words = tasks[0].layout.words();
    Case { regions, bars, tasks: count as u16, first_words, numerics }
}
