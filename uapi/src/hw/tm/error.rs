//! The error registers: why a request did not run to its end.
//!
//! Three error registers are known, and no bit of them. They are laid out by this project (Chosen) so that
//! everything that the model knows about an error can be read:
//!
//! | register | bits | content |
//! |---|---|---|
//! | Error | 31 | an error is held |
//! | | 23:16 | network id of the request, 0 if it had none |
//! | | 10:8 | the queue |
//! | | 7:0 | [`ErrorCode`] |
//! | ErrorPlace | 31:16 | record address of the register, divided by four; header words stand at `0x20000` |
//! | | 15:0 | index of the task in its chain |
//! | ErrorValue | 31:0 | the value of the register, or the address that faulted |
//!
//! The last error stays until the next one, or a reset. The event that reports an error carries the first
//! register in its second word and the third in its fourth.

use crate::hw::tq::QueueId;
use crate::register::Show;
use crate::{codes, layout};

codes! {
    /// The kind of an error, as the first error register shows it.
    pub enum ErrorCode: u8, "task manager error" {
        /// A push to a queue that is not in use.
        QueueNotInUse = 0x01, "queue not in use";
        /// A push to a queue neither of whose sets holds a request.
        NothingStaged = 0x02, "nothing staged";
        /// A push of a set whose earlier request has not ended.
        SetTaken = 0x03, "set taken";
        /// A push of a request without a network id.
        NoNetworkId = 0x04, "no network id";
        /// A push of a chain without tasks.
        NoTasks = 0x05, "no tasks";
        /// A push that has a request go on which the stream has not put aside.
        NothingAside = 0x06, "nothing put aside";
        /// A descriptor is not where a descriptor can be.
        DescriptorMisaligned = 0x10, "descriptor misaligned";
        /// Fetching a descriptor faulted.
        DescriptorFault = 0x11, "descriptor fault";
        /// A descriptor ends before it is complete.
        DescriptorShort = 0x12, "descriptor cut short";
        /// A descriptor writes where no register is known.
        NoRegister = 0x13, "no register";
        /// A word of a descriptor has bits that no source explains.
        Unexplained = 0x14, "unexplained bits";
        /// A field of a descriptor holds a number that its enumeration does not have.
        UnknownCode = 0x15, "unknown code";
        /// A descriptor belongs to another request.
        WrongNetworkId = 0x16, "wrong network id";
        /// A chain ends before its last task.
        ChainEnds = 0x17, "chain ends early";
        /// A base address and its offset add up to more than 32 bits.
        AddressTooHigh = 0x18, "address too high";
        /// A transfer of the task faulted.
        TransferFault = 0x20, "transfer fault";
        /// The device executes no tasks.
        NotExecuting = 0x21, "not executing";
        /// The task would hang a real engine.
        WouldHang = 0x22, "would hang";
        /// The task asks for what the model does not do.
        Unsupported = 0x23, "unsupported";
        /// The task asks for what no source explains.
        Undefined = 0x24, "undefined";
        /// The task's result depends on what nobody can know.
        Unpredictable = 0x25, "unpredictable";
        /// The queue got nowhere for too long, or its request would have taken too long on the chip.
        Deadline = 0x30, "deadline";
        /// The driver took the queue back.
        Aborted = 0x31, "aborted";
    }
}

impl ErrorCode {
    /// True if a transfer of the request faulted: the DART has more to say about it.
    pub const fn is_fault(self) -> bool {
        matches!(self, Self::DescriptorFault | Self::TransferFault)
    }
}

layout! {
    /// The first error register.
    pub struct ErrorWord {
        /// The kind of the error.
        #[bits(8)] code: u8 => Show::Codes(ErrorCode::CODES); Chosen,
        /// The queue.
        #[bits(3)] queue: u8; Chosen,
        #[bits(5)] __: u8,
        /// The request; 0 if it had no id.
        #[bits(8)] nid: u8 => Show::Hex; Chosen,
        #[bits(7)] __: u8,
        /// An error is held.
        #[bits(1)] is_held: bool; Chosen
    }
}

impl ErrorWord {
    pub const fn of(code: ErrorCode, queue: QueueId, nid: u8) -> Self {
        Self::new().with_code(code as u8).with_queue(queue.number()).with_nid(nid).with_is_held(true)
    }

    /// The kind of the error; `None` where no error is held, or one that has no name.
    pub fn error(self) -> Option<ErrorCode> {
        if self.is_held() { ErrorCode::try_from(self.code()).ok() } else { None }
    }
}

layout! {
    /// The second error register.
    pub struct ErrorPlace {
        /// Index of the task in its chain.
        #[bits(16)] task: u16; Chosen,
        /// Record address of the register to blame, divided by four; header words stand at `0x20000`. Zero if none is.
        #[bits(16)] register: u16 => Show::Hex; Chosen
    }
}

layout! {
    /// The third error register.
    pub struct ErrorValue {
        /// The value, or the address.
        #[bits(32)] value: u32 => Show::Hex; Chosen
    }
}

const _: () = {
    let word = ErrorWord::of(ErrorCode::Unexplained, QueueId::LINUX, 0x40);
    assert!(word.into_bits() == 0x8040_0414);
};
