//! Streams: the sixteen slots of a window, each with its own translation control and table bases.
//!
//! The live device tree says which streams are enabled and which bypass translation. The founding document
//! also calls "streams 0, 1 and 2" active, which are not in that bitmap; they are read here as the three
//! *windows* that carry DMA ([`Window::CARRYING_DMA`](super::regs::Window::CARRYING_DMA); facts M, X-02).

use crate::hw::index::index;

index! {
    /// One of the 16 stream slots of a DART window (seed 000, table 28.2; measured).
    pub struct StreamId below 16, "stream";
}

/// The streams enabled at reset: 0, 13 and 15, one bit each (seed 000, table 28.2; measured).
pub const ENABLED_AT_RESET: u16 = 0xa001;

/// The streams whose addresses are physical already: 13 and 15 (seed 000, table 28.2; measured).
///
/// No register is known to hold this. It is a fixed property of the stream here, and stronger than the
/// stream's translation control (Chosen).
pub const BYPASSED: u16 = 0xa000;

/// Table bases of each stream (facts B.2; derived).
pub const TABLE_BASES: u16 = 4;

const _: () = assert!(ENABLED_AT_RESET & BYPASSED == BYPASSED);

impl StreamId {
    /// The stream of the base context, and of every driver that knows nothing of contexts.
    pub const BASE: Self = Self(0);

    pub const fn bit(self) -> u16 {
        1 << self.number()
    }

    /// True if the stream's addresses pass untranslated.
    pub const fn is_bypassed(self) -> bool {
        BYPASSED & self.bit() != 0
    }

    /// Instance of the table-base register that holds base `n` of this stream: `4 * stream + n`.
    ///
    /// `None` beyond the fourth base. Inside the aperture `n` is always 0.
    pub const fn table_base(self, n: u32) -> Option<u16> {
        if n < TABLE_BASES as u32 { Some(self.number() as u16 * TABLE_BASES + n as u16) } else { None }
    }
}
