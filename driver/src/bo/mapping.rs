//! Places in the aperture: given to a mapping, and taken away.
//!
//! A mapping that finds no room takes that of others, which no work uses now, the one with the highest score
//! first, until there is a hole of its size. They are chosen before the first is touched: if no choice makes room
//! enough, nothing has changed.

use ane_uapi::hw::space::{Iova, IovaRange};
use ane_uapi::hw::usage::Usage;

use super::buffer::{BufferId, Mapping};
use super::space::{Space, buffer_of, key};
use super::{BufferError, MappingInfo, Result};
use crate::bus::Bus;
use crate::dart::{address_of, range};
use crate::evict::{Candidate, score};
use crate::mem::Run;

impl Space {
    /// Gives a mapping its place, if it has none: where it has to lie, or `at`, or anywhere.
    pub(super) fn settle_place(
        &mut self,
        bus: &mut impl Bus,
        id: BufferId,
        number: u32,
        at: Option<Run>,
    ) -> Result<Run> {
        let mapping = self.buffers.get(id.0.raw())?.mapping(number)?;
        if let Some(place) = mapping.place {
            return Ok(place);
        }
        let pages = mapping.pages;
        let place = match mapping.fixed.or(at) {
            Some(place) => self.room_at(place)?,
            None => self.room(pages)?,
        };
        self.settle(id, number, place)?;
        self.tell(bus)?;
        Ok(place)
    }

    /// Maps a mapping at addresses that were taken for it.
    fn settle(&mut self, id: BufferId, number: u32, place: Run) -> Result<()> {
        let buffer = self.buffers.get_mut(id.0.raw())?;
        let mapping = buffer.mapping(number)?;
        let usage = mapping.usage;
        let frames = &self.stores.get(buffer.store)?.frames;
        let runs = buffer.pages.part(mapping.first, mapping.pages);
        let pages = runs.flat_map(|run| frames.physical(run));
        if let Err(why) = self.mapper.map(place, pages, self.rules.protection(usage)) {
            self.mapper.give(place);
            return Err(why.into());
        }
        buffer.pages.pin();
        let mapping = buffer.mapping_mut(number)?;
        mapping.place = Some(place);
        mapping.is_evicted = false;
        mapping.last_use = self.now;
        if mapping.is_immovable() {
            self.movable.take_at(place);
        } else {
            queue(&mut self.idle, id, number, mapping);
        }
        self.by_place.insert(place.first, (id, number));
        self.counters.maps = self.counters.maps.saturating_add(1);
        self.declare(place, Some(usage));
        Ok(())
    }

    /// Takes a mapping's place away, if it has one. The translation buffer has yet to be told.
    pub(super) fn displace(&mut self, id: BufferId, number: u32) {
        let Ok(buffer) = self.buffers.get_mut(id.0.raw()) else { return };
        let Ok(mapping) = buffer.mapping_mut(number) else { return };
        let Some(place) = mapping.place.take() else { return };
        if let Some(last_use) = mapping.queued.take() {
            self.idle.remove(Candidate { last_use, pages: place.pages, key: key(id, number) });
        }
        if mapping.is_immovable() {
            self.movable.give(place);
            self.chances = self.chances.wrapping_add(1);
        }
        buffer.pages.unpin();
        self.by_place.remove(&place.first);
        self.mapper.give(place);
        self.clear_leaves(place, Run { first: place.first, pages: 0 });
    }

    /// Makes the leaves of evicted mappings zero, except those that are written next.
    fn clear_leaves(&mut self, place: Run, next: Run) {
        // The tables are memory that is there as long as the driver is.
        let cleared = self.mapper.unmap_for(place, next);
        debug_assert!(cleared.is_ok(), "tables are there: {cleared:?}");
        self.counters.unmaps = self.counters.unmaps.saturating_add(1);
        self.declare(place, None);
    }

    /// Addresses for so many pages, by eviction if need be.
    fn room(&mut self, pages: u32) -> Result<Run> {
        let full = BufferError::NoRoom { pages };
        if let Ok(place) = self.mapper.take(pages) {
            return Ok(place);
        }
        if self.movable.longest() < pages {
            return Err(full);
        }
        let mut victims = Vec::new();
        let mut busy = Vec::new();
        while self.mapper.longest_free() < pages {
            let Some(candidate) = self.idle.pop() else { break };
            match self.as_victim(candidate) {
                Turn::Victim(place) => {
                    let score = score(self.now, candidate.last_use, candidate.pages);
                    log::trace!(target: "ane::driver", "{:?} of score {score:#x} is evicted", candidate.key);
                    self.mapper.give(place);
                    victims.push((candidate, place));
                }
                Turn::Busy => busy.push(candidate),
                Turn::Later => {}
            }
        }
        busy.into_iter().for_each(|candidate| self.idle.insert(candidate));
        match self.mapper.take(pages) {
            Ok(next) => {
                victims.into_iter().for_each(|(victim, place)| self.evict(victim, place, next));
                Ok(next)
            }
            Err(_) => {
                for (victim, place) in victims {
                    // No other mapping can have taken them.
                    let taken = self.mapper.take_at(place);
                    debug_assert!(taken.is_ok(), "a victim that was spared keeps its place");
                    self.idle.insert(victim);
                }
                Err(full)
            }
        }
    }

    /// The step for the first mapping of the queue.
    fn as_victim(&mut self, candidate: Candidate) -> Turn {
        let Candidate { last_use, key, .. } = candidate;
        let Some((id, buffer)) =
            buffer_of(key).and_then(|id| self.buffers.get_mut(id.0.raw()).ok().map(|buffer| (id, buffer)))
        else {
            return Turn::Later;
        };
        let Ok(mapping) = buffer.mapping_mut(key.mapping) else { return Turn::Later };
        match mapping.place {
            _ if mapping.users != 0 => Turn::Busy,
            Some(_) if mapping.last_use != last_use => {
                queue(&mut self.idle, id, key.mapping, mapping);
                Turn::Later
            }
            Some(place) => Turn::Victim(place),
            None => Turn::Later,
        }
    }

    /// Evicts a mapping that is in no queue, and whose place is free already, or the next one's.
    fn evict(&mut self, victim: Candidate, place: Run, next: Run) {
        let buffer = buffer_of(victim.key).and_then(|id| self.buffers.get_mut(id.0.raw()).ok());
        if let Some(buffer) = buffer {
            buffer.pages.unpin();
            if victim.key.mapping == 0 {
                buffer.evictions = buffer.evictions.saturating_add(1);
            }
            if let Ok(mapping) = buffer.mapping_mut(victim.key.mapping) {
                mapping.place = None;
                mapping.queued = None;
                mapping.is_evicted = true;
            }
        }
        self.by_place.remove(&place.first);
        self.counters.evictions = self.counters.evictions.saturating_add(1);
        self.clear_leaves(place, next);
    }

    /// Takes these addresses. Mappings that have some of them are evicted.
    fn room_at(&mut self, wanted: Run) -> Result<Run> {
        if self.mapper.take_at(wanted).is_ok() {
            return Ok(wanted);
        }
        let victims: Vec<_> = self.overlapping(wanted).collect();
        let taken = BufferError::Taken(address_of(wanted).0.into());
        for &(id, number) in &victims {
            let mapping = self.buffers.get(id.0.raw())?.mapping(number)?;
            if mapping.users != 0 || mapping.is_immovable() {
                return Err(taken);
            }
        }
        for (id, number) in victims {
            self.displace(id, number);
            self.counters.evictions = self.counters.evictions.saturating_add(1);
            if let Ok(buffer) = self.buffers.get_mut(id.0.raw()) {
                if number == 0 {
                    buffer.evictions = buffer.evictions.saturating_add(1);
                }
                if let Ok(mapping) = buffer.mapping_mut(number) {
                    mapping.is_evicted = true;
                }
            }
        }
        if self.mapper.take_at(wanted).is_ok() { Ok(wanted) } else { Err(taken) }
    }

    fn overlapping(&self, wanted: Run) -> impl Iterator<Item = (BufferId, u32)> {
        let before = self.by_place.range(..wanted.first).next_back();
        let reaches = before.filter(|&(_, &(id, number))| {
            let mapping = self
                .buffers
                .get(id.0.raw())
                .and_then(|buffer| buffer.mapping(number).map_err(|_| crate::handle::Missing::Gone));
            mapping.ok().and_then(|mapping| mapping.place).is_some_and(|place| place.end() > wanted.first)
        });
        reaches.into_iter().chain(self.by_place.range(wanted.first..wanted.end())).map(|(_, &found)| found)
    }

    /// Every mapping that has a place, by rising address: what the dump after a fault shows.
    pub fn mappings(&self) -> impl Iterator<Item = (BufferId, u32, IovaRange, Usage)> {
        self.by_place.values().filter_map(|&(id, number)| {
            let mapping = self.buffers.get(id.0.raw()).ok()?.mapping(number).ok()?;
            Some((id, number, range(mapping.place?)?, mapping.usage))
        })
    }

    pub fn find(&self, at: Iova) -> Option<(BufferId, u32)> {
        let page = Run::new(at.0 >> ane_uapi::hw::dart::aperture::PAGE_SHIFT, 1)?;
        self.overlapping(page).next()
    }

    pub fn mapping(&self, id: BufferId, number: u32) -> Result<MappingInfo> {
        let mapping = self.buffers.get(id.0.raw())?.mapping(number)?;
        Ok(MappingInfo {
            usage: mapping.usage,
            offset: u64::from(mapping.first) << ane_uapi::hw::dart::aperture::PAGE_SHIFT,
            bytes: u64::from(mapping.pages) << ane_uapi::hw::dart::aperture::PAGE_SHIFT,
            place: mapping.place.and_then(range),
            is_in_use: mapping.users != 0,
        })
    }
}

/// The step for the first mapping of the queue.
enum Turn {
    /// It can go.
    Victim(Run),
    /// Work uses it.
    Busy,
    /// It was queued anew, or is no more.
    Later,
}

/// Queues a mapping for eviction as it is now.
pub(super) fn queue(idle: &mut crate::evict::Queue, id: BufferId, number: u32, mapping: &mut Mapping) {
    if let Some(place) = mapping.place {
        mapping.queued = Some(mapping.last_use);
        idle.insert(Candidate { last_use: mapping.last_use, pages: place.pages, key: key(id, number) });
    }
}
