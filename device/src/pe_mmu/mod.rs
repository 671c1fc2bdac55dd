//! PE_MMU: a table of mappings before the DART. Its siblings look addresses up in it, and messages
//! change it.
//!
//! [`ane_uapi::hw::pe_mmu`] describes it: a node of the fabric that receives map and unmap messages, and a utility that
//! the DMA circuits beside it call. The two faces share one table, which is made once (seed 001, D1). A translation is
//! pure and takes no time: the caller waits for the overhead in its own record (D2). An address that no region covers
//! is used as a physical address, and that is no error (D4). The result goes through the DART all the same.
//!
//! * [`attributes`]: the parameters of the block.
//! * [`table`]: the utility. `pages` is its map of pages; `layers` are the regions of a page that has several.
//! * [`node`]: the component: inbox, installation, forwarding.
//! * [`caller`]: the requests of a DMA circuit to the utility, and its waiting time.
//! * `registers`: the block as a driver sees it.
//!
//! Regions smaller than a page are a stopgap of the simulator that the block comes from, and would go with
//! logical addresses (D3). To make the two faces one, or to let a translation wait, has been refused on record:
//! see `docs/pe-mmu.md`.

pub mod attributes;
pub mod caller;
mod layers;
pub mod node;
mod pages;
mod registers;
pub mod table;

use ane_uapi::hw::pe_mmu::{Control, RegisterId};

pub use self::attributes::Attributes;
pub use self::caller::{Found, Note, Path};
pub use self::node::{Message, Node, Received, Transaction};
pub use self::table::{Mapping, PageFault, Range, Rejected, Stretch, Table, Why};

use self::caller::Pending;
use crate::halves::Latch;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub maps: u64,
    /// Entries unmapped, whether or not they took out a region.
    pub unmaps: u64,
    /// Addresses translated, fallbacks included.
    pub translations: u64,
    /// Addresses that no region covered.
    pub fallbacks: u64,
}

#[derive(Debug)]
pub struct PeMmu {
    attributes: Attributes,
    table: Table,
    control: Control,
    counters: Counters,
    pending: Pending,
    latch: Latch<RegisterId>,
}

impl PeMmu {
    pub fn new(attributes: Attributes) -> Self {
        Self {
            attributes,
            table: Table::new(attributes.page_size),
            control: Control::default(),
            counters: Counters::default(),
            pending: Pending::default(),
            latch: Latch::default(),
        }
    }

    /// The utility, which siblings hold and call.
    pub const fn mmu(&self) -> &Table {
        &self.table
    }

    /// The counts since the last reset.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Maps all entries in order, or none.
    pub fn map(&mut self, entries: &[Mapping]) -> Result<(), Rejected> {
        self.table.map(entries)?;
        self.counters.maps = self.counters.maps.saturating_add(entries.len() as u64);
        Ok(())
    }

    /// Unmaps all ranges in order, or none.
    pub fn unmap(&mut self, ranges: &[Range]) -> Result<(), Rejected> {
        self.table.unmap(ranges)?;
        self.counters.unmaps = self.counters.unmaps.saturating_add(ranges.len() as u64);
        Ok(())
    }

    /// Back to the state after power-on: nothing is mapped, counted or owed.
    pub fn reset(&mut self) {
        *self = Self::new(self.attributes);
    }
}
