//! The page walk: two tables in guest memory, and the word that each level reads there.
//!
//! Each word is read once and then judged, so tables that change meanwhile give the one answer or the other
//! and nothing between. The walk has two levels whatever the tables say, so tables that point at themselves
//! end it like any others. Only the entry itself has to be in memory, not the whole table around it (Chosen).

use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::pte::{Leaf, LeafFormat, PteFormat, Seed, T6000, T8020};
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::dart::walk::{WalkIndices, entry};
use ane_uapi::hw::space::{Iova, PhysAddr};

use super::dma::View;
use super::tlb::{Entry, Tag};

/// The memory accesses of a walk.
pub(super) trait Tables {
    /// The entry at `at`, read once; `None` if it is not in memory.
    fn load(&mut self, at: PhysAddr) -> Option<u64>;
}

/// The walk of one format over guest memory.
pub(super) type Walk = for<'v> fn(&mut View<'v>, Ttbr, Iova) -> Result<Leaf, HwError>;

/// The walk of one format. If it ends with a page, the translation is also kept.
pub(super) type Fill = for<'v> fn(&mut View<'v>, Ttbr, Iova, &mut Entry, Tag) -> Result<(), HwError>;

/// The functions that depend on the format of the tables.
#[derive(Clone, Copy)]
pub(super) struct Format {
    pub(super) walk: Walk,
    pub(super) fill: Fill,
}

impl Format {
    const fn of<F: LeafFormat>() -> Self {
        Self { walk: |view, base, iova| walk::<F>(view, base, iova), fill: fill::<F> }
    }

    /// The format named: the one place that asks which it is.
    pub(super) const fn named(format: PteFormat) -> Self {
        match format {
            PteFormat::Seed => Self::of::<Seed>(),
            PteFormat::T8020 => Self::of::<T8020>(),
            PteFormat::T6000 => Self::of::<T6000>(),
        }
    }
}

/// Keeps the translation that the tables have now.
///
/// Most walks stay in one region of memory. One that does not is done again from its beginning, over all of
/// memory; nothing that it read is used.
fn fill<F: LeafFormat>(
    view: &mut View<'_>,
    base: Ttbr,
    iova: Iova,
    slot: &mut Entry,
    tag: Tag,
) -> Result<(), HwError> {
    let mut home = view.at_home();
    if let Ok(leaf) = walk::<F>(&mut home, base, iova)
        && let Some(page) = home.find_page(leaf.page)
    {
        *slot = Entry::new(tag, &leaf, page);
        return Ok(());
    }
    fill_from_anywhere::<F>(view, base, iova, slot, tag)
}

/// The same over all of memory, with the cause if there is no translation.
///
/// A page that is not wholly in one region of memory is no memory, whatever its leaf permits (Chosen).
#[cold]
fn fill_from_anywhere<F: LeafFormat>(
    view: &mut View<'_>,
    base: Ttbr,
    iova: Iova,
    slot: &mut Entry,
    tag: Tag,
) -> Result<(), HwError> {
    let leaf = walk::<F>(view, base, iova)?;
    let page = view.find_page(leaf.page).ok_or(HwError::NoMemory)?;
    *slot = Entry::new(tag, &leaf, page);
    Ok(())
}

/// The leaf that `base` leads to for `iova`.
#[inline]
fn walk<F: LeafFormat>(tables: &mut impl Tables, base: Ttbr, iova: Iova) -> Result<Leaf, HwError> {
    let indices = WalkIndices::of_iova(iova);
    let mut load = |table, index| entry(table, index).and_then(|at| tables.load(at));

    let l2_table = base.table().ok_or(HwError::NoTableBase)?;
    let l2_entry = load(l2_table, indices.l2).ok_or(HwError::L2TableUnreadable)?;
    let l3_table = match F::decode_table(l2_entry) {
        Ok(Some(table)) => table,
        Ok(None) => return Err(HwError::NoL2Entry),
        Err(_) => return Err(HwError::L2EntryMalformed),
    };
    let l3_entry = load(l3_table, indices.l3).ok_or(HwError::L3TableUnreadable)?;
    match F::decode(l3_entry) {
        Ok(Some(leaf)) => Ok(leaf),
        Ok(None) => Err(HwError::NoL3Entry),
        Err(_) => Err(HwError::L3EntryMalformed),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ane_uapi::hw::usage::{Protection, ProtectionClass};

    use super::*;

    /// Words at addresses, and the addresses read so far.
    #[derive(Default)]
    struct Words {
        words: BTreeMap<u64, u64>,
        reads: Vec<u64>,
    }

    impl Tables for Words {
        fn load(&mut self, at: PhysAddr) -> Option<u64> {
            self.reads.push(at.0);
            self.words.get(&at.0).copied()
        }
    }

    const L2: PhysAddr = PhysAddr(0x10_0000);
    const L3: PhysAddr = PhysAddr(0x20_0000);
    const PAGE: PhysAddr = PhysAddr(0x30_0000);
    /// L2 entry 2, L3 entry 5.
    const IOVA: Iova = Iova((2 << 25) | (5 << 14) | 0x123);
    const L2_ENTRY: u64 = L2.0 + 2 * 8;
    const L3_ENTRY: u64 = L3.0 + 5 * 8;

    fn tables<F: LeafFormat>() -> Words {
        let mut tables = Words::default();
        tables.words.insert(L2_ENTRY, F::encode_table(L3).unwrap());
        let read_write = Protection::of(ProtectionClass::ReadWrite);
        tables.words.insert(L3_ENTRY, F::encode(PAGE, read_write).unwrap());
        tables
    }

    fn base() -> Ttbr {
        Ttbr::of(L2).unwrap()
    }

    fn found<F: LeafFormat>(tables: &mut Words) -> Result<PhysAddr, HwError> {
        walk::<F>(tables, base(), IOVA).map(|leaf| leaf.page)
    }

    #[test]
    fn walk_finds_the_page_in_each_format_and_reads_two_words() {
        fn check<F: LeafFormat>() {
            let mut tables = tables::<F>();
            assert_eq!(found::<F>(&mut tables), Ok(PAGE), "{:?}", F::FORMAT);
            assert_eq!(tables.reads, [L2_ENTRY, L3_ENTRY]);
        }
        check::<Seed>();
        check::<T8020>();
        check::<T6000>();
    }

    #[test]
    fn walk_of_another_formats_tables_finds_no_entry() {
        assert_eq!(found::<Seed>(&mut tables::<T8020>()), Err(HwError::NoL2Entry));
        assert_eq!(found::<Seed>(&mut tables::<T6000>()), Err(HwError::NoL2Entry));
        assert_eq!(found::<T8020>(&mut tables::<Seed>()), Err(HwError::NoL2Entry));
        assert_eq!(found::<T6000>(&mut tables::<Seed>()), Err(HwError::NoL2Entry));
    }

    #[test]
    fn each_level_has_its_own_cause_for_absent_malformed_and_unreadable() {
        let with = |at: u64, word: Option<u64>| {
            let mut tables = tables::<Seed>();
            match word {
                Some(word) => tables.words.insert(at, word),
                None => tables.words.remove(&at),
            };
            found::<Seed>(&mut tables)
        };
        assert_eq!(with(L2_ENTRY, None), Err(HwError::L2TableUnreadable));
        assert_eq!(with(L2_ENTRY, Some(0)), Err(HwError::NoL2Entry));
        assert_eq!(with(L2_ENTRY, Some(Seed::VALID | L3.0 | 1)), Err(HwError::L2EntryMalformed));
        assert_eq!(with(L3_ENTRY, None), Err(HwError::L3TableUnreadable));
        assert_eq!(with(L3_ENTRY, Some(PAGE.0)), Err(HwError::NoL3Entry));
        assert_eq!(with(L3_ENTRY, Some(Seed::VALID | 1 << 61)), Err(HwError::L3EntryMalformed));
    }

    #[test]
    fn walk_without_a_valid_base_reads_nothing() {
        let mut tables = tables::<Seed>();
        assert_eq!(walk::<Seed>(&mut tables, base().with_valid(false), IOVA), Err(HwError::NoTableBase));
        assert!(tables.reads.is_empty());
    }

    #[test]
    fn table_that_names_itself_ends_after_two_reads() {
        let mut tables = Words::default();
        // The word is a valid L2 entry that names its own table, and a valid leaf of that page.
        for index in [2, 5] {
            tables.words.insert(L2.0 + index * 8, Seed::VALID | L2.0);
        }
        assert_eq!(found::<Seed>(&mut tables), Ok(L2));
        assert_eq!(tables.reads.len(), 2);
    }
}
