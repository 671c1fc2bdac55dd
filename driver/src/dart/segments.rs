//! Segments on their way into the tables.
//!
//! Apple's mapping code pins a buffer, describes it page by page in 40-byte structures, and hands those
//! down when it has collected enough: each becomes one leaf. So does this: what is collected here is flushed
//! when it is full, and at the end.

use ane_uapi::hw::dart::segment::{Segment, Template};

use super::tables::{TableError, Tables};

/// Segments that are collected before they are flushed (Chosen): ten kilobytes of them.
const COLLECTED: usize = 256;

/// Segments of one mapping, collected.
#[derive(Debug)]
pub(super) struct Segments {
    collected: Vec<Segment>,
}

impl Segments {
    pub(super) fn new() -> Self {
        Self { collected: Vec::with_capacity(COLLECTED) }
    }

    /// Puts all of these into the tables.
    pub(super) fn put(
        &mut self,
        tables: &mut Tables,
        segments: impl Iterator<Item = Segment>,
        template: Template,
    ) -> Result<(), TableError> {
        self.collected.clear();
        for segment in segments {
            self.collected.push(segment);
            if self.collected.len() == COLLECTED {
                tables.put(&self.collected, template)?;
                self.collected.clear();
            }
        }
        tables.put(&self.collected, template)
    }
}
