//! Config space: what the device is.
//!
//! It is 56 bytes, because a carrier device passes no more than 57, and is read in one go, because each access
//! costs the guest a round trip to the device's process. It never changes while the device lives. Writes
//! are ignored: the transport delivers them late and as a whole, so they could not mean anything.

use thiserror::Error;
use zerocopy::FromBytes;
use zerocopy::little_endian::{U16, U32, U64};

use crate::abi::{AbiStruct, Item, Section, abi, constants};
use crate::codes;
use crate::hw::dart::aperture::PAGE_SIZE;
use crate::hw::dart::pte::PteFormat;
use crate::register::UnknownCode;

constants! {
    CONSTANTS;
    /// The first word of config space: "vANE".
    pub const MAGIC: u32 = 0x454e4176, "VIRTIO_ANE_MAGIC";
    /// Version of the wire; a driver refuses any other.
    pub const VERSION: u32 = 1, "VIRTIO_ANE_VERSION";
    /// Bytes of config space.
    pub const CONFIG_SIZE: u32 = 56, "VIRTIO_ANE_CONFIG_SIZE";
}

constants! {
    FEATURES;
    /// There is a PE_MMU.
    pub const FEATURE_PE_MMU: u32 = 0x1, "VIRTIO_ANE_FEATURE_PE_MMU";
    /// There is a mover.
    pub const FEATURE_MOVER: u32 = 0x2, "VIRTIO_ANE_FEATURE_MOVER";
    /// The device reports programming mistakes that silicon lets pass.
    pub const FEATURE_CHECK: u32 = 0x4, "VIRTIO_ANE_FEATURE_CHECK";
    /// Task queues have the register TAKE_BACK.
    pub const FEATURE_TAKE_BACK: u32 = 0x8, "VIRTIO_ANE_FEATURE_TAKE_BACK";
    /// Task queues have the register GIVE_WAY, and requests that gave way can go on.
    pub const FEATURE_GIVE_WAY: u32 = 0x10, "VIRTIO_ANE_FEATURE_GIVE_WAY";
}

constants! {
    COMPANIONS;
    /// The bits of a page of PE_MMU, as a power of two: 21 are 2 MiB. Zero without PE_MMU.
    pub const COMPANION_PAGE_BITS: u16 = 0x1f, "VIRTIO_ANE_COMPANION_PAGE_BITS";
    /// A translation by PE_MMU, or a message to it, takes time; its registers say how much.
    pub const COMPANION_PE_MMU_TIMED: u16 = 0x20, "VIRTIO_ANE_COMPANION_PE_MMU_TIMED";
    /// The mover follows Tenstorrent's instruction-set pages; clear, seed 002.
    pub const COMPANION_MOVER_ISA: u16 = 0x100, "VIRTIO_ANE_COMPANION_MOVER_ISA";
    /// The mover's parameters are where Tenstorrent's earlier chip has them.
    pub const COMPANION_MOVER_WORMHOLE: u16 = 0x200, "VIRTIO_ANE_COMPANION_MOVER_WORMHOLE";
    /// Others use the ports of the mover's memory too, so that transfers take longer.
    pub const COMPANION_MOVER_CONTENDED: u16 = 0x400, "VIRTIO_ANE_COMPANION_MOVER_CONTENDED";
    /// A command to the mover without a parameter credit waits for one; clear, it is refused.
    pub const COMPANION_MOVER_WAITS_FOR_CREDIT: u16 = 0x800, "VIRTIO_ANE_COMPANION_MOVER_WAITS_FOR_CREDIT";
}

codes! {
    /// The device's reaction to a real fault.
    pub enum FaultPolicy: u8, "fault policy" {
        /// Report it and let the driver recover.
        Contain = 0, "contain";
        /// Declare itself dead until reset, as an M1 takes its machine down.
        Panic = 1, "panic";
        /// Hold the transfer until the stream is invalidated, and then try it again.
        Stall = 2, "stall";
        /// Where nothing is mapped read zeros, write nothing, and go on.
        Absorb = 3, "absorb";
    }
}

abi! {
    /// Config space.
    pub struct Config, "virtio_ane_config" {
        /// VIRTIO_ANE_MAGIC.
        pub magic: U32,
        /// VIRTIO_ANE_VERSION.
        pub version: U32,
        /// The chip's number in hexadecimal, such as 0x8103.
        pub chip: U32,
        /// Index of this circuit on the chip, from 0.
        pub instance: U16,
        /// Board type: 64, 96 or 128.
        pub ane_type: U16,
        /// Neural engines of the circuit.
        pub engine_count: U16,
        /// Task queues.
        pub queue_count: U16,
        /// Contexts: streams 0 up to this serve clients.
        pub context_count: U16,
        /// Stream slots of a DART window.
        pub stream_count: U16,
        /// Bytes of a DART page.
        pub page_size: U32,
        /// Layout of page-table entries, VIRTIO_ANE_PTE_.
        pub pte_format: u8,
        /// The reaction to a real fault, VIRTIO_ANE_FAULT_POLICY_.
        pub fault_policy: u8,
        /// How the companion blocks were made, VIRTIO_ANE_COMPANION_ bits. Unknown bits are to be ignored.
        pub companions: U16,
        /// Lowest device address of the aperture.
        pub aperture_base: U64,
        /// Bytes of the aperture.
        pub aperture_size: U64,
        /// The features of the device, VIRTIO_ANE_FEATURE_ bits. Unknown bits are to be ignored.
        pub features: U32,
        /// Most operations of one batch, at least 64.
        pub batch_max: U16,
        /// Most entries of one PE_MMU message; zero without PE_MMU.
        pub entries_max: U16
    }
}

const _: () = assert!(size_of::<Config>() == CONFIG_SIZE as usize && u32::from_le_bytes(*b"vANE") == MAGIC);

/// Bytes that are not the config space of a device this crate can speak with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadConfig {
    #[error("config space has {len} bytes, {CONFIG_SIZE} are needed")]
    Short { len: usize },
    #[error("config space starts with {found:#010x}, not with {MAGIC:#010x}")]
    Magic { found: u32 },
    #[error("device speaks wire version {found}, this is version {VERSION}")]
    Version { found: u32 },
    #[error("device has pages of {found:#x} bytes, {PAGE_SIZE:#x} are needed")]
    PageSize { found: u32 },
}

impl Config {
    /// Reads config space; bytes behind it, which some transports pad with, are not looked at.
    pub fn read(bytes: &[u8]) -> Result<Self, BadConfig> {
        let (config, _) = Self::read_from_prefix(bytes).map_err(|_| BadConfig::Short { len: bytes.len() })?;
        if config.magic.get() != MAGIC {
            return Err(BadConfig::Magic { found: config.magic.get() });
        }
        if config.version.get() != VERSION {
            return Err(BadConfig::Version { found: config.version.get() });
        }
        if config.page_size.get() != PAGE_SIZE {
            return Err(BadConfig::PageSize { found: config.page_size.get() });
        }
        Ok(config)
    }

    /// Layout of page-table entries.
    pub fn pte_format(&self) -> Result<PteFormat, UnknownCode> {
        PteFormat::try_from(self.pte_format)
    }

    pub fn fault_policy(&self) -> Result<FaultPolicy, UnknownCode> {
        FaultPolicy::try_from(self.fault_policy)
    }
}

pub(super) const SECTION: Section = Section {
    title: "Config space",
    doc: "Read as a whole, once, and never written.",
    items: &[
        Item::Constants(CONSTANTS),
        Item::Constants(FEATURES),
        Item::Constants(COMPANIONS),
        Item::enumeration("VIRTIO_ANE_PTE_", "Layouts of page-table entries.", PteFormat::CODES),
        Item::enumeration("VIRTIO_ANE_FAULT_POLICY_", "The reaction to a real fault.", FaultPolicy::CODES),
        Item::Struct(&Config::LAYOUT),
    ],
};
