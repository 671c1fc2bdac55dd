//! The engine's status word, which decides whether a DART fault matters.
//!
//! The vendor's fault callback reads this word from its own device object, not from the fault descriptor.
//! If the low seven bits are `0x20` the fault is harmless and the callback returns early; bit 7 does not
//! matter. Anything else is a real fault: the callback sets a latch that stays, dumps what it knows and
//! waits to be recovered. With bit 7 set, `0xa0`, the same word says that the engine is powered and idle,
//! and gates its clock.

use crate::layout;
use crate::register::Show;

layout! {
    /// The engine's status word.
    pub struct EngineStatus {
        /// State of the engine; `0x20` is idle.
        #[bits(7)] state: u8 => Show::Hex,
        /// Without influence on whether a fault is harmless; set in the powered idle state.
        #[bits(1)] powered: bool; Predicted,
        /// Zero in both states known.
        #[bits(24)] above: u32 => Show::Hex
    }
}

impl EngineStatus {
    /// Powered and idle: the clock may be gated (seed 000; derived).
    pub const POWERED_IDLE: Self = Self::from_bits(0xa0);

    /// True if a fault seen in this state is harmless.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane_uapi::hw::status::EngineStatus;
    ///
    /// assert!(EngineStatus::from_bits(0x20).is_benign());
    /// assert!(EngineStatus::POWERED_IDLE.is_benign());
    /// assert!(!EngineStatus::from_bits(0x1a0).is_benign());
    /// ```
    pub const fn is_benign(self) -> bool {
        self.into_bits() | 0x80 == Self::POWERED_IDLE.into_bits()
    }

    pub const fn is_powered_idle(self) -> bool {
        self.into_bits() == Self::POWERED_IDLE.into_bits()
    }
}
