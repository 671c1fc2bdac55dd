//! The windows: what reading and writing a register does.

use ane_uapi::hw::mover::Profile;
use ane_uapi::hw::mover::model::{self, Control, PackMask, Tile};
use ane_uapi::hw::mover::regs::{CLK_GATE_EN_STORED, CLK_GATE_HYST_STORED, Core, InitialPack, RegisterId};
use ane_uapi::hw::mover::xmov::{self, StallWait, Tensix};
use ane_uapi::register::Word;

use super::Mover;
use super::memories::Memories;
use super::metadata::Lost;
use super::outcome::{Note, Reason, Unit};
use crate::halves::Latch;

/// Registers that only keep what is written to them, and the latch of the counters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeptRegisters {
    gates: u32,
    hysteresis: u32,
    scalers: u32,
    mask: PackMask,
    latch: Latch<model::RegisterId>,
}

/// Bits of SCALERS that are kept: three times nine.
const SCALERS_STORED: u32 = 0x07ff_ffff;

impl Mover {
    pub(super) fn base(&self, core: Core) -> u32 {
        self.bases.get(core.base()).copied().unwrap_or_default()
    }

    /// Reads a register in a core's window, at the time of the last [`advance`](Self::advance).
    pub fn read(&mut self, core: Core, register: RegisterId, index: u16) -> u32 {
        match register {
            RegisterId::STATUS => self.status(),
            RegisterId::XMOV_L1_BASE_ADDR => self.base(core),
            RegisterId::CLK_GATE_EN => self.kept.gates,
            RegisterId::CLK_GATE_HYST => self.kept.hysteresis,
            RegisterId::SCALERS => self.kept.scalers,
            RegisterId::PACKED_SIZE => self.packers.last(index, 0),
            RegisterId::PACKED_SIZE_1 => self.packers.last(index, 1),
            RegisterId::PACKED_SIZE_2 => self.packers.last(index, 2),
            RegisterId::ACC_PACKED_SIZE => self.packers.total(index, 0),
            RegisterId::ACC_PACKED_SIZE_1 => self.packers.total(index, 1),
            RegisterId::ACC_PACKED_SIZE_2 => self.packers.total(index, 2),
            RegisterId::ALL_ZERO_FLAGS => self.packers.zeros(index),
            RegisterId::FIFO_PACKED_TILE_SIZE => {
                let tile = self.packers.peek(index);
                self.tile(index, tile)
            }
            RegisterId::FIFO_PACKED_TILE_ZEROMASK => {
                let tile = self.packers.pop(index);
                self.tile(index, tile)
            }
            RegisterId::FIFO_PACKED_TILE_STATUS => self.packers.queues(),
            RegisterId::XMOV_SRC_ADDR
            | RegisterId::XMOV_DST_ADDR
            | RegisterId::XMOV_SIZE
            | RegisterId::XMOV_DIRECTION
            | RegisterId::COMMAND_ADDR => 0,
        }
    }

    /// The word that is read for a tile; 0 if there is none (Chosen: Tenstorrent's silicon waits for one).
    fn tile(&mut self, packer: u16, tile: Option<u32>) -> u32 {
        tile.unwrap_or_else(|| {
            if self.settings.check {
                self.log.note(Note::NoTile { packer });
            }
            0
        })
    }

    /// Writes a register in a core's window, at the time of the last [`advance`](Self::advance).
    pub fn write(
        &mut self,
        core: Core,
        register: RegisterId,
        index: u16,
        value: u32,
        memories: &mut Memories<'_>,
    ) {
        let [source, destination, size, direction] = &mut self.parameters;
        match register {
            RegisterId::XMOV_SRC_ADDR => *source = value,
            RegisterId::XMOV_DST_ADDR => *destination = value,
            RegisterId::XMOV_SIZE => *size = value,
            RegisterId::XMOV_DIRECTION => *direction = value,
            RegisterId::COMMAND_ADDR => self.enqueue(core, value, memories),
            RegisterId::XMOV_L1_BASE_ADDR => {
                if let Some(base) = self.bases.get_mut(core.base()) {
                    *base = value;
                }
            }
            RegisterId::CLK_GATE_EN => self.kept.gates = value & CLK_GATE_EN_STORED,
            RegisterId::CLK_GATE_HYST => self.kept.hysteresis = value & CLK_GATE_HYST_STORED,
            RegisterId::SCALERS => self.kept.scalers = value & SCALERS_STORED,
            RegisterId::FIFO_PACKED_TILE_STATUS => self.packers.set_address(value),
            RegisterId::FIFO_PACKED_TILE_ZEROMASK => {
                let tile = self.packers.pop(index);
                self.tile(index, tile);
            }
            RegisterId::ACC_PACKED_SIZE | RegisterId::ACC_PACKED_SIZE_1 | RegisterId::ACC_PACKED_SIZE_2 => {
                self.packers.begin(InitialPack::from_word(value));
            }
            RegisterId::STATUS
            | RegisterId::PACKED_SIZE
            | RegisterId::PACKED_SIZE_1
            | RegisterId::PACKED_SIZE_2
            | RegisterId::ALL_ZERO_FLAGS
            | RegisterId::FIFO_PACKED_TILE_SIZE => {}
        }
    }

    /// Writes a word of the port: a thread issues XMOV, or waits.
    pub fn write_port(
        &mut self,
        register: xmov::RegisterId,
        thread: u16,
        value: u32,
        memories: &mut Memories<'_>,
    ) {
        match register {
            xmov::RegisterId::ISSUE => self.issue(thread, value, memories),
            xmov::RegisterId::STALL_WAIT => self.stall(thread, StallWait::from_word(value)),
        }
    }

    /// Reads a register of what the virtual engine adds.
    pub fn read_model(&mut self, register: model::RegisterId, index: u16) -> u32 {
        match register {
            model::RegisterId::ATTRIBUTES => model::Attributes::new()
                .with_isa(self.settings.profile == Profile::Isa)
                .with_wormhole(self.settings.chip == Tensix::Wormhole)
                .with_checks(self.settings.check)
                .into_bits(),
            model::RegisterId::CONTROL => self.control.into_bits(),
            model::RegisterId::LAST_OUTCOME => self.counters.last_outcome as u32,
            model::RegisterId::REFUSED => self.counters.refused,
            model::RegisterId::TRANSFERS => self.counters.transfers,
            model::RegisterId::LAST_CYCLES => self.counters.last_cycles,
            model::RegisterId::BUSY_CYCLES => {
                self.kept.latch.half(register, index, self.counters.busy_cycles)
            }
            model::RegisterId::WAITED_CYCLES => {
                self.kept.latch.half(register, index, self.counters.waited_cycles)
            }
            model::RegisterId::PACK_MASK => self.kept.mask.into_bits(),
            model::RegisterId::PACK_TILE => 0,
        }
    }

    /// Writes a register of what the virtual engine adds.
    pub fn write_model(&mut self, register: model::RegisterId, index: u16, value: u32) {
        match register {
            model::RegisterId::CONTROL => {
                self.control = Control::from_word(value & !register.register().unknown);
            }
            model::RegisterId::PACK_MASK => self.kept.mask = PackMask::from_word(value),
            model::RegisterId::PACK_TILE => {
                let zeros = self.kept.mask.parts();
                let unit = Unit::Packer { packer: index, word: value };
                match self.packers.finish(index, Tile::from_word(value), zeros) {
                    Ok(()) => {}
                    Err(Lost::Full) => self.refuse(unit, Reason::QueueFull),
                    Err(Lost::Nobody) => self.refuse(unit, Reason::NoThread),
                }
            }
            model::RegisterId::ATTRIBUTES
            | model::RegisterId::LAST_OUTCOME
            | model::RegisterId::REFUSED
            | model::RegisterId::TRANSFERS
            | model::RegisterId::LAST_CYCLES
            | model::RegisterId::BUSY_CYCLES
            | model::RegisterId::WAITED_CYCLES => {}
        }
    }
}
