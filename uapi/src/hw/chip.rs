//! The chips that have this engine: boards, SoCs, and the neural processor circuits on them.
//!
//! A *circuit* is one complete engine: its own registers, its own DART, its own firmware. An M1 has one,
//! called `styx`; an M1 Pro, Max and Ultra have one, two and four, called `eos0` to `eos3`; an M2 has one,
//! `bia`. The device tree shows each circuit as one node (*instance*), numbered where there are several, and
//! nothing connects the instances of a chip: work goes to one of them and stays there (seed 004; its author
//! had one T8103 and says so of the rest).
//!
//! The differences between the chips are data in this file: the address of the registers, the power management
//! ranges of a circuit, the column of the [HAL table](super::hal) that its compiler reads.
//! The map *inside* a container is the same everywhere: [`super::mmio_map`].

use super::dart::{self, aperture};
use super::hal::Generation;
use super::space::{EngineOffset, PhysAddr};
use super::usage::ReadOnly;
use crate::named;
use crate::register::Grade;

mod engines;
mod lookup;

pub use engines::{Count, MADDS_PER_ENGINE, Quantity, operations_per_cycle};
pub use lookup::Unknown;

named! {
    /// A system on chip that the model can be.
    pub enum Soc {
        /// M1.
        T8103 "t8103",
        /// M1 Pro.
        T6000 "t6000",
        /// M1 Max.
        T6001 "t6001",
        /// M1 Ultra.
        T6002 "t6002",
        /// M2.
        T8112 "t8112",
    }
}

/// A computer that was sold, and its SoC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// Name in the shop.
    pub marketing: &'static str,
    pub product: &'static str,
    pub soc: Soc,
}

const fn board(marketing: &'static str, product: &'static str, soc: Soc) -> Board {
    Board { marketing, product, soc }
}

/// The thirteen boards (seed 004, *Board types*; derived).
pub const BOARDS: [Board; 13] = [
    board("Mac mini (M1, 2020)", "J274AP", Soc::T8103),
    board("MacBook Pro (13-inch, M1, 2020)", "J293AP", Soc::T8103),
    board("MacBook Air (M1, 2020)", "J313AP", Soc::T8103),
    board("iMac (24-inch (4-port), M1, 2021)", "J456AP", Soc::T8103),
    board("iMac (24-inch (2-port), M1, 2021)", "J457AP", Soc::T8103),
    board("MacBook Pro (16-inch, M1 Pro, 2021)", "J316sAP", Soc::T6000),
    board("MacBook Pro (16-inch, M1 Max, 2021)", "J316cAP", Soc::T6001),
    board("MacBook Pro (14-inch, M1 Pro, 2021)", "J314sAP", Soc::T6000),
    board("MacBook Pro (14-inch, M1 Max, 2021)", "J314cAP", Soc::T6001),
    board("Mac Studio (M1 Max, 2022)", "J375cAP", Soc::T6001),
    board("Mac Studio (M1 Ultra, 2022)", "J375dAP", Soc::T6002),
    board("MacBook Pro (13-inch, M2, 2022)", "J493AP", Soc::T8112),
    board("MacBook Air (M2, 2022)", "J413AP", Soc::T8112),
];

/// A run of physical addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhysRange {
    pub base: PhysAddr,
    /// Bytes.
    pub len: u64,
}

/// One neural processor circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circuit {
    pub codename: &'static str,
    pub firmware: &'static str,
    /// Where its container of registers is mapped.
    pub mmio_base: PhysAddr,
    pub pmu: &'static [PhysRange],
    pub grade: Grade,
    pub source: &'static str,
}

const fn pmu(base: u64, len: u64) -> PhysRange {
    PhysRange { base: PhysAddr(base), len }
}

const fn circuit(
    codename: &'static str,
    firmware: &'static str,
    mmio_base: u64,
    pmu: &'static [PhysRange],
) -> Circuit {
    Circuit {
        codename,
        firmware,
        mmio_base: PhysAddr(mmio_base),
        pmu,
        grade: Grade::Derived,
        source: "seed 004, board types; facts A.1",
    }
}

/// The circuit of the M1.
pub const STYX: Circuit =
    circuit("styx", "h13_ane_fw_styx_j5x", 0x2_6a00_0000, &[pmu(0x2_3b70_0000, 0x8_c000)]);

/// The first circuit of the M1 Pro, Max and Ultra.
pub const EOS0: Circuit =
    circuit("eos0", "t600x_ane0_fw_eos_jc3x", 0x2_8400_0000, &[pmu(0x2_8e08_0000, 0xc02c)]);

/// The second circuit of the M1 Max and Ultra.
pub const EOS1: Circuit =
    circuit("eos1", "t600x_ane1_fw_eos_jc3x", 0x5_0800_0000, &[pmu(0x2_8e68_0100, 0x3f2c)]);

/// The third circuit of the M1 Ultra.
pub const EOS2: Circuit =
    circuit("eos2", "t600x_ane2_fw_eos_jc3x", 0x22_8400_0000, &[pmu(0x22_8e08_0000, 0xc02c)]);

/// The fourth circuit of the M1 Ultra.
pub const EOS3: Circuit =
    circuit("eos3", "t600x_ane3_fw_eos_jc3x", 0x25_0800_0000, &[pmu(0x22_8e68_0100, 0x3f2c)]);

/// The circuit of the M2: the only one with two power management ranges.
pub const BIA: Circuit = circuit(
    "bia",
    "h14_ane_fw_bia_j4xx",
    0x2_6a00_0000,
    &[pmu(0x2_3b70_0000, 0x1_8000), pmu(0x2_3b72_4000, 0x4000)],
);

pub const CIRCUITS: [Circuit; 6] = [STYX, EOS0, EOS1, EOS2, EOS3, BIA];

impl Circuit {
    /// Offset of a bus address in the container; `None` outside of the container.
    pub const fn offset(&self, address: PhysAddr) -> Option<EngineOffset> {
        match address.0.checked_sub(self.mmio_base.0) {
            Some(distance) if distance < EngineOffset::CONTAINER as u64 => {
                Some(EngineOffset(distance as u32))
            }
            _ => None,
        }
    }
}

/// One node of the device tree: a circuit under the name that drivers bind to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    pub node: &'static str,
    pub circuit: &'static Circuit,
}

const fn instance(node: &'static str, circuit: &'static Circuit) -> Instance {
    Instance { node, circuit }
}

/// The live configuration of the DART that serves a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DartProfile {
    pub node: &'static str,
    /// The generation of controller, by its driver.
    pub driver_class: &'static str,
    /// Bytes of a page.
    pub page_size: u32,
    /// Lowest IOVA.
    pub aperture_base: u64,
    /// Bytes of IOVA.
    pub aperture_size: u64,
    pub stream_slots: u8,
    /// One bit for each stream that is enabled.
    pub streams_enabled: u16,
    /// One bit for each stream that is not translated.
    pub streams_bypassed: u16,
    pub options: u32,
    /// The configuration word as read from a running system.
    pub live_config: u32,
    /// The effect of a configuration bit on the read-only class.
    pub read_only: ReadOnly,
}

/// The DART of node `dart-ane0` (seed 000, tables 28.1, 28.2 and 28.5).
///
/// Measured on one machine of the T600x family, which sources call M1 Pro in one place and M1 Max in another
/// (facts M, X-26).
pub const DART_ANE0: DartProfile = DartProfile {
    node: "dart-ane0",
    driver_class: "dart,t6000",
    page_size: aperture::PAGE_SIZE,
    aperture_base: aperture::BASE,
    aperture_size: aperture::SIZE,
    stream_slots: dart::stream::StreamId::COUNT,
    streams_enabled: dart::stream::ENABLED_AT_RESET,
    streams_bypassed: dart::stream::BYPASSED,
    options: 0x25,
    live_config: dart::regs::LIVE_CONFIG,
    read_only: ReadOnly::Collapsed,
};

/// Everything that selecting a chip selects.
#[derive(Clone, Copy, Debug)]
pub struct Chip {
    pub soc: Soc,
    pub product: &'static str,
    /// Type number in the device tree: 64, 96 or 128.
    pub ane_type: u16,
    /// The column of the HAL table that its compiler reads.
    pub generation: Generation,
    /// The name that the running system gives the architecture: coarser than the generation (facts A.2).
    pub architecture: &'static str,
    /// The nodes of the device tree, and so the circuits.
    pub instances: &'static [Instance],
    pub dart: &'static DartProfile,
    /// How well the DART's values are established *for this chip*.
    pub dart_grade: Grade,
    /// The quantities that have all been called the number of engines, where they are known.
    pub engines: &'static [(Quantity, Count)],
}

pub const CHIPS: [Chip; 5] = [
    Chip {
        soc: Soc::T8103,
        product: "M1",
        ane_type: 64,
        generation: Generation::H13,
        architecture: "h13",
        instances: &[instance("ane", &STYX)],
        dart: &DART_ANE0,
        dart_grade: Grade::Predicted,
        engines: engines::T8103,
    },
    Chip {
        soc: Soc::T6000,
        product: "M1 Pro",
        ane_type: 96,
        generation: Generation::H13g,
        architecture: "h13g",
        instances: &[instance("ane0", &EOS0)],
        dart: &DART_ANE0,
        dart_grade: Grade::Measured,
        engines: engines::T6000,
    },
    Chip {
        soc: Soc::T6001,
        product: "M1 Max",
        ane_type: 96,
        generation: Generation::H13g,
        architecture: "h13g",
        instances: &[instance("ane0", &EOS0), instance("ane1", &EOS1)],
        dart: &DART_ANE0,
        dart_grade: Grade::Measured,
        engines: engines::T6001,
    },
    Chip {
        soc: Soc::T6002,
        product: "M1 Ultra",
        ane_type: 96,
        generation: Generation::H13g,
        architecture: "h13g",
        instances: &[
            instance("ane0", &EOS0),
            instance("ane1", &EOS1),
            instance("ane2", &EOS2),
            instance("ane3", &EOS3),
        ],
        dart: &DART_ANE0,
        dart_grade: Grade::Predicted,
        engines: engines::T6002,
    },
    Chip {
        soc: Soc::T8112,
        product: "M2",
        ane_type: 128,
        generation: Generation::H14,
        architecture: "h14",
        instances: &[instance("ane", &BIA)],
        dart: &DART_ANE0,
        dart_grade: Grade::Predicted,
        engines: engines::T8112,
    },
];

const _: () = {
    let mut i = 0;
    while i < CHIPS.len() {
        // `Soc::chip` indexes by the number of the variant.
        assert!(CHIPS[i].soc as usize == i);
        assert!(matches!(CHIPS[i].instances.len(), 1..=4));
        i += 1;
    }
    assert!(DART_ANE0.stream_slots == 16 && DART_ANE0.live_config & 0xff == DART_ANE0.options);
    assert!(DART_ANE0.streams_bypassed & !DART_ANE0.streams_enabled == 0);
};
