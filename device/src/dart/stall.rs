//! Transfers that wait at a fault: the policy [`FaultPolicy::Stall`].
//!
//! A transfer that faults stops where it is, and its window holds the fault. The driver maps something there and
//! invalidates the stream, as it does after every change of its tables; the window then tries the transfer again, before
//! the command reads as not busy. If it may pass now, the window forgets the fault by itself and the task goes on. If
//! it may not, the window holds the fault of this attempt. A driver that only writes ones to the status word clears what the
//! window shows, and the transfer waits on.
//!
//! No source shows that silicon does this; the fast path of today's driver needs it (contract 3.2).

use ane_uapi::hw::dart::error::{FaultAddress, HwError};
use ane_uapi::hw::dart::regs::{self, StreamCommand, Window};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::IovaRange;
use vm_memory::GuestMemory;

use super::stream::{Access, Circuit};
use super::{Dart, FaultPolicy, select};

/// The transfer that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stalled {
    /// The stream that the window uses in its place, after remapping.
    pub(super) slot: StreamId,
    pub(super) stream: StreamId,
    pub(super) circuit: Circuit,
    pub(super) access: Access,
    pub(super) at: FaultAddress,
    /// The fault came before PE_MMU was asked, so this is an address that PE_MMU translates.
    pub(super) is_before_pe_mmu: bool,
}

/// True if the cause is that nothing is mapped.
pub(super) const fn is_unmapped(error: HwError) -> bool {
    matches!(error, HwError::NoTableBase | HwError::NoL2Entry | HwError::NoL3Entry)
}

impl Dart {
    /// The effect of a fault besides its capture.
    pub const fn policy(&self) -> FaultPolicy {
        self.shared.policy
    }

    /// True while a transfer waits at its fault.
    pub const fn is_stalled(&self) -> bool {
        self.shared.stalled.is_some()
    }

    /// The window whose interrupt line is up: the first that holds a fault. The line is a level, and goes down when the
    /// driver has cleared the status word, or a transfer that waited went on.
    pub fn line(&self) -> Option<Window> {
        Window::ALL.iter().copied().find(|&window| self.window(window).capture.status().fault())
    }

    /// How often the line fell since the last reset because a transfer that waited was tried again. The line may be up again
    /// before the access ends that brought this about, so nothing else shows that it fell.
    pub const fn falls(&self) -> u32 {
        self.shared.falls
    }

    /// Drops the transfer that waits, which is no longer wanted. The fault stays in its window.
    pub fn drop_stalled(&mut self) {
        self.shared.stalled = None;
    }

    /// Tries the transfer that waits again, if this write of a register asks for that; true if it may go on.
    pub fn retry<M: GuestMemory>(&mut self, window: Window, offset: u32, value: u32, memory: &M) -> bool {
        let Some(stalled) = self.shared.stalled else { return false };
        let asks = offset == regs::STREAM_COMMAND.offset() && StreamCommand::from_bits(value).invalidate();
        let selected = self.window(window).selected();
        if !asks || stalled.circuit.window() != window || !selected.contains(stalled.slot) {
            return false;
        }
        select(&mut self.windows, window).capture.forget();
        self.shared.stalled = None;
        self.shared.falls = self.shared.falls.wrapping_add(1);
        let Ok(range) = IovaRange::new(stalled.at.0, 1) else {
            // No table can help a transfer to what the engine cannot address.
            let mut dma = self.dma(memory, stalled.stream, stalled.circuit);
            dma.refuse(stalled.at.0, stalled.access.is_write());
            return false;
        };
        let mut dma = self.dma(memory, stalled.stream, stalled.circuit);
        let passes = if stalled.is_before_pe_mmu {
            dma.check(range, stalled.access)
        } else {
            dma.look_again(range, stalled.access)
        };
        passes.is_ok()
    }
}
