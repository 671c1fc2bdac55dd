//! A mapping as the driver described it, and which of its pages the engine has written.

use ane_uapi::hw::dart::aperture::PAGE_SHIFT;
use ane_uapi::hw::space::IovaRange;
use ane_uapi::hw::usage::Usage;

#[derive(Clone, Debug)]
pub(super) struct Mapping {
    pub(super) range: IovaRange,
    pub(super) usage: Usage,
    /// One bit for each page that the engine has written to.
    written: Vec<u64>,
}

impl Mapping {
    pub(super) fn new(range: IovaRange, usage: Usage) -> Self {
        let mut mapping = Self { range, usage, written: Vec::new() };
        let bits = mapping.bit(range.end().0.saturating_sub(1)).saturating_add(1);
        mapping.written = vec![0; bits.div_ceil(64)];
        mapping
    }

    /// The number of the page of `address` in the mapping.
    fn bit(&self, address: u32) -> usize {
        let first = self.range.base().0 >> PAGE_SHIFT;
        (address >> PAGE_SHIFT).saturating_sub(first) as usize
    }

    fn bits(&self, span: IovaRange) -> impl Iterator<Item = usize> + use<> {
        let first = self.bit(span.base().0.max(self.range.base().0));
        let last = self.bit(span.end().0.min(self.range.end().0).saturating_sub(1));
        first..=last
    }

    pub(super) fn mark(&mut self, span: IovaRange) {
        for bit in self.bits(span) {
            if let Some(word) = self.written.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
    }

    pub(super) fn never_written(&self, span: IovaRange) -> Option<usize> {
        self.bits(span)
            .find(|bit| self.written.get(bit / 64).is_some_and(|word| word & (1 << (bit % 64)) == 0))
    }

    /// True if only the engine writes here.
    pub(super) fn is_the_engines(&self) -> bool {
        matches!(self.usage, Usage::Output | Usage::Intermediate)
    }
}
