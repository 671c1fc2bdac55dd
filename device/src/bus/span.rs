//! An access of any width, as the words that it touches.
//!
//! Registers are words of 32 bits (seed 004). No source says how accesses of other widths behave, so they follow three rules (Chosen):
//!
//! * an access is aligned to its width;
//! * eight bytes are two words, the lower first; the first word that is refused ends it, and if there is
//!   nothing at one of the two neither is touched;
//! * one or two bytes can be read where reading changes nothing, and written where the word is plain
//!   storage. Elsewhere half a register would start or take something whole, and is refused.

use ane_uapi::hw::space::EngineOffset;

use super::Target;
use crate::refusal::{Refusal, Why};

/// An access of some width, as the words that it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Bits of one word: their number from bit 0, and their mask there.
    Part {
        word: EngineOffset,
        /// Bits below the part.
        shift: u32,
        /// The part's bits, moved to bit 0.
        mask: u32,
    },
    Word(EngineOffset),
    /// Two words, the lower first.
    Pair(EngineOffset, EngineOffset),
}

impl Span {
    /// The span of `bytes` bytes from `at`.
    ///
    /// # Errors
    ///
    /// Refuses widths other than 1, 2, 4 and 8 bytes, what is not aligned to them, and the parts of words
    /// that come only whole.
    pub fn new(at: EngineOffset, bytes: u8, is_write: bool) -> Result<Self, Refusal> {
        let refuse = |why| Err(Refusal::new(at, why));
        if !matches!(bytes, 1 | 2 | 4 | 8) {
            return refuse(Why::Width { bytes });
        }
        if !at.is_aligned(bytes.into()) {
            return refuse(Why::Misaligned);
        }
        match bytes {
            4 => Ok(Self::Word(at)),
            8 => {
                let upper = at.checked_add(4).ok_or(Refusal::new(at, Why::OutsideContainer))?;
                Target::find(at)?;
                Target::find(upper)?;
                Ok(Self::Pair(at, upper))
            }
            _ => {
                let word = EngineOffset(at.0 & !3);
                let target = Target::find(word)?;
                let whole = if is_write { !target.is_storage() } else { !target.reads_freely() };
                if whole {
                    return refuse(Why::NotAWord { bytes });
                }
                let mask = if bytes == 1 { 0xff } else { 0xffff };
                // At most 24: three bytes of eight bits.
                Ok(Self::Part { word, shift: (at.0 & 3) << 3, mask })
            }
        }
    }
}
