//! The descriptor header: ten words, or eleven.
//!
//! Identity and length of the chain, event masks, scheduling flags, the link to the next descriptor, and
//! the numbers of the BARs to which this task's addresses are relative. No scheduling flag has a numerical
//! effect in any executed program, and their exact meaning is not known.
//!
//! The eleventh word exists exactly when TDE, bit 24 of word 6, is set. (Another published rule, which looks
//! at word 9, agrees with all published programs by accident.)

use zerocopy::little_endian::U32;

use crate::register::{Register, Show, Word};
use crate::{layout, registers};

pub const WORDS: usize = 10;

pub const EXTENDED_WORDS: usize = 11;

pub const BYTES: u32 = 4 * WORDS as u32;

layout! {
    /// Word 0: who the task is.
    pub struct Identity {
        /// Index of the task inside the program.
        #[bits(16)] tid: u16,
        /// Network id: 0 in files, patched before submission, 1 to 255 at work.
        #[bits(8)] nid: u8,
        /// Linked: the task inherits the chain's network id. Clear on the first task, set on later ones.
        #[bits(1)] lnid: bool,
        /// End of network: set on the last task.
        #[bits(1)] eon: bool,
        #[bits(6)] __: u8
    }
}

layout! {
    /// Word 1: cost, and length of the next descriptor.
    pub struct Length {
        /// Estimated cycles; without effect (measured: zero is accepted).
        #[bits(16)] exe_cycles: u16; Measured,
        /// Words of the next descriptor minus one; 0 on the last task.
        #[bits(9)] next_size: u16,
        #[bits(7)] __: u8
    }
}

layout! {
    /// Words 2 to 5: a mask of events or exceptions.
    pub struct EventMask {
        /// One bit for each.
        #[bits(24)] events: u32 => Show::Hex,
        #[bits(8)] __: u8
    }
}

layout! {
    /// Word 6: scheduling.
    pub struct Flags {
        #[bits(8)] __: u8,
        /// The task may not be aborted.
        #[bits(1)] disallow_abort: bool,
        /// The task is skipped.
        #[bits(1)] td_skip: bool,
        /// Kernel prefetch control.
        #[bits(1)] kpc: bool; Predicted,
        /// Source prelaunch.
        #[bits(1)] spl: bool; Predicted,
        /// Not explained by any source.
        #[bits(1)] tsr: bool,
        /// The source was produced on chip by the previous task.
        #[bits(1)] spc: bool,
        /// The destination is consumed on chip by the next task.
        #[bits(1)] dpc: bool,
        /// Not explained by any source.
        #[bits(1)] tse: bool,
        /// Priority of the next task.
        #[bits(6)] next_priority: u8,
        #[bits(2)] __: u8,
        /// The header has an eleventh word.
        #[bits(1)] tde: bool,
        #[bits(3)] __: u8,
        /// The source is in memory; clear where it is on chip.
        #[bits(1)] src_loc: bool,
        /// The destination is in memory; clear where it is on chip.
        #[bits(1)] dst_loc: bool,
        #[bits(1)] __: bool,
        /// Not explained by any source.
        #[bits(1)] tq_dis: bool
    }
}

layout! {
    /// Word 7: the link.
    pub struct NextPointer {
        /// Byte offset of the next descriptor from BAR 0; 0 on the last task.
        #[bits(32)] offset: u32 => Show::Hex
    }
}

layout! {
    /// Word 8: the BARs of the operands.
    pub struct OperandBases {
        /// BAR of source 1.
        #[bits(5)] rbase0: u8,
        /// Source 1 has a BAR.
        #[bits(1)] rbe0: bool,
        /// BAR of source 2.
        #[bits(5)] rbase1: u8,
        /// Source 2 has a BAR.
        #[bits(1)] rbe1: bool,
        /// BAR of the destination.
        #[bits(5)] wbase: u8,
        /// The destination has a BAR.
        #[bits(1)] wbe: bool,
        /// BAR of the descriptors.
        #[bits(5)] tbase: u8,
        /// The descriptors have a BAR: set on every task that links onward.
        #[bits(1)] tbe: bool,
        /// Active engines, as a logarithm plus one, on neural tasks; 0 on planar ones.
        #[bits(3)] ene: u8 => Show::Log2PlusOne,
        #[bits(5)] __: u8
    }
}

layout! {
    /// Word 9: the BARs of the coefficients.
    pub struct KernelBases {
        /// BAR of the coefficients.
        #[bits(5)] kbase0: u8,
        /// The coefficients have a BAR.
        #[bits(1)] kbe0: bool,
        /// A second coefficient BAR; unused in every known program.
        #[bits(5)] kbase1: u8,
        /// Enables it.
        #[bits(1)] kbe1: bool,
        /// A third coefficient BAR; unused in every known program.
        #[bits(5)] kbase2: u8,
        /// Enables it.
        #[bits(1)] kbe2: bool,
        /// A fourth coefficient BAR; unused in every known program.
        #[bits(5)] kbase3: u8,
        /// Enables it.
        #[bits(1)] kbe3: bool,
        #[bits(8)] __: u8
    }
}

layout! {
    /// Word 10, only with TDE: dependence.
    pub struct Dependence {
        /// Task whose result this task's coefficients are.
        #[bits(16)] dtid: u16,
        #[bits(16)] __: u16
    }
}

registers! {
    /// The descriptor header. Addresses are byte offsets in the descriptor; the header is not readable as
    /// registers, so its place in the container has no meaning.
    pub block HEADER "header", base crate::hw::space::EngineOffset(0), 0x00 + 0x2c;

    /// The number of the task, and its place in the chain.
    IDENTITY "Identity" @ 0x00: Identity, ReadOnly, Derived, "td 3.1 word 0";
    /// Estimated cost, and length of the next descriptor.
    LENGTH "Length" @ 0x04: Length, ReadOnly, Derived, "td 3.1 word 1";
    /// Events to log; without numerical effect (measured).
    LOG_EVENTS "LogEvents" @ 0x08: EventMask, ReadOnly, Measured, "td 3.1 word 2";
    /// Exceptions to raise.
    EXCEPTIONS "Exceptions" @ 0x0c: EventMask, ReadOnly, Derived, "td 3.1 word 3";
    /// Events to log when debugging.
    DEBUG_LOG_EVENTS "DebugLogEvents" @ 0x10: EventMask, ReadOnly, Derived, "td 3.1 word 4";
    /// Exceptions to raise when debugging.
    DEBUG_EXCEPTIONS "DebugExceptions" @ 0x14: EventMask, ReadOnly, Derived, "td 3.1 word 5";
    /// Scheduling.
    FLAGS "Flags" @ 0x18: Flags, ReadOnly, Derived, "td 3.1 word 6";
    /// Link to the next descriptor.
    NEXT_POINTER "NextPointer" @ 0x1c: NextPointer, ReadOnly, Derived, "td 3.1 word 7";
    /// BARs of the operands.
    OPERAND_BASES "OperandBases" @ 0x20: OperandBases, ReadOnly, Derived, "td 3.1 word 8";
    /// BARs of the coefficients.
    KERNEL_BASES "KernelBases" @ 0x24: KernelBases, ReadOnly, Derived, "td 3.1 word 9";
    /// Dependence, in the extended header only.
    DEPENDENCE "Dependence" @ 0x28: Dependence, ReadOnly, Derived, "td 3.1 word 10";
}

/// A decoded header.
///
/// Every bit pattern decodes, and encodes to the same words again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Header {
    /// The number of the task, and its place in the chain.
    pub identity: Identity,
    /// Cost, and length of the next descriptor.
    pub length: Length,
    pub log_events: EventMask,
    pub exceptions: EventMask,
    pub debug_log_events: EventMask,
    /// Exceptions to raise when debugging.
    pub debug_exceptions: EventMask,
    pub flags: Flags,
    /// Link to the next descriptor.
    pub next: NextPointer,
    /// BARs of the operands.
    pub operands: OperandBases,
    /// BARs of the coefficients.
    pub kernels: KernelBases,
    /// The eleventh word.
    pub dependence: Option<Dependence>,
}

impl Header {
    /// Decodes the header at the start of `words`; `None` if they end inside it.
    pub fn decode(words: &[U32]) -> Option<Self> {
        let (head, rest) = words.split_first_chunk::<WORDS>()?;
        let head = head.map(U32::get);
        let flags = Flags::from_bits(head[6]);
        let dependence = if flags.tde() { Some(Dependence::from_bits(rest.first()?.get())) } else { None };
        Some(Self {
            identity: Identity::from_bits(head[0]),
            length: Length::from_bits(head[1]),
            log_events: EventMask::from_bits(head[2]),
            exceptions: EventMask::from_bits(head[3]),
            debug_log_events: EventMask::from_bits(head[4]),
            debug_exceptions: EventMask::from_bits(head[5]),
            flags,
            next: NextPointer::from_bits(head[7]),
            operands: OperandBases::from_bits(head[8]),
            kernels: KernelBases::from_bits(head[9]),
            dependence,
        })
    }

    /// Number of words, and index of the first record.
    pub const fn words(&self) -> usize {
        if self.dependence.is_some() { EXTENDED_WORDS } else { WORDS }
    }

    /// The words again; those beyond [`Header::words`] are zero.
    pub fn encode(&self) -> [u32; EXTENDED_WORDS] {
        [
            self.identity.word(),
            self.length.word(),
            self.log_events.word(),
            self.exceptions.word(),
            self.debug_log_events.word(),
            self.debug_exceptions.word(),
            self.flags.word(),
            self.next.word(),
            self.operands.word(),
            self.kernels.word(),
            self.dependence.map_or(0, Dependence::word),
        ]
    }

    /// The header's words with their tables, for dumps.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Register, u32)> {
        REGISTERS.iter().copied().zip(self.encode()).take(self.words())
    }
}
