//! The calls on the two companion blocks. [`crate::companion`] decides which numbers are valid.

use ane_uapi::ioctl::companion::{Mover, PeMmuMap, PeMmuMapEntry, PeMmuUnmap, PeMmuUnmapEntry};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::param::PE_MMU_ENTRIES_MAX;
use ane_uapi::ioctl::stats::Counter;
use ane_uapi::wire::config::{FEATURE_MOVER, FEATURE_PE_MMU};

use super::argument::{each, elements, unless};
use super::{Context, Result};
use crate::bus::Bus;
use crate::companion::{self, CompanionError};
use crate::device::Driver;
use crate::journal::told;

impl<B: Bus> Driver<B> {
    /// Fails if the device does not have a block; wakes it otherwise.
    pub(super) fn has(&mut self, feature: u32) -> Result<()> {
        unless(self.hardware.bus().config().features.get() & feature == 0, Errno::EOPNOTSUPP)?;
        unless(!self.hardware.wake(), Errno::ENODEV)?;
        self.hardware.note_work();
        Ok(())
    }

    /// The outcome of a companion's call. An error of the bus means that the device is dead or lost.
    pub(super) fn companion<T>(&mut self, outcome: Result<T, CompanionError>) -> Result<T> {
        outcome.map_err(|error| {
            let errno = told(&error, error.errno());
            match error {
                CompanionError::Bus(why) => match self.hardware.note::<()>(Err(why)) {
                    None if self.hardware.is_lost() => Errno::ENODEV,
                    _ => errno,
                },
                _ => errno,
            }
        })
    }

    pub(super) fn pe_mmu_map(&mut self, map: &mut PeMmuMap, context: &mut Context<'_>) -> Result<()> {
        self.has(FEATURE_PE_MMU)?;
        let PeMmuMap { entries, count, entry_size } = *map;
        let bytes =
            elements::<PeMmuMapEntry>(context.memory, entries, count, entry_size, PE_MMU_ENTRIES_MAX)?;
        let entries: Vec<PeMmuMapEntry> = each(bytes).collect();
        let mapped = self.hardware.map_regions(context.file, &entries);
        self.companion(mapped)?;
        self.clients.count(Counter::PeMmuMaps, count.into());
        Ok(())
    }

    pub(super) fn pe_mmu_unmap(&mut self, unmap: &mut PeMmuUnmap, context: &mut Context<'_>) -> Result<()> {
        self.has(FEATURE_PE_MMU)?;
        let PeMmuUnmap { entries, count, entry_size } = *unmap;
        let bytes =
            elements::<PeMmuUnmapEntry>(context.memory, entries, count, entry_size, PE_MMU_ENTRIES_MAX)?;
        let ranges: Vec<PeMmuUnmapEntry> = each(bytes).collect();
        let unmapped = self.hardware.unmap_regions(&ranges);
        self.companion(unmapped)?;
        self.clients.count(Counter::PeMmuUnmaps, count.into());
        Ok(())
    }

    pub(super) fn mover(&mut self, mover: &mut Mover, _: &mut Context<'_>) -> Result<()> {
        self.has(FEATURE_MOVER)?;
        let moved = companion::mover(self.hardware.bus_mut(), mover);
        mover.cycles = self.companion(moved)?;
        self.clients.count(Counter::MoverTransfers, 1);
        self.clients.count(Counter::MoverUnits, mover.size.into());
        Ok(())
    }
}
