//! Operands: where their elements lie, how they are read, and what a task leaves on chip (td 4.2, 4.5, 4.6).

use super::Stop;
use super::machine::Machine;
use super::numbers::half_value;
use super::task::{Class, Task};

/// Channels, rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extents {
    pub(super) c: u32,
    pub(super) h: u32,
    pub(super) w: u32,
}

impl Extents {
    /// Every (channel, row, column), ascending.
    pub(super) fn indices(self) -> impl Iterator<Item = (u32, u32, u32)> {
        (0..self.c).flat_map(move |c| (0..self.h).flat_map(move |y| (0..self.w).map(move |x| (c, y, x))))
    }
}

/// An operand, as the bits that were read and the numbers that they stand for.
#[derive(Debug, Clone)]
pub(super) struct Tensor {
    pub(super) extents: Extents,
    halves: Vec<u16>,
    numbers: Vec<f64>,
}

impl Tensor {
    fn new(extents: Extents, halves: Vec<u16>) -> Self {
        let numbers = halves.iter().map(|&half| half_value(half)).collect();
        Self { extents, halves, numbers }
    }

    /// A tensor of what a function says of each element, called in ascending order.
    pub(super) fn from_fn(extents: Extents, element: impl FnMut((u32, u32, u32)) -> u16) -> Self {
        Self::new(extents, extents.indices().map(element).collect())
    }

    fn index(&self, c: u32, y: u32, x: u32) -> usize {
        let Extents { h, w, .. } = self.extents;
        ((c * h + y) * w + x) as usize
    }

    /// One element as it was read.
    pub(super) fn bits(&self, c: u32, y: u32, x: u32) -> u16 {
        self.halves[self.index(c, y, x)]
    }

    /// One element as a number.
    pub(super) fn at(&self, c: u32, y: u32, x: u32) -> f64 {
        self.numbers[self.index(c, y, x)]
    }

    /// One element, the only one of every axis along which the operand is broadcast.
    pub(super) fn broadcast(&self, c: u32, y: u32, x: u32) -> f64 {
        let Extents { c: channels, h, w } = self.extents;
        self.at(c.min(channels - 1), y.min(h - 1), x.min(w - 1))
    }

    /// The same with channels and columns exchanged.
    pub(super) fn transposed(&self) -> Self {
        let Extents { c, h, w } = self.extents;
        Self::from_fn(Extents { c: w, h, w: c }, |(c, y, x)| self.bits(x, y, c))
    }
}

/// Where the elements of an operand in memory lie.
#[derive(Debug, Clone, Copy)]
struct InMemory {
    base: u64,
    row: u64,
    plane: u64,
    interleave: u64,
}

impl InMemory {
    fn address(self, (c, y, x): (u32, u32, u32)) -> u64 {
        let [c, y, x] = [c, y, x].map(u64::from);
        self.base
            + c / self.interleave * self.plane
            + y * self.row
            + x * 2 * self.interleave
            + c % self.interleave * 2
    }
}

/// Where the elements of an operand on chip lie; `register` is its base, to name it by.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnChip {
    register: u32,
    base: u64,
    channel: u64,
    row: u64,
}

impl OnChip {
    fn address(self, (c, y, x): (u32, u32, u32)) -> u64 {
        let [c, y, x] = [c, y, x].map(u64::from);
        self.base + c * self.channel + y * self.row + x * 2
    }

    fn outside(self) -> Stop {
        Stop::refused(self.register, "operand does not lie inside the on-chip buffer")
    }
}

/// Five words of a tile DMA: base, row, plane, depth and group stride, from `first` on.
fn in_memory(task: &Task<'_>, bar: u64, first: u32, format: u32, group: u32) -> InMemory {
    let stride = |register| u64::from(task.word(register) & !0x3F);
    InMemory {
        base: bar + stride(first) + u64::from(group) * stride(first + 16),
        row: stride(first + 4),
        plane: stride(first + 8),
        interleave: u64::from(task.field(format, 27, 24).max(1)),
    }
}

/// Five words of the on-chip block: base, channel, row, depth and group stride, from `first` on. Reading: bits above
/// the field are not cut off, they lead out of the buffer.
fn on_chip(task: &Task<'_>, first: u32, group: u32) -> OnChip {
    let stride = |register| u64::from(task.word(register) & !0xF);
    OnChip {
        register: first,
        base: stride(first) + u64::from(group) * stride(first + 16),
        channel: stride(first + 4),
        row: stride(first + 8),
    }
}

impl Machine {
    /// Reads source 1 and leaves on chip what SourceType says.
    pub(super) fn source1(&mut self, task: &Task<'_>, class: Class, group: u32) -> Result<Tensor, Stop> {
        let (extents, chip) = (task.source1(class), on_chip(task, 0x4808, group));
        if task.source_type() == 0 {
            return self.read_chip(chip, extents);
        }
        let tensor = self.read_memory(in_memory(task, task.bar(8, 0), 0x13808, 0x13838, group), extents)?;
        let whole = extents.w <= task.tile_width(class) && extents.h <= task.tile_height();
        if task.source_type() == 1 || whole {
            self.write_chip(chip, &tensor)?;
        } else {
            self.forget_window(task, chip);
        }
        Ok(tensor)
    }

    /// Reads source 2; a window that it came through holds what nobody knows.
    pub(super) fn source2(&mut self, task: &Task<'_>, class: Class, group: u32) -> Result<Tensor, Stop> {
        let (extents, chip) = (task.source2(class), on_chip(task, 0x481C, group));
        if !task.source2_in_memory() {
            return self.read_chip(chip, extents);
        }
        let tensor = self.read_memory(in_memory(task, task.bar(8, 6), 0x1381C, 0x1383C, group), extents)?;
        self.forget_window(task, chip);
        Ok(tensor)
    }

    /// Puts a result where ResultType says.
    pub(super) fn result(&mut self, task: &Task<'_>, tensor: &Tensor, group: u32) -> Result<(), Stop> {
        let chip = on_chip(task, 0x4834, group);
        match task.result_type() {
            0 => return self.write_chip(chip, tensor),
            1 => {
                self.write_chip(chip, tensor)?;
                self.forget(chip, tensor.extents);
            }
            _ => self.forget_window(task, chip),
        }
        let place = in_memory(task, task.bar(8, 12), 0x17804, 0x17818, group);
        for index in tensor.extents.indices() {
            self.memory.set_half(place.address(index), tensor.bits(index.0, index.1, index.2))?;
        }
        Ok(())
    }

    fn read_memory(&self, place: InMemory, extents: Extents) -> Result<Tensor, Stop> {
        let halves = extents.indices().map(|index| self.memory.half(place.address(index)));
        Ok(Tensor::new(extents, halves.collect::<Result<_, _>>()?))
    }

    fn read_chip(&self, place: OnChip, extents: Extents) -> Result<Tensor, Stop> {
        let half = |index| match self.chip.half(place.address(index)) {
            None => Err(place.outside()),
            Some(None) => Err(Stop::refused(place.register, "operand has bytes that nobody knows")),
            Some(Some(half)) => Ok(half),
        };
        Ok(Tensor::new(extents, extents.indices().map(half).collect::<Result<_, _>>()?))
    }

    fn write_chip(&mut self, place: OnChip, tensor: &Tensor) -> Result<(), Stop> {
        for index in tensor.extents.indices() {
            if !self.chip.set_half(place.address(index), tensor.bits(index.0, index.1, index.2)) {
                return Err(place.outside());
            }
        }
        Ok(())
    }

    /// What was assembled on chip and then written: nobody knows whether it stays. A row takes whole units of 16.
    fn forget(&mut self, place: OnChip, extents: Extents) {
        for index in (Extents { w: 1, ..extents }).indices() {
            self.chip.forget(place.address(index), u64::from(2 * extents.w).next_multiple_of(16));
        }
    }

    /// The window of a stream: TileHeight rows of RowStride bytes. Reading: one that runs past the end of the buffer
    /// ends there, and one without a row stride is empty.
    fn forget_window(&mut self, task: &Task<'_>, place: OnChip) {
        self.chip.forget(place.base, u64::from(task.tile_height()) * place.row);
    }
}
