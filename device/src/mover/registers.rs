//! The windows: what reading and writing a register does.

use ane_uapi::hw::mover::Profile;
use ane_uapi::hw::mover::model::{self, Control, PackMask, Tile};
use ane_uapi::hw::mover::regs::{self, CLK_GATE_EN_STORED, CLK_GATE_HYST_STORED, Core, InitialPack};
use ane_uapi::hw::mover::xmov::{self, StallWait, Tensix};
use ane_uapi::register::{Reg, Register, Word};

use super::Mover;
use super::memories::Memories;
use super::metadata::Lost;
use super::outcome::{Note, Reason, Unit};
use crate::bus::halves;

/// Registers that only keep what is written to them, and the half of a counter that waits to be read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    gates: u32,
    hysteresis: u32,
    scalers: u32,
    mask: PackMask,
    latched: Option<(u32, u32)>,
}

/// Bits of SCALERS that are kept: three times nine.
const SCALERS_STORED: u32 = 0x07ff_ffff;

fn is<T: Word>(row: &Register, register: &Reg<T>) -> bool {
    row.offset == register.offset()
}

impl Mover {
    /// The base of a core's thread.
    pub(super) fn base(&self, core: Core) -> u32 {
        self.bases.get(core.base()).copied().unwrap_or_default()
    }

    /// Reads a register in a core's window, at the caller's time.
    pub fn read(
        &mut self,
        core: Core,
        row: &Register,
        index: u16,
        time: u64,
        memories: &mut Memories<'_>,
    ) -> u32 {
        self.advance(time, memories);
        if is(row, &regs::STATUS) {
            self.status()
        } else if is(row, &regs::XMOV_L1_BASE_ADDR) {
            self.base(core)
        } else if is(row, &regs::CLK_GATE_EN) {
            self.kept.gates
        } else if is(row, &regs::CLK_GATE_HYST) {
            self.kept.hysteresis
        } else if is(row, &regs::SCALERS) {
            self.kept.scalers
        } else {
            self.read_metadata(row, index)
        }
    }

    fn read_metadata(&mut self, row: &Register, packer: u16) -> u32 {
        if is(row, &regs::PACKED_SIZE) {
            self.packers.last(packer, 0)
        } else if is(row, &regs::PACKED_SIZE_1) {
            self.packers.last(packer, 1)
        } else if is(row, &regs::PACKED_SIZE_2) {
            self.packers.last(packer, 2)
        } else if is(row, &regs::ACC_PACKED_SIZE) {
            self.packers.total(packer, 0)
        } else if is(row, &regs::ACC_PACKED_SIZE_1) {
            self.packers.total(packer, 1)
        } else if is(row, &regs::ACC_PACKED_SIZE_2) {
            self.packers.total(packer, 2)
        } else if is(row, &regs::ALL_ZERO_FLAGS) {
            self.packers.zeros(packer)
        } else if is(row, &regs::FIFO_PACKED_TILE_SIZE) {
            let tile = self.packers.peek(packer);
            self.tile(packer, tile)
        } else if is(row, &regs::FIFO_PACKED_TILE_ZEROMASK) {
            let tile = self.packers.pop(packer);
            self.tile(packer, tile)
        } else if is(row, &regs::FIFO_PACKED_TILE_STATUS) {
            self.packers.queues()
        } else {
            // Parameters and commands.
            0
        }
    }

    /// What is read of a tile; 0 if there is none (Chosen: the vendor's silicon waits for one).
    fn tile(&mut self, packer: u16, tile: Option<u32>) -> u32 {
        tile.unwrap_or_else(|| {
            if self.settings.check {
                self.log.note(Note::NoTile { packer });
            }
            0
        })
    }

    /// Writes a register in a core's window, at the caller's time.
    pub fn write(
        &mut self,
        core: Core,
        row: &Register,
        index: u16,
        value: u32,
        time: u64,
        memories: &mut Memories<'_>,
    ) {
        self.advance(time, memories);
        let [source, destination, size, direction] = &mut self.parameters;
        if is(row, &regs::XMOV_SRC_ADDR) {
            *source = value;
        } else if is(row, &regs::XMOV_DST_ADDR) {
            *destination = value;
        } else if is(row, &regs::XMOV_SIZE) {
            *size = value;
        } else if is(row, &regs::XMOV_DIRECTION) {
            *direction = value;
        } else if is(row, &regs::COMMAND_ADDR) {
            self.enqueue(core, value, memories);
        } else if is(row, &regs::XMOV_L1_BASE_ADDR) {
            if let Some(base) = self.bases.get_mut(core.base()) {
                *base = value;
            }
        } else if is(row, &regs::CLK_GATE_EN) {
            self.kept.gates = value & CLK_GATE_EN_STORED;
        } else if is(row, &regs::CLK_GATE_HYST) {
            self.kept.hysteresis = value & CLK_GATE_HYST_STORED;
        } else if is(row, &regs::SCALERS) {
            self.kept.scalers = value & SCALERS_STORED;
        } else if is(row, &regs::FIFO_PACKED_TILE_STATUS) {
            self.packers.set_address(value);
        } else if is(row, &regs::FIFO_PACKED_TILE_ZEROMASK) {
            let tile = self.packers.pop(index);
            self.tile(index, tile);
        } else if is(row, &regs::ACC_PACKED_SIZE)
            || is(row, &regs::ACC_PACKED_SIZE_1)
            || is(row, &regs::ACC_PACKED_SIZE_2)
        {
            self.packers.begin(InitialPack::from_word(value));
        }
    }

    /// Writes a word of the port: a thread issues XMOV, or waits.
    pub fn write_port(
        &mut self,
        row: &Register,
        thread: u16,
        value: u32,
        time: u64,
        memories: &mut Memories<'_>,
    ) {
        self.advance(time, memories);
        if is(row, &xmov::ISSUE) {
            self.issue(thread, value, memories);
        } else {
            self.stall(thread, StallWait::from_word(value));
        }
    }

    /// Reads a register of what the virtual engine adds.
    pub fn read_model(&mut self, row: &Register, index: u16, time: u64, memories: &mut Memories<'_>) -> u32 {
        self.advance(time, memories);
        if is(row, &model::ATTRIBUTES) {
            model::Attributes::new()
                .with_isa(self.settings.profile == Profile::Isa)
                .with_wormhole(self.settings.chip == Tensix::Wormhole)
                .with_checks(self.settings.check)
                .into_bits()
        } else if is(row, &model::CONTROL) {
            self.control.into_bits()
        } else if is(row, &model::LAST_OUTCOME) {
            self.counters.last_outcome as u32
        } else if is(row, &model::REFUSED) {
            self.counters.refused
        } else if is(row, &model::TRANSFERS) {
            self.counters.transfers
        } else if is(row, &model::LAST_CYCLES) {
            self.counters.last_cycles
        } else if is(row, &model::BUSY_CYCLES) {
            self.half(row, index, self.counters.busy_cycles)
        } else if is(row, &model::WAITED_CYCLES) {
            self.half(row, index, self.counters.waited_cycles)
        } else if is(row, &model::PACK_MASK) {
            self.kept.mask.into_bits()
        } else {
            0
        }
    }

    /// Half of a counter: the low one holds the high one until that is read.
    fn half(&mut self, row: &Register, index: u16, count: u64) -> u32 {
        let (low, high) = halves(count);
        if index == 0 {
            self.kept.latched = Some((row.offset, high));
            return low;
        }
        match self.kept.latched.take_if(|(offset, _)| *offset == row.offset) {
            Some((_, held)) => held,
            None => high,
        }
    }

    /// Writes a register of what the virtual engine adds.
    pub fn write_model(
        &mut self,
        row: &Register,
        index: u16,
        value: u32,
        time: u64,
        memories: &mut Memories<'_>,
    ) {
        self.advance(time, memories);
        if is(row, &model::CONTROL) {
            self.control = Control::from_word(value & !row.unknown);
        } else if is(row, &model::PACK_MASK) {
            self.kept.mask = PackMask::from_word(value);
        } else if is(row, &model::PACK_TILE) {
            let zeros = self.kept.mask.parts();
            let unit = Unit::Packer { packer: index, word: value };
            match self.packers.finish(index, Tile::from_word(value), zeros) {
                Ok(()) => {}
                Err(Lost::Full) => self.refuse(unit, Reason::QueueFull),
                Err(Lost::Nobody) => self.refuse(unit, Reason::NoThread),
            }
        }
    }
}
