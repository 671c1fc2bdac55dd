//! The driver's steps when a request does not end: pages where the engine found none, and cycles of the power.

use ane_device::platform::Range;

use super::{Errno, Linux, MANAGER, Mmio};

/// Pages that are put under one request at most.
const CONTAINED_MAX: usize = 16;
/// The lowest device address that the driver gives out, and the end of those that it does.
const APERTURE: std::ops::Range<u64> = 0x4000..0xe000_0000;
/// Bytes of a page.
const PAGE: u64 = 0x4000;

/// Offsets of a DART's registers.
mod dart {
    pub(super) const COMMAND: u32 = 0x20;
    pub(super) const SELECT: u32 = 0x34;
    pub(super) const ERROR: u32 = 0x40;
    pub(super) const ADDRESS: u32 = 0x50;
    pub(super) const ADDRESS_HIGH: u32 = 0x54;
    pub(super) const ENABLED: u32 = 0xfc;
    pub(super) const TCR: u32 = 0x100;
    pub(super) const TTBR: u32 = 0x200;
}

/// Power words: the coprocessor, the base, and the five sets.
const SETS: [u32; 5] = [0xc010, 0xc018, 0xc020, 0xc028, 0xc030];
const CPU: u32 = 0xc000;
const BASE: u32 = 0xc008;

impl<T: Mmio> Linux<T> {
    /// The steps of `apple-dart` when it probes and when the engine is attached to it.
    ///
    /// # Panics
    ///
    /// If one is no DART of an M1.
    pub fn attach_darts(&mut self) {
        let base = self.space.table_base();
        for dart in (0..3).map(Range::Dart) {
            let page_shift = self.read(dart, 0) >> 24 & 0xf;
            assert_eq!(page_shift, 14, "DART has pages of 16 KB");
            assert_eq!(self.read(dart, 0x60) >> 15 & 1, 0, "DART is not locked");
            for stream in 0..16 {
                self.write(dart, dart::TCR + 4 * stream, 0);
                (0..4).for_each(|index| self.write(dart, dart::TTBR + 16 * stream + 4 * index, 0));
            }
            self.write(dart, dart::ENABLED, u32::MAX);
            let held = self.read(dart, dart::ERROR);
            self.write(dart, dart::ERROR, held);
            self.invalidate(dart, 0xffff);
            self.write(dart, dart::TTBR, base);
            (1..4).for_each(|index| self.write(dart, dart::TTBR + 4 * index, 0));
            self.write(dart, dart::TCR, 0x80);
            self.invalidate(dart, 1);
        }
    }

    /// Sets the control word of the engine's stream in all DARTs.
    pub fn control_streams(&mut self, word: u32) {
        (0..3).for_each(|dart| self.write(Range::Dart(dart), dart::TCR, word));
        self.invalidate_all();
    }

    /// Drops what a DART has kept of some streams.
    fn invalidate(&mut self, range: Range, streams: u32) {
        self.write(range, dart::SELECT, streams);
        self.write(range, dart::COMMAND, 1 << 20);
        assert_eq!(self.read(range, dart::COMMAND) & 4, 0, "command is not busy for long");
    }

    /// Drops what all DARTs have kept of the engine's stream: what follows every change of the tables.
    pub fn invalidate_all(&mut self) {
        (0..3).for_each(|dart| self.invalidate(Range::Dart(dart), 1));
    }

    /// The first DART that holds a fault.
    pub(super) fn faulted_dart(&mut self) -> Option<Range> {
        (0..3).map(Range::Dart).find(|&dart| self.read(dart, dart::ERROR) >> 31 == 1)
    }

    /// Puts a page where a transfer found none, so that it goes on.
    pub(super) fn contain(&mut self, range: Range) -> Result<(), Errno> {
        let [low, high] = [dart::ADDRESS, dart::ADDRESS_HIGH].map(|at| u64::from(self.read(range, at)));
        let page = (high << 32 | low) & !(PAGE - 1);
        let is_free = APERTURE.contains(&page) && !self.space.is_reserved(page);
        if !is_free || self.space.scratch_pages() == CONTAINED_MAX {
            return Err(Errno::Io);
        }
        self.space.map_scratch(page);
        // Once by the mapping layer, and once more by the driver.
        self.invalidate_all();
        self.invalidate_all();
        Ok(())
    }

    /// Takes the pages away that were put under a request; says how many.
    pub(super) fn give_pages_back(&mut self) -> usize {
        let count = self.space.unmap_scratch();
        if count > 0 {
            self.invalidate_all();
        }
        count
    }

    /// Gets the engine back by a cycle of its power, after an error; [`Errno::Canceled`] if it does not come.
    pub(super) fn recovered(&mut self, errno: Errno) -> Errno {
        self.seen.cycles += 1;
        // Their interrupt is on again, and it is apple-dart's handler that clears what a DART holds.
        for dart in (0..3).map(Range::Dart) {
            let held = self.read(dart, dart::ERROR);
            if held >> 31 == 1 {
                self.write(dart, dart::ERROR, held);
            }
        }
        let order = SETS.into_iter().chain([BASE, CPU]);
        for word in order.clone() {
            self.write(Range::Power, word, 0);
            assert_eq!(self.read(Range::Power, word) >> 4 & 0xf, 0);
        }
        for word in [CPU, BASE].into_iter().chain(SETS) {
            self.write(Range::Power, word, 15);
            assert_eq!(self.read(Range::Power, word) >> 4 & 0xf, 15);
        }
        self.play(&super::enabling()).expect("there is nothing to expect");
        let is_back = self.read(Range::Engine, MANAGER + 0x54) & 1 == 1;
        if is_back { errno } else { Errno::Canceled }
    }
}
