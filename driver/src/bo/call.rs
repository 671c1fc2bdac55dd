//! Mapping and unmapping, as clients ask for it.

use ane_uapi::hw::dart::aperture::{PAGE_SHIFT, PAGE_SIZE};
use ane_uapi::hw::space::{Iova, IovaRange};
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{ADDRESS_ANY, BO_FIXED_ADDRESS, BO_PINNED};

use super::buffer::{BufferId, Mapping};
use super::space::{Space, aligned_place, fixed_place};
use super::{BufferError, Result};
use crate::bus::Bus;
use crate::dart::address_of;
use crate::mem::Run;
use crate::usage::{self, Origin};

/// Another mapping of a buffer, in the client's own numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Map {
    pub usage: u32,
    /// `ANE_BO_FIXED_ADDRESS` and `ANE_BO_PINNED`.
    pub flags: u32,
    /// First byte of the buffer.
    pub offset: u64,
    /// Bytes; zero is up to the end.
    pub size: u64,
    /// Where, if a flag says so; otherwise zero.
    pub address: u64,
}

/// Mapping a buffer ahead of its first request, in the client's own numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Premap {
    /// Usage of mapping 0.
    pub usage: u32,
    /// Where, or `ANE_ADDRESS_ANY`.
    pub address: u64,
    /// Bytes, not more than the buffer has.
    pub size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingInfo {
    /// Its usage, which never changes.
    pub usage: Usage,
    /// First byte of the buffer that it maps.
    pub offset: u64,
    /// Bytes: whole pages.
    pub bytes: u64,
    pub place: Option<IovaRange>,
    pub is_in_use: bool,
}

impl Space {
    /// Adds a mapping to a buffer. Its number, and where it lies.
    pub fn map(&mut self, bus: &mut impl Bus, id: BufferId, map: &Map) -> Result<(u32, Iova)> {
        let buffer = self.buffers.get(id.0.raw())?;
        let usage = usage::named(map.usage, Origin::Client).map_err(BufferError::Usage)?;
        if map.flags & !(BO_FIXED_ADDRESS | BO_PINNED) != 0 {
            return Err(BufferError::Flags(map.flags));
        }
        let part = part(buffer.pages.len(), map.offset, map.size)?;
        let fixed = fixed_place(map.flags, map.address, part.pages)?;
        let buffer = self.buffers.get_mut(id.0.raw())?;
        let number = buffer.add(Mapping::new(usage, part, map.flags, fixed))?;
        match self.settle_place(bus, id, number, None) {
            Ok(place) => Ok((number, address_of(place))),
            Err(why) => {
                self.remove(id, number);
                Err(why)
            }
        }
    }

    /// Takes a mapping away.
    ///
    /// # Errors
    ///
    /// As `DRM_IOCTL_ANE_BO_UNMAP` has them. A mapping that a program keeps counts as in use.
    pub fn unmap(&mut self, id: BufferId, number: u32, usage: u32) -> Result<()> {
        let mapping = self.buffers.get(id.0.raw())?.mapping(number)?;
        if number == 0 && mapping.place.is_none() {
            return Err(BufferError::NoMapping(number));
        }
        if mapping.usage as u32 != usage {
            return Err(BufferError::OtherUsage { mapping: number, is: mapping.usage, named: usage });
        }
        if mapping.users != 0 || mapping.keepers != 0 {
            return Err(BufferError::InUse(number));
        }
        self.remove(id, number);
        Ok(())
    }

    /// Takes a mapping's place; and the mapping, unless it is the buffer's own.
    fn remove(&mut self, id: BufferId, number: u32) {
        self.displace(id, number);
        let buffer = self.buffers.get_mut(id.0.raw()).ok();
        match buffer.and_then(|buffer| buffer.mappings.get_mut(number as usize)) {
            Some(Some(own)) if number == 0 => own.is_evicted = false,
            Some(other) => *other = None,
            None => {}
        }
    }

    /// Maps a buffer ahead of its first request. Where it lies.
    ///
    /// # Errors
    ///
    /// As `DRM_IOCTL_ANE_BO_PREMAP` has them; [`BufferError::Mapped`] says where it lies already.
    pub fn premap(&mut self, bus: &mut impl Bus, id: BufferId, premap: &Premap) -> Result<Iova> {
        let &Premap { usage, address, size } = premap;
        let buffer = self.buffers.get(id.0.raw())?;
        let own = buffer.mapping(0)?;
        let limit = u64::from(buffer.pages.len()) << PAGE_SHIFT;
        if size == 0 || size > limit {
            return Err(BufferError::Range { offset: 0, size, limit });
        }
        if own.usage as u32 != usage {
            return Err(BufferError::OtherUsage { mapping: 0, is: own.usage, named: usage });
        }
        let at = match address {
            0 => return Err(BufferError::Address(address)),
            ADDRESS_ANY => None,
            _ => Some(aligned_place(address, own.pages)?),
        };
        if let Some(place) = own.place {
            return Err(BufferError::Mapped(address_of(place)));
        }
        if at.is_some() && own.fixed.is_some() && own.fixed != at {
            return Err(BufferError::Address(address));
        }
        let place = self.settle_place(bus, id, 0, at)?;
        self.counters.premaps = self.counters.premaps.saturating_add(1);
        Ok(address_of(place))
    }
}

/// The pages of a buffer that a mapping is to have.
fn part(pages: u32, offset: u64, size: u64) -> Result<Run> {
    let limit = u64::from(pages) << PAGE_SHIFT;
    let bad = BufferError::Range { offset, size, limit };
    let Some(left) = limit.checked_sub(offset).filter(|_| offset.is_multiple_of(u64::from(PAGE_SIZE))) else {
        return Err(bad);
    };
    let bytes = if size == 0 { left } else { size };
    if bytes > left {
        return Err(bad);
    }
    let first = u32::try_from(offset >> PAGE_SHIFT).ok();
    let pages = u32::try_from(bytes.div_ceil(u64::from(PAGE_SIZE))).ok();
    first.zip(pages).and_then(|(first, pages)| Run::new(first, pages)).ok_or(bad)
}
