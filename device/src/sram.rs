//! On-chip memory: bytes that registers show and the engine computes in.
//!
//! Tile L2 is the engine's work space and lies open in the container. Nothing in the hardware clears it, a reset of the
//! engine included: each input overwrites what was there (seed 004). A program around the device that needs it empty for
//! each request says so ([`Ane::forget_requests`](crate::Ane::forget_requests)).
//!
//! The bytes are taken from the host as zeroes, which cost nothing until they are touched.

use std::fmt;

use ane_uapi::hw::mmio_map::Region;

/// Bytes of tile L2 (seed 004; HAL `0x1b8`).
pub const TILE_L2_BYTES: usize = 2 << 20;

const _: () = assert!(Region::TileL2.range().len() as usize == TILE_L2_BYTES);

/// Is told what is written to tile L2 beside the tasks: some of its bytes may be unknown, as those that a task has streamed
/// through it.
pub trait Known: fmt::Debug {
    /// These bytes were written, so they are known now.
    fn written(&mut self, at: u32, len: u32);

    /// These bytes were copied, as if by way of a snapshot: each is as known as the one that it was copied from.
    fn copied(&mut self, from: u32, to: u32, len: u32);
}

/// A piece of on-chip memory.
#[derive(Clone, Debug)]
pub struct Sram {
    bytes: Box<[u8]>,
}

impl Sram {
    pub(crate) fn new(len: usize) -> Self {
        Self { bytes: vec![0; len].into_boxed_slice() }
    }

    pub fn tile_l2() -> Self {
        Self::new(TILE_L2_BYTES)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The little-endian word at `offset`; `None` unless all four bytes are there.
    pub fn word(&self, offset: u32) -> Option<u32> {
        let rest = self.bytes.get(offset as usize..)?;
        rest.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// Stores a little-endian word; `None`, and nothing is stored, unless all four bytes are there.
    pub fn set_word(&mut self, offset: u32, value: u32) -> Option<()> {
        let rest = self.bytes.get_mut(offset as usize..)?;
        *rest.first_chunk_mut()? = value.to_le_bytes();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_word_is_there_and_the_next_is_not() {
        let mut sram = Sram::tile_l2();
        let last = TILE_L2_BYTES as u32 - 4;
        assert_eq!(sram.set_word(last, 0x3e8b_3e8b), Some(()));
        assert_eq!(sram.word(last), Some(0x3e8b_3e8b));
        assert_eq!(sram.bytes()[TILE_L2_BYTES - 2..], [0x8b, 0x3e]);
        assert_eq!(sram.set_word(last + 4, 1), None);
        assert_eq!(sram.word(last + 2), None);
        assert_eq!(sram.word(u32::MAX), None);
    }
}
