//! The descriptor fetcher: one of the engine's four DMA circuits.
//!
//! It reads what the request, or the task before, said how long it is: the descriptor says nothing of its own
//! length, so a wrong length shows as a record cut short or as records that are none.

use ane_uapi::hw::space::IovaRange;
use thiserror::Error;
use vm_memory::GuestMemory;
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

use crate::dart::dma::Dma;

/// Most words of a descriptor: what the sixteen bits of a first one's length can say. A linked one has nine.
pub const MAX_WORDS: usize = 1 << 16;

/// The words of one descriptor, as they were in memory when they were fetched.
#[derive(Clone, Debug, Default)]
pub struct Descriptor {
    /// Never shorter than `len`; grows to the longest that was fetched, so that the usual length is allocated once.
    words: Vec<U32>,
    len: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FetchError {
    #[error("descriptor at iova {address:#x} is no multiple of 4")]
    Misaligned { address: u64 },
    /// The window holds the rest; `address` is the low half of the one that faulted.
    #[error("descriptor's transfer faulted at {address:#x}")]
    Fault { address: u32 },
}

impl Descriptor {
    /// Reads `words` words from `address`, which may be beyond what the engine can address, in place of what it held.
    ///
    /// # Errors
    ///
    /// A misaligned address, or the fault of the transfer. Its contents after an error have no meaning.
    pub fn fetch<M: GuestMemory>(
        &mut self,
        dma: &mut Dma<'_, M>,
        address: u64,
        words: usize,
    ) -> Result<(), FetchError> {
        if !address.is_multiple_of(4) {
            return Err(FetchError::Misaligned { address });
        }
        self.len = words.clamp(1, MAX_WORDS);
        if self.words.len() < self.len {
            self.words.resize(self.len, U32::ZERO);
        }
        let bytes = self.len.saturating_mul(4) as u64;
        let range = IovaRange::new(address, bytes)
            .map_err(|_| FetchError::Fault { address: dma.refuse(address, false).address.get() })?;
        let into = self.words.get_mut(..self.len).unwrap_or_default().as_mut_bytes();
        dma.read(range, into).map_err(|info| FetchError::Fault { address: info.address.get() })
    }

    /// A descriptor that was not fetched: as many of `words` as one has at most.
    pub fn of(words: impl IntoIterator<Item = u32>) -> Self {
        let words: Vec<U32> = words.into_iter().take(MAX_WORDS).map(U32::new).collect();
        Self { len: words.len(), words }
    }

    pub fn words(&self) -> &[U32] {
        self.words.get(..self.len).unwrap_or_default()
    }
}
