//! The DART's four windows, and the registers of one.
//!
//! Four windows of 16 KB lie in the container. Three of them carry the engine's DMA; the fourth takes no
//! part. All have the same registers: what seed 000 lists, and around it what published drivers of the same
//! controller use.

use super::stream::StreamId;
use super::ttbr::Ttbr;
use crate::hw::space::EngineOffset;
use crate::hw::td::words::Unexplained;
use crate::register::Show;
use crate::{codes, layout, registers};

codes! {
    /// One of the DART's four register windows.
    pub enum Window: u8, "DART window" {
        /// At `0x1800000`; carries DMA.
        Dart0 = 0, "dart0";
        /// At `0x1810000`; carries DMA.
        Dart1 = 1, "dart1";
        /// At `0x1820000`; carries DMA.
        Dart2 = 2, "dart2";
        /// At `0x1804000`; takes no part.
        Dart3 = 3, "dart3";
    }
}

impl Window {
    /// Bytes of a window (seed 000; measured).
    pub const LEN: u32 = 0x4000;

    /// The windows that the engine's DMA circuits go through; all have to hold the same table base.
    ///
    /// It is not known which circuit uses which window. The driver of record copies dart0's base into the other
    /// two because transfers fail otherwise (facts B.1).
    pub const CARRYING_DMA: [Self; 3] = [Self::Dart0, Self::Dart1, Self::Dart2];

    /// Where the window lies in the container (seeds 000 and 004; measured).
    pub const fn base(self) -> EngineOffset {
        EngineOffset(match self {
            Self::Dart0 => 0x180_0000,
            Self::Dart1 => 0x181_0000,
            Self::Dart2 => 0x182_0000,
            Self::Dart3 => 0x180_4000,
        })
    }

    /// True if the engine's DMA goes through this window.
    pub const fn carries_dma(self) -> bool {
        !matches!(self, Self::Dart3)
    }

    /// The window that `offset` lies in, and the offset from its start.
    pub fn containing(offset: EngineOffset) -> Option<(Self, u32)> {
        Self::ALL.iter().find_map(|&window| {
            let inside = offset.0.checked_sub(window.base().0)?;
            (inside < Self::LEN).then_some((window, inside))
        })
    }
}

layout! {
    /// First word of parameters.
    pub struct Params1 {
        #[bits(24)] __: u32,
        /// Page size.
        #[bits(4)] page_shift: u8 => Show::Log2,
        #[bits(4)] __: u8
    }
}

layout! {
    /// Second word of parameters.
    pub struct Params2 {
        /// Streams can bypass translation.
        #[bits(1)] bypass_supported: bool,
        #[bits(31)] __: u32
    }
}

layout! {
    /// A command to the streams selected.
    pub struct StreamCommand {
        #[bits(2)] __: u8,
        /// A command runs; drivers poll this.
        #[bits(1)] busy: bool,
        #[bits(17)] __: u32,
        /// Drop every translation of the selected streams from the translation buffer.
        #[bits(1)] invalidate: bool,
        #[bits(11)] __: u16
    }
}

layout! {
    /// A set of streams, one bit each.
    pub struct Streams {
        /// Bit k is stream k.
        #[bits(16)] mask: u16 => Show::Hex,
        #[bits(16)] __: u16
    }
}

layout! {
    /// The captured fault: who, and why.
    ///
    /// The flag is the founding document's; the published controller's bits fill in the rest. Where it has
    /// no bit for a way to fail, one of its free bits is taken (Chosen).
    pub struct ErrorStatus {
        /// The stream has no valid table base.
        #[bits(1)] no_ttbr: bool,
        /// The L2 entry is not valid.
        #[bits(1)] no_l2_entry: bool,
        /// The L3 entry, the leaf, is not valid.
        #[bits(1)] no_l3_entry: bool,
        /// A write that is not permitted.
        #[bits(1)] write_protection: bool,
        /// A read that is not permitted.
        #[bits(1)] read_protection: bool,
        /// The stream is not enabled.
        #[bits(1)] stream_disabled: bool; Chosen,
        /// A table could not be read; bit 1 or 2 says at which level.
        #[bits(1)] table_unreadable: bool,
        /// The access lies outside the part of the page that the leaf opens.
        #[bits(1)] sub_page: bool,
        /// The stream's control word neither translates nor bypasses.
        #[bits(1)] stream_blocked: bool; Chosen,
        /// An entry has bits that its format does not define; bit 1 or 2 says at which level.
        #[bits(1)] entry_malformed: bool; Chosen,
        /// The access was a write.
        #[bits(1)] write: bool,
        /// No match in the address filter (DAPF): the address lies outside the aperture.
        #[bits(1)] outside_aperture: bool,
        /// The address has a high half.
        #[bits(1)] high_address: bool; Chosen,
        /// The address found, or passed on by a bypassing stream, is no memory.
        #[bits(1)] no_memory: bool; Chosen,
        /// The stream's control word asks for translation and bypass at once.
        #[bits(1)] stream_control_invalid: bool; Chosen,
        #[bits(9)] __: u16,
        /// The stream.
        #[bits(4)] stream: u8,
        #[bits(3)] __: u8,
        /// A fault is held; the first one stays until it is cleared.
        #[bits(1)] fault: bool
    }
}

layout! {
    /// One half of the address that faulted.
    pub struct ErrorAddress {
        /// The half.
        #[bits(32)] half: u32 => Show::Hex
    }
}

layout! {
    /// Configuration of the window.
    pub struct Config {
        /// The options of the device tree: `0x25`.
        #[bits(8)] options: u8 => Show::Hex; Measured,
        #[bits(7)] __: u8,
        /// The configuration cannot be changed any more.
        #[bits(1)] lock: bool,
        #[bits(15)] __: u16,
        /// Set in the live word; its meaning is not known.
        #[bits(1)] seen_set: bool; Measured
    }
}

layout! {
    /// The streams that four incoming streams become.
    pub struct StreamRemap {
        /// The stream that replaces the first.
        #[bits(8)] first: u8,
        /// The stream that replaces the second.
        #[bits(8)] second: u8,
        /// The stream that replaces the third.
        #[bits(8)] third: u8,
        /// The stream that replaces the fourth.
        #[bits(8)] fourth: u8
    }
}

layout! {
    /// Translation control of one stream.
    ///
    /// Seed 000 says that access permission lives here and not in the leaf, but not in which bits; the two
    /// topmost are taken (Chosen). Drivers that leave them clear permit everything.
    pub struct Tcr {
        #[bits(7)] __: u8,
        /// Addresses are translated.
        #[bits(1)] translate: bool,
        /// Addresses pass as they are.
        #[bits(1)] bypass: bool,
        #[bits(3)] __: u8,
        /// The address filter (DAPF) is passed by.
        #[bits(1)] bypass_filter: bool,
        #[bits(17)] __: u32,
        /// The stream may not write.
        #[bits(1)] no_write: bool; Chosen,
        /// The stream may not read.
        #[bits(1)] no_read: bool; Chosen
    }
}

/// The treatment of a stream's addresses, as its control word sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamMode {
    /// Neither bit set: nothing passes. Drivers write 0 to stop all transfers.
    Blocked,
    Translated,
    /// Addresses pass as they are.
    Bypassed,
    /// Both bits set, which is not allowed; nothing passes.
    Invalid,
}

impl Tcr {
    /// The treatment of the stream's addresses.
    pub const fn mode(self) -> StreamMode {
        match (self.translate(), self.bypass()) {
            (false, false) => StreamMode::Blocked,
            (true, false) => StreamMode::Translated,
            (false, true) => StreamMode::Bypassed,
            (true, true) => StreamMode::Invalid,
        }
    }
}

layout! {
    /// State of the translation buffer.
    pub struct BufferStatus {
        /// A command runs.
        #[bits(1)] busy: bool; Chosen,
        /// A fault is held.
        #[bits(1)] error: bool; Chosen,
        #[bits(30)] __: u32
    }
}

impl Streams {
    pub const fn contains(self, stream: StreamId) -> bool {
        self.mask() & stream.bit() != 0
    }
}

/// The configuration word of a live machine (seed 000, table 28.2; measured).
pub const LIVE_CONFIG: u32 = 0x8000_0025;

registers! {
    /// One window of the DART: the registers of dart0. Those of the other windows lie at the same offsets
    /// from their own bases, `0x1810000`, `0x1820000` and `0x1804000`.
    pub block WINDOW "dart", base Window::Dart0.base(), 0x0000 + 0x4000;

    /// Page size.
    PARAMS1 "Params1" @ 0x0000: Params1, ReadOnly, Derived, "facts B.2" = 0x0e00_0000;
    /// Abilities.
    PARAMS2 "Params2" @ 0x0004: Params2, ReadOnly, Derived, "facts B.2" = 1;
    /// Starts a command on the selected streams; reading tells whether it still runs.
    STREAM_COMMAND "StreamCommand" @ 0x0020: StreamCommand, Trigger, Derived, "facts B.2";
    /// Selects the streams of the next command.
    STREAM_SELECT "StreamSelect" @ 0x0034: Streams, ReadWrite, Derived, "facts B.2";
    /// The fault held; writing back what was read clears it.
    ERROR_STATUS "ErrorStatus" @ 0x0040: ErrorStatus, WriteOneToClear, Derived,
        "seed 000, tables 28.3 and 28.10; bits from facts B.8";
    /// Low half of the address that faulted.
    ERROR_ADDRESS_LOW "ErrorAddressLow" @ 0x0050: ErrorAddress, ReadOnly, Derived,
        "seed 000, tables 28.3 and 28.10";
    /// High half of the address that faulted.
    ERROR_ADDRESS_HIGH "ErrorAddressHigh" @ 0x0054: ErrorAddress, ReadOnly, Derived,
        "seed 000, tables 28.3 and 28.10";
    /// Configuration. That the live configuration word is this register is Chosen: no source says where it
    /// was read.
    CONFIG "Config" @ 0x0060: Config, ReadWrite, Chosen, "facts B.2; value from seed 000, table 28.2"
        = LIVE_CONFIG;
    /// Configuration of which only the place is known.
    CONFIG_68 "Config68" @ 0x0068: Unexplained, ReadWrite, Derived, "facts B.2";
    /// Configuration of which only the place is known.
    CONFIG_6C "Config6c" @ 0x006c: Unexplained, ReadWrite, Derived, "facts B.2";
    /// The streams that replace streams 0 to 3; the identity at reset (Chosen).
    STREAM_REMAP_0 "StreamRemap0" @ 0x0080: StreamRemap, ReadWrite, Derived, "facts B.2" = 0x0302_0100;
    /// The streams that replace streams 4 to 7; the identity at reset (Chosen).
    STREAM_REMAP_4 "StreamRemap4" @ 0x0084: StreamRemap, ReadWrite, Derived, "facts B.2" = 0x0706_0504;
    /// The streams that replace streams 8 to 11; the identity at reset (Chosen).
    STREAM_REMAP_8 "StreamRemap8" @ 0x0088: StreamRemap, ReadWrite, Derived, "facts B.2" = 0x0b0a_0908;
    /// The streams that replace streams 12 to 15; the identity at reset (Chosen).
    STREAM_REMAP_12 "StreamRemap12" @ 0x008c: StreamRemap, ReadWrite, Derived, "facts B.2" = 0x0f0e_0d0c;
    /// Locks the address filter (DAPF); no bit of it is known.
    FILTER_LOCK "FilterLock" @ 0x00f0: Unexplained, ReadWrite, Derived, "facts B.2";
    /// A word of which only the place is known.
    UNKNOWN_F8 "UnknownF8" @ 0x00f8: Unexplained, ReadWrite, Derived, "facts B.2";
    /// The streams that may transfer at all.
    ENABLED_STREAMS "EnabledStreams" @ 0x00fc: Streams, ReadWrite, Measured, "seed 000, tables 28.2 and 28.3"
        = super::stream::ENABLED_AT_RESET as u32;
    /// Translation control of each stream.
    TCR "TCR" @ 0x0100 [16; 4]: Tcr, ReadWrite, Derived, "seed 000, table 28.3; bits from facts B.2";
    /// Table bases: four for each stream, number `4 * stream + n` with `n` from the address's top bits.
    TTBR "TTBR" @ 0x0200 [64; 4]: Ttbr, ReadWrite, Measured, "seed 000, table 28.3; count from facts B.2";
    /// Control of the translation buffer; no bit of it is known.
    BUFFER_CONTROL "BufferControl" @ 0x1000: Unexplained, ReadWrite, Derived, "seed 000, table 28.3";
    /// State of the translation buffer. That it shows busy or error is known, in which bits is Chosen.
    BUFFER_STATUS "BufferStatus" @ 0x100c: BufferStatus, ReadOnly, Derived, "seed 000, tables 28.3 and 28.10";
    /// First error register of the translation buffer; no bit of it is known.
    BUFFER_ERROR_20 "BufferError20" @ 0x1020: Unexplained, ReadOnly, Derived, "seed 000, table 28.3";
    /// Second error register of the translation buffer; no bit of it is known.
    BUFFER_ERROR_28 "BufferError28" @ 0x1028: Unexplained, ReadOnly, Derived, "seed 000, table 28.3";
}

const _: () = {
    assert!(PARAMS1.info.reset >> 24 == super::aperture::PAGE_SHIFT);
    assert!(TCR.info.count == StreamId::COUNT as u16);
    assert!(TTBR.info.count == StreamId::COUNT as u16 * super::stream::TABLE_BASES);
};
