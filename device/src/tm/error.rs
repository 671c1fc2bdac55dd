//! Why a request did not run to its end, and how the error registers say so.
//!
//! [`ane_uapi::hw::tm::error`] has how the three error registers are laid out.

use std::fmt;

use ane_uapi::hw::nid::{BadNid, Nid};
pub use ane_uapi::hw::tm::error::ErrorCode;
use ane_uapi::hw::tm::error::ErrorWord;
use ane_uapi::hw::tq::QueueId;
use thiserror::Error;

use crate::engine::EngineError;
use crate::engine::plan::verdict::Verdict;
use crate::halves::halves;
use crate::refusal::Category;
use crate::td::bar::TooHigh;
use crate::td::error::DescriptorError;
use crate::td::fetch::FetchError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PushError {
    #[error("queue's status does not say in use")]
    QueueNotInUse,
    #[error("neither set holds a valid request")]
    NothingStaged,
    #[error("set's earlier request has not ended")]
    SetTaken,
    #[error("{0}")]
    Nid(BadNid),
    #[error("request has no tasks")]
    NoTasks,
    #[error("stream has put no such request aside")]
    NothingAside,
}

/// Why a request did not run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    #[error("{0}")]
    Push(PushError),
    #[error("{0}")]
    Fetch(FetchError),
    #[error("{0} ({category})", category = .0.category())]
    Descriptor(DescriptorError),
    #[error("descriptor carries network id {found:#x}, the request is {expected}")]
    WrongNid { found: u8, expected: Nid },
    #[error("chain ends here, the request has {tasks} tasks")]
    ChainEnds { tasks: u16 },
    #[error("{0}")]
    Bar(TooHigh),
    #[error("{0}")]
    Engine(EngineError),
    #[error("queue got nowhere before its deadline{}", culprit(*.hung))]
    Deadline {
        /// The register that hung the engine, if the model knows it: its record address and value.
        hung: Option<(u32, u32)>,
    },
    #[error("request would have taken two seconds or more on the chip")]
    TooLong,
    #[error("driver took the queue back")]
    Aborted,
}

fn culprit(hung: Option<(u32, u32)>) -> String {
    hung.map_or_else(String::new, |(address, value)| {
        format!(": register {address:#x} with {value:#010x} hung the engine")
    })
}

impl RequestError {
    pub const fn is_fault(&self) -> bool {
        self.code().is_fault()
    }

    /// The code that the first error register shows.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Push(PushError::QueueNotInUse) => ErrorCode::QueueNotInUse,
            Self::Push(PushError::NothingStaged) => ErrorCode::NothingStaged,
            Self::Push(PushError::SetTaken) => ErrorCode::SetTaken,
            Self::Push(PushError::Nid(_)) => ErrorCode::NoNetworkId,
            Self::Push(PushError::NoTasks) => ErrorCode::NoTasks,
            Self::Push(PushError::NothingAside) => ErrorCode::NothingAside,
            Self::Fetch(FetchError::Misaligned { .. }) => ErrorCode::DescriptorMisaligned,
            Self::Fetch(FetchError::Fault { .. }) => ErrorCode::DescriptorFault,
            Self::Descriptor(DescriptorError::Header { .. }) => ErrorCode::DescriptorShort,
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
            Self::Deadline { .. } | Self::TooLong => ErrorCode::Deadline,
            Self::Engine(EngineError::Cancelled) | Self::Aborted => ErrorCode::Aborted,
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
            Self::Push(_)
            | Self::Engine(EngineError::NotExecuting | EngineError::Cancelled)
            | Self::TooLong
            | Self::Aborted => (0, 0),
        }
    }
}

/// A request that did not run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    pub queue: QueueId,
    /// The network id of the request, if it had one.
    pub nid: Option<Nid>,
    /// Index of the task that failed.
    pub task: u16,
    pub error: RequestError,
}

impl Failure {
    pub fn registers(&self) -> [u32; 3] {
        let (address, value) = self.error.detail();
        let nid = self.nid.map_or(0, Nid::number);
        [
            ErrorWord::of(self.error.code(), self.queue, nid).into_bits(),
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
