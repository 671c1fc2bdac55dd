//! Memory from the host, in words: zero, and taken only where it is touched.

use memmap2::{Advice, MmapMut};
use zerocopy::FromBytes as _;

/// The memory; none at first.
#[derive(Debug, Default)]
pub(super) struct Memory(Option<MmapMut>);

impl Memory {
    /// As many words as are needed, and as many again, with those that are here; `None` if the host does not give them.
    ///
    /// They are in large pages if the host has them: where much is asked for in no order, a translation of the
    /// processor's own would cost more than the word.
    pub(super) fn larger(&self, words: usize) -> Option<Self> {
        let bytes = words.checked_next_power_of_two()?.checked_mul(size_of::<u64>())?;
        let memory = MmapMut::map_anon(bytes).ok()?;
        // Without large pages it works as well, only slower.
        _ = memory.advise(Advice::HugePage);
        let mut larger = Self(Some(memory));
        let here = self.words();
        larger.words_mut().get_mut(..here.len())?.copy_from_slice(here);
        Some(larger)
    }

    /// A word.
    #[inline]
    pub(super) fn word(&self, index: usize) -> Option<u64> {
        let (words, _) = self.bytes().as_chunks();
        words.get(index).map(|&word| u64::from_ne_bytes(word))
    }

    /// Two words that lie beside each other, the first of which has an even number: so many pairs lie before.
    #[inline]
    pub(super) fn pair(&self, index: usize) -> Option<[u64; 2]> {
        let (pairs, _) = self.bytes().as_chunks::<16>();
        pairs.get(index).map(|&pair| zerocopy::transmute!(pair))
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Its words.
    pub(super) fn words(&self) -> &[u64] {
        <[u64]>::ref_from_bytes(self.bytes()).unwrap_or_default()
    }

    /// Its words, to change.
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        self.0.as_deref_mut().and_then(|bytes| <[u64]>::mut_from_bytes(bytes).ok()).unwrap_or_default()
    }
}
