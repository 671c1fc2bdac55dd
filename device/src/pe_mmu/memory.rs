//! Memory from the host, in words: zero, and taken only where it is touched.

use memmap2::{Advice, MmapMut};
use zerocopy::FromBytes as _;

/// The memory; none at first.
#[derive(Debug, Default)]
pub(super) struct Memory(Option<MmapMut>);

impl Memory {
    /// So many words of it; `None` if the host does not give them.
    pub(super) fn new(words: usize) -> Option<Self> {
        Some(Self(Some(MmapMut::map_anon(words.checked_mul(size_of::<u64>())?).ok()?)))
    }

    /// As many words as are needed and as many again, with those that are here, in large pages if the host has them:
    /// where much is asked for in no order, a translation of the processor's own would cost more than the word.
    pub(super) fn larger(&self, words: usize) -> Option<Self> {
        let mut larger = Self::new(words.checked_next_power_of_two()?)?;
        if let Some(memory) = &larger.0 {
            // Without large pages it works as well, only slower.
            _ = memory.advise(Advice::HugePage);
        }
        let here = self.words();
        larger.words_mut().get_mut(..here.len())?.copy_from_slice(here);
        Some(larger)
    }

    /// Its words.
    #[inline]
    pub(super) fn words(&self) -> &[u64] {
        self.0.as_deref().and_then(|bytes| <[u64]>::ref_from_bytes(bytes).ok()).unwrap_or_default()
    }

    /// Its words, to change.
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        self.0.as_deref_mut().and_then(|bytes| <[u64]>::mut_from_bytes(bytes).ok()).unwrap_or_default()
    }
}
