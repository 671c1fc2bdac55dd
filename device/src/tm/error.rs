//! Why a request did not run to its end, and how the error registers say so.
//!
//! Three error registers are known, and no bit of them. They are laid out by this project (Chosen) so that
//! everything that the model knows about an error can be read:
//!
//! | register | bits | content |
//! |---|---|---|
//! | Errors 0 | 31 | an error is held |
//! | | 23:16 | network id of the request, 0 if it had none |
//! | | 10:8 | the queue |
//! | | 7:0 | [`ErrorCode`] |
//! | Errors 1 | 31:16 | record address of the register, divided by four; header words stand at `0x20000` |
//! | | 15:0 | index of the task in its chain |
//! | Errors 2 | 31:0 | the value of the register, or the address that faulted |
//!
//! The last error stays until the next one, or a reset. The event that reports an error carries the first
//! register in its second word and the third in its fourth.

use std::fmt;

use ane_uapi::codes;
use ane_uapi::hw::nid::{BadNid, Nid};
use ane_uapi::hw::tq::QueueId;

use crate::bus::halves;
use crate::engine::EngineError;
use crate::engine::plan::verdict::Verdict;
use crate::refusal::Category;
use crate::td::bar::TooHigh;
use crate::td::decode::DescriptorError;
use crate::td::fetch::FetchError;

codes! {
    /// What went wrong, as the first error register shows it.
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
        /// The queue got nowhere for too long.
        Deadline = 0x30, "deadline";
        /// The driver took the queue back.
        Aborted = 0x31, "aborted";
    }
}

/// Why a push started nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushError {
    /// The queue's status does not say that it is in use.
    QueueNotInUse,
    /// Neither set holds a valid request.
    NothingStaged,
    /// The set's earlier request has not ended.
    SetTaken,
    /// The network id names no request.
    Nid(BadNid),
    /// The chain has no tasks.
    NoTasks,
}

/// Why a request did not run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// It was never taken.
    Push(PushError),
    /// A descriptor could not be fetched.
    Fetch(FetchError),
    /// A descriptor was not understood.
    Descriptor(DescriptorError),
    /// A descriptor carries the network id of another request.
    WrongNid {
        /// The id in the descriptor.
        found: u8,
        /// That of the request.
        expected: Nid,
    },
    /// A chain ends before its last task.
    ChainEnds {
        /// Tasks that the request has.
        tasks: u16,
    },
    /// A base address is too high.
    Bar(TooHigh),
    /// The engine did not run the task.
    Engine(EngineError),
    /// The queue got nowhere for too long.
    Deadline {
        /// What hung the engine, where the model knows: record address and value of the register.
        hung: Option<(u32, u32)>,
    },
    /// The driver took the queue back.
    Aborted,
}

impl RequestError {
    /// The code that the first error register shows.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Push(PushError::QueueNotInUse) => ErrorCode::QueueNotInUse,
            Self::Push(PushError::NothingStaged) => ErrorCode::NothingStaged,
            Self::Push(PushError::SetTaken) => ErrorCode::SetTaken,
            Self::Push(PushError::Nid(_)) => ErrorCode::NoNetworkId,
            Self::Push(PushError::NoTasks) => ErrorCode::NoTasks,
            Self::Fetch(FetchError::Misaligned { .. }) => ErrorCode::DescriptorMisaligned,
            Self::Fetch(FetchError::Fault { .. }) => ErrorCode::DescriptorFault,
            Self::Descriptor(DescriptorError::Header { .. } | DescriptorError::Overrun(_)) => {
                ErrorCode::DescriptorShort
            }
            Self::Descriptor(DescriptorError::NoRegister { .. }) => ErrorCode::NoRegister,
            Self::Descriptor(DescriptorError::Unexplained { .. }) => ErrorCode::Unexplained,
            Self::Descriptor(DescriptorError::UnknownCode { .. }) => ErrorCode::UnknownCode,
            Self::WrongNid { .. } => ErrorCode::WrongNetworkId,
            Self::ChainEnds { .. } => ErrorCode::ChainEnds,
            Self::Bar(_) => ErrorCode::AddressTooHigh,
            Self::Engine(EngineError::Fault { .. }) => ErrorCode::TransferFault,
            Self::Engine(EngineError::NotExecuting) => ErrorCode::NotExecuting,
            Self::Engine(EngineError::Refused(verdict)) => match verdict.category {
                Category::WouldHang => ErrorCode::WouldHang,
                Category::Undefined => ErrorCode::Undefined,
                Category::Unpredictable => ErrorCode::Unpredictable,
                Category::Unsupported | Category::Unimplemented => ErrorCode::Unsupported,
            },
            Self::Deadline { .. } => ErrorCode::Deadline,
            Self::Aborted => ErrorCode::Aborted,
        }
    }

    /// Record address of the register that is to blame, and the value that the third error register shows.
    fn detail(&self) -> (u32, u32) {
        match *self {
            Self::Fetch(FetchError::Fault { address }) | Self::Engine(EngineError::Fault { address }) => {
                (0, address)
            }
            // The low half, as the fault registers show it too.
            Self::Fetch(FetchError::Misaligned { address }) => (0, halves(address).0),
            Self::Descriptor(error) => {
                let (address, _, value) = error.place();
                (address, value)
            }
            Self::WrongNid { found, .. } => (0, found.into()),
            Self::ChainEnds { tasks } => (0, tasks.into()),
            Self::Bar(TooHigh { address, offset, .. }) => (address, offset),
            Self::Engine(EngineError::Refused(Verdict { address, value, .. })) => (address, value),
            Self::Deadline { hung } => hung.unwrap_or_default(),
            Self::Push(_) | Self::Engine(EngineError::NotExecuting) | Self::Aborted => (0, 0),
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Push(PushError::QueueNotInUse) => f.write_str("queue's status does not say in use"),
            Self::Push(PushError::NothingStaged) => f.write_str("neither set holds a valid request"),
            Self::Push(PushError::SetTaken) => f.write_str("set's earlier request has not ended"),
            Self::Push(PushError::Nid(nid)) => nid.fmt(f),
            Self::Push(PushError::NoTasks) => f.write_str("request has no tasks"),
            Self::Fetch(error) => error.fmt(f),
            Self::Descriptor(error) => write!(f, "{error} ({})", error.category()),
            Self::WrongNid { found, expected } => {
                write!(f, "descriptor carries network id {found:#x}, the request is {expected}")
            }
            Self::ChainEnds { tasks } => write!(f, "chain ends here, the request has {tasks} tasks"),
            Self::Bar(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
            Self::Deadline { hung: None } => f.write_str("queue got nowhere before its deadline"),
            Self::Deadline { hung: Some((address, value)) } => {
                write!(
                    f,
                    "queue got nowhere before its deadline: register {address:#x} with {value:#010x} "
                )?;
                f.write_str("hung the engine")
            }
            Self::Aborted => f.write_str("driver took the queue back"),
        }
    }
}

/// A request that did not run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its queue.
    pub queue: QueueId,
    /// Its network id, if it had one.
    pub nid: Option<Nid>,
    /// Index of the task that failed.
    pub task: u16,
    /// Why.
    pub error: RequestError,
}

impl Failure {
    /// The three error registers.
    pub fn registers(&self) -> [u32; 3] {
        let (address, value) = self.error.detail();
        let nid = u32::from(self.nid.map_or(0, Nid::number));
        [
            0x8000_0000 | nid << 16 | u32::from(self.queue.number()) << 8 | self.error.code() as u32,
            (address >> 2 & 0xffff) << 16 | u32::from(self.task),
            value,
        ]
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.queue)?;
        if let Some(nid) = self.nid {
            write!(f, ", {nid}, task {}", self.task)?;
        }
        write!(f, ": {}", self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_registers_name_task_register_and_value() {
        let error = RequestError::Descriptor(DescriptorError::Unexplained {
            register: "InDim",
            address: 0x1_3844,
            bits: 0x8000,
            value: 0x8001,
        });
        let failure = Failure { queue: QueueId::LINUX, nid: Some(Nid::LINUX), task: 3, error };
        assert_eq!(failure.registers(), [0x8040_0414, 0x4e11_0003, 0x8001]);
        assert_eq!(
            failure.to_string(),
            "task queue 4, nid 0x40, task 3: bits 0x00008000 of 0x00008001 in InDim at 0x13844 are not \
             explained (undefined)"
        );
    }
}
