//! The container: what lies where in the engine's 32 MB of registers.
//!
//! Each circuit maps one container on the SoC's bus, and inside every container the map is the same. Seed 004
//! found its ranges on a T8103 by touching every address and keeping those that did not stop the machine;
//! everything between them is to be left alone. The lower half belongs to the coprocessor (ASC) that runs the
//! firmware, then come the four DART windows, handshakes, power and performance words, and from `0x1c04000`
//! on the engine proper. A driver without firmware needs the DART windows, the task manager and the queues.
//!
//! The last megabyte, [`EXTENSION_START`] to [`EXTENSION_END`], is unused by real silicon. This project puts
//! the blocks there that no Apple chip has: the mover and the PE_MMU.
//!
//! Ends are exclusive here. Seed 004 prints some ends as the last word (`...fffc`), and those are rounded up
//! to the first address behind it.

use super::space::EngineOffset;
use super::{dart, firmware, mover, pe_mmu, td, tm, tq};
use crate::register::{Block, Grade};

/// First offset of the extension range.
pub const EXTENSION_START: EngineOffset = EngineOffset(0x1f0_0000);

/// First offset behind the extension range, which is the end of the container.
pub const EXTENSION_END: EngineOffset = EngineOffset(EngineOffset::CONTAINER);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub region: Region,
    pub name: &'static str,
    pub start: EngineOffset,
    /// First offset behind it.
    pub end: EngineOffset,
    pub doc: &'static str,
    /// The effect of reads and writes.
    pub access: &'static str,
    pub grade: Grade,
    pub source: &'static str,
}

const STORED: &str = "reads give what was last written; no effect";
const RETAINED: &str = "reads give what was last written, also after a reset of the engine; no effect";
const REGISTERS: &str = "each register has its own rules";
const MEMORY: &str = "memory";

/// Declares the ranges: a [`Region`] for each, and the table of them, in which a region finds its range by its number.
macro_rules! ranges {
    ($(
        $start:literal .. $end:literal, $region:ident, $name:literal,
        $doc:literal,
        $access:expr, $grade:ident, $source:literal;
    )*) => {
        /// A range of the map.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Region { $(
            #[doc = $doc]
            $region,
        )* }

        /// The ranges, by rising offset; they do not overlap.
        pub const RANGES: &[Range] = &[ $( Range {
            region: Region::$region,
            name: $name,
            start: EngineOffset($start),
            end: EngineOffset($end),
            doc: $doc,
            access: $access,
            grade: Grade::$grade,
            source: $source,
        }, )* ];
    };
}

ranges! {
    0x000_0000..0x000_1000, Tunables, "tunables",
        "tunables of the circuit, filled once at start",
        STORED, Derived, "seed 004, mmio map";
    0x100_0000..0x101_0020, AscData, "asc data",
        "data of the coprocessor",
        STORED, Derived, "seed 004, mmio map";
    0x105_0000..0x120_0000, Asc, "asc",
        "the coprocessor: reset vector, implementation registers, free-running clocks",
        "stored, but for the clocks, which run", Derived, "seed 004, mmio map, note a";
    0x140_0000..0x145_7100, Mailbox, "asc mailbox",
        "the coprocessor's mailbox; no command passes through it",
        STORED, Derived, "seed 004, mmio map, note b";
    0x180_0000..0x180_4000, Dart0, "dart0",
        "first DART window",
        REGISTERS, Measured, "seed 000, table 28.3; seed 004, mmio map";
    0x180_4000..0x180_8000, Dart3, "dart3",
        "fourth DART window; the engine's DMA does not pass through it",
        REGISTERS, Measured, "seed 000, table 28.3; seed 004, mmio map";
    0x181_0000..0x181_4000, Dart1, "dart1",
        "second DART window",
        REGISTERS, Measured, "seed 000, table 28.3; seed 004, mmio map";
    0x182_0000..0x182_4000, Dart2, "dart2",
        "third DART window",
        REGISTERS, Measured, "seed 000, table 28.3; seed 004, mmio map";
    0x184_0000..0x185_4000, Doorbell, "asc doorbell",
        "interrupt and doorbell of the coprocessor, with the version code first",
        "stored, but for the version code, which is read-only", Derived, "seed 004, mmio map, note c";
    0x186_0000..0x187_0000, AckGpio, "ack gpio",
        "words by which driver and coprocessor acknowledge each other",
        STORED, Derived, "seed 004, mmio map";
    0x187_4000..0x187_5000, Nothing, "nothing",
        "answers, and holds nothing",
        "reads give 0; an access is reported", Derived, "seed 004, mmio map";
    0x18e_c000..0x18f_0000, PowerData, "power data",
        "peak-power data",
        RETAINED, Derived, "seed 004, mmio map";
    0x18f_0000..0x18f_4000, SystemTunables, "system tunables",
        "power tunables of the system, filled at boot",
        RETAINED, Derived, "seed 004, mmio map, note d";
    // Seed 004 prints an end below the start; one block of 0x4000 like its neighbours is assumed.
    0x18f_4000..0x18f_8000, SocTunables, "soc tunables",
        "power tunables of the SoC, filled at boot",
        RETAINED, Predicted, "seed 004, mmio map, note d; facts M, X-27";
    0x190_0000..0x190_c200, Performance, "performance",
        "performance reports, such as the bytes that DMA has read",
        "counters", Derived, "seed 004, mmio map";
    0x1c0_4000..0x1c2_0000, MaddConfiguration, "madd configuration",
        "what task descriptors configure",
        REGISTERS, Derived, "seed 004, computation engine";
    0x1c2_0000..0x1c2_4000, DmaConfiguration, "dma configuration",
        "configuration of the DMA circuits",
        STORED, Derived, "seed 004, computation engine";
    0x1c2_4000..0x1c2_5000, TaskManager, "task manager",
        "task manager",
        REGISTERS, Derived, "seed 004, computation engine";
    0x1c2_5000..0x1c2_8000, TaskQueues, "task queues",
        "eight task queues, 0x148 apart",
        REGISTERS, Derived, "seed 004, computation engine";
    0x1c3_4000..0x1c4_4000, KernelMemory, "kernel memory",
        "kernel memory, 64 KB: the coefficients of the running task",
        MEMORY, Derived, "seed 004, mmio map";
    0x1d0_0000..0x1f0_0000, TileL2, "tile l2",
        "tile L2, 2 MB: the on-chip buffer",
        MEMORY, Derived, "seed 004, mmio map";
    0x1f1_0000..0x1f1_5000, Mover, "mover",
        "registers of the mover, once for each of five cores",
        REGISTERS, Chosen, "seed 002, section 3";
    0x1f1_8000..0x1f1_9000, MoverModel, "mover model",
        "switches and outcomes of the mover, and a stand-in for packers",
        REGISTERS, Chosen, "mover 8";
    0x1f2_0000..0x1f3_0000, MoverConfiguration, "mover configuration",
        "configuration space, 64 KB, that the mover writes and XMOV reads",
        STORED, Chosen, "mover 1";
    0x1f3_0000..0x1f3_001c, XmovPort, "xmov port",
        "issue port of XMOV and STALLWAIT, one word of each for each of three threads",
        "writing a word issues it on the thread", Chosen, "mover 2";
    0x1f4_0000..0x1f4_1000, PeMmu, "pe_mmu",
        "registers of the PE_MMU",
        REGISTERS, Chosen, "seed 001";
    0x1f5_0000..0x1f5_1000, Firmware, "firmware",
        "registers that stand for the firmware's share",
        REGISTERS, Chosen, "seed 000";
}

const _: () = {
    let mut i = 0;
    let mut behind = 0;
    while i < RANGES.len() {
        let Range { start, end, .. } = RANGES[i];
        assert!(behind <= start.0 && start.0 < end.0, "ranges rise and do not overlap");
        assert!(start.0.is_multiple_of(4) && end.0.is_multiple_of(4));
        assert!(
            matches!(RANGES[i].grade, Grade::Chosen) == (start.0 >= EXTENSION_START.0),
            "exactly what this project chose lies in the extension range"
        );
        behind = end.0;
        i += 1;
    }
    assert!(behind <= EngineOffset::CONTAINER);
};

/// The range that `offset` lies in.
///
/// # Examples
///
/// ```
/// use ane_uapi::hw::mmio_map::{self, Region};
/// use ane_uapi::hw::space::EngineOffset;
///
/// assert_eq!(mmio_map::find(EngineOffset(0x1c2_4008)).unwrap().region, Region::TaskManager);
/// assert!(mmio_map::find(EngineOffset(0x1c0_0000)).is_none());
/// ```
pub fn find(offset: EngineOffset) -> Option<&'static Range> {
    let behind = RANGES.partition_point(|range| range.start <= offset);
    let range = RANGES.get(behind.checked_sub(1)?)?;
    range.contains(offset).then_some(range)
}

impl Range {
    pub const fn contains(&self, offset: EngineOffset) -> bool {
        self.start.0 <= offset.0 && offset.0 < self.end.0
    }

    #[expect(clippy::len_without_is_empty, reason = "a range is never empty")]
    pub const fn len(&self) -> u32 {
        self.end.0 - self.start.0
    }
}

impl Region {
    /// The four DART windows in the order of their numbers, which is not that of their offsets.
    pub const DART: [Self; 4] = [Self::Dart0, Self::Dart1, Self::Dart2, Self::Dart3];

    pub const fn range(self) -> &'static Range {
        &RANGES[self as usize]
    }

    /// The blocks of registers that live here and are described in full.
    ///
    /// Those of [`td`] are numbered by record address ([`td::BASE`]); that of [`tq`] is one queue, and that
    /// of [`dart`] one window, whichever it is.
    pub const fn blocks(self) -> &'static [&'static Block] {
        match self {
            Self::MaddConfiguration => &td::BLOCKS,
            Self::Dart0 | Self::Dart1 | Self::Dart2 | Self::Dart3 => const { &[&dart::regs::WINDOW] },
            Self::TaskManager => const { &[&tm::TASK_MANAGER] },
            Self::TaskQueues => const { &[&tq::TASK_QUEUE] },
            Self::Mover => const { &[&mover::regs::MOVER] },
            Self::MoverModel => const { &[&mover::model::MODEL] },
            Self::XmovPort => const { &[&mover::xmov::PORT] },
            Self::PeMmu => const { &[&pe_mmu::PE_MMU] },
            Self::Firmware => const { &[&firmware::FIRMWARE] },
            _ => &[],
        }
    }
}

const _: () = {
    let mut window = 0;
    while window < dart::regs::Window::ALL.len() {
        let range = Region::DART[window].range();
        assert!(range.start.0 == dart::regs::Window::ALL[window].base().0);
        assert!(range.len() == dart::regs::Window::LEN);
        window += 1;
    }
    assert!(Region::TaskQueues.range().start.0 == tq::BASE.0);
    assert!(Region::Mover.range().start.0 == mover::regs::BASE.0);
    assert!(Region::Mover.range().len() == mover::regs::CORE_STRIDE * mover::regs::Core::ALL.len() as u32);
    assert!(Region::MoverConfiguration.range().start.0 == mover::xmov::CONFIGURATION.0);
    assert!(Region::MoverConfiguration.range().len() == mover::transfer::WINDOW_BYTES);
};

/// Where the coprocessor begins after a reset.
pub const RVBAR: EngineOffset = EngineOffset(0x105_0000);

/// The version code of the engine.
pub const VERSION: EngineOffset = EngineOffset(0x184_0000);

/// Words of the coprocessor's range in which free-running clocks are read, each a low half and a high half.
///
/// They tick as event timestamps do, [`tm::TIMESTAMP_HZ`] times in a second.
pub const CLOCKS: [EngineOffset; 4] =
    [EngineOffset(0x116_0008), EngineOffset(0x116_8008), EngineOffset(0x117_0000), EngineOffset(0x117_8000)];
