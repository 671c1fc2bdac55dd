//! The pages of the table, by number, in [leaves](super::leaf) of 64.
//!
//! A page number has up to 64 bits, and clients choose which ones are in use; but devices reach the low ones, and programs
//! map ranges. So leaves of low pages lie in an array, a *window* that the host gives memory for where it is touched,
//! and others in a hash table with a seed of its own. The window of a million pages is a quarter of a
//! megabyte and stays near the processor, so that an answer waits about once for far memory, however large
//! the table is. A set of the leaves' numbers keeps their order, by which a wide range finds what lies in it
//! without asking for every page. The few pages with several regions lie beside.

use std::collections::{BTreeSet, HashMap};

use ane_uapi::hw::pe_mmu::PageSize;
use foldhash::fast::RandomState;

use super::arena::Arena;
use super::layers::{Layers, Region, Spot};
use super::leaf::{Entry, Leaf, PAGES, bits};
use super::memory::Memory;
use crate::bus::halves;

/// Leaves of the window (Chosen): of pages of 64 bytes and more, all that a device's address of 32 bits may lie in.
/// There is no more of them than regions, so all of it is 16 MiB.
const WINDOW: usize = 1 << 20;

/// Why a region is not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// Its page has as many as it may.
    Page,
    /// The host has no memory.
    Memory,
}

/// The directory.
#[derive(Debug)]
pub(super) struct Directory {
    /// Bytes of a page.
    bytes: u32,
    /// Two words for each of the low leaves.
    window: Memory,
    /// The others, and all if the host gave no window.
    leaves: HashMap<u64, Leaf, RandomState>,
    order: BTreeSet<u64>,
    arena: Arena,
    layers: HashMap<u64, Layers, RandomState>,
}

/// The leaf of a page, and the page's number in it.
#[inline]
const fn parts(page: u64) -> (u64, u32) {
    (page >> PAGES.trailing_zeros(), halves(page & PAGES.wrapping_sub(1) as u64).0)
}

impl Directory {
    /// A directory without pages.
    pub(super) fn new(page_size: PageSize) -> Self {
        Self {
            bytes: page_size.bytes(),
            window: Memory::default(),
            leaves: HashMap::default(),
            order: BTreeSet::new(),
            arena: Arena::default(),
            layers: HashMap::default(),
        }
    }

    /// A leaf by its number, which is empty if there is none.
    #[inline]
    fn leaf(&self, number: u64) -> Leaf {
        let (window, _) = self.window.words().as_chunks::<2>();
        match usize::try_from(number).ok().and_then(|number| window.get(number)) {
            Some(words) => Leaf::from_words(*words),
            None => self.leaves.get(&number).copied().unwrap_or_default(),
        }
    }

    /// Keeps a leaf that has changed.
    fn keep(&mut self, number: u64, old: Leaf, new: Leaf) {
        if old == new {
            return;
        }
        let (window, _) = self.window.words_mut().as_chunks_mut::<2>();
        match usize::try_from(number).ok().and_then(|number| window.get_mut(number)) {
            Some(words) => *words = new.words(),
            None if new.is_empty() => _ = self.leaves.remove(&number),
            None => _ = self.leaves.insert(number, new),
        }
        if new.is_empty() {
            self.order.remove(&number);
        } else if old.is_empty() {
            self.order.insert(number);
        }
    }

    /// What is at an offset of a page.
    #[inline]
    pub(super) fn at(&self, page: u64, offset: u32) -> Spot {
        let (number, index) = parts(page);
        match self.leaf(number).get(&self.arena, index, self.bytes) {
            Some(Entry::Only(region)) if region.covers(offset) => Spot::Seen(region),
            Some(Entry::Only(region)) => Spot::Bare((offset < region.start).then_some(region.start)),
            Some(Entry::Several) => {
                self.layers.get(&page).map_or(Spot::Bare(None), |layers| layers.at(offset))
            }
            None => Spot::Bare(None),
        }
    }

    /// Puts a region on top of a page's.
    pub(super) fn push(&mut self, page: u64, region: Region) -> Result<(), Full> {
        let (number, index) = parts(page);
        if self.order.is_empty() && self.window.words().is_empty() {
            self.window = Memory::new(2 * WINDOW).unwrap_or_default();
        }
        let old = self.leaf(number);
        let mut leaf = old;
        let first = match leaf.get(&self.arena, index, self.bytes) {
            Some(Entry::Several) => {
                let layers = self.layers.entry(page).or_default();
                return if layers.push(region) { Ok(()) } else { Err(Full::Page) };
            }
            Some(Entry::Only(first)) => Some(first),
            None => None,
        };
        let entry = if first.is_some() { Entry::Several } else { Entry::Only(region) };
        leaf.set(&mut self.arena, index, self.bytes, entry).ok_or(Full::Memory)?;
        self.keep(number, old, leaf);
        if let Some(first) = first {
            self.layers.insert(page, Layers::of(first, region));
        }
        Ok(())
    }

    /// Takes the newest region of each page of a range out; the number is how many.
    pub(super) fn pop(&mut self, first: u64, last: u64) -> usize {
        let mut popped = 0usize;
        self.each_page(first, last, |_, entry, layers| {
            popped = popped.saturating_add(1);
            match (entry, layers) {
                (Entry::Several, Some(layers)) => !layers.pop(),
                _ => true,
            }
        });
        popped
    }

    /// Takes out the regions that lie in the part of a page that `part` tells, for each page of a range; the number is
    /// how many.
    pub(super) fn remove(&mut self, first: u64, last: u64, part: impl Fn(u64) -> (u32, u32)) -> usize {
        let mut removed = 0usize;
        self.each_page(first, last, |page, entry, layers| {
            let (start, end) = part(page);
            let (gone, is_empty) = match (entry, layers) {
                (Entry::Only(region), _) => {
                    let goes = region.lies_in(start, end);
                    (usize::from(goes), goes)
                }
                (Entry::Several, Some(layers)) => (layers.remove(start, end), layers.is_empty()),
                (Entry::Several, None) => (0, true),
            };
            removed = removed.saturating_add(gone);
            is_empty
        });
        removed
    }

    /// Goes over the pages of a range that have regions, and forgets those that `goes` says.
    fn each_page(
        &mut self,
        first: u64,
        last: u64,
        mut goes: impl FnMut(u64, Entry, Option<&mut Layers>) -> bool,
    ) {
        let ((first_leaf, first_page), (last_leaf, last_page)) = (parts(first), parts(last));
        let there: Vec<u64> = self.order.range(first_leaf..=last_leaf).copied().collect();
        for number in there {
            let old = self.leaf(number);
            let first = if number == first_leaf { first_page } else { 0 };
            let last = if number == last_leaf { last_page } else { PAGES.wrapping_sub(1) };
            let mut left = old.present() & bits(first, last);
            let mut gone = 0;
            while left != 0 {
                let index = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                let Some(entry) = old.get(&self.arena, index, self.bytes) else { continue };
                let page = number.wrapping_mul(PAGES.into()).wrapping_add(index.into());
                let layers = if entry == Entry::Several { self.layers.get_mut(&page) } else { None };
                if goes(page, entry, layers) {
                    gone |= bits(index, index);
                    if entry == Entry::Several {
                        self.layers.remove(&page);
                    }
                }
            }
            let mut leaf = old;
            leaf.remove(&mut self.arena, gone, self.bytes);
            self.keep(number, old, leaf);
        }
    }
}
