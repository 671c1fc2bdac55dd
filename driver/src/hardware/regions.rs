//! The regions of PE_MMU that files have mapped.
//!
//! A device that is reset forgets its regions. Requests that had not begun go to it again, and would reach other memory than
//! their client has said. So the driver keeps a list of what is mapped, in order, and maps it once more after a reset. A
//! region also is its file's, and goes with it: it would redirect the next file that has the same addresses.

use ane_uapi::ioctl::companion::{PeMmuMapEntry, PeMmuUnmapEntry};
use ane_uapi::wire::config::COMPANION_PAGE_BITS;
use ane_uapi::wire::sideband::{MapEntry, Regions, UnmapEntry};

use super::Hardware;
use crate::bus::{Bus, BusError};
use crate::companion::{self, CompanionError};
use crate::front::FileId;

/// Pieces of entries with which no more are mapped (Chosen: 64 of the longest messages; after a reset all of them are sent
/// again before the next request).
const PIECES_MAX: usize = 1 << 16;

/// Everything: a range that begins at zero cannot hold the last address.
const EVERYTHING: [PeMmuUnmapEntry; 2] =
    [PeMmuUnmapEntry { va: 0, size: u64::MAX }, PeMmuUnmapEntry { va: 1 << 63, size: 1 << 63 }];

/// An entry that a file has mapped, or what is left of it: the device unmaps by the page, so an entry may lose its middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    file: FileId,
    /// First virtual address.
    va: u64,
    pa: u64,
    /// The last virtual address.
    last: u64,
}

impl Piece {
    /// `None` for no bytes. The device took the entry, so it does not wrap.
    fn new(file: FileId, entry: &PeMmuMapEntry) -> Option<Self> {
        let last = entry.va.checked_add(entry.size.checked_sub(1)?)?;
        Some(Self { file, va: entry.va, pa: entry.pa, last })
    }

    const fn size(self) -> u64 {
        self.last.wrapping_sub(self.va).wrapping_add(1)
    }

    /// What is left before and behind a range that is unmapped, if it takes anything. The parts in pages of
    /// which not all lies in the range stay.
    fn without(self, range: &PeMmuUnmapEntry, page: u64) -> Option<[Option<Self>; 2]> {
        let last = range.va.checked_add(range.size.checked_sub(1)?)?;
        let in_page = page.wrapping_sub(1);
        let first_gone =
            if range.va <= self.va { self.va } else { range.va.checked_add(in_page)? & !in_page };
        let last_gone =
            if last >= self.last { self.last } else { (last.checked_add(1)? & !in_page).checked_sub(1)? };
        if first_gone > last_gone {
            return None;
        }
        let before = first_gone.checked_sub(1).filter(|&last| last >= self.va);
        let behind = last_gone.checked_add(1).filter(|&va| va <= self.last);
        Some([
            before.map(|last| Self { last, ..self }),
            behind.map(|va| Self { va, pa: self.pa.wrapping_add(va.wrapping_sub(self.va)), ..self }),
        ])
    }
}

/// What is left of a piece after these ranges were unmapped.
fn keep(into: &mut Vec<Piece>, piece: Piece, ranges: &[PeMmuUnmapEntry], page: u64) {
    let mut left = ranges;
    while let Some((range, behind)) = left.split_first() {
        left = behind;
        if let Some(parts) = piece.without(range, page) {
            parts.into_iter().flatten().for_each(|part| keep(into, part, left, page));
            return;
        }
    }
    into.push(piece);
}

/// The pieces that are mapped, in the order in which they were.
#[derive(Debug, Default)]
pub(super) struct RegionList {
    pieces: Vec<Piece>,
    /// The device has regions of files that are gone beside these.
    is_behind: bool,
}

impl RegionList {
    fn has_room(&self, count: usize) -> bool {
        self.pieces.len().saturating_add(count) <= PIECES_MAX
    }

    fn map(&mut self, file: FileId, entries: &[PeMmuMapEntry]) {
        self.pieces.extend(entries.iter().filter_map(|entry| Piece::new(file, entry)));
    }

    /// What is left when ranges are unmapped; none if that is more pieces than are kept.
    fn without(&self, ranges: &[PeMmuUnmapEntry], page: u64) -> Option<Vec<Piece>> {
        let mut left = Vec::new();
        for &piece in &self.pieces {
            keep(&mut left, piece, ranges, page);
            if left.len() > PIECES_MAX {
                return None;
            }
        }
        Some(left)
    }

    /// Takes out what a file has mapped.
    fn take(&mut self, file: FileId) -> Vec<Piece> {
        let gone = self.pieces.extract_if(.., |piece| piece.file == file).collect();
        self.pieces.shrink_to_fit();
        gone
    }

    /// True if a piece has an address in common with one of these.
    fn meets(&self, others: &[Piece]) -> bool {
        let mut others: Vec<(u64, u64)> = others.iter().map(|other| (other.va, other.last)).collect();
        others.sort_unstable();
        // The last address of each is that of all up to it.
        let mut farthest = 0;
        for (_, last) in &mut others {
            farthest = farthest.max(*last);
            *last = farthest;
        }
        self.pieces.iter().any(|piece| {
            let begun = others.partition_point(|&(va, _)| va <= piece.last);
            let before = begun.checked_sub(1).and_then(|index| others.get(index));
            before.is_some_and(|&(_, last)| last >= piece.va)
        })
    }
}

impl<B: Bus> Hardware<B> {
    /// Maps regions for a file: all of them, or none. They are in force when this returns, and until they are unmapped or
    /// the file goes.
    pub(crate) fn map_regions(
        &mut self,
        file: FileId,
        entries: &[PeMmuMapEntry],
    ) -> Result<(), CompanionError> {
        if !self.regions.has_room(entries.len()) {
            return Err(CompanionError::NoRegions { entry: None });
        }
        companion::pe_mmu_map(&mut self.bus, entries)?;
        self.regions.map(file, entries);
        Ok(())
    }

    /// Unmaps ranges, whoever mapped what is in them: all of them, or none.
    pub(crate) fn unmap_regions(&mut self, ranges: &[PeMmuUnmapEntry]) -> Result<(), CompanionError> {
        let page = 1 << (self.bus.config().companions.get() & COMPANION_PAGE_BITS);
        let left = self.regions.without(ranges, page).ok_or(CompanionError::NoRegions { entry: None })?;
        companion::pe_mmu_unmap(&mut self.bus, ranges)?;
        self.regions.pieces = left;
        Ok(())
    }

    /// Unmaps what a file has mapped that is gone. A device that does not answer now has forgotten it when it does.
    pub(crate) fn forget_regions(&mut self, file: FileId) {
        let gone = self.regions.take(file);
        if gone.is_empty() || !self.is_ready() || !self.wake() {
            return;
        }
        if self.regions.meets(&gone) {
            self.regions.is_behind = true;
            self.catch_up();
        } else {
            let ranges: Vec<_> =
                gone.iter().map(|piece| PeMmuUnmapEntry { va: piece.va, size: piece.size() }).collect();
            let told = self.unmap_all(&ranges);
            self.note(told);
        }
    }

    /// Unmaps what is left of files that are gone, where others have mapped the same addresses.
    ///
    /// To unmap by ranges would take their regions along: everything is unmapped, and theirs mapped again. No request may be
    /// at the device meanwhile.
    pub(crate) fn catch_up(&mut self) {
        let has_requests = self.queues.count() != 0 || self.queues.has_aside();
        if !self.regions.is_behind || has_requests || !self.is_ready() || !self.wake() {
            return;
        }
        let told = self.unmap_all(&EVERYTHING).and_then(|()| self.restore_regions());
        self.note(told);
    }

    /// Unmaps ranges in as many messages as the device needs.
    fn unmap_all(&mut self, ranges: &[PeMmuUnmapEntry]) -> Result<(), BusError> {
        for part in ranges.chunks(self.entries_max()) {
            let part: Vec<_> = part
                .iter()
                .map(|range| UnmapEntry { va: range.va.into(), size: range.size.into() })
                .collect();
            self.bus.regions(Regions::Unmap(&part))?;
        }
        Ok(())
    }

    /// Maps everything again on a device that has no regions.
    pub(super) fn restore_regions(&mut self) -> Result<(), BusError> {
        self.regions.is_behind = false;
        for part in self.regions.pieces.chunks(self.entries_max()) {
            let part: Vec<_> = part
                .iter()
                .map(|piece| MapEntry { va: piece.va.into(), pa: piece.pa.into(), size: piece.size().into() })
                .collect();
            self.bus.regions(Regions::Map(&part))?;
        }
        Ok(())
    }

    /// Most entries of one message.
    fn entries_max(&self) -> usize {
        usize::from(self.bus.config().entries_max.get()).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(1);

    const fn entry(va: u64, pa: u64, size: u64) -> PeMmuMapEntry {
        PeMmuMapEntry { va, pa, size }
    }

    /// The pieces that are left of an entry after a range is unmapped, by address, destination and size.
    fn left(mapped: PeMmuMapEntry, va: u64, size: u64) -> Vec<(u64, u64, u64)> {
        let mut list = RegionList::default();
        list.map(FILE, &[mapped]);
        let left = list.without(&[PeMmuUnmapEntry { va, size }], 0x1000).unwrap();
        left.iter().map(|piece| (piece.va, piece.pa, piece.size())).collect()
    }

    #[test]
    fn entry_loses_the_pages_of_which_all_that_it_has_is_unmapped() {
        let whole = entry(0x800, 0x10_0800, 0x4000);
        let untouched = [(0x800, 0x10_0800, 0x4000)];
        assert_eq!(left(whole, 0, u64::MAX), []);
        assert_eq!(left(whole, 0x800, 0x4000), []);
        assert_eq!(left(whole, 0x800, 0x800), [(0x1000, 0x10_1000, 0x3800)]);
        assert_eq!(left(whole, 0x4000, 0x800), [(0x800, 0x10_0800, 0x3800)]);
        assert_eq!(left(whole, 0x1800, 0x1800), [(0x800, 0x10_0800, 0x1800), (0x3000, 0x10_3000, 0x1800)]);
        for (va, size) in
            [(0x801, 0x7ff), (0x1001, 0x1fff - 1), (0x4000, 0x7ff), (0, 0x800), (0x4800, 1), (0, 0)]
        {
            assert_eq!(left(whole, va, size), untouched, "{va:#x}");
        }
    }

    #[test]
    fn entries_of_a_part_of_a_page_go_whole_or_stay() {
        let shard = entry(0x1080, 0x9000, 0x80);
        assert_eq!(left(shard, 0x1080, 0x80), []);
        assert_eq!(left(shard, 0x1000, 0x100), []);
        assert_eq!(left(shard, 0x1081, 0x1000), [(0x1080, 0x9000, 0x80)]);
        let end = entry(u64::MAX - 0xfff, 0, 0x1000);
        assert_eq!(left(end, 1 << 63, 1 << 63), []);
        assert_eq!(left(end, 0, u64::MAX), [(u64::MAX - 0xfff, 0, 0x1000)]);
    }

    #[test]
    fn ranges_of_a_message_take_their_parts_out_of_every_piece() {
        let mut list = RegionList::default();
        list.map(FILE, &[entry(0, 0, 0x8000), entry(0x1000, 0x1_0000, 0x1000), entry(0, 0, 0)]);
        let page = |n: u64| PeMmuUnmapEntry { va: n * 0x1000, size: 0x1000 };
        let left = list.without(&[page(5), page(1), page(6)], 0x1000).unwrap();
        let left: Vec<_> = left.iter().map(|piece| (piece.va, piece.last)).collect();
        assert_eq!(left, [(0, 0xfff), (0x2000, 0x4fff), (0x7000, 0x7fff)]);
    }

    #[test]
    fn pieces_of_a_file_are_taken_out_and_met_by_others_where_they_share_an_address() {
        let mut list = RegionList::default();
        let other = FileId(2);
        list.map(FILE, &[entry(0, 0, 0x9000), entry(0x1000, 0, 0x1000), entry(0x2_0000, 0, 1)]);
        list.map(other, &[entry(0x9000, 0, 0x1000)]);
        let gone = list.take(FILE);
        assert_eq!((gone.len(), list.pieces.len()), (3, 1));
        assert!(!list.meets(&gone));
        list.map(other, &[entry(0x8fff, 0, 1)]);
        assert!(list.meets(&gone), "behind a shorter one that begins later");
        assert!(RegionList::default().take(FILE).is_empty());
    }

    #[test]
    fn list_takes_so_many_pieces_and_no_more() {
        let mut list = RegionList::default();
        for _ in 0..PIECES_MAX / 1024 {
            assert!(list.has_room(1024));
            list.map(FILE, &[entry(0, 0, 1); 1024]);
        }
        assert!(list.has_room(0) && !list.has_room(1));
    }

    #[test]
    fn unmapping_that_would_leave_more_pieces_than_are_kept_is_none() {
        let mut list = RegionList::default();
        list.map(FILE, &[entry(0, 0, 0x100_0000); 1024]);
        let page = |n: u64| PeMmuUnmapEntry { va: (2 * n + 1) * 0x1000, size: 0x1000 };
        let ranges = |count| (0..count).map(page).collect::<Vec<_>>();
        assert_eq!(list.without(&ranges(63), 0x1000).map(|left| left.len()), Some(64 * 1024));
        assert!(list.without(&ranges(64), 0x1000).is_none());
    }
}
