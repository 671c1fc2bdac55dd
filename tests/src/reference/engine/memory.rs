//! The two memories of a task: the client's, through device addresses, and the engine's own 2 MiB (td 4.2, 4.5).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Stop;

/// Bytes of one page of the device's address space.
pub const PAGE: u32 = 0x4000;
/// Bytes on chip.
pub const CHIP: u32 = 0x20_0000;

/// Sparse pages by 32-bit device address; what is not mapped faults. A clone shares pages until one side writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    pages: BTreeMap<u32, Arc<Vec<u8>>>,
}

impl Memory {
    /// Maps every page that `bytes` bytes from `address` touch; mapped pages keep their contents, new ones are zero.
    pub fn map(&mut self, address: u32, bytes: u32) {
        let last = address + (bytes.max(1) - 1);
        for page in address / PAGE..=last / PAGE {
            self.pages.entry(page).or_insert_with(|| Arc::new(vec![0; PAGE as usize]));
        }
    }

    /// Maps and fills.
    pub fn load(&mut self, address: u32, bytes: &[u8]) {
        self.map(address, bytes.len() as u32);
        for (at, &byte) in (u64::from(address)..).zip(bytes) {
            self.set_byte(at, byte).expect("the pages were just mapped");
        }
    }

    /// Every mapped page: its address and bytes.
    pub fn pages(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.pages.iter().map(|(page, bytes)| (page * PAGE, bytes.as_slice()))
    }

    /// Reads bytes, or `None` where a page is missing.
    pub fn bytes(&self, address: u32, count: u32) -> Option<Vec<u8>> {
        let (mut at, end) = (u64::from(address), u64::from(address) + u64::from(count));
        let mut bytes = Vec::with_capacity(count as usize);
        while at < end {
            let first = at as usize % PAGE as usize;
            let len = (PAGE as usize - first).min((end - at) as usize);
            bytes.extend(&self.page(at).ok()?[first..first + len]);
            at += len as u64;
        }
        Some(bytes)
    }

    /// Reads a little-endian halfword at any address.
    pub(super) fn half(&self, address: u64) -> Result<u16, Stop> {
        let at = address as usize % PAGE as usize;
        match self.page(address)?.get(at..at + 2) {
            Some(bytes) => Ok(u16::from_le_bytes([bytes[0], bytes[1]])),
            None => Ok(u16::from_le_bytes([self.byte(address)?, self.byte(address + 1)?])),
        }
    }

    /// Reads a little-endian word at any address.
    pub(super) fn word(&self, address: u64) -> Result<u32, Stop> {
        Ok(u32::from(self.half(address)?) | u32::from(self.half(address + 2)?) << 16)
    }

    pub(super) fn byte(&self, address: u64) -> Result<u8, Stop> {
        Ok(self.page(address)?[address as usize % PAGE as usize])
    }

    /// The page of an address. One past 32 bits is no page of anybody's and faults.
    fn page(&self, address: u64) -> Result<&[u8], Stop> {
        let page = u32::try_from(address).ok().and_then(|address| self.pages.get(&(address / PAGE)));
        page.map(|page| page.as_slice()).ok_or(Stop::Fault { address: address as u32 })
    }

    pub(super) fn set_byte(&mut self, address: u64, value: u8) -> Result<(), Stop> {
        let page = u32::try_from(address).ok().and_then(|address| self.pages.get_mut(&(address / PAGE)));
        let fault = Stop::Fault { address: address as u32 };
        page.map(|page| Arc::make_mut(page)[address as usize % PAGE as usize] = value).ok_or(fault)
    }
}

/// The on-chip buffer: bytes, each with a value that is known or not. A clone shares pages as memory does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chip {
    pages: Vec<Arc<Vec<Option<u8>>>>,
}

impl Default for Chip {
    /// A buffer of zeros. Reading: execution speaks of unknown bytes behind a window only, so a buffer that nobody has
    /// used yet holds zeros.
    fn default() -> Self {
        let zeros = Arc::new(vec![Some(0); PAGE as usize]);
        Self { pages: (0..CHIP / PAGE).map(|_| Arc::clone(&zeros)).collect() }
    }
}

impl Chip {
    /// A byte: `None` outside the buffer, `Some(None)` where nobody knows.
    pub fn byte(&self, address: u64) -> Option<Option<u8>> {
        let index = usize::try_from(address).ok()?;
        self.pages.get(index / PAGE as usize).map(|page| page[index % PAGE as usize])
    }

    /// Stores a byte; `false` outside the buffer.
    pub fn set_byte(&mut self, address: u64, value: u8) -> bool {
        self.replace(address, Some(value))
    }

    /// Forgets what bytes hold; what lies past the end of the buffer is not there to forget.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        for address in address..(address + bytes).min(u64::from(CHIP)) {
            self.replace(address, None);
        }
    }

    fn replace(&mut self, address: u64, byte: Option<u8>) -> bool {
        let index = address as usize;
        let page = self.pages.get_mut(index / PAGE as usize);
        page.map(|page| Arc::make_mut(page)[index % PAGE as usize] = byte).is_some()
    }
}
