//! Messages to PE_MMU, from the wire's words to what became of them.

use ane_uapi::wire::ctrl::Status;
use ane_uapi::wire::sideband::{MapEntry, Regions, UnmapEntry};
use vm_memory::GuestMemory;

use crate::Ane;
use crate::ane::companions::NotInstalled;
use crate::engine::Engine;
use crate::pe_mmu::{Mapping, Message, Range, Why};

/// A message that had no effect, as a response says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotDone {
    pub(super) status: Status,
    /// The entry that was refused, if it was one.
    pub(super) entry: Option<u32>,
}

/// Carries a message out; when this returns, its regions are installed.
pub(super) fn install<M: GuestMemory, E: Engine<M>>(
    ane: &mut Ane<M, E>,
    regions: Regions<'_>,
) -> Result<(), NotDone> {
    let mapping =
        |entry: &MapEntry| Mapping { va: entry.va.get(), pa: entry.pa.get(), size: entry.size.get() };
    let range = |entry: &UnmapEntry| Range { va: entry.va.get(), size: entry.size.get() };
    let message = match regions {
        Regions::Map(entries) => Message::Map(entries.iter().map(mapping).collect()),
        Regions::Unmap(entries) => Message::Unmap(entries.iter().map(range).collect()),
    };
    ane.install(message).map_err(|why| match why {
        NotInstalled::Absent => NotDone { status: Status::Absent, entry: None },
        NotInstalled::Dead => NotDone { status: Status::Dead, entry: None },
        NotInstalled::Rejected(rejected) => NotDone {
            status: match rejected.why {
                Why::TooMany => Status::TooMany,
                Why::Wraps => Status::Wraps,
                Why::PageFull { .. } | Why::TableFull => Status::NoRegions,
            },
            entry: u32::try_from(rejected.entry).ok(),
        },
    })
}
