//! Why a descriptor is refused: the word, and what of it is not understood.

use thiserror::Error;

use crate::refusal::Category;

/// `address` is the record address of the register; of a header word, [`HEADER_AT`](super::decode::HEADER_AT) and its byte
/// offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DescriptorError {
    #[error("descriptor of {words} words ends inside its header")]
    Header { words: usize },
    #[error("word {word} writes {value:#010x} to {address:#x}, where no register is known")]
    NoRegister {
        /// Index of the value's word in the descriptor.
        word: usize,
        address: u32,
        value: u32,
    },
    #[error("bits {bits:#010x} of {value:#010x} in {register} at {address:#x} are not explained")]
    Unexplained { register: &'static str, address: u32, bits: u32, value: u32 },
    #[error(
        "field {field}, bits {bits:#010x} of {value:#010x} in {register} at {address:#x}, holds no known code"
    )]
    UnknownCode { register: &'static str, address: u32, field: &'static str, bits: u32, value: u32 },
}

impl DescriptorError {
    /// Where and what: address of the register, bits and value, as error registers show them.
    pub const fn place(&self) -> (u32, u32, u32) {
        match *self {
            Self::Header { .. } => (0, 0, 0),
            Self::NoRegister { address, value, .. } => (address, u32::MAX, value),
            Self::Unexplained { address, bits, value, .. }
            | Self::UnknownCode { address, bits, value, .. } => (address, bits, value),
        }
    }

    /// The party that caused the error.
    pub const fn category(&self) -> Category {
        match self {
            Self::Header { .. } => Category::Unpredictable,
            Self::NoRegister { .. } | Self::Unexplained { .. } | Self::UnknownCode { .. } => {
                Category::Undefined
            }
        }
    }
}
