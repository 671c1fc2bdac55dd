//! The bus: which block an offset of the container belongs to, and what an access of any width means.
//!
//! The map and every block's table are data; an offset becomes a [`Target`] here, once, or a refusal that says
//! what is wrong with it. Registers are words of 32 bits (seed 004). What other widths do no source says, so
//! they follow three rules (Chosen):
//!
//! * an access is aligned to its width;
//! * eight bytes are two words, the lower first; the first word that is refused ends it, and if there is
//!   nothing at one of the two neither is touched;
//! * one or two bytes can be read where reading changes nothing, and written where the word is plain
//!   storage. Elsewhere half a register would start or take something whole, and is refused.

use ane_uapi::hw::dart::regs::Window;
use ane_uapi::hw::firmware::FIRMWARE;
use ane_uapi::hw::mmio_map::{self, Region};
use ane_uapi::hw::mover::model::MODEL;
use ane_uapi::hw::mover::regs::{Core, MOVER};
use ane_uapi::hw::mover::xmov::PORT;
use ane_uapi::hw::pe_mmu::PE_MMU;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::td;
use ane_uapi::hw::tm::TASK_MANAGER;
use ane_uapi::hw::tq::{QueueId, TASK_QUEUE};
use ane_uapi::register::{Access, Register};

use crate::counters::Report;
use crate::refusal::{Refusal, Why};

/// What an offset is.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A word of a DART window, by its offset in the window.
    Dart(Window, u32),
    /// A register of the task manager.
    Manager {
        /// The register.
        row: &'static Register,
        /// Which instance.
        index: u16,
    },
    /// A register of a task queue.
    Queue {
        /// The queue.
        queue: QueueId,
        /// The register.
        row: &'static Register,
        /// Its offset from the queue's start.
        offset: u32,
    },
    /// A register that descriptors write, by its record address.
    Configuration {
        /// The register.
        row: &'static Register,
        /// Record address.
        address: u32,
    },
    /// A word without a function.
    Stored(Region),
    /// Half of a free-running clock.
    Clock {
        /// The upper half.
        high: bool,
    },
    /// The version code.
    Version,
    /// Half of a performance report.
    Performance {
        /// The report.
        report: Report,
        /// The upper half.
        high: bool,
    },
    /// A word of kernel memory, by its offset there.
    KernelMemory(u32),
    /// A word of tile L2, by its offset there.
    TileL2(u32),
    /// A register of the mover, in a core's window.
    Mover {
        /// The core.
        core: Core,
        /// The register.
        row: &'static Register,
        /// Which instance.
        index: u16,
    },
    /// A register of what the virtual engine adds to the mover.
    MoverModel {
        /// The register.
        row: &'static Register,
        /// Which instance.
        index: u16,
    },
    /// A word of the mover's configuration space, by its offset there.
    MoverConfiguration(u32),
    /// A word of the port of a thread.
    XmovPort {
        /// The register.
        row: &'static Register,
        /// The thread.
        thread: u16,
    },
    /// A register that stands for the firmware.
    Firmware {
        /// The register.
        row: &'static Register,
        /// Which instance.
        index: u16,
    },
    /// A register of PE_MMU.
    PeMmu {
        /// The register.
        row: &'static Register,
        /// Which instance.
        index: u16,
    },
}

impl Target {
    /// Finds what a word's offset is.
    ///
    /// # Errors
    ///
    /// Refuses an offset that is no word's, and one where the model has nothing.
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
                let (row, index) =
                    TASK_MANAGER.find(inside).ok_or(Why::NoRegister { block: TASK_MANAGER.name })?;
                Ok(Self::Manager { row, index })
            }
            Region::TaskQueues => {
                let none = Why::NoRegister { block: TASK_QUEUE.name };
                let (queue, offset) = QueueId::containing(at).ok_or(none)?;
                let (row, _) = TASK_QUEUE.find(offset).ok_or(none)?;
                Ok(Self::Queue { queue, row, offset })
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
                let (row, index) = PE_MMU.find(inside).ok_or(Why::NoRegister { block: PE_MMU.name })?;
                Ok(Self::PeMmu { row, index })
            }
            Region::Firmware => {
                let (row, index) = FIRMWARE.find(inside).ok_or(Why::NoRegister { block: FIRMWARE.name })?;
                Ok(Self::Firmware { row, index })
            }
            Region::Mover => {
                let none = Why::NoRegister { block: MOVER.name };
                let (core, offset) = Core::at(at).ok_or(none)?;
                let (row, index) = MOVER.find(offset).ok_or(none)?;
                Ok(Self::Mover { core, row, index })
            }
            Region::MoverModel => {
                let (row, index) = MODEL.find(inside).ok_or(Why::NoRegister { block: MODEL.name })?;
                Ok(Self::MoverModel { row, index })
            }
            Region::MoverConfiguration => Ok(Self::MoverConfiguration(inside)),
            Region::XmovPort => {
                let (row, thread) = PORT.find(inside).ok_or(Why::NoRegister { block: PORT.name })?;
                Ok(Self::XmovPort { row, thread })
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

    /// The register's row, where a table has one.
    pub const fn row(&self) -> Option<&'static Register> {
        match self {
            Self::Manager { row, .. }
            | Self::Queue { row, .. }
            | Self::Configuration { row, .. }
            | Self::Mover { row, .. }
            | Self::MoverModel { row, .. }
            | Self::XmovPort { row, .. }
            | Self::PeMmu { row, .. }
            | Self::Firmware { row, .. } => Some(row),
            _ => None,
        }
    }

    /// True if reading changes nothing.
    const fn reads_freely(&self) -> bool {
        match self {
            // What only triggers reads as 0 in the companion blocks.
            Self::Mover { row, .. }
            | Self::MoverModel { row, .. }
            | Self::XmovPort { row, .. }
            | Self::Firmware { row, .. } => !matches!(row.access, Access::Pop),
            _ => match self.row() {
                Some(row) => !matches!(row.access, Access::Pop | Access::Trigger),
                None => true,
            },
        }
    }

    /// True if the word is plain storage.
    const fn is_storage(&self) -> bool {
        matches!(
            self,
            Self::Stored(_) | Self::KernelMemory(_) | Self::TileL2(_) | Self::MoverConfiguration(_)
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

/// An access of some width, as the words that it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Bits of one word: their number from bit 0, and their mask there.
    Part {
        /// The word.
        word: EngineOffset,
        /// Bits below the part.
        shift: u32,
        /// The part's bits, moved to bit 0.
        mask: u32,
    },
    /// One word.
    Word(EngineOffset),
    /// Two words, the lower first.
    Pair(EngineOffset, EngineOffset),
}

impl Span {
    /// The span of `bytes` bytes from `at`.
    ///
    /// # Errors
    ///
    /// Refuses widths other than 1, 2, 4 and 8 bytes, what is not aligned to them, and the parts of words
    /// that come only whole.
    pub fn new(at: EngineOffset, bytes: u8, is_write: bool) -> Result<Self, Refusal> {
        let refuse = |why| Err(Refusal::new(at, why));
        if !matches!(bytes, 1 | 2 | 4 | 8) {
            return refuse(Why::Width { bytes });
        }
        if !at.is_aligned(bytes.into()) {
            return refuse(Why::Misaligned);
        }
        match bytes {
            4 => Ok(Self::Word(at)),
            8 => {
                let upper = at.checked_add(4).ok_or(Refusal::new(at, Why::OutsideContainer))?;
                Target::find(at)?;
                Target::find(upper)?;
                Ok(Self::Pair(at, upper))
            }
            _ => {
                let word = EngineOffset(at.0 & !3);
                let target = Target::find(word)?;
                let whole = if is_write { !target.is_storage() } else { !target.reads_freely() };
                if whole {
                    return refuse(Why::NotAWord { bytes });
                }
                let mask = if bytes == 1 { 0xff } else { 0xffff };
                // At most 24: three bytes of eight bits.
                Ok(Self::Part { word, shift: (at.0 & 3) << 3, mask })
            }
        }
    }
}

/// The low and the high word of a number, as registers show it.
pub(crate) const fn halves(number: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::mmio_map::RANGES;

    use super::*;

    fn why(at: u32) -> Why {
        Target::find(EngineOffset(at)).unwrap_err().why
    }

    /// Requirement: MMIO-01
    #[test]
    fn access_behind_the_container_is_refused() {
        for at in [0x200_0000, 0x200_0004, 0xffff_fffc, u32::MAX] {
            assert_eq!(why(at), Why::OutsideContainer, "{at:#x}");
        }
        assert_eq!(why(0x1ff_fffc), Why::Hole);
    }

    /// Requirement: MMIO-09
    #[test]
    fn range_that_holds_nothing_is_reported() {
        for at in (0x187_4000..0x187_5000).step_by(4) {
            assert_eq!(why(at), Why::Empty, "{at:#x}");
        }
    }

    #[test]
    fn every_hole_of_the_map_would_stop_a_real_machine() {
        let mut behind = 0;
        for range in RANGES {
            for at in [behind, range.start.0.saturating_sub(4)] {
                if at < range.start.0 && at >= behind {
                    assert_eq!(why(at), Why::Hole, "{at:#x}");
                }
            }
            behind = range.end.0;
        }
    }

    /// Requirement: MMIO-13
    #[test]
    fn parts_of_the_computation_engine_lie_where_seed_004_found_them() {
        let find = |at| Target::find(EngineOffset(at)).unwrap();
        assert!(matches!(find(0x1c0_4800), Target::Configuration { address: 0x4800, .. }));
        assert!(matches!(find(0x1c1_f8f4), Target::Configuration { address: 0x1f8f4, .. }));
        assert!(matches!(find(0x1c2_0000), Target::Stored(Region::DmaConfiguration)));
        assert!(matches!(find(0x1c2_3ffc), Target::Stored(Region::DmaConfiguration)));
        assert!(matches!(find(0x1c2_4000), Target::Manager { row, .. } if row.name == "RequestAddress"));
        assert!(matches!(find(0x1c2_5000), Target::Queue { row, .. } if row.name == "STATUS"));
        let last = QueueId::ALL[7].base().0 + 0x138;
        assert!(matches!(find(last), Target::Queue { row, .. } if row.name == "STREAM"));
    }

    /// Requirement: MMIO-06
    #[test]
    fn dart_windows_lie_in_the_order_0_3_and_then_1_and_2() {
        let find = |at| match Target::find(EngineOffset(at)).unwrap() {
            Target::Dart(window, offset) => (window, offset),
            other => panic!("{other:?}"),
        };
        assert_eq!(find(0x180_0000), (Window::Dart0, 0));
        assert_eq!(find(0x180_3ffc), (Window::Dart0, 0x3ffc));
        assert_eq!(find(0x180_4000), (Window::Dart3, 0));
        assert_eq!(find(0x180_7ffc), (Window::Dart3, 0x3ffc));
        assert_eq!(find(0x181_0040), (Window::Dart1, 0x40));
        assert_eq!(find(0x182_0040), (Window::Dart2, 0x40));
        assert_eq!(why(0x180_8000), Why::Hole);
    }

    /// Requirement: TM-02
    #[test]
    fn queues_lie_0x148_bytes_apart_from_0x1c25000() {
        for number in 0..8 {
            let at = EngineOffset(0x1c2_5000 + 0x148 * number);
            let Ok(Target::Queue { queue, row, offset: 0 }) = Target::find(at) else { panic!("{at}") };
            assert_eq!((u32::from(queue.number()), row.name), (number, "STATUS"));
        }
        assert_eq!(why(0x1c2_5000 + 0x148 * 8), Why::NoRegister { block: "tq" });
    }

    /// Requirement: TM-03
    #[test]
    fn queue_begins_with_status_priority_free_space_and_info() {
        let name = |offset| TASK_QUEUE.find(offset).map(|(row, _)| row.name);
        assert_eq!(
            [0x00, 0x10, 0x14, 0x1c].map(name),
            [Some("STATUS"), Some("PRTY"), Some("FREE_SPACE"), Some("TQINFO")]
        );
    }

    /// Requirement: TM-04
    #[test]
    fn first_set_of_a_queue_is_where_seed_004_lists_it() {
        let name = |offset| TASK_QUEUE.find(offset).map(|(row, index)| (row.name, index));
        assert_eq!(name(0x20), Some(("BAR1", 0)));
        assert_eq!(name(0x9c), Some(("BAR1", 31)));
        assert_eq!(name(0xa0), Some(("REQ_NID1", 0)));
        assert_eq!(name(0xa4), Some(("REQ_SIZE2", 0)));
        assert_eq!(name(0xa8), Some(("REQ_ADDR2", 0)));
    }

    /// Requirement: TM-05
    #[test]
    fn second_set_of_a_queue_is_where_seed_004_lists_it() {
        let name = |offset| TASK_QUEUE.find(offset).map(|(row, index)| (row.name, index));
        assert_eq!(name(0xac), Some(("BAR2", 0)));
        assert_eq!(name(0x128), Some(("BAR2", 31)));
        assert_eq!(name(0x12c), Some(("REQ_NID2", 0)));
        assert_eq!(name(0x130), Some(("REQ_SIZE1", 0)));
        assert_eq!(name(0x134), Some(("REQ_ADDR1", 0)));
    }

    #[test]
    fn widths_other_than_powers_of_two_up_to_eight_are_refused() {
        for bytes in 0..=u8::MAX {
            let span = Span::new(EngineOffset(0x1d0_0000), bytes, false);
            match bytes {
                1 | 2 | 4 | 8 => assert!(span.is_ok()),
                _ => assert_eq!(span.unwrap_err().why, Why::Width { bytes }),
            }
        }
    }

    #[test]
    fn part_of_a_register_that_comes_only_whole_is_refused() {
        let event_info = EngineOffset(0x1c2_4018);
        assert_eq!(Span::new(event_info, 1, false).unwrap_err().why, Why::NotAWord { bytes: 1 });
        let push = EngineOffset(0x1c2_4008);
        assert_eq!(Span::new(push, 2, true).unwrap_err().why, Why::NotAWord { bytes: 2 });
        let status = EngineOffset(0x1c2_4056);
        assert_eq!(
            Span::new(status, 2, false),
            Ok(Span::Part { word: EngineOffset(0x1c2_4054), shift: 16, mask: 0xffff })
        );
    }

    #[test]
    fn pair_with_nothing_at_one_end_touches_neither() {
        let at = EngineOffset(0x1c2_4070);
        assert_eq!(
            Span::new(at, 8, true).unwrap_err(),
            Refusal::new(EngineOffset(0x1c2_4074), Why::NoRegister { block: "tm" })
        );
    }
}
