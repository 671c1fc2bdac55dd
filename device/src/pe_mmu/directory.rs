//! The pages of the table, by number, in [leaves](super::leaf) of 64.
//!
//! A page number has up to 64 bits, and clients choose which ones are in use; but devices reach the low ones, and programs
//! map ranges. So leaves of low pages lie in an array, the [window](super::window), and others, which no device asks
//! for, in an ordered map. An answer takes one access to the leaf, and no more if its pages are a run; otherwise one more to the
//! [arena](super::arena). The window of a million pages beside each other is a quarter of a megabyte and stays
//! near the processor; where they are far apart each leaf has one page, which is a run. So an answer waits once for
//! far memory, however large the table is. The few pages with several regions lie beside.

use std::collections::BTreeMap;

use ane_uapi::hw::pe_mmu::PageSize;

use super::arena::Arena;
use super::layers::{Layers, Region, Spot};
use super::leaf::{Entry, Leaf, PAGES, bits, each};
use super::several::Several;
use super::window::{self, Window};
use crate::bus::halves;

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
    window: Window,
    /// The leaves behind it that are not empty.
    far: BTreeMap<u64, Leaf>,
    arena: Arena,
    several: Several,
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
            window: Window::default(),
            far: BTreeMap::new(),
            arena: Arena::default(),
            several: Several::default(),
        }
    }

    /// A leaf by its number, which is empty if there is none.
    #[inline]
    fn leaf(&self, number: u64) -> Leaf {
        self.window.leaf(number).unwrap_or_else(|| self.far_leaf(number))
    }

    #[cold]
    #[inline(never)]
    fn far_leaf(&self, number: u64) -> Leaf {
        self.far.get(&number).copied().unwrap_or_default()
    }

    /// Makes room for a leaf; `None` if the host has no memory.
    fn reach(&mut self, number: u64) -> Option<()> {
        if number < window::LEAVES { self.window.reach(number) } else { Some(()) }
    }

    /// Keeps a leaf that there is room for.
    fn keep(&mut self, number: u64, leaf: Leaf) {
        if number < window::LEAVES {
            self.window.keep(number, leaf);
        } else if leaf.is_empty() {
            self.far.remove(&number);
        } else {
            self.far.insert(number, leaf);
        }
    }

    /// The first leaf that is not empty, from one to another.
    fn first(&self, from: u64, last: u64) -> Option<u64> {
        if from > last {
            return None;
        }
        let low = self.window.first(from, last);
        low.or_else(|| self.far.range(from..=last).next().map(|(&number, _)| number))
    }

    /// What is at an offset of a page.
    #[inline]
    pub(super) fn at(&self, page: u64, offset: u32) -> Spot {
        let (number, index) = parts(page);
        match self.leaf(number).get(&self.arena, index, self.bytes) {
            Some(Entry::Only(region)) if region.covers(offset) => Spot::Seen(region),
            Some(Entry::Only(region)) => Spot::Bare((offset < region.start).then_some(region.start)),
            Some(Entry::Several(several)) => self.at_one_of(several, offset),
            None => Spot::Bare(None),
        }
    }

    #[inline(never)]
    fn at_one_of(&self, several: u32, offset: u32) -> Spot {
        self.several.get(several).map_or(Spot::Bare(None), |layers| layers.at(offset))
    }

    /// Puts a region on top of a page's.
    pub(super) fn push(&mut self, page: u64, region: Region) -> Result<(), Full> {
        let (number, index) = parts(page);
        self.reach(number).ok_or(Full::Memory)?;
        let mut leaf = self.leaf(number);
        let entry = match leaf.get(&self.arena, index, self.bytes) {
            None => Entry::Only(region),
            Some(Entry::Only(first)) => {
                Entry::Several(self.several.insert(Layers::of(first, region)).ok_or(Full::Memory)?)
            }
            Some(Entry::Several(several)) => {
                let layers = self.several.get_mut(several).ok_or(Full::Memory)?;
                return layers.push(region).then_some(()).ok_or(Full::Page);
            }
        };
        let is_set = leaf.set(&mut self.arena, index, self.bytes, entry);
        match (is_set, entry) {
            (Some(()), _) => self.keep(number, leaf),
            (None, Entry::Several(several)) => self.several.remove(several),
            (None, Entry::Only(_)) => {}
        }
        is_set.ok_or(Full::Memory)
    }

    /// Takes the newest region of a page out.
    pub(super) fn pop(&mut self, page: u64) {
        let (number, index) = parts(page);
        let mut leaf = self.leaf(number);
        let left = match leaf.get(&self.arena, index, self.bytes) {
            Some(Entry::Several(several)) => {
                self.several.get_mut(several).into_iter().for_each(Layers::pop);
                self.left(several)
            }
            _ => None,
        };
        match left {
            // The words that say it are there.
            Some(entry) => _ = leaf.set(&mut self.arena, index, self.bytes, entry),
            None => leaf.remove(&mut self.arena, bits(index, index), self.bytes),
        }
        self.keep(number, leaf);
    }

    /// Takes out the regions that lie in the part of a page that `part` tells, for each page of a range; the number is
    /// how many.
    pub(super) fn remove(&mut self, first: u64, last: u64, part: impl Fn(u64) -> (u32, u32)) -> usize {
        let ((first_leaf, first_page), (last_leaf, last_page)) = (parts(first), parts(last));
        let mut removed = 0usize;
        let mut next = Some(first_leaf);
        while let Some(number) = next.and_then(|next| self.first(next, last_leaf)) {
            next = number.checked_add(1);
            let first = if number == first_leaf { first_page } else { 0 };
            let last = if number == last_leaf { last_page } else { PAGES.wrapping_sub(1) };
            let mut leaf = self.leaf(number);
            let mut gone = 0;
            each(leaf.present() & bits(first, last), |index| {
                let (start, end) = part(number.wrapping_mul(PAGES.into()).wrapping_add(index.into()));
                let left = match leaf.get(&self.arena, index, self.bytes) {
                    Some(Entry::Only(region)) if region.lies_in(start, end) => {
                        removed = removed.saturating_add(1);
                        None
                    }
                    Some(Entry::Several(several)) => {
                        let layers = self.several.get_mut(several);
                        removed =
                            removed.saturating_add(layers.map_or(0, |layers| layers.remove(start, end)));
                        self.left(several)
                    }
                    only => only,
                };
                match left {
                    // The words that say it are there.
                    Some(entry) => _ = leaf.set(&mut self.arena, index, self.bytes, entry),
                    None => gone |= bits(index, index),
                }
            });
            leaf.remove(&mut self.arena, gone, self.bytes);
            self.keep(number, leaf);
        }
        removed
    }

    /// What is left of a page that had several regions.
    fn left(&mut self, several: u32) -> Option<Entry> {
        let layers = self.several.get(several)?;
        let only = layers.only();
        if only.is_some() || layers.is_empty() {
            self.several.remove(several);
            return only.map(Entry::Only);
        }
        Some(Entry::Several(several))
    }
}
