//! Guest memory, buffers in it, and page tables in the words that `apple-dart` writes: two levels of 2048 entries of 8
//! bytes, an entry of the first `address | 1`, one of the second `address | 3` with all of the page open.

use std::collections::BTreeSet;

use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

/// Where guest memory lies: where QEMU's `virt` machine has it.
pub const RAM: u64 = 0x4000_0000;

const PAGE: u64 = 0x4000;

/// Memory of a guest, and the addresses that its driver has given out.
pub struct Space {
    memory: GuestMemoryMmap,
    next_page: u64,
    next_iova: u64,
    reserved: BTreeSet<u64>,
    scratch: Vec<u64>,
    table: u64,
}

/// A buffer: its device address, and its pages.
#[derive(Clone, Debug)]
pub struct LinuxBuffer {
    /// Device address.
    pub iova: u32,
    pages: Vec<u64>,
}

impl Space {
    /// Tables without an entry.
    pub fn new(memory: GuestMemoryMmap) -> Self {
        let mut space = Self {
            memory,
            next_page: RAM,
            next_iova: PAGE,
            reserved: BTreeSet::new(),
            scratch: Vec::new(),
            table: 0,
        };
        space.table = space.page();
        space
    }

    /// The table base register: valid, and the table's address shifted.
    pub const fn table_base(&self) -> u32 {
        1 << 31 | (self.table >> 12) as u32
    }

    fn page(&mut self) -> u64 {
        let page = self.next_page;
        self.next_page += PAGE;
        self.memory.write_slice(&[0; PAGE as usize], GuestAddress(page)).expect("there is a page left");
        page
    }

    fn leaf(&mut self, iova: u64) -> GuestAddress {
        let entry = GuestAddress(self.table + 8 * (iova >> 25));
        let word: u64 = self.memory.read_obj(entry).expect("table is memory");
        let leaves = if word & 1 == 1 {
            word & !1
        } else {
            let leaves = self.page();
            self.memory.write_obj(leaves | 1, entry).expect("table is memory");
            leaves
        };
        GuestAddress(leaves + 8 * (iova >> 14 & 0x7ff))
    }

    /// Makes a device address lead to a page, in the tables only.
    ///
    /// # Panics
    ///
    /// If there is no memory left.
    pub fn map(&mut self, iova: u64, page: u64) {
        let leaf = self.leaf(iova);
        self.memory.write_obj(page | 0xfff << 40 | 3, leaf).expect("table is memory");
    }

    /// Makes a device address lead nowhere, in the tables only.
    ///
    /// # Panics
    ///
    /// If there is no memory left.
    pub fn unmap(&mut self, iova: u64) {
        let leaf = self.leaf(iova);
        self.memory.write_obj(0_u64, leaf).expect("table is memory");
    }

    /// Where in memory a device address leads, which is mapped.
    ///
    /// # Panics
    ///
    /// If it is not mapped.
    pub fn place(&mut self, iova: u32) -> u32 {
        let leaf = self.leaf(iova.into());
        let word: u64 = self.memory.read_obj(leaf).expect("table is memory");
        assert_eq!(word & 3, 3, "{iova:#x} is mapped");
        (word & 0xff_ffff_c000) as u32 | iova & (PAGE as u32 - 1)
    }

    /// A buffer of so many bytes, mapped, zeroed, with addresses of its own.
    pub fn buffer(&mut self, bytes: u64) -> LinuxBuffer {
        let count = bytes.div_ceil(PAGE).max(1);
        let iova = self.next_iova;
        self.next_iova += count * PAGE;
        let pages: Vec<u64> = (0..count).map(|_| self.page()).collect();
        for (at, &page) in (0..).zip(&pages) {
            self.reserved.insert(iova + at * PAGE);
            self.map(iova + at * PAGE, page);
        }
        LinuxBuffer { iova: iova as u32, pages }
    }

    /// Frees the addresses of some of a buffer's pages, from page `first` on.
    pub fn free(&mut self, buffer: &LinuxBuffer, first: u64, count: u64) {
        for at in first..first + count {
            let iova = u64::from(buffer.iova) + at * PAGE;
            self.reserved.remove(&iova);
            self.unmap(iova);
        }
    }

    /// Takes those pages in again.
    pub fn restore(&mut self, buffer: &LinuxBuffer, first: u64, count: u64) {
        for at in first..first + count {
            let iova = u64::from(buffer.iova) + at * PAGE;
            self.reserved.insert(iova);
            self.map(iova, buffer.pages[at as usize]);
        }
    }

    /// True if a buffer lies at this page.
    pub fn is_reserved(&self, page: u64) -> bool {
        self.reserved.contains(&page)
    }

    /// Pages that stand where the engine found none.
    pub fn scratch_pages(&self) -> usize {
        self.scratch.len()
    }

    /// Puts a page of nobody's at a device address.
    pub fn map_scratch(&mut self, iova: u64) {
        let page = self.page();
        self.map(iova, page);
        self.reserved.insert(iova);
        self.scratch.push(iova);
    }

    /// Takes all of those away; says how many there were.
    pub fn unmap_scratch(&mut self) -> usize {
        let all = std::mem::take(&mut self.scratch);
        for &iova in &all {
            self.reserved.remove(&iova);
            self.unmap(iova);
        }
        all.len()
    }

    /// Writes to a buffer.
    ///
    /// # Panics
    ///
    /// If it ends before.
    pub fn write(&self, buffer: &LinuxBuffer, at: u64, bytes: &[u8]) {
        for (done, byte) in (at..).zip(bytes) {
            let page = buffer.pages[(done / PAGE) as usize];
            self.memory.write_obj(*byte, GuestAddress(page + done % PAGE)).expect("page is memory");
        }
    }

    /// Reads from a buffer.
    ///
    /// # Panics
    ///
    /// If it ends before.
    pub fn read(&self, buffer: &LinuxBuffer, at: u64, bytes: u64) -> Vec<u8> {
        let byte = |at: u64| {
            let page = buffer.pages[(at / PAGE) as usize];
            self.memory.read_obj(GuestAddress(page + at % PAGE)).expect("page is memory")
        };
        (at..at + bytes).map(byte).collect()
    }
}
