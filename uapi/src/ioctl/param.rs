//! The parameters of device and driver that a client can read, and the caps.
//!
//! Parameters are how this ABI grows: a new one gets a new number, an old driver says `EINVAL`. The device's
//! share of them is what config space says; see [`crate::wire::config`].

use crate::abi::{AbiStruct, Enumeration, Item, Section, abi, constants};
use crate::codes;

use super::number::ioctls;

constants! {
    CONSTANTS;
    /// Version of this ABI; rises when something is added, nothing is ever removed.
    pub const ABI_VERSION: u32 = 1, "ANE_ABI_VERSION";
    /// Requests and chains of one file that may be in flight: the founding documents' cap (seed 000; facts
    /// D.7).
    pub const IN_FLIGHT_MAX: u32 = 127, "ANE_IN_FLIGHT_MAX";
    /// BARs of a request: the hardware's table (seed 004).
    pub const BARS_MAX: u32 = 32, "ANE_BARS_MAX";
    /// Contexts of a device: the base mapper and iso1 to iso7 (seed 000).
    pub const CONTEXTS_MAX: u32 = 8, "ANE_CONTEXTS_MAX";
    /// Fences that one request waits for: as many events as the firmware's own call takes (facts E.4).
    pub const IN_FENCES_MAX: u32 = 16, "ANE_IN_FENCES_MAX";
    /// Requests of one chain: the longest execution order of the firmware's own call (facts E.4). A chain
    /// counts as one in flight, as only one of its requests runs at a time.
    pub const CHAIN_MAX: u32 = 128, "ANE_CHAIN_MAX";
    /// Fences of one wait: those of the longest chain.
    pub const WAIT_MAX: u32 = 128, "ANE_WAIT_MAX";
    /// Completed requests of a file whose result is kept: those of eight longest chains.
    pub const FENCE_HISTORY: u32 = 1024, "ANE_FENCE_HISTORY";
    /// Programs of one file: near what the original driver takes before it gives up (facts D.7).
    pub const PROGRAMS_MAX: u32 = 128, "ANE_PROGRAMS_MAX";
    /// Buffers of one program: nine roles, of which inputs and outputs come in numbers; twice the BARs.
    pub const PROGRAM_BUFFERS_MAX: u32 = 64, "ANE_PROGRAM_BUFFERS_MAX";
    /// Mappings of one buffer: in-place work needs two, the rest is room.
    pub const MAPPINGS_MAX: u32 = 16, "ANE_MAPPINGS_MAX";
    /// Pools of one file; a program needs one.
    pub const POOLS_MAX: u32 = 128, "ANE_POOLS_MAX";
    /// Entries of one PE_MMU call: 2 GiB in pages of its 2 MiB, or a whole SRAM in shards of 2 KiB.
    pub const PE_MMU_ENTRIES_MAX: u32 = 1024, "ANE_PE_MMU_ENTRIES_MAX";
    /// Faults that are kept for a file until it asks for them: single-shot capture gives one at a time, so
    /// more pile up only while nobody asks.
    pub const FAULTS_MAX: u32 = 16, "ANE_FAULTS_MAX";
    /// Milliseconds for which work is parked after a real fault, in wait of recovery (seed 000).
    pub const RECOVERY_PARK_MS: u32 = 250, "ANE_RECOVERY_PARK_MS";
}

constants! {
    FEATURES;
    /// The device has a PE_MMU.
    pub const FEATURE_PE_MMU: u64 = 0x1, "ANE_FEATURE_PE_MMU";
    /// The device has a mover.
    pub const FEATURE_MOVER: u64 = 0x2, "ANE_FEATURE_MOVER";
    /// The device reports programming mistakes that silicon lets pass.
    pub const FEATURE_CHECK: u64 = 0x4, "ANE_FEATURE_CHECK";
    /// The device is a model, not silicon.
    pub const FEATURE_VIRTUAL: u64 = 0x8, "ANE_FEATURE_VIRTUAL";
}

constants! {
    MOVER;
    /// It follows Tenstorrent's instruction-set pages; clear, seed 002.
    pub const MOVER_ISA: u64 = 0x1, "ANE_MOVER_ISA";
    /// Its parameters are where Tenstorrent's earlier chip has them.
    pub const MOVER_WORMHOLE: u64 = 0x2, "ANE_MOVER_WORMHOLE";
    /// Others use the ports of its memory too, so that transfers take longer.
    pub const MOVER_CONTENDED: u64 = 0x4, "ANE_MOVER_CONTENDED";
    /// A command without a parameter credit waits for one; clear, it is refused.
    pub const MOVER_WAITS_FOR_CREDIT: u64 = 0x8, "ANE_MOVER_WAITS_FOR_CREDIT";
}

codes! {
    /// A parameter.
    pub enum Param: u32, "parameter" {
        /// Version of this ABI, at least 1.
        AbiVersion = 0, "abi version";
        /// The features of the device: ANE_FEATURE_ bits.
        Features = 1, "features";
        /// The chip's number in hexadecimal, such as 0x8103.
        Chip = 2, "chip";
        /// Index of this circuit on the chip, from 0.
        Instance = 3, "instance";
        /// Board type: 64, 96 or 128.
        AneType = 4, "ane type";
        /// Neural engines of the circuit.
        Engines = 5, "engines";
        /// Task queues, each a priority.
        Queues = 6, "queues";
        /// Contexts that the device has.
        Contexts = 7, "contexts";
        /// Contexts that are free now.
        ContextsFree = 8, "contexts free";
        /// Bytes of a page; buffers are mapped in whole pages.
        PageSize = 9, "page size";
        /// Lowest device address of the aperture.
        ApertureBase = 10, "aperture base";
        /// Bytes of the aperture.
        ApertureSize = 11, "aperture size";
        /// Lowest device address that the driver gives out.
        FirstAddress = 12, "first address";
        /// Fault policy: 0 contain, 1 panic, 2 stall, 3 absorb.
        FaultPolicy = 13, "fault policy";
        /// State of the device: ANE_STATE_.
        State = 14, "state";
        /// The driver's clock in nanoseconds: that of deadlines and time-outs.
        ClockNs = 15, "clock ns";
        /// Ticks a second of the device's clock: that of time stamps.
        TicksPerSecond = 16, "ticks per second";
        /// Context of this file, or ANE_CONTEXT_ANY while it has none.
        Context = 17, "context";
        /// Bytes of a page of PE_MMU, zero without one.
        PeMmuPageSize = 18, "pe_mmu page size";
        /// The time of a translation by PE_MMU, in picoseconds.
        PeMmuOverheadPs = 19, "pe_mmu overhead ps";
        /// The time of the fabric to bring PE_MMU a message, in picoseconds.
        PeMmuFabricPs = 20, "pe_mmu fabric ps";
        /// How the mover was made: ANE_MOVER_ bits.
        MoverAttributes = 21, "mover attributes";
    }
}

codes! {
    /// The state of the device.
    pub enum State: u32, "device state" {
        /// Takes work.
        Ready = 0, "ready";
        /// A real fault happened in the file's context; its work is parked until recovery.
        Parked = 1, "parked";
        /// The device declared itself dead and has to be reset.
        Dead = 2, "dead";
    }
}

abi! {
    /// Asks for one parameter.
    pub struct GetParam, "drm_ane_get_param" {
        /// Input: which, ANE_PARAM_.
        pub param: u32,
        /// Input: must be zero.
        pub reserved: u32,
        /// Output: its value.
        pub value: u64
    }
}

ioctls! {
    /// Tells one parameter of device or driver.
    GET_PARAM 0x80 "DRM_IOCTL_ANE_GET_PARAM", ReadWrite, GetParam {
        EINVAL "there is no such parameter.";
    }
}

pub(super) const SECTION: Section = Section {
    title: "Caps and parameters",
    doc: "",
    items: &[
        Item::Constants(CONSTANTS),
        Item::Constants(FEATURES),
        Item::Constants(MOVER),
        Item::Enumeration(Enumeration { c_prefix: "ANE_PARAM_", doc: "Parameters.", codes: Param::CODES }),
        Item::Enumeration(Enumeration { c_prefix: "ANE_STATE_", doc: "Device states.", codes: State::CODES }),
        Item::Struct(&GetParam::LAYOUT),
    ],
};
