//! The buffers of a request: they keep their places while it runs.
//!
//! This is the way of every request, so it does as little as it can: for a mapping that has its place, a count
//! goes up here and down again afterwards. Only one that lost its place is mapped again, and only what was
//! unmapped since the last request makes the translation buffer forget.

use ane_uapi::hw::space::IovaRange;

use super::buffer::BufferId;
use super::mapping::queue;
use super::space::{Space, key};
use super::{BufferError, Result};
use crate::bus::Bus;
use crate::dart::range;
use crate::evict::Candidate;

/// A mapping that work uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    pub buffer: BufferId,
    pub mapping: u32,
}

impl Space {
    /// Makes sure of every mapping that work uses: it has a place from now on, which is put into `places` in
    /// order, and stays there until [`Space::finish`]; and the translation buffer knows nothing of what was there
    /// before. To be called before every push, by work without mappings too.
    ///
    /// # Errors
    ///
    /// [`BufferError::NoRoom`] only if what is in use or pinned leaves none; none of them is in use then.
    pub fn begin(&mut self, bus: &mut impl Bus, uses: &[Use], places: &mut Vec<IovaRange>) -> Result<()> {
        self.now = self.now.saturating_add(1);
        // All are in use before the first is given a place, or it might take another's.
        for (index, &one) in uses.iter().enumerate() {
            if let Err(why) = self.start(one) {
                self.let_go(uses.get(..index).unwrap_or_default());
                return Err(why);
            }
        }
        places.clear();
        self.settle_places(bus, uses, places).inspect_err(|_| self.let_go(uses))
    }

    fn start(&mut self, one: Use) -> Result<()> {
        let mapping = self.buffers.get_mut(one.buffer.0.raw())?.mapping_mut(one.mapping)?;
        mapping.users = mapping.users.saturating_add(1);
        mapping.last_use = self.now;
        Ok(())
    }

    fn settle_places(&mut self, bus: &mut impl Bus, uses: &[Use], places: &mut Vec<IovaRange>) -> Result<()> {
        for &Use { buffer, mapping } in uses {
            let place = self.settle_place(bus, buffer, mapping, None).map_err(as_room)?;
            places.extend(range(place));
        }
        self.flush(bus)?;
        Ok(())
    }

    /// Work that [`Space::begin`] made sure of has ended, however it did. Once for each time it was begun.
    pub fn finish(&mut self, uses: &[Use]) {
        self.let_go(uses);
        self.chances = self.chances.wrapping_add(1);
    }

    fn let_go(&mut self, uses: &[Use]) {
        for one in uses {
            let id = one.buffer;
            let Ok(buffer) = self.buffers.get_mut(id.0.raw()) else { continue };
            if let Ok(mapping) = buffer.mapping_mut(one.mapping) {
                mapping.users = mapping.users.saturating_sub(1);
            }
            if buffer.holders.is_none() {
                self.end_if_unheld(id);
            }
        }
    }

    /// A program relies on where these lie: they stay there until [`Space::unkeep`]. All have their places, as
    /// between [`Space::begin`] and [`Space::finish`].
    pub fn keep(&mut self, uses: &[Use]) {
        for &Use { buffer: id, mapping: number } in uses {
            let mapping = self.buffers.get_mut(id.0.raw()).map_err(BufferError::from);
            let Ok(mapping) = mapping.and_then(|buffer| buffer.mapping_mut(number)) else { continue };
            let was_immovable = mapping.is_immovable();
            mapping.keepers = mapping.keepers.saturating_add(1);
            if let Some(place) = mapping.place.filter(|_| !was_immovable) {
                if let Some(last_use) = mapping.queued.take() {
                    self.idle.remove(Candidate { last_use, pages: place.pages, key: key(id, number) });
                }
                self.movable.take_at(place);
            }
        }
    }

    /// A program is no more that relied on where these lie.
    pub fn unkeep(&mut self, uses: &[Use]) {
        for &Use { buffer: id, mapping: number } in uses {
            let mapping = self.buffers.get_mut(id.0.raw()).map_err(BufferError::from);
            let Ok(mapping) = mapping.and_then(|buffer| buffer.mapping_mut(number)) else { continue };
            let was_immovable = mapping.is_immovable();
            mapping.keepers = mapping.keepers.saturating_sub(1);
            if let Some(place) = mapping.place.filter(|_| was_immovable && !mapping.is_immovable()) {
                self.movable.give(place);
                self.chances = self.chances.wrapping_add(1);
                queue(&mut self.idle, id, number, mapping);
            }
        }
    }
}

/// Where a mapping has to lie another one is in use: to a request that is no room.
fn as_room(why: BufferError) -> BufferError {
    match why {
        BufferError::Taken(_) => BufferError::NoRoom { pages: 0 },
        other => other,
    }
}
