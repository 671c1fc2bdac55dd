//! One buffer: its pages, its mappings, and what keeps it.

use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{BO_FIXED_ADDRESS, BO_PINNED};
use ane_uapi::ioctl::handle::Handle;
use ane_uapi::ioctl::param::MAPPINGS_MAX;

use super::{BufferError, Result, StoreId};
use crate::mem::{Pages, Run};

/// A buffer of a context. Any file of the context may have made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferId(pub(super) Handle);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    Handle,
    Program,
    Request,
}

/// How many of each keep a buffer, and how many mappings of client processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Holders {
    handles: u32,
    programs: u32,
    requests: u32,
    pub(super) processes: u32,
}

impl Holders {
    pub(super) const fn count(&mut self, holder: Holder) -> &mut u32 {
        match holder {
            Holder::Handle => &mut self.handles,
            Holder::Program => &mut self.programs,
            Holder::Request => &mut self.requests,
        }
    }

    /// True if a client can still name the buffer.
    pub(super) const fn is_named(&self) -> bool {
        self.handles != 0
    }

    pub(super) const fn is_in_flight(&self) -> bool {
        self.requests != 0
    }

    pub(super) const fn is_none(&self) -> bool {
        self.handles == 0 && self.programs == 0 && self.requests == 0 && self.processes == 0
    }
}

#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) store: StoreId,
    pub(super) pages: Pages,
    pub(super) flags: u32,
    pub(super) map_offset: u64,
    /// Where clients map a scattered buffer: no offset of the arena's file.
    pub(super) window: Option<Run>,
    pub(super) holders: Holders,
    /// By number. Mapping 0 is there as long as the buffer; others come and go.
    pub(super) mappings: Vec<Option<Mapping>>,
    /// How often mapping 0 was evicted.
    pub(super) evictions: u64,
}

/// A mapping, whether it has device addresses now or not.
#[derive(Debug)]
pub(super) struct Mapping {
    pub(super) usage: Usage,
    /// First page of the buffer, and how many.
    pub(super) first: u32,
    pub(super) pages: u32,
    /// Where it has to lie, if that was said.
    pub(super) fixed: Option<Run>,
    /// Never evicted.
    pub(super) is_pinned: bool,
    /// Programs that rely on its address.
    pub(super) keepers: u32,
    /// Work that uses it now.
    pub(super) users: u32,
    /// When work last used it, or when it was made.
    pub(super) last_use: u64,
    pub(super) place: Option<Run>,
    /// The use under which it is queued for eviction.
    pub(super) queued: Option<u64>,
    /// It lost its place to another.
    pub(super) is_evicted: bool,
}

impl Mapping {
    pub(super) const fn new(usage: Usage, part: Run, flags: u32, fixed: Option<Run>) -> Self {
        Self {
            usage,
            first: part.first,
            pages: part.pages,
            fixed: if flags & BO_FIXED_ADDRESS != 0 { fixed } else { None },
            is_pinned: flags & BO_PINNED != 0,
            keepers: 0,
            users: 0,
            last_use: 0,
            place: None,
            queued: None,
            is_evicted: false,
        }
    }

    /// True if nothing but its end takes its place away, work or no work.
    pub(super) const fn is_immovable(&self) -> bool {
        self.is_pinned || self.keepers != 0
    }
}

impl Buffer {
    pub(super) fn mapping(&self, number: u32) -> Result<&Mapping> {
        let mapping = self.mappings.get(number as usize).and_then(Option::as_ref);
        mapping.ok_or(BufferError::NoMapping(number))
    }

    pub(super) fn mapping_mut(&mut self, number: u32) -> Result<&mut Mapping> {
        let mapping = self.mappings.get_mut(number as usize).and_then(Option::as_mut);
        mapping.ok_or(BufferError::NoMapping(number))
    }

    /// Adds a mapping under the lowest free number.
    pub(super) fn add(&mut self, mapping: Mapping) -> Result<u32> {
        let free = self.mappings.iter().position(Option::is_none).unwrap_or(self.mappings.len());
        let number = u32::try_from(free).unwrap_or(u32::MAX);
        if number >= MAPPINGS_MAX {
            return Err(BufferError::Mappings(MAPPINGS_MAX));
        }
        match self.mappings.get_mut(free) {
            Some(place) => *place = Some(mapping),
            None => self.mappings.push(Some(mapping)),
        }
        Ok(number)
    }

    pub(super) fn is_used(&self) -> bool {
        self.mappings.iter().flatten().any(|mapping| mapping.users != 0)
    }
}
