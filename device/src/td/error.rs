//! Why a descriptor is refused: the word, and what of it is not understood.

use std::fmt;

use crate::refusal::Category;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptorError {
    Header {
        words: usize,
    },
    /// A record writes where no register is known.
    NoRegister {
        /// Index of the value's word in the descriptor.
        word: usize,
        /// Record address.
        address: u32,
        value: u32,
    },
    /// A word has bits that no source explains.
    Unexplained {
        register: &'static str,
        /// Its record address; of a header word, [`HEADER_AT`](super::decode::HEADER_AT) and its byte offset.
        address: u32,
        bits: u32,
        value: u32,
    },
    /// An enumeration does not have this number.
    UnknownCode {
        register: &'static str,
        address: u32,
        field: &'static str,
        /// The field's bits in the word.
        bits: u32,
        value: u32,
    },
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

    /// Who is to blame.
    pub const fn category(&self) -> Category {
        match self {
            Self::Header { .. } => Category::Unpredictable,
            Self::NoRegister { .. } | Self::Unexplained { .. } | Self::UnknownCode { .. } => {
                Category::Undefined
            }
        }
    }
}

impl fmt::Display for DescriptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Header { words } => write!(f, "descriptor of {words} words ends inside its header"),
            Self::NoRegister { word, address, value } => {
                write!(f, "word {word} writes {value:#010x} to {address:#x}, where no register is known")
            }
            Self::Unexplained { register, address, bits, value } => {
                write!(
                    f,
                    "bits {bits:#010x} of {value:#010x} in {register} at {address:#x} are not explained"
                )
            }
            Self::UnknownCode { register, address, field, bits, value } => {
                write!(
                    f,
                    "field {field}, bits {bits:#010x} of {value:#010x} in {register} at {address:#x}, "
                )?;
                f.write_str("holds no known code")
            }
        }
    }
}

impl std::error::Error for DescriptorError {}
