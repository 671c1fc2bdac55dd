//! Refusals: what the device answers to an access that it cannot carry out.
//!
//! A guest that touches what it should not learns so. A refusal is a value and ends nothing: the front decides
//! how it looks on its bus, and the log gets one line for it. Each has a category, which says who is to blame,
//! and a reason, which says for what.

use ane_uapi::hw::mover::model::MODEL;
use ane_uapi::hw::mover::regs::MOVER;
use ane_uapi::hw::mover::xmov::PORT;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::named;
use thiserror::Error;

named! {
    /// The kind of a refusal, in the word that logs and counters print.
    pub enum Category {
        /// No source says what the hardware does with this.
        Undefined "undefined",
        /// The hardware does something, but not the same thing every time.
        Unpredictable "unpredictable",
        /// The hardware does not do this.
        Unsupported "unsupported",
        /// The hardware does this, and the model does not.
        Unimplemented "unimplemented",
        /// The access stops a real machine.
        WouldHang "would hang",
    }
}

/// Why an access was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Why {
    #[error("offset is behind the container of {:#x} bytes", EngineOffset::CONTAINER)]
    OutsideContainer,
    #[error("offset is no multiple of the access's width")]
    Misaligned,
    #[error("access of {bytes} bytes is not 1, 2, 4 or 8 bytes wide")]
    Width { bytes: u8 },
    /// The access is wider than one word and crosses from one register's rules to another's.
    #[error("register takes whole words, not {bytes} bytes")]
    NotAWord { bytes: u8 },
    /// Seed 004's author found that touching this offset stops the machine: no range of the map holds it.
    #[error("nothing is mapped here, and touching it stops a real machine")]
    Hole,
    #[error("range holds nothing")]
    Empty,
    #[error("block {block} has no known register here")]
    NoRegister { block: &'static str },
    /// No source says what reading it gives.
    #[error("register {register} can only be written")]
    WriteOnly { register: &'static str },
    #[error("bits {bits:#010x} of {value:#010x} in register {register} are not explained")]
    UnexplainedBits { register: &'static str, bits: u32, value: u32 },
    #[error("register {register} is locked")]
    Locked { register: &'static str },
    #[error("device was started without block {block}")]
    Absent { block: &'static str },
    #[error("island {island} is off, and the access stops a real machine")]
    Gated { island: &'static str },
    #[error("device is dead after a fault until it is reset")]
    Dead,
}

impl Why {
    /// The category, where the reason alone decides it.
    pub const fn category(self) -> Category {
        match self {
            Self::OutsideContainer | Self::Misaligned | Self::Width { .. } | Self::NotAWord { .. } => {
                Category::Unsupported
            }
            Self::Hole | Self::Gated { .. } | Self::Dead => Category::WouldHang,
            Self::Empty | Self::NoRegister { .. } | Self::WriteOnly { .. } | Self::UnexplainedBits { .. } => {
                Category::Undefined
            }
            Self::Locked { .. } => Category::Unsupported,
            Self::Absent { .. } => Category::Unimplemented,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("access at {at} refused as {category}: {why}")]
pub struct Refusal {
    pub category: Category,
    pub at: EngineOffset,
    pub why: Why,
}

pub type Result<T, E = Refusal> = std::result::Result<T, E>;

impl Refusal {
    /// The refusal of an access at `at`, in the category that the reason usually has.
    pub const fn new(at: EngineOffset, why: Why) -> Self {
        Self { category: why.category(), at, why }
    }

    /// What a refused read gives where it goes on: all ones, as on a bus with nothing there (Chosen), but zero where the
    /// mover's blocks have no register (mover 8, R34). The device's log says more.
    pub fn answer(&self) -> u64 {
        let of_mover = [MOVER.name, MODEL.name, PORT.name];
        match self.why {
            Why::NoRegister { block } if of_mover.contains(&block) => 0,
            _ => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_names_offset_category_and_reason() {
        let refusal = Refusal::new(EngineOffset(0x1c2_4100), Why::NoRegister { block: "tm" });
        assert_eq!(
            refusal.to_string(),
            "access at engine 0x1c24100 refused as undefined: block tm has no known register here"
        );
    }

    #[test]
    fn categories_have_different_names() {
        for (i, category) in Category::ALL.iter().enumerate() {
            assert!(Category::ALL[..i].iter().all(|other| other.name() != category.name()));
        }
    }
}
