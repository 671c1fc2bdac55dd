//! The pages of one arena.
//!
//! Pages go round in three states: free, and zero; a buffer's; and in limbo, freed while the translation buffer
//! may still lead to them. [`Frames::settle`] ends the last, once the translation buffer has been told.

use ane_uapi::hw::dart::aperture::{PAGE_SHIFT, PAGE_SIZE};
use ane_uapi::hw::space::PhysAddr;

use super::runs::{FreeRuns, Run};
use crate::bus::Arena;

/// How a buffer's pages lie in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One after the other.
    Following,
    /// No page after the one before it, to exercise page tables.
    Scattered,
}

/// There are not as many free pages, or not so many that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

/// Pages that a mapping leads to cannot be freed.
#[derive(Debug)]
pub struct Pinned(pub Pages);

/// Pages of an arena that belong together, in the order in which they make up a buffer.
#[derive(Debug, PartialEq, Eq)]
pub struct Pages {
    runs: Vec<Run>,
    pages: u32,
    pins: u32,
}

impl Pages {
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    pub const fn len(&self) -> u32 {
        self.pages
    }

    /// True if there is none; there always is.
    pub const fn is_empty(&self) -> bool {
        self.pages == 0
    }

    pub fn part(&self, skip: u32, pages: u32) -> impl Iterator<Item = Run> {
        let (mut skip, mut left) = (skip, pages);
        self.runs.iter().filter_map(move |run| {
            let part = run.part(skip, left);
            skip = skip.saturating_sub(run.pages);
            left = left.saturating_sub(part.map_or(0, |part| part.pages));
            part
        })
    }

    /// They may not be freed until unpinned as often.
    pub const fn pin(&mut self) {
        self.pins = self.pins.saturating_add(1);
    }

    pub const fn unpin(&mut self) {
        self.pins = self.pins.saturating_sub(1);
    }
}

/// An arena, and which of its pages are whose.
#[derive(Debug)]
pub struct Frames {
    arena: Arena,
    free: FreeRuns,
    limbo: Vec<Run>,
}

impl Frames {
    /// All pages of the arena, which are zero.
    pub fn new(arena: Arena) -> Self {
        let pages = u32::try_from(arena.bytes() >> PAGE_SHIFT).unwrap_or(u32::MAX);
        let free = Run::new(0, pages).map_or_else(FreeRuns::default, FreeRuns::new);
        Self { arena, free, limbo: Vec::new() }
    }

    pub const fn arena(&self) -> &Arena {
        &self.arena
    }

    /// True if pages were freed that [`Frames::settle`] would make free.
    pub const fn has_limbo(&self) -> bool {
        !self.limbo.is_empty()
    }

    /// Takes pages, which are zero.
    pub fn take(&mut self, pages: u32, layout: Layout) -> Result<Pages, NoMemory> {
        if self.free.pages() < pages {
            return Err(NoMemory);
        }
        let runs = match layout {
            Layout::Following => vec![self.free.take(pages).ok_or(NoMemory)?],
            Layout::Scattered => scattered(&mut self.free, pages),
        };
        let taken = Pages { runs, pages, pins: 0 };
        // They were zero when they became free, but a client that holds the arena's file can have written to them since.
        match merged(taken.runs.clone()).into_iter().try_for_each(|run| zero(&self.arena, run)) {
            Ok(()) => Ok(taken),
            Err(NoMemory) => {
                self.limbo.extend_from_slice(&taken.runs);
                Err(NoMemory)
            }
        }
    }

    /// Frees pages. They are in limbo until the translation buffer has been told.
    pub fn free(&mut self, pages: Pages) -> Result<(), Pinned> {
        if pages.pins != 0 {
            return Err(Pinned(pages));
        }
        self.limbo.extend_from_slice(&pages.runs);
        Ok(())
    }

    /// No translation leads to pages in limbo any more: they become zero, which gives their memory back to the system,
    /// and free. One that the system will not make zero stays in limbo.
    pub fn settle(&mut self) {
        for run in merged(std::mem::take(&mut self.limbo)) {
            match zero(&self.arena, run) {
                Ok(()) => self.free.give(run),
                Err(NoMemory) => self.limbo.push(run),
            }
        }
    }

    /// Where the device knows the pages of a run.
    pub fn physical(&self, run: Run) -> impl Iterator<Item = PhysAddr> {
        // A page number is an offset in a file, shifted.
        (run.first..run.end()).filter_map(|page| self.arena.physical(offset(page)))
    }
}

pub(crate) const fn offset(page: u32) -> u64 {
    (page as u64) << PAGE_SHIFT
}

fn zero(arena: &Arena, run: Run) -> Result<(), NoMemory> {
    let bytes = u64::from(run.pages).saturating_mul(u64::from(PAGE_SIZE));
    arena.zero(offset(run.first), bytes).map_err(|_| NoMemory)
}

/// The same pages in the fewest runs.
fn merged(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_unstable();
    runs.dedup_by(|next, run| {
        let follows = run.end() == next.first;
        if follows {
            run.pages = run.pages.saturating_add(next.pages);
        }
        follows
    });
    runs
}

/// So many single pages, of which none is the one after its neighbour; there are that many.
///
/// They come from the shortest runs, and are taken by a stride that visits each once. In ascending order two
/// that are at least two places apart do not follow each other.
fn scattered(free: &mut FreeRuns, pages: u32) -> Vec<Run> {
    let mut taken = Vec::new();
    let mut left = pages;
    while let Some(run) = free.take_some(left) {
        taken.extend((run.first..run.end()).map(|first| Run { first, pages: 1 }));
        left = left.saturating_sub(run.pages);
    }
    taken.sort_unstable();
    if taken.len() == 2 {
        taken.reverse();
        return taken;
    }
    let count = taken.len();
    // About the golden section: neighbours end up far apart.
    let near = count.saturating_mul(5).checked_div(8).unwrap_or_default().max(2);
    let stride = (near..).find(|&stride| gcd(stride, count) == 1).unwrap_or(1);
    let mut at = 0usize;
    let mut order = Vec::with_capacity(count);
    while order.len() < count {
        order.extend(taken.get(at).copied());
        at = at.saturating_add(stride).checked_rem(count).unwrap_or_default();
    }
    order
}

const fn gcd(mut a: usize, mut b: usize) -> usize {
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const PAGE: u64 = PAGE_SIZE as u64;
    const FOUR_PAGES: usize = 4 * PAGE_SIZE as usize;

    impl Frames {
        pub(crate) const fn free_pages(&self) -> u32 {
            self.free.pages()
        }
    }

    fn frames(pages: u64) -> Frames {
        Frames::new(Arena::new(PhysAddr(0x10_0000), pages << PAGE_SHIFT).unwrap())
    }

    #[test]
    fn scattered_pages_do_not_follow_each_other_and_none_comes_twice() {
        for pages in 1..=40 {
            let mut frames = frames(40);
            let taken = frames.take(pages, Layout::Scattered).unwrap();
            let numbers: Vec<_> = taken.runs().iter().map(|run| run.first).collect();
            assert!(numbers.windows(2).all(|pair| pair[0] + 1 != pair[1]), "{numbers:?}");
            let mut sorted = numbers;
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!((sorted.len(), taken.len()), (pages as usize, pages));
            assert_eq!(frames.free_pages(), 40 - pages);
        }
    }

    #[test]
    fn freed_pages_are_nobody_else_s_before_the_translation_buffer_was_told() {
        let mut frames = frames(4);
        let taken = frames.take(3, Layout::Following).unwrap();
        frames.free(taken).unwrap();
        assert_eq!(frames.take(2, Layout::Scattered), Err(NoMemory));
        assert!(frames.has_limbo());
        frames.settle();
        assert!(frames.take(4, Layout::Following).is_ok());
    }

    /// Requirement: MAP-01
    #[test]
    fn pages_that_are_pinned_cannot_be_freed() {
        let mut frames = frames(4);
        let mut taken = frames.take(3, Layout::Following).unwrap();
        taken.pin();
        taken.pin();
        taken.unpin();
        let Err(Pinned(mut taken)) = frames.free(taken) else { panic!("freeing is refused") };
        taken.unpin();
        frames.free(taken).unwrap();
    }

    #[test]
    fn pages_are_zero_whatever_was_written_while_they_were_a_buffer_s_or_free() {
        let mut frames = frames(4);
        let taken = frames.take(4, Layout::Following).unwrap();
        frames.arena().write(0, &[7; FOUR_PAGES]).unwrap();
        frames.free(taken).unwrap();
        frames.settle();
        frames.arena().write(PAGE, b"written by whoever holds the file").unwrap();
        frames.take(4, Layout::Scattered).unwrap();
        let mut seen = [1; FOUR_PAGES];
        frames.arena().read(0, &mut seen).unwrap();
        assert!(seen.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn memory_of_freed_pages_goes_back_to_the_system_once_they_are_settled() {
        let mut frames = frames(64);
        let taken = frames.take(64, Layout::Following).unwrap();
        frames.arena().write(0, &[7; 64 * PAGE_SIZE as usize]).unwrap();
        let file = Arc::clone(frames.arena().file());
        let blocks = || rustix::fs::fstat(&*file).unwrap().st_blocks;
        assert_eq!(blocks(), 64 * i64::from(PAGE_SIZE) / 512);
        frames.free(taken).unwrap();
        frames.settle();
        assert_eq!(blocks(), 0);
    }

    #[test]
    fn parts_are_the_pages_that_the_whole_has_there() {
        let mut frames = frames(16);
        let taken = frames.take(11, Layout::Scattered).unwrap();
        let all: Vec<_> = taken.part(0, 11).flat_map(|run| run.first..run.end()).collect();
        for skip in 0..=11 {
            for pages in 0..=11 - skip {
                let part: Vec<_> = taken.part(skip, pages).flat_map(|run| run.first..run.end()).collect();
                assert_eq!(part, all[skip as usize..(skip + pages) as usize]);
            }
        }
    }
}
