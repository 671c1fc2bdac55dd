//! Kernel memory: 64 KB that the kernel fetcher fills with the coefficients of the running task.
//!
//! It is a place to keep coefficients and nothing else; each task overwrites what the one before left
//! (seed 004). A transfer fills at most all of it, in pieces of 8 bytes.

use ane_uapi::hw::mmio_map::Region;
use thiserror::Error;

use crate::sram::Sram;

/// Bytes of kernel memory (seed 004; HAL `0x200`).
pub const BYTES: usize = 0x1_0000;

/// A transfer is a multiple of this (seed 004).
pub const GRANULE: u32 = 8;

const _: () = assert!(Region::KernelMemory.range().len() as usize == BYTES);

#[derive(Clone, Debug)]
pub struct KernelMemory(Sram);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadTransfer {
    #[error("transfer of {0:#x} bytes is longer than kernel memory of {BYTES:#x}")]
    TooLong(u32),
    #[error("transfer of {0:#x} bytes is no multiple of {GRANULE}")]
    Ragged(u32),
}

impl Default for KernelMemory {
    fn default() -> Self {
        Self(Sram::new(BYTES))
    }
}

impl KernelMemory {
    /// The bytes that a transfer of `len` bytes fills: those from the start.
    ///
    /// # Errors
    ///
    /// Refuses what is longer than kernel memory or no multiple of 8 bytes; zero is allowed.
    pub fn slot(&mut self, len: u32) -> Result<&mut [u8], BadTransfer> {
        if !len.is_multiple_of(GRANULE) {
            return Err(BadTransfer::Ragged(len));
        }
        self.0.bytes_mut().get_mut(..len as usize).ok_or(BadTransfer::TooLong(len))
    }

    /// The memory as registers show it.
    pub const fn sram(&self) -> &Sram {
        &self.0
    }

    /// The memory as registers show it, to write.
    pub const fn sram_mut(&mut self) -> &mut Sram {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requirement: DMA-02
    #[test]
    fn transfer_takes_nothing_up_to_all_of_kernel_memory() {
        let mut memory = KernelMemory::default();
        assert_eq!(memory.slot(0).map(|bytes| bytes.len()), Ok(0));
        assert_eq!(memory.slot(0x1_0000).map(|bytes| bytes.len()), Ok(0x1_0000));
        assert_eq!(memory.slot(0x1_0008).map(|bytes| bytes.len()), Err(BadTransfer::TooLong(0x1_0008)));
        assert_eq!(memory.slot(u32::MAX - 7).unwrap_err(), BadTransfer::TooLong(0xffff_fff8));
    }

    /// Requirement: DMA-03
    #[test]
    fn transfer_of_no_multiple_of_eight_bytes_is_refused() {
        let mut memory = KernelMemory::default();
        for len in [1, 4, 12, 0xffff] {
            assert_eq!(memory.slot(len).unwrap_err(), BadTransfer::Ragged(len));
        }
    }
}
