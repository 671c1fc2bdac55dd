//! Refusals: what the device answers to an access that it cannot carry out.
//!
//! A guest that touches what it should not learns so. A refusal is a value and ends nothing: the front decides
//! how it looks on its bus, and the log gets one line for it. Each has a category, which says who is to blame,
//! and a reason, which says for what.

use core::fmt;

use ane_uapi::hw::space::EngineOffset;

/// Who is to blame for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// No source says what the hardware does with this.
    Undefined,
    /// The hardware does something, but not the same thing every time.
    Unpredictable,
    /// The hardware does not do this.
    Unsupported,
    /// The hardware does this, and the model does not.
    Unimplemented,
    /// The access stops a real machine.
    WouldHang,
}

impl Category {
    pub const ALL: [Self; 5] =
        [Self::Undefined, Self::Unpredictable, Self::Unsupported, Self::Unimplemented, Self::WouldHang];

    /// The word that logs and counters print.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::Unpredictable => "unpredictable",
            Self::Unsupported => "unsupported",
            Self::Unimplemented => "unimplemented",
            Self::WouldHang => "would hang",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why an access was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The offset lies behind the container.
    OutsideContainer,
    /// The offset is no multiple of the access's width.
    Misaligned,
    /// The access is neither 1, 2, 4 nor 8 bytes wide.
    Width { bytes: u8 },
    /// The access is wider than one word and crosses from one register's rules to another's.
    NotAWord { bytes: u8 },
    /// Seed 004's author found that touching this offset stops the machine: no range of the map holds it.
    Hole,
    /// The range answers and holds nothing.
    Empty,
    /// The block has no register here that any source knows.
    NoRegister { block: &'static str },
    /// The register is written, and no source says what reading it gives.
    WriteOnly { register: &'static str },
    /// The value sets bits that no source explains.
    UnexplainedBits { register: &'static str, bits: u32, value: u32 },
    /// The configuration was locked.
    Locked { register: &'static str },
    /// The block exists in the map, and this device was started without it.
    Absent { block: &'static str },
    /// The island that the block is on has no power.
    Gated { island: &'static str },
    /// The device declared itself dead after a fault and waits for a reset.
    Dead,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OutsideContainer => {
                write!(f, "offset is behind the container of {:#x} bytes", EngineOffset::CONTAINER)
            }
            Self::Misaligned => f.write_str("offset is no multiple of the access's width"),
            Self::Width { bytes } => write!(f, "access of {bytes} bytes is not 1, 2, 4 or 8 bytes wide"),
            Self::NotAWord { bytes } => write!(f, "register takes whole words, not {bytes} bytes"),
            Self::Hole => f.write_str("nothing is mapped here, and touching it stops a real machine"),
            Self::Empty => f.write_str("range holds nothing"),
            Self::NoRegister { block } => write!(f, "block {block} has no known register here"),
            Self::WriteOnly { register } => write!(f, "register {register} can only be written"),
            Self::UnexplainedBits { register, bits, value } => {
                write!(f, "bits {bits:#010x} of {value:#010x} in register {register} are not explained")
            }
            Self::Locked { register } => write!(f, "register {register} is locked"),
            Self::Absent { block } => write!(f, "device was started without block {block}"),
            Self::Gated { island } => {
                write!(f, "island {island} is off, and the access stops a real machine")
            }
            Self::Dead => f.write_str("device is dead after a fault until it is reset"),
        }
    }
}

impl Why {
    /// Who is to blame, where the reason alone says so.
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

/// An access that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    pub category: Category,
    pub at: EngineOffset,
    pub why: Why,
}

impl Refusal {
    /// The refusal of an access at `at`, in the category that the reason usually has.
    pub const fn new(at: EngineOffset, why: Why) -> Self {
        Self { category: why.category(), at, why }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "access at {} refused as {}: {}", self.at, self.category, self.why)
    }
}

impl core::error::Error for Refusal {}

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
