//! Streams and circuits: who asks, through which window, and what it may do there.
//!
//! A transfer comes from one of the engine's five DMA circuits and carries a stream. The circuit decides the
//! window; the window's remap table, enable bitmap and control word decide what becomes of the stream's
//! addresses. All of that is looked up when a transfer begins and kept by no buffer, so a driver that blocks a
//! stream stops it at once.

use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::pte::Leaf;
use ane_uapi::hw::dart::regs::{StreamMode, Tcr, Window};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::named;

named! {
    /// One of the engine's DMA circuits.
    ///
    /// No source says which circuit goes through which window. Chosen: what drives the engine (descriptors and
    /// kernels) goes through dart0, what comes into tiles through dart1, what leaves them through dart2. A driver
    /// that programs dart0 alone then gets its task started and sees the first tile fault, as real drivers saw
    /// their tile DMA fail (facts B.1).
    pub enum Circuit {
        /// The task manager, fetching a task descriptor.
        TdFetch "task-descriptor fetch",
        /// The kernel fetcher, reading coefficients.
        KernelFetch "kernel fetch",
        /// The tile fetcher, reading the first source.
        TileFetch1 "tile fetch 1",
        /// The tile fetcher, reading the second source.
        TileFetch2 "tile fetch 2",
        /// The tile sender, writing the result.
        TileSend "tile send",
    }
}

impl Circuit {
    /// The window that the circuit's addresses go through (Chosen).
    pub const fn window(self) -> Window {
        match self {
            Self::TdFetch | Self::KernelFetch => Window::Dart0,
            Self::TileFetch1 | Self::TileFetch2 => Window::Dart1,
            Self::TileSend => Window::Dart2,
        }
    }

    /// The circuit's id as a master of the bus, 1 to 5 (Chosen).
    pub const fn axi_master(self) -> u32 {
        match self {
            Self::TdFetch => 1,
            Self::KernelFetch => 2,
            Self::TileFetch1 => 3,
            Self::TileFetch2 => 4,
            Self::TileSend => 5,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Memory to engine.
    Read,
    /// Engine to memory.
    Write,
}

impl Access {
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write)
    }

    /// The cause of a fault where this access is not permitted.
    pub(super) const fn refusal(self) -> HwError {
        match self {
            Self::Read => HwError::ReadProtection,
            Self::Write => HwError::WriteProtection,
        }
    }

    #[inline]
    const fn right(self) -> u8 {
        match self {
            Self::Read => 1,
            Self::Write => 2,
        }
    }
}

/// The accesses that are permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rights(u8);

impl Rights {
    /// No access.
    pub(super) const NONE: Self = Self(0);

    const fn new(read: bool, write: bool) -> Self {
        let read = if read { Access::Read.right() } else { 0 };
        let write = if write { Access::Write.right() } else { 0 };
        Self(read | write)
    }

    pub(super) const fn of_leaf(leaf: &Leaf) -> Self {
        Self::new(leaf.protection.device_reads(), leaf.protection.device_writes())
    }

    /// The accesses that a control word permits.
    pub(super) const fn of_stream(tcr: Tcr) -> Self {
        Self::new(!tcr.no_read(), !tcr.no_write())
    }

    /// The accesses that both permit.
    #[inline]
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[inline]
    pub(super) const fn allow(self, access: Access) -> bool {
        self.0 & access.right() != 0
    }
}

/// The treatment of a stream's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// Nothing passes.
    Closed(HwError),
    /// They are physical already.
    Through,
    Translated,
}

impl Gate {
    /// The gate of a stream.
    ///
    /// The streams that bypass by nature do so whatever their control word says; being enabled they need.
    pub(super) const fn of(stream: StreamId, enabled: bool, tcr: Tcr) -> Self {
        if !enabled {
            return Self::Closed(HwError::StreamDisabled);
        }
        if stream.is_bypassed() {
            return Self::Through;
        }
        match tcr.mode() {
            StreamMode::Blocked => Self::Closed(HwError::StreamBlocked),
            StreamMode::Invalid => Self::Closed(HwError::StreamControlInvalid),
            StreamMode::Bypassed => Self::Through,
            StreamMode::Translated => Self::Translated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_follows_enable_bit_then_nature_then_control_word() {
        let [blocked, translate, bypass, both] = [(false, false), (true, false), (false, true), (true, true)]
            .map(|(translate, bypass)| Tcr::new().with_translate(translate).with_bypass(bypass));
        for stream in StreamId::ALL {
            for tcr in [blocked, translate, bypass, both] {
                assert_eq!(Gate::of(stream, false, tcr), Gate::Closed(HwError::StreamDisabled), "{stream}");
            }
            let gates = [blocked, translate, bypass, both].map(|tcr| Gate::of(stream, true, tcr));
            if matches!(stream.number(), 13 | 15) {
                assert_eq!(gates, [Gate::Through; 4], "{stream}");
            } else {
                let closed = [HwError::StreamBlocked, HwError::StreamControlInvalid].map(Gate::Closed);
                assert_eq!(gates, [closed[0], Gate::Translated, Gate::Through, closed[1]], "{stream}");
            }
        }
    }

    #[test]
    fn circuits_share_the_three_windows_that_carry_dma_and_no_master_id() {
        for window in Window::CARRYING_DMA {
            assert!(Circuit::ALL.iter().any(|circuit| circuit.window() == window), "{window:?}");
        }
        for (i, circuit) in Circuit::ALL.iter().enumerate() {
            assert!(circuit.window().carries_dma());
            assert!(Circuit::ALL[..i].iter().all(|other| other.axi_master() != circuit.axi_master()));
        }
    }

    #[test]
    fn rights_of_two_are_what_both_permit() {
        let no_write = Rights::of_stream(Tcr::new().with_no_write(true));
        let no_read = Rights::of_stream(Tcr::new().with_no_read(true));
        assert!(no_write.allow(Access::Read) && !no_write.allow(Access::Write));
        assert!(no_read.allow(Access::Write) && !no_read.allow(Access::Read));
        assert_eq!(no_write.and(no_read), Rights::NONE);
    }
}
