//! The two companion blocks: what a client asks of them. What is right about a number decides [`crate::companion`].

use ane_uapi::ioctl::companion::{Mover, PeMmuMap, PeMmuMapEntry, PeMmuUnmap, PeMmuUnmapEntry};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::param::PE_MMU_ENTRIES_MAX;
use ane_uapi::ioctl::stats::Counter;
use ane_uapi::wire::config::{FEATURE_MOVER, FEATURE_PE_MMU};

use super::Context;
use super::argument::{each, elements, unless};
use crate::bus::Bus;
use crate::companion::{self, CompanionError};
use crate::device::Driver;

impl<B: Bus> Driver<B> {
    /// Fails if the device does not have a block; wakes it otherwise.
    pub(super) fn has(&mut self, feature: u32) -> Result<(), Errno> {
        unless(self.bus.config().features.get() & feature == 0, Errno::EOPNOTSUPP)?;
        unless(!self.wake(), Errno::ENODEV)?;
        self.last_work = self.clock.now();
        Ok(())
    }

    /// What a companion said; the device is dead or lost if the bus said no.
    pub(super) fn companion<T>(&mut self, outcome: Result<T, CompanionError>) -> Result<T, Errno> {
        outcome.map_err(|error| {
            let errno = error.errno();
            match error {
                CompanionError::Bus(why) => match self.expect::<()>(Err(why)) {
                    None if self.is_lost() => Errno::ENODEV,
                    _ => errno,
                },
                _ => errno,
            }
        })
    }

    pub(super) fn pe_mmu_map(&mut self, map: &mut PeMmuMap, context: &mut Context<'_>) -> Result<(), Errno> {
        self.has(FEATURE_PE_MMU)?;
        let PeMmuMap { entries, count, entry_size } = *map;
        let bytes =
            elements::<PeMmuMapEntry>(context.memory, entries, count, entry_size, PE_MMU_ENTRIES_MAX)?;
        let entries: Vec<PeMmuMapEntry> = each(bytes).collect();
        let mapped = companion::pe_mmu_map(&mut self.bus, &entries);
        self.companion(mapped)?;
        self.counters.add(Counter::PeMmuMaps, count.into());
        Ok(())
    }

    pub(super) fn pe_mmu_unmap(
        &mut self,
        unmap: &mut PeMmuUnmap,
        context: &mut Context<'_>,
    ) -> Result<(), Errno> {
        self.has(FEATURE_PE_MMU)?;
        let PeMmuUnmap { entries, count, entry_size } = *unmap;
        let bytes =
            elements::<PeMmuUnmapEntry>(context.memory, entries, count, entry_size, PE_MMU_ENTRIES_MAX)?;
        let ranges: Vec<PeMmuUnmapEntry> = each(bytes).collect();
        let unmapped = companion::pe_mmu_unmap(&mut self.bus, &ranges);
        self.companion(unmapped)?;
        self.counters.add(Counter::PeMmuUnmaps, count.into());
        Ok(())
    }

    pub(super) fn mover(&mut self, mover: &mut Mover, _: &mut Context<'_>) -> Result<(), Errno> {
        self.has(FEATURE_MOVER)?;
        let moved = companion::mover(&mut self.bus, mover);
        mover.cycles = self.companion(moved)?;
        self.counters.add(Counter::MoverTransfers, 1);
        self.counters.add(Counter::MoverUnits, mover.size.into());
        Ok(())
    }
}
