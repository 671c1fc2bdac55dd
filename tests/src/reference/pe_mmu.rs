//! PE_MMU once more, as slowly as possible: one list of everything that was ever mapped, and one question per byte.
//!
//! Written from pe-mmu 3 and 4 alone. Addresses are 128-bit signed numbers, so nothing can wrap or go below zero
//! unnoticed. There are no pages in here but for the cutting of a mapping, no index, and no cleverness.

/// A part of a mapping that lies in one page, as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// First virtual address.
    first: i128,
    /// Last virtual address.
    last: i128,
    /// Physical address of the first.
    physical: i128,
}

#[derive(Clone, Debug)]
pub struct ByteMap {
    page: i128,
    parts: Vec<Part>,
}

impl ByteMap {
    /// A table without mappings.
    pub fn new(page_bytes: u64) -> Self {
        Self { page: page_bytes.into(), parts: Vec::new() }
    }

    /// Maps `size` bytes; what is mapped already stays.
    pub fn map(&mut self, va: u64, pa: u64, size: u64) {
        let (va, pa, size) = (i128::from(va), i128::from(pa), i128::from(size));
        let mut at = va;
        while at < va + size {
            let page_end = (at / self.page + 1) * self.page;
            let end = page_end.min(va + size);
            self.parts.push(Part { first: at, last: end - 1, physical: pa + (at - va) });
            at = end;
        }
    }

    /// Takes out every part that lies in the range from end to end.
    pub fn unmap(&mut self, va: u64, size: u64) {
        let (va, size) = (i128::from(va), i128::from(size));
        let mut kept = Vec::new();
        for part in &self.parts {
            let is_inside = va <= part.first && part.last < va + size;
            if !is_inside {
                kept.push(*part);
            }
        }
        self.parts = kept;
    }

    /// Where a byte lies: the last part that was mapped over it says so. `None` is a page fault.
    pub fn translate(&self, va: u64) -> Option<u64> {
        let va = i128::from(va);
        let mut answer = None;
        for part in &self.parts {
            if part.first <= va && va <= part.last {
                answer = Some(part.physical + (va - part.first));
            }
        }
        answer.map(|physical| u64::try_from(physical).expect("mappings do not wrap"))
    }

    /// Parts that are in the table.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }
}
