//! The bus: which block an offset of the container belongs to, and what an access of any width means.
//!
//! The map and every block's table are data; an offset becomes a [`Target`] here, once, or a refusal that says
//! what is wrong with it. Registers are words of 32 bits (seed 004); `span` has what other widths mean.

mod span;
#[cfg(test)]
mod tests;

use ane_uapi::hw::dart::regs::Window;
use ane_uapi::hw::firmware::{self, FIRMWARE};
use ane_uapi::hw::mmio_map::{self, Region};
use ane_uapi::hw::mover::model::{self, MODEL};
use ane_uapi::hw::mover::regs::{self, Core, MOVER};
use ane_uapi::hw::mover::xmov::{self, PORT};
use ane_uapi::hw::pe_mmu::{self, PE_MMU};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::td;
use ane_uapi::hw::tm::{self, TASK_MANAGER};
use ane_uapi::hw::tq::{self, QueueId, TASK_QUEUE};
use ane_uapi::register::{Access, Register};

pub use self::span::Span;
use crate::counters::Report;
use crate::refusal::{Refusal, Why};

#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A word of a DART window, by its offset in the window.
    Dart(Window, u32),
    /// A register of the task manager, instance `index` of it.
    Manager {
        register: tm::RegisterId,
        index: u16,
    },
    /// By its offset from the queue's start.
    Queue {
        queue: QueueId,
        register: tq::RegisterId,
        offset: u32,
    },
    /// A register that descriptors write, by its record address.
    Configuration {
        row: &'static Register,
        address: u32,
    },
    /// A word without a function.
    Stored(Region),
    /// Half of a free-running clock.
    Clock {
        high: bool,
    },
    /// The word that tells the engine's version.
    Version,
    /// Half of a counter, the upper one or the lower.
    Performance {
        report: Report,
        high: bool,
    },
    /// A word of kernel memory, by its offset there.
    KernelMemory(u32),
    /// A word of tile L2, by its offset there.
    TileL2(u32),
    Mover(MoverWord),
    /// A register that stands for the firmware.
    Firmware {
        register: firmware::RegisterId,
        index: u16,
    },
    /// A register of PE_MMU, which not every device has.
    PeMmu {
        register: pe_mmu::RegisterId,
        index: u16,
    },
}

/// A word of one of the mover's four windows.
#[derive(Clone, Copy, Debug)]
pub enum MoverWord {
    /// A register in a core's window.
    Core { core: Core, register: regs::RegisterId, index: u16 },
    /// A register of what the virtual engine adds to the mover.
    Model { register: model::RegisterId, index: u16 },
    /// A word of the configuration space, by its offset there.
    Configuration(u32),
    /// A word of the port of a thread.
    Port { register: xmov::RegisterId, thread: u16 },
}

impl Target {
    pub fn find(at: EngineOffset) -> Result<Self, Refusal> {
        Self::at(at).map_err(|why| Refusal::new(at, why))
    }

    fn at(at: EngineOffset) -> Result<Self, Why> {
        if at.0 >= EngineOffset::CONTAINER {
            return Err(Why::OutsideContainer);
        }
        if !at.is_aligned(4) {
            return Err(Why::Misaligned);
        }
        let range = mmio_map::find(at).ok_or(Why::Hole)?;
        let inside = at.0.saturating_sub(range.start.0);
        match range.region {
            Region::Dart0 => Ok(Self::Dart(Window::Dart0, inside)),
            Region::Dart1 => Ok(Self::Dart(Window::Dart1, inside)),
            Region::Dart2 => Ok(Self::Dart(Window::Dart2, inside)),
            Region::Dart3 => Ok(Self::Dart(Window::Dart3, inside)),
            Region::TaskManager => {
                let (register, index) =
                    tm::RegisterId::find(inside).ok_or(Why::NoRegister { block: TASK_MANAGER.name })?;
                Ok(Self::Manager { register, index })
            }
            Region::TaskQueues => {
                let none = Why::NoRegister { block: TASK_QUEUE.name };
                let (queue, offset) = QueueId::containing(at).ok_or(none)?;
                let (register, _) = tq::RegisterId::find(offset).ok_or(none)?;
                Ok(Self::Queue { queue, register, offset })
            }
            Region::MaddConfiguration => {
                let none = Why::NoRegister { block: range.name };
                let address = td::shown_at(at).ok_or(none)?;
                let row = td::find(address).ok_or(none)?.register;
                Ok(Self::Configuration { row, address })
            }
            Region::Asc => Ok(clock(at).unwrap_or(Self::Stored(range.region))),
            Region::Doorbell if at == mmio_map::VERSION => Ok(Self::Version),
            Region::Performance => {
                let (report, high) = Report::at(at).ok_or(Why::NoRegister { block: range.name })?;
                Ok(Self::Performance { report, high })
            }
            Region::KernelMemory => Ok(Self::KernelMemory(inside)),
            Region::TileL2 => Ok(Self::TileL2(inside)),
            Region::Nothing => Err(Why::Empty),
            Region::PeMmu => {
                let (register, index) =
                    pe_mmu::RegisterId::find(inside).ok_or(Why::NoRegister { block: PE_MMU.name })?;
                Ok(Self::PeMmu { register, index })
            }
            Region::Firmware => {
                let (register, index) =
                    firmware::RegisterId::find(inside).ok_or(Why::NoRegister { block: FIRMWARE.name })?;
                Ok(Self::Firmware { register, index })
            }
            Region::Mover => {
                let none = Why::NoRegister { block: MOVER.name };
                let (core, offset) = Core::at(at).ok_or(none)?;
                let (register, index) = regs::RegisterId::find(offset).ok_or(none)?;
                Ok(Self::Mover(MoverWord::Core { core, register, index }))
            }
            Region::MoverModel => {
                let (register, index) =
                    model::RegisterId::find(inside).ok_or(Why::NoRegister { block: MODEL.name })?;
                Ok(Self::Mover(MoverWord::Model { register, index }))
            }
            Region::MoverConfiguration => Ok(Self::Mover(MoverWord::Configuration(inside))),
            Region::XmovPort => {
                let (register, thread) =
                    xmov::RegisterId::find(inside).ok_or(Why::NoRegister { block: PORT.name })?;
                Ok(Self::Mover(MoverWord::Port { register, thread }))
            }
            Region::Tunables
            | Region::AscData
            | Region::Mailbox
            | Region::Doorbell
            | Region::AckGpio
            | Region::PowerData
            | Region::SystemTunables
            | Region::SocTunables
            | Region::DmaConfiguration => Ok(Self::Stored(range.region)),
        }
    }

    pub const fn row(&self) -> Option<&'static Register> {
        match self {
            Self::Manager { register, .. } => Some(register.register()),
            Self::Queue { register, .. } => Some(register.register()),
            Self::Configuration { row, .. } => Some(row),
            Self::Mover(MoverWord::Core { register, .. }) => Some(register.register()),
            Self::Mover(MoverWord::Model { register, .. }) => Some(register.register()),
            Self::Mover(MoverWord::Port { register, .. }) => Some(register.register()),
            Self::PeMmu { register, .. } => Some(register.register()),
            Self::Firmware { register, .. } => Some(register.register()),
            Self::Dart(..)
            | Self::Stored(_)
            | Self::Clock { .. }
            | Self::Version
            | Self::Performance { .. }
            | Self::KernelMemory(_)
            | Self::TileL2(_)
            | Self::Mover(MoverWord::Configuration(_)) => None,
        }
    }

    /// True if reading changes nothing.
    const fn reads_freely(&self) -> bool {
        // A register that only triggers reads as 0 in the companion blocks.
        let reads_triggers = matches!(self, Self::Mover(_) | Self::Firmware { .. });
        match self.row() {
            Some(row) => match row.access {
                Access::Pop => false,
                Access::Trigger => reads_triggers,
                Access::ReadOnly | Access::ReadWrite | Access::WriteOneToClear => true,
            },
            None => true,
        }
    }

    /// True if the word is plain storage.
    const fn is_storage(&self) -> bool {
        matches!(
            self,
            Self::Stored(_)
                | Self::KernelMemory(_)
                | Self::TileL2(_)
                | Self::Mover(MoverWord::Configuration(_))
        )
    }
}

fn clock(at: EngineOffset) -> Option<Target> {
    mmio_map::CLOCKS.iter().find_map(|low| match at.0.checked_sub(low.0)? {
        0 => Some(Target::Clock { high: false }),
        4 => Some(Target::Clock { high: true }),
        _ => None,
    })
}
