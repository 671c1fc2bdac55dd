//! Words without a function: ranges of which only the place is known, and that hold what was written.
//!
//! Together they have more than two megabytes, of which drivers touch a few words, so a page of them exists
//! only once something was written to it.

use std::collections::BTreeMap;

use ane_uapi::hw::mmio_map::{self, Region};
use ane_uapi::hw::space::EngineOffset;

const PAGE_WORDS: usize = 1024;

/// Address bits inside a page.
const PAGE_SHIFT: u32 = 12;

#[derive(Debug, Default)]
pub(crate) struct Stored {
    pages: BTreeMap<u32, Box<[u32; PAGE_WORDS]>>,
}

const fn place(at: EngineOffset) -> (u32, usize) {
    (at.0 >> PAGE_SHIFT, (at.0 as usize >> 2) % PAGE_WORDS)
}

/// True for what a reset of the engine leaves alone.
///
/// Seed 004 says so of the power tunables. Those of the circuit are filled once at start and never again,
/// which a reset that clears them would break (Chosen).
const fn is_retained(region: Region) -> bool {
    matches!(region, Region::Tunables | Region::PowerData | Region::SystemTunables | Region::SocTunables)
}

impl Stored {
    /// The value that was last written; 0 if none was.
    pub(crate) fn get(&self, at: EngineOffset) -> u32 {
        let (page, word) = place(at);
        self.pages.get(&page).and_then(|words| words.get(word)).copied().unwrap_or_default()
    }

    pub(crate) fn set(&mut self, at: EngineOffset, value: u32) {
        let (page, word) = place(at);
        if value == 0 && !self.pages.contains_key(&page) {
            return;
        }
        let words = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE_WORDS]));
        if let Some(kept) = words.get_mut(word) {
            *kept = value;
        }
    }

    /// Forgets what a reset of the engine clears.
    pub(crate) fn reset(&mut self) {
        self.pages.retain(|page, _| {
            mmio_map::find(EngineOffset(page << PAGE_SHIFT)).is_some_and(|range| is_retained(range.region))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_exists_only_once_something_other_than_zero_was_written() {
        let mut stored = Stored::default();
        stored.set(EngineOffset(0x105_0000), 0);
        assert!(stored.pages.is_empty());
        stored.set(EngineOffset(0x105_0000), 7);
        stored.set(EngineOffset(0x105_0ffc), 8);
        assert_eq!(stored.pages.len(), 1);
        assert_eq!(stored.get(EngineOffset(0x105_0000)), 7);
        assert_eq!(stored.get(EngineOffset(0x105_0ffc)), 8);
        assert_eq!(stored.get(EngineOffset(0x105_1000)), 0);
    }

    #[test]
    fn no_page_belongs_to_a_retained_and_to_a_cleared_range() {
        for range in mmio_map::RANGES {
            assert!(range.start.0.is_multiple_of(1 << PAGE_SHIFT) || !is_retained(range.region));
        }
    }
}
