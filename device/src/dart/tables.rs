//! The tables as they stand: every page that a stream's addresses lead to, for a person who wonders.
//!
//! Nothing is cached and nothing changes by it. Tables are in guest memory and may say anything: at most as many entries
//! are read as the aperture has pages, and their tables.

use ane_uapi::hw::dart::aperture::{PAGE_SHIFT, PAGE_SIZE};
use ane_uapi::hw::dart::pte::{LeafFormat, PteFormat, Seed, T6000, T8020};
use ane_uapi::hw::dart::regs::Window;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::dart::walk::{APERTURE_PAGES, WalkIndices, entry};
use ane_uapi::hw::space::{Iova, PhysAddr};
use ane_uapi::hw::usage::Protection;
use vm_memory::{Bytes, GuestAddress, GuestMemory};

use super::Dart;
use super::stream::Gate;
use super::window::Admission;

/// Pages that follow each other on both sides, under one protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First device address.
    pub iova: Iova,
    /// First physical address.
    pub page: PhysAddr,
    /// How many pages.
    pub pages: u32,
    /// What the leaves permit.
    pub protection: Protection,
}

/// What a window does with a stream's addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamTables {
    /// The table base of every address in the aperture.
    pub base: Ttbr,
    /// What its tables map, by rising address.
    pub runs: Vec<Run>,
    /// Entries that are neither empty nor well formed, or whose table is not in memory.
    pub malformed: u32,
}

impl Dart {
    /// What `window` does with the addresses of `stream`; `None` unless it translates them.
    pub fn tables(
        &self,
        memory: &impl GuestMemory,
        window: Window,
        stream: StreamId,
    ) -> Option<StreamTables> {
        let Admission { gate, base, .. } = self.window(window).admit(stream);
        (gate == Gate::Translated).then(|| match self.pte_format {
            PteFormat::Seed => read::<Seed>(memory, base),
            PteFormat::T8020 => read::<T8020>(memory, base),
            PteFormat::T6000 => read::<T6000>(memory, base),
        })
    }
}

fn read<F: LeafFormat>(memory: &impl GuestMemory, base: Ttbr) -> StreamTables {
    let mut tables = StreamTables { base, runs: Vec::new(), malformed: 0 };
    let Some(table) = base.table() else { return tables };
    let load = |table, index| {
        let at = entry(table, index)?;
        memory.read_obj::<u64>(GuestAddress(at.0)).ok().map(u64::from_le)
    };
    let mut leaves = None;
    for page in 0..APERTURE_PAGES {
        let iova = Iova(page.wrapping_shl(PAGE_SHIFT));
        let indices = WalkIndices::of_iova(iova);
        // At the first page of a leaf table it is found, and kept for the pages behind.
        if indices.l3 == 0 {
            leaves = match load(table, indices.l2).map(F::decode_table) {
                Some(Ok(leaves)) => leaves,
                Some(Err(_)) | None => {
                    tables.malformed = tables.malformed.saturating_add(1);
                    None
                }
            };
        }
        let Some(leaves) = leaves else { continue };
        match load(leaves, indices.l3).map(F::decode) {
            Some(Ok(None)) => {}
            Some(Ok(Some(leaf))) => add(&mut tables.runs, iova, leaf.page, leaf.protection),
            Some(Err(_)) | None => tables.malformed = tables.malformed.saturating_add(1),
        }
    }
    tables
}

/// Adds a page, to the last run if it follows it.
fn add(runs: &mut Vec<Run>, iova: Iova, page: PhysAddr, protection: Protection) {
    if let Some(last) = runs.last_mut() {
        let bytes = u64::from(last.pages).saturating_mul(PAGE_SIZE.into());
        let follows = u64::from(last.iova.0).checked_add(bytes) == Some(iova.0.into())
            && last.page.0.checked_add(bytes) == Some(page.0)
            && last.protection == protection;
        if follows {
            last.pages = last.pages.saturating_add(1);
            return;
        }
    }
    runs.push(Run { iova, page, pages: 1, protection });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_follow_each_other_on_both_sides_are_one_run() {
        let mut runs = Vec::new();
        let (open, shut) = (Protection::new().with_device_reads(true), Protection::new());
        for (iova, page, protection) in [
            (0x4000, 0x10_0000, open),
            (0x8000, 0x10_4000, open),
            (0xc000, 0x20_0000, open),
            (0x10000, 0x20_4000, shut),
            (0x20000, 0x20_8000, shut),
        ] {
            add(&mut runs, Iova(iova), PhysAddr(page), protection);
        }
        let found: Vec<_> = runs.iter().map(|run| (run.iova.0, run.pages)).collect();
        assert_eq!(found, [(0x4000, 2), (0xc000, 1), (0x10000, 1), (0x20000, 1)]);
    }
}
