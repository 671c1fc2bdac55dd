//! Faults: what a window captures of a transfer that failed.
//!
//! The capture is single shot. The first fault stays in the registers until the driver writes ones to its bits,
//! and what fails meanwhile leaves no trace there; the circuit that asked learns of its failure all the same.
//! On an M1 no driver ever reads these registers, because the operating system takes every DART fault for its
//! own death: that is [`FaultPolicy::Panic`].

use ane_uapi::hw::dart::error::FaultAddress;
use ane_uapi::hw::dart::regs::{BufferStatus, ErrorStatus};
use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::named;

pub(super) type Result<T, E = IoDartErrorInfo> = std::result::Result<T, E>;

named! {
    /// The effect of a fault besides its capture.
    #[derive(Default)]
    pub enum FaultPolicy {
        /// The driver is told and may recover.
        #[default]
        Contain "contain",
        /// The device is dead until it is reset, as an M1 is.
        Panic "panic",
        /// The transfer waits where it is. An invalidation of its stream has it tried again, and a window whose transfer
        /// succeeds then forgets the fault by itself: what today's Linux driver relies on (contract 3.2).
        Stall "stall",
        /// A read finds zeros where nothing is mapped, a write goes nowhere, and the request goes on, as two experiments
        /// on an M1 under Linux ended. No window holds anything then; what is mapped and not permitted is contained.
        Absorb "absorb",
    }
}

/// The fault that a window holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capture {
    status: ErrorStatus,
    address: FaultAddress,
    /// The descriptor of the newest capture, until it is asked for.
    unseen: Option<IoDartErrorInfo>,
}

impl Capture {
    pub(super) const EMPTY: Self =
        Self { status: ErrorStatus::new(), address: FaultAddress(0), unseen: None };

    /// Captures a fault, unless one is held; tells whether it did.
    pub(super) fn latch(&mut self, address: FaultAddress, info: &IoDartErrorInfo) -> bool {
        if self.status.fault() {
            return false;
        }
        *self = Self { status: info.status(), address, unseen: Some(*info) };
        true
    }

    /// Clears the bits of the status word that are set in `ones`.
    ///
    /// With the flag the address goes too: there is no snapshot without a fault (Chosen). The descriptor stays
    /// for a driver that reads it later.
    pub(super) fn clear(&mut self, ones: ErrorStatus) {
        self.status = ErrorStatus::from_bits(self.status.into_bits() & !ones.into_bits());
        if !self.status.fault() {
            self.address = FaultAddress(0);
        }
    }

    /// The window forgets the fault by itself. The descriptor can still be asked for.
    pub(super) fn forget(&mut self) {
        self.clear(ErrorStatus::from_bits(u32::MAX));
    }

    /// The descriptor, once.
    pub(super) fn take(&mut self) -> Option<IoDartErrorInfo> {
        self.unseen.take()
    }

    pub(super) const fn status(&self) -> ErrorStatus {
        self.status
    }

    pub(super) const fn address(&self) -> FaultAddress {
        self.address
    }

    /// The state of the translation buffer; commands end at once, so it is never busy (Chosen).
    pub(super) const fn buffer_status(&self) -> BufferStatus {
        BufferStatus::new().with_error(self.status.fault())
    }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::dart::error::HwError;
    use ane_uapi::hw::dart::stream::StreamId;

    use super::*;

    const ADDRESS: FaultAddress = FaultAddress(0x1_2345_6789);

    fn info(error: HwError) -> IoDartErrorInfo {
        IoDartErrorInfo::new(error.raise(StreamId::BASE, false), ADDRESS, [0; 4])
    }

    #[test]
    fn second_fault_leaves_the_first_in_place() {
        let mut capture = Capture::EMPTY;
        let first = info(HwError::NoL3Entry);
        assert!(capture.latch(ADDRESS, &first));
        assert!(!capture.latch(FaultAddress(0), &info(HwError::NoTableBase)));
        assert_eq!(capture.status(), first.status());
        assert_eq!(capture.address(), ADDRESS);
        assert_eq!(capture.take(), Some(first));
        assert_eq!(capture.take(), None);
    }

    #[test]
    fn clearing_the_cause_alone_keeps_the_fault() {
        let mut capture = Capture::EMPTY;
        capture.latch(ADDRESS, &info(HwError::NoL3Entry));
        capture.clear(HwError::NoL3Entry.bits());
        assert!(capture.status().fault());
        assert_eq!(capture.status().cause(), ErrorStatus::new());
        assert!(!capture.latch(ADDRESS, &info(HwError::NoTableBase)));
    }

    #[test]
    fn clearing_the_flag_arms_the_capture_again() {
        let mut capture = Capture::EMPTY;
        let first = info(HwError::NoL3Entry);
        capture.latch(ADDRESS, &first);
        capture.clear(first.status());
        assert_eq!((capture.status(), capture.address()), (ErrorStatus::new(), FaultAddress(0)));
        assert!(!capture.buffer_status().error());
        assert!(capture.latch(ADDRESS, &info(HwError::NoTableBase)));
        assert!(capture.buffer_status().error());
    }
}
