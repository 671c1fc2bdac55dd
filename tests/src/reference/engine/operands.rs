//! Operands: where their elements lie, how they are read, and what a task leaves on chip (td 4.2, 4.5, 4.6; delta 4
//! for elements of one byte).

use super::machine::ReferenceMachine;
use super::numbers::{half_bits, half_value};
use super::task::{Class, EngineTask, Width};
use super::{Stop, stop_if};

/// Channels, rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extents {
    pub(super) c: u32,
    pub(super) h: u32,
    pub(super) w: u32,
}

impl Extents {
    /// With channels and columns exchanged.
    pub(super) fn transposed(self) -> Self {
        Self { c: self.w, h: self.h, w: self.c }
    }

    /// Every (channel, row, column), ascending.
    pub(super) fn indices(self) -> impl Iterator<Item = (u32, u32, u32)> {
        (0..self.c).flat_map(move |c| (0..self.h).flat_map(move |y| (0..self.w).map(move |x| (c, y, x))))
    }
}

/// An operand, as the bits that were read and the numbers that they stand for.
#[derive(Debug, Clone)]
pub(super) struct OperandValues {
    pub(super) extents: Extents,
    halves: Vec<u16>,
    numbers: Vec<f64>,
}

impl OperandValues {
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

    /// The elements that two extents have in common, from the first of each axis on.
    pub(super) fn cut(&self, extents: Extents) -> Self {
        let Extents { c, h, w } = self.extents;
        let extents = Extents { c: extents.c.min(c), h: extents.h.min(h), w: extents.w.min(w) };
        Self::from_fn(extents, |(c, y, x)| self.bits(c, y, x))
    }

    /// The same with channels and columns exchanged.
    pub(super) fn transposed(&self) -> Self {
        Self::from_fn(self.extents.transposed(), |(c, y, x)| self.bits(x, y, c))
    }
}

/// The repetition of a task that an operand belongs to: each moves all bases on (td 4.3, delta C1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Repetition {
    pub(super) group: u32,
    pub(super) depth: u32,
}

impl Repetition {
    /// How far a base moves, from its depth and group stride.
    fn offset(self, depth: u64, group: u64) -> u64 {
        u64::from(self.depth) * depth + u64::from(self.group) * group
    }
}

/// Where the elements of an operand in memory lie.
#[derive(Debug, Clone, Copy)]
struct InMemory {
    base: u64,
    row: u64,
    plane: u64,
    interleave: u64,
    width: Width,
}

impl InMemory {
    fn address(self, (c, y, x): (u32, u32, u32)) -> u64 {
        let [c, y, x] = [c, y, x].map(u64::from);
        let in_row = x * self.interleave + c % self.interleave;
        self.base + c / self.interleave * self.plane + y * self.row + in_row * self.width.bytes()
    }
}

/// Where the elements of an operand on chip lie; `register` is its base, to name it by.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnChip {
    register: u32,
    base: u64,
    channel: u64,
    row: u64,
    width: Width,
}

impl OnChip {
    fn address(self, (c, y, x): (u32, u32, u32)) -> u64 {
        let [c, y, x] = [c, y, x].map(u64::from);
        self.base + c * self.channel + y * self.row + x * self.width.bytes()
    }

    /// Whether two elements share a byte: sorted by where they are, one begins before the one in front of it ends.
    fn overlaps(self, extents: Extents) -> bool {
        let mut starts: Vec<u64> = extents.indices().map(|index| self.address(index)).collect();
        starts.sort_unstable();
        starts.windows(2).any(|pair| pair[1] - pair[0] < self.width.bytes())
    }

    fn outside(self) -> Stop {
        Stop::refused(self.register, "operand does not lie inside the on-chip buffer")
    }
}

/// The bytes of an element. Reading: of 8 bits, it is a whole number, with a sign as td 4.1 calls format 0 int8, or without as
/// it calls format 1 uint8; delta 4 has no program that could tell.
fn bytes_of(width: Width, bits: u16) -> Vec<u8> {
    match width {
        Width::Half => bits.to_le_bytes().to_vec(),
        Width::Byte => vec![(half_value(bits) as i8).cast_unsigned()],
        Width::Unsigned => vec![half_value(bits) as u8],
    }
}

/// The half that an element of such bytes is.
fn half_of(width: Width, bytes: &[u8]) -> u16 {
    match *bytes {
        [byte] if width == Width::Unsigned => half_bits(f64::from(byte)),
        [byte] => half_bits(f64::from(byte.cast_signed())),
        [low, high] => u16::from_le_bytes([low, high]),
        _ => unreachable!("an element has one byte or two"),
    }
}

/// Five words of a tile DMA: base, row, plane, depth and group stride, from `first` on.
fn in_memory(
    task: &EngineTask<'_>,
    bar: u64,
    (first, format): (u32, u32),
    width: Width,
    repetition: Repetition,
) -> InMemory {
    let stride = |register| u64::from(task.word(register) & !0x3F);
    InMemory {
        base: bar + stride(first) + repetition.offset(stride(first + 12), stride(first + 16)),
        row: stride(first + 4),
        plane: stride(first + 8),
        interleave: u64::from(task.field(format, 27, 24).max(1)),
        width,
    }
}

/// Five words of the on-chip block: base, channel, row, depth and group stride, from `first` on. Reading: bits above
/// the field are not cut off, they lead out of the buffer.
fn on_chip(task: &EngineTask<'_>, first: u32, width: Width, repetition: Repetition) -> OnChip {
    let stride = |register| u64::from(task.word(register) & !0xF);
    OnChip {
        register: first,
        base: stride(first) + repetition.offset(stride(first + 12), stride(first + 16)),
        channel: stride(first + 4),
        row: stride(first + 8),
        width,
    }
}

impl ReferenceMachine {
    /// Reads source 1 as it is stored, and leaves on chip what SourceType says.
    pub(super) fn source1(
        &mut self,
        task: &EngineTask<'_>,
        class: Class,
        repetition: Repetition,
    ) -> Result<OperandValues, Stop> {
        let (extents, width) = (task.source1(class), task.source_width());
        if task.source_type() == 3 {
            let passed = self.passed.take().filter(|tensor| tensor.extents == extents);
            return passed.ok_or_else(|| Stop::refused(0x4804, "no result of these extents was passed on"));
        }
        let chip = on_chip(task, 0x4808, width, repetition);
        if task.source_type() == 0 {
            return self.read_chip(chip, extents);
        }
        let place = in_memory(task, task.bar(8, 0), (0x13808, 0x13838), width, repetition);
        let tensor = self.read_memory(place, extents)?;
        // Reading: the window of a stream was seen to keep what went through it once. Compilers reserve one window for all
        // repetitions, so each goes through that of the first.
        let once = task.repetitions().count() == 1;
        let fits = extents.w <= task.tile_width(class) && extents.h <= task.tile_height();
        match (task.source_type(), chip.overlaps(extents)) {
            (1, false) => self.write_chip(chip, &tensor)?,
            (1, true) => {
                self.write_chip(chip, &tensor)?;
                let end = chip.address((extents.c - 1, extents.h - 1, extents.w - 1)) + width.bytes();
                self.chip.forget(chip.base, end - chip.base);
            }
            (_, false) if fits && once => self.write_chip(chip, &tensor)?,
            _ => self.forget_window(task, on_chip(task, 0x4808, width, Repetition::default())),
        }
        Ok(tensor)
    }

    /// Reads source 2 as it is stored; a window that it came through holds what nobody knows.
    pub(super) fn source2(
        &mut self,
        task: &EngineTask<'_>,
        class: Class,
        repetition: Repetition,
    ) -> Result<OperandValues, Stop> {
        let (extents, width) = (task.source2(class), task.source2_width());
        let chip = on_chip(task, 0x481C, width, repetition);
        if !task.source2_in_memory() {
            return self.read_chip(chip, extents);
        }
        let place = in_memory(task, task.bar(8, 6), (0x1381C, 0x1383C), width, repetition);
        let tensor = self.read_memory(place, extents)?;
        self.forget_window(task, on_chip(task, 0x481C, width, Repetition::default()));
        Ok(tensor)
    }

    /// Puts a result where ResultType says.
    pub(super) fn result(
        &mut self,
        task: &EngineTask<'_>,
        tensor: &OperandValues,
        repetition: Repetition,
    ) -> Result<(), Stop> {
        let width = task.result_width();
        let chip = on_chip(task, 0x4834, width, repetition);
        match task.result_type() {
            0 => return self.write_chip(chip, tensor),
            1 => {
                self.write_chip(chip, tensor)?;
                self.forget(chip, tensor.extents);
            }
            2 => self.forget_window(task, chip),
            // Reading: what passes straight to the next task goes through no window.
            _ => {
                self.passed = Some(tensor.clone());
                return Ok(());
            }
        }
        let place = in_memory(task, task.bar(8, 12), (0x17804, 0x17818), width, repetition);
        for index in tensor.extents.indices() {
            let bytes = bytes_of(width, tensor.bits(index.0, index.1, index.2));
            for (at, byte) in (place.address(index)..).zip(bytes) {
                self.memory.set_byte(at, byte)?;
            }
        }
        Ok(())
    }

    fn read_memory(&self, place: InMemory, extents: Extents) -> Result<OperandValues, Stop> {
        let element = |index| match place.width {
            Width::Half => self.memory.half(place.address(index)),
            width => self.memory.byte(place.address(index)).map(|byte| half_of(width, &[byte])),
        };
        Ok(OperandValues::new(extents, extents.indices().map(element).collect::<Result<_, _>>()?))
    }

    fn read_chip(&self, place: OnChip, extents: Extents) -> Result<OperandValues, Stop> {
        let byte = |address| match self.chip.byte(address) {
            None => Err(place.outside()),
            Some(None) => Err(Stop::refused(place.register, "operand has bytes that nobody knows")),
            Some(Some(byte)) => Ok(byte),
        };
        let element = |index| {
            let first = place.address(index);
            let bytes = (first..first + place.width.bytes()).map(byte);
            bytes.collect::<Result<Vec<u8>, Stop>>().map(|bytes| half_of(place.width, &bytes))
        };
        Ok(OperandValues::new(extents, extents.indices().map(element).collect::<Result<_, _>>()?))
    }

    fn write_chip(&mut self, place: OnChip, tensor: &OperandValues) -> Result<(), Stop> {
        for index in tensor.extents.indices() {
            let bytes = bytes_of(place.width, tensor.bits(index.0, index.1, index.2));
            for (at, byte) in (place.address(index)..).zip(bytes) {
                stop_if(!self.chip.set_byte(at, byte), || place.outside())?;
            }
        }
        Ok(())
    }

    /// Forgets a row that was assembled on chip and then written: nobody knows whether it stays. A row takes
    /// whole units of 16.
    fn forget(&mut self, place: OnChip, extents: Extents) {
        let row = (place.width.bytes() * u64::from(extents.w)).next_multiple_of(16);
        for index in (Extents { w: 1, ..extents }).indices() {
            self.chip.forget(place.address(index), row);
        }
    }

    /// The window of a stream: TileHeight rows of RowStride bytes. Reading: one that runs past the end of the buffer
    /// ends there, and one without a row stride is empty.
    fn forget_window(&mut self, task: &EngineTask<'_>, place: OnChip) {
        self.chip.forget(place.base, u64::from(task.tile_height()) * place.row);
    }
}
