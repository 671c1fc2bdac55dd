//! Page tables: one table of 112 entries for a context, and under each entry a table of 2048 leaves.
//!
//! They lie in memory that belongs to the driver alone, each at a place of its own, so nothing has to be
//! allocated to map a page. A table of leaves is entered in the one above it when it is first written.
//!
//! Apple's kernel hands leaves to a protected layer and cannot write a table itself. Here [`Tables::put`] is
//! that layer: it is the one function that writes leaves, and it only takes segments.

use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::dart::pte::{LeafFormat, PteFormat, Seed, T6000, T8020, Unencodable};
use ane_uapi::hw::dart::segment::{BadSegment, Segment, Template};
use ane_uapi::hw::dart::walk::{self, APERTURE_L2_ENTRIES, WalkIndices};
use ane_uapi::hw::space::PhysAddr;
use ane_uapi::hw::usage::{Protection, ProtectionClass};
use thiserror::Error;

use crate::bus::{DmaMemory, MemoryError};

/// Bytes of all tables of one context.
pub(super) const TABLES_BYTES: usize = (APERTURE_L2_ENTRIES as usize + 1) * PAGE_SIZE as usize;

#[derive(Debug, Error)]
pub enum TableError {
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("page cannot be mapped: {0}")]
    Segment(BadSegment),
    #[error("page cannot be mapped: {0}")]
    Leaf(Unencodable),
}

#[derive(Debug)]
pub struct Tables {
    memory: DmaMemory,
    format: PteFormat,
    /// By number, the tables of leaves that are entered.
    entered: u128,
}

const _: () = assert!(APERTURE_L2_ENTRIES < u128::BITS);

impl Tables {
    /// Tables without an entry, in memory of `TABLES_BYTES` bytes. The memory may hold old data, and is cleared.
    pub fn new(memory: &DmaMemory, format: PteFormat) -> Result<Self, MemoryError> {
        let memory = memory.part(0, TABLES_BYTES)?;
        memory.write(memory.base(), &[0; PAGE_SIZE as usize])?;
        Ok(Self { memory, format, entered: 0 })
    }

    /// Where a walk begins.
    pub const fn base(&self) -> PhysAddr {
        self.memory.base()
    }

    pub const fn memory(&self) -> &DmaMemory {
        &self.memory
    }

    pub const fn format(&self) -> PteFormat {
        self.format
    }

    /// Writes a leaf for each segment.
    pub fn put(&mut self, segments: &[Segment], template: Template) -> Result<(), TableError> {
        for segment in segments {
            let at = segment.pages().map_err(TableError::Segment)?.base();
            let leaf = self.leaf(segment, template)?;
            let indices = WalkIndices::of_iova(at);
            let table = self.table(indices.l2)?;
            let entry = walk::entry(table, indices.l3).unwrap_or(table);
            self.memory.store_u64(entry, leaf)?;
        }
        Ok(())
    }

    /// A segment's leaf. In the published layouts it permits everything, as the founding document's does whatever
    /// the usage: permission is the stream's, and the role's (Chosen).
    fn leaf(&self, segment: &Segment, template: Template) -> Result<u64, TableError> {
        let page = PhysAddr(segment.phys.get());
        let open = Protection::of(ProtectionClass::ReadWrite);
        match (self.format, template) {
            (PteFormat::Seed, _) => segment.leaf(template).map_err(TableError::Segment),
            (_, Template::Unmap) => Ok(Template::Unmap.word()),
            (PteFormat::T8020, Template::Map) => T8020::encode(page, open).map_err(TableError::Leaf),
            (PteFormat::T6000, Template::Map) => T6000::encode(page, open).map_err(TableError::Leaf),
        }
    }

    /// The table of leaves of an entry, which is entered if it was not.
    fn table(&mut self, l2: u16) -> Result<PhysAddr, TableError> {
        let bytes = u64::from(PAGE_SIZE);
        let table =
            PhysAddr(self.base().0.saturating_add(bytes.saturating_mul(u64::from(l2).saturating_add(1))));
        let bit = 1u128.checked_shl(l2.into()).unwrap_or_default();
        if self.entered & bit == 0 {
            self.memory.write(table, &[0; PAGE_SIZE as usize])?;
            let word = match self.format {
                PteFormat::Seed => Seed::encode_table(table),
                PteFormat::T8020 => T8020::encode_table(table),
                PteFormat::T6000 => T6000::encode_table(table),
            };
            let entry = walk::entry(self.base(), l2).unwrap_or(self.base());
            self.memory.store_u64(entry, word.map_err(TableError::Leaf)?)?;
            self.entered |= bit;
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::space::Iova;

    use super::*;

    const BASE: PhysAddr = PhysAddr(0x4000_0000);
    const PAGE: u64 = PAGE_SIZE as u64;

    fn tables(format: PteFormat) -> (Tables, DmaMemory) {
        let memory = DmaMemory::new(BASE, TABLES_BYTES).unwrap();
        (Tables::new(&memory, format).unwrap(), memory)
    }

    fn segment(iova: u32, page: u64) -> Segment {
        Segment::new(Iova(iova), PhysAddr(page), Protection::of(ProtectionClass::DeviceWrite))
    }

    /// Requirement: MAP-04
    #[test]
    fn segments_become_as_many_leaves_page_and_template() {
        let (mut tables, memory) = tables(PteFormat::Seed);
        let segments: Vec<_> = (0..5)
            .map(|i| segment(0x1ff_8000 + i * 0x4000, 0x8_0000_0000 + u64::from(i) * 3 * PAGE))
            .collect();
        tables.put(&segments, Template::Map).unwrap();
        // Two leaves at the end of the first table, three at the start of the second.
        let first = tables.base().0 + PAGE + 2046 * 8;
        let leaves: Vec<_> = (0..5).map(|i| memory.load_u64(PhysAddr(first + i * 8)).unwrap()).collect();
        let expected: Vec<_> = (0..5).map(|i| 1 << 63 | (0x8_0000_0000 + i * 3 * PAGE)).collect();
        assert_eq!(leaves, expected);
        let entries: Vec<_> =
            (0..3).map(|i| memory.load_u64(PhysAddr(tables.base().0 + i * 8)).unwrap()).collect();
        assert_eq!(entries, [1 << 63 | (tables.base().0 + PAGE), 1 << 63 | (tables.base().0 + 2 * PAGE), 0]);
        tables.put(&segments, Template::Unmap).unwrap();
        assert!((0..5).all(|i| memory.load_u64(PhysAddr(first + i * 8)).unwrap() == 0));
    }

    #[test]
    fn tables_of_a_context_that_is_given_out_again_are_empty() {
        let (mut tables, memory) = tables(PteFormat::Seed);
        tables.put(&[segment(0x4000, 0x8000), segment(0x8000, 0xc000)], Template::Map).unwrap();
        let mut again = Tables::new(&memory, PteFormat::Seed).unwrap();
        assert_eq!(memory.load_u64(again.base()).unwrap(), 0);
        again.put(&[segment(0x4000, 0x8000)], Template::Map).unwrap();
        assert_eq!(memory.load_u64(PhysAddr(again.base().0 + PAGE + 16)).unwrap(), 0);
    }

    #[test]
    fn every_format_is_written_in_its_own_words() {
        for (format, leaf) in [
            (PteFormat::T8020, T8020::encode(PhysAddr(0x8000), Protection::of(ProtectionClass::ReadWrite))),
            (PteFormat::T6000, T6000::encode(PhysAddr(0x8000), Protection::of(ProtectionClass::ReadWrite))),
        ] {
            let (mut tables, memory) = tables(format);
            tables.put(&[segment(0x4000, 0x8000)], Template::Map).unwrap();
            assert_eq!(memory.load_u64(PhysAddr(tables.base().0 + PAGE + 8)).unwrap(), leaf.unwrap());
        }
    }

    #[test]
    fn page_that_the_format_cannot_name_is_refused() {
        for (format, page) in
            [(PteFormat::Seed, 1 << 47), (PteFormat::T8020, 1 << 36), (PteFormat::Seed, 0x4001)]
        {
            let (mut tables, _memory) = tables(format);
            assert!(tables.put(&[segment(0x4000, page)], Template::Map).is_err(), "{format:?} {page:#x}");
        }
    }

    #[test]
    fn memory_that_is_too_short_for_tables_is_refused() {
        let memory = DmaMemory::new(BASE, TABLES_BYTES - 1).unwrap();
        assert!(Tables::new(&memory, PteFormat::Seed).is_err());
    }
}
