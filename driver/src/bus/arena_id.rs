//! The numbers of arenas, and where each lies for the device on the buses that choose.
//!
//! A context has an arena of its own, under the context's number. Where files share a context, each after the first has an
//! arena *beside*, so that no file has another's bytes: these have the numbers behind the contexts'. Physical addresses
//! are given out once and for all, a stretch of [`ARENA_BYTES`] for each number. Those of the contexts end at 2^36,
//! which is as far as the narrowest format of page tables reaches; those beside begin there, so a device with that format
//! has none.

use ane_uapi::hw::dart::aperture;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::pte::PteFormat;
use ane_uapi::hw::space::PhysAddr;

/// Bytes of an arena on the buses that choose: twice the aperture (Chosen).
pub(super) const ARENA_BYTES: u64 = 2 * aperture::SIZE;

/// Where the arenas of contexts lie for the device, one behind the other, on the buses that choose: above everything else
/// (Chosen).
const ARENAS_BASE: PhysAddr = PhysAddr(0x2_0000_0000);

/// Where the arenas beside them lie (Chosen: behind what the narrowest format reaches).
const BESIDE_BASE: PhysAddr = PhysAddr(1 << 36);

/// Arenas of all contexts together. (Chosen: a pool of workers has some dozens of files. Each arena costs the daemon two
/// descriptors, and the device one of the 509 memory regions that the vhost-user protocol lets it have.)
const ARENAS: u16 = 256;

const CONTEXTS: u16 = ContextId::COUNT as u16;

const _: () = assert!(ARENAS_BASE.0 + CONTEXTS as u64 * ARENA_BYTES <= BESIDE_BASE.0);
// The addresses that the second narrowest format reaches.
const _: () = assert!(BESIDE_BASE.0 + (ARENAS - CONTEXTS) as u64 * ARENA_BYTES <= 1 << 42);

/// The number of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArenaId(u16);

impl ArenaId {
    /// A context's own.
    pub const fn of(context: ContextId) -> Self {
        Self(context.number() as u16)
    }

    /// The extra arenas, which files get that share a context without having asked.
    pub fn all_extra() -> impl Iterator<Item = Self> {
        (CONTEXTS..ARENAS).map(Self)
    }

    /// True if it is an extra one, not a context's own.
    pub const fn is_extra(self) -> bool {
        self.0 >= CONTEXTS
    }

    /// Where it lies on the buses that choose; `None` if page tables of this format do not lead there.
    pub fn base(self, format: PteFormat) -> Option<PhysAddr> {
        let (base, number) = match self.0.checked_sub(CONTEXTS) {
            None => (ARENAS_BASE, self.0),
            Some(_) if format == PteFormat::T8020 => return None,
            Some(number) => (BESIDE_BASE, number),
        };
        base.checked_add(u64::from(number) * ARENA_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arenas_do_not_overlap_and_the_narrowest_format_has_those_of_contexts_only() {
        let own = ContextId::ALL.into_iter().map(ArenaId::of);
        assert!(own.clone().all(|id| !id.is_extra() && id.base(PteFormat::T8020).is_some()));
        assert!(ArenaId::all_extra().all(|id| id.is_extra() && id.base(PteFormat::T8020).is_none()));
        let bases: Vec<_> =
            own.chain(ArenaId::all_extra()).map(|id| id.base(PteFormat::T6000).unwrap().0).collect();
        assert_eq!(bases.len(), usize::from(ARENAS));
        assert!(bases.windows(2).all(|pair| pair[0] + ARENA_BYTES <= pair[1]));
    }
}
