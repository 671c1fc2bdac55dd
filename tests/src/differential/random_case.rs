//! Random programs: chains of a few small tasks whose operands lie anywhere they may.

use ane_device::options::Numerics;

use super::task::{DescriptorLayout, TaskDraft, align, halves};
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Channels.
    pub c: u32,
    /// Rows.
    pub h: u32,
    /// Columns.
    pub w: u32,
}

impl Shape {
    /// With columns and channels exchanged.
    pub(crate) const fn transposed(self) -> Self {
        Self { c: self.w, h: self.h, w: self.c }
    }
}

/// How often a task is done: for each group, or batch, and for each depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub groups: u32,
    pub depths: u32,
}

impl Times {
    /// A task that is done once.
    pub const ONCE: Self = Self { groups: 1, depths: 1 };
}

/// A tensor that an earlier task left on chip.
#[derive(Clone, Copy, Debug)]
pub struct LeftOnChip {
    pub shape: Shape,
    /// Bytes of an element.
    pub width: u32,
    /// Base, channel stride, row stride, depth stride, group stride.
    pub place: [u32; 5],
}

struct Strides {
    row: u32,
    plane: u32,
    depth: u32,
    group: u32,
    interleave: u32,
    bytes: u32,
}

/// The state that the tasks of a case share while it is made.
pub struct CaseMaker<'r> {
    /// Where randomness comes from.
    pub random: &'r mut Random,
    /// The constant section.
    pub constants: Vec<u8>,
    /// A result that lies on chip, to be read by a later task.
    pub on_chip: Option<LeftOnChip>,
    /// The result that the task before passes on.
    pub passed: Option<(Shape, u32)>,
    /// Whether the result of the task may be passed on.
    pub may_pass: bool,
    /// Where on chip nothing of use lies yet.
    pub free: u32,
    /// Where the next result may go, behind its BAR.
    pub result: u32,
    /// The named features that the tasks use.
    pub features: Vec<&'static str>,
}

impl CaseMaker<'_> {
    /// True once in so many times, and noted then.
    pub fn feature(&mut self, times: u32, name: &'static str) -> bool {
        let is = self.random.below(times) == 0;
        if is {
            self.features.push(name);
        }
        is
    }

    /// The format of elements of so many bytes: halves, or bytes with a sign or without.
    pub fn format(&mut self, width: u32) -> u32 {
        if width == 2 { 2 } else { self.random.below(2) }
    }

    /// Room on chip for a tensor, and its strides.
    fn chip(&mut self, shape: Shape, width: u32, times: Times) -> [u32; 5] {
        let channel = align(width * shape.w, 16) + 16 * self.random.below(3);
        let row = channel * shape.c + 16 * self.random.below(3);
        let depth = row * shape.h + 16 * self.random.below(2);
        let group = depth * times.depths + 16 * self.random.below(2);
        let base = self.free + 16 * self.random.below(4);
        self.free = align(base + group * times.groups, 16);
        [base, channel, row, depth, group]
    }

    /// Strides in memory of a tensor.
    fn memory(&mut self, shape: Shape, width: u32, times: Times) -> Strides {
        let interleaved = width == 2 && self.random.below(4) == 0;
        let interleave = if interleaved { 1 + self.random.below(8) } else { 1 };
        let row = align(width * shape.w * interleave, 64) + 64 * self.random.below(2);
        let plane = row * shape.h + 64 * self.random.below(2);
        let depth = plane * shape.c.div_ceil(interleave) + 64 * self.random.below(2);
        let group = depth * times.depths + 64 * self.random.below(2);
        Strides { row, plane, depth, group, interleave, bytes: group * times.groups }
    }

    /// Where source 1 comes from, and what the window says of it; `shape` is as stored.
    pub fn source1(&mut self, task: &mut TaskDraft, shape: Shape, width: u32, times: Times, tile: u32) {
        if self.passed.take().is_some_and(|passed| passed == (shape, width)) {
            task.set(0x4804, 0x103);
            return;
        }
        if let Some(kept) = self.on_chip.filter(|kept| (kept.shape, kept.width) == (shape, width))
            && times == Times::ONCE
        {
            task.set(0x4804, 0x0050_0170);
            self.set_chip(task, 0x4808, kept.place);
            return;
        }
        let layout = self.memory(shape, width, times);
        let at = 64 * self.random.below((REGION.saturating_sub(layout.bytes) / 64).max(1));
        task.set(0x1_3800, 0x0003_3881);
        let at = at + self.random.below(64);
        set_memory(task, 0x1_3808, at, &layout);
        task.set(0x1_3838, if width == 2 { 0x2031 } else { 0 } | layout.interleave << 24);
        task.operands |= SOURCE1 | 1 << 5;
        let keeps = self.random.below(2) == 0;
        let mut place = self.chip(shape, width, times);
        place[1] = place[1].max(align(width * shape.w.min(tile), 16));
        task.set(0x4804, self.port(width) | if keeps { 1 } else { 2 });
        self.set_chip(task, 0x4808, place);
        if keeps && times == Times::ONCE {
            self.on_chip = Some(LeftOnChip { shape, width, place });
        }
    }

    /// A port's configuration without its type. The width of its elements is said elsewhere as well, and this is inert.
    fn port(&mut self, width: u32) -> u32 {
        0x0050_0130 | if width == 2 && !self.feature(8, "port format 0") { 0x40 } else { 0 }
    }

    /// Where source 2 comes from; it is never on chip but by chance.
    pub fn source2(&mut self, task: &mut TaskDraft, shape: Shape, width: u32, times: Times) {
        let layout = self.memory(shape, width, times);
        let at = 64 * self.random.below((REGION.saturating_sub(layout.bytes) / 64).max(1));
        // The enable of the first port is that of both.
        task.set(0x1_3800, 0x0003_3881);
        task.set(0x1_3804, 0x0003_3880);
        set_memory(task, 0x1_381c, at, &layout);
        // A format of zero, as plain bytes would have without an interleave, hangs.
        let interleave = if width == 2 && layout.interleave == 1 { 0 } else { layout.interleave << 24 };
        let halves = if width == 2 { 0x2030 | self.random.below(2) } else { 0 };
        task.set(0x1_383c, halves | interleave);
        task.operands |= (SOURCE2 | 1 << 5) << 6;
        let place = self.chip(shape, width, times);
        self.set_chip(task, 0x481c, place);
        let source = task.registers.entry(0x4804).or_default();
        *source |= 1 << 24;
        if width == 1 && !matches!(*source & 3, 1 | 2) {
            // The port's format is that of source 2 where source 1 needs none.
            *source &= !(3 << 6);
        }
        *task.registers.entry(0x34).or_default() |= 1 << 1;
    }

    /// Where the result goes; `shape` is as stored. The last task of a chain goes to memory.
    pub fn result(&mut self, task: &mut TaskDraft, shape: Shape, width: u32, times: Times, is_last: bool) {
        self.passed = None;
        let may_pass = std::mem::replace(&mut self.may_pass, true) && !is_last && width == 2;
        if may_pass && times == Times::ONCE && self.feature(6, "passed on") {
            task.set(0x4830, self.port(width) | 3);
            task.set(0x1_7800, 0xc0);
            self.passed = Some((shape, width));
            return;
        }
        let kind = if is_last { 1 + self.random.below(2) } else { self.random.below(3) };
        let place = self.chip(shape, width, times);
        task.set(0x4830, self.port(width) | kind);
        self.set_chip(task, 0x4834, place);
        if kind == 0 && times == Times::ONCE {
            self.on_chip = Some(LeftOnChip { shape, width, place });
        }
        if kind == 0 {
            return;
        }
        let layout = self.memory(shape, width, times);
        task.set(0x1_7800, 0x0400_00c1);
        if self.feature(8, "bits of the destination without effect") {
            task.set(0x1_7800, 0x0400_00c1 | self.random.word() & 0x004c_0000);
        }
        set_memory(task, 0x1_7804, self.result, &layout);
        task.set(0x1_7818, 0x0030_0000 | if width == 2 { 0x2031 } else { 0 } | layout.interleave << 24);
        task.operands |= (RESULT | 1 << 5) << 12;
        self.result = align(self.result + layout.bytes, 64);
    }

    fn set_chip(&self, task: &mut TaskDraft, first: u32, place: [u32; 5]) {
        for (at, value) in (first..).step_by(4).zip(place) {
            task.set(at, value);
        }
    }
}

fn set_memory(task: &mut TaskDraft, first: u32, at: u32, layout: &Strides) {
    let words = [at, layout.row, layout.plane, layout.depth, layout.group];
    for (at, value) in (first..).step_by(4).zip(words) {
        task.set(at, value);
    }
}

/// A program, and what its tasks do that has a name.
pub struct RandomCase {
    /// The program with its memory.
    pub case: Case,
    pub features: Vec<&'static str>,
}

/// A random program. With `turned`, a bit of one of its tasks was turned afterwards.
pub fn program(seed: u64, turned: bool) -> RandomCase {
    let mut random = Random::new(seed);
    let count = 1 + random.below(3);
    let numerics = if random.below(4) == 0 { Numerics::Exact } else { Numerics::M1 };
    let mut making = CaseMaker {
        random: &mut random,
        constants: Vec::new(),
        on_chip: None,
        passed: None,
        may_pass: true,
        free: 0,
        result: 0,
        features: Vec::new(),
    };
    let mut tasks: Vec<TaskDraft> = (0..count)
        .map(|index| {
            let is_last = index + 1 == count;
            let layout = DescriptorLayout::random(making.random);
            let mut task = if making.random.below(2) == 0 {
                neural::task(&mut making, is_last)
            } else {
                planar::task(&mut making, is_last)
            };
            // A descriptor that leaves out where coefficients lie is for tasks that need none.
            task.layout = DescriptorLayout { is_compact: layout.is_compact && task.kernels == 0, ..layout };
            task
        })
        .collect();
    let mut constants = std::mem::take(&mut making.constants);
    let mut features = std::mem::take(&mut making.features);
    features.sort_unstable();
    features.dedup();
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
                0 => TaskDraft::stream(&tasks),
                1 => constants.clone(),
                _ => halves(&mut random, REGION as usize),
            };
            (base, bytes)
        })
        .collect();
    debug_assert!(count * STEP < REGION, "the stream stays in its region");
    let first_words = tasks[0].layout.words();
    RandomCase { case: Case { regions, bars, tasks: count as u16, first_words, numerics }, features }
}
