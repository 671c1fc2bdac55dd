//! Memory that the device can reach.
//!
//! It is one memfd, mapped here and handed to the device's process, so that a byte written on one side is
//! there on the other. The device knows it by physical addresses; the driver's allocator and page tables work
//! with those too. The first part of it belongs to the bus (rings and messages), the rest is the driver's own, for
//! page tables. The memory of clients is in [arenas](super::arena).

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ane_uapi::hw::space::PhysAddr;
use nix::sys::memfd::{MFdFlags, memfd_create};
use thiserror::Error;
use vm_memory::{Bytes, FileOffset, MmapRegion, VolatileMemory};

use super::ring::Area;

/// Memory that cannot be had, or an access outside it.
#[derive(Debug, Error)]
pub enum MemoryError {
    #[error("{bytes:#x} bytes of shared memory cannot be had: {why}")]
    Unavailable { bytes: usize, why: std::io::Error },
    #[error("{bytes:#x} bytes at {at} are not inside the memory of {limit:#x} bytes at {base}")]
    Outside { at: PhysAddr, bytes: usize, base: PhysAddr, limit: usize },
    #[error("{bytes:#x} bytes from {offset:#x} are not inside the arena of {limit:#x} bytes")]
    OutsideArena { offset: u64, bytes: u64, limit: u64 },
    #[error("word at {at} is not aligned")]
    Misaligned { at: PhysAddr },
}

/// A stretch of memory that the device reaches by physical address. Clones are the same memory.
///
/// The device changes it at any time. So there are no references into it, only copies, and words that are
/// read and written whole.
#[derive(Clone, Debug)]
pub struct DmaMemory {
    region: Arc<MmapRegion>,
    start: usize,
    bytes: usize,
    base: PhysAddr,
}

impl DmaMemory {
    /// Shared memory of `bytes` bytes, zeroed, which the device will know by `base`.
    pub fn new(base: PhysAddr, bytes: usize) -> Result<Self, MemoryError> {
        let unavailable = |why| MemoryError::Unavailable { bytes, why };
        let fd: OwnedFd =
            memfd_create(c"ane-dma", MFdFlags::MFD_CLOEXEC).map_err(|e| unavailable(e.into()))?;
        let file = std::fs::File::from(fd);
        file.set_len(bytes as u64).map_err(unavailable)?;
        let region = MmapRegion::from_file(FileOffset::new(file, 0), bytes)
            .map_err(|why| unavailable(std::io::Error::other(why)))?;
        Ok(Self { region: Arc::new(region), start: 0, bytes, base })
    }

    /// Memory that is mapped already, all of it, which the device knows by `base`.
    pub(super) fn over(region: Arc<MmapRegion>, base: PhysAddr) -> Self {
        let bytes = region.size();
        Self { region, start: 0, bytes, base }
    }

    pub const fn base(&self) -> PhysAddr {
        self.base
    }

    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The part of it that starts `offset` bytes in and has `bytes` bytes.
    pub fn part(&self, offset: usize, bytes: usize) -> Result<Self, MemoryError> {
        let base = PhysAddr(self.base.0.saturating_add(offset as u64));
        self.offset(base, bytes)?;
        Ok(Self { region: Arc::clone(&self.region), start: self.start + offset, bytes, base })
    }

    /// Copies bytes out, all of them or none.
    pub fn read(&self, at: PhysAddr, into: &mut [u8]) -> Result<(), MemoryError> {
        self.slice(at, into.len())?.copy_to(into);
        Ok(())
    }

    /// Copies bytes in, all of them or none.
    pub fn write(&self, at: PhysAddr, from: &[u8]) -> Result<(), MemoryError> {
        self.slice(at, from.len())?.copy_from(from);
        Ok(())
    }

    /// Reads a page-table entry.
    pub fn load_u64(&self, at: PhysAddr) -> Result<u64, MemoryError> {
        let word = self.slice(at, 8)?.load(0, Ordering::Acquire);
        word.map(u64::from_le).map_err(|_| MemoryError::Misaligned { at })
    }

    /// Writes a page-table entry, whole, and behind everything written before.
    pub fn store_u64(&self, at: PhysAddr, value: u64) -> Result<(), MemoryError> {
        let stored = self.slice(at, 8)?.store(value.to_le(), 0, Ordering::Release);
        stored.map_err(|_| MemoryError::Misaligned { at })
    }

    /// The whole mapping under it, which a transport passes on.
    pub fn region(&self) -> &MmapRegion {
        &self.region
    }

    /// The same, with shared ownership.
    pub fn shared_region(&self) -> Arc<MmapRegion> {
        Arc::clone(&self.region)
    }

    /// Where `bytes` bytes at `at` are in the mapping.
    fn offset(&self, at: PhysAddr, bytes: usize) -> Result<usize, MemoryError> {
        let inside = at.0.checked_sub(self.base.0).and_then(|inside| usize::try_from(inside).ok());
        match inside.and_then(|inside| Some((inside, inside.checked_add(bytes)?))) {
            Some((inside, end)) if end <= self.bytes => Ok(self.start + inside),
            _ => Err(self.outside(at, bytes)),
        }
    }

    fn slice(&self, at: PhysAddr, bytes: usize) -> Result<vm_memory::VolatileSlice<'_>, MemoryError> {
        let offset = self.offset(at, bytes)?;
        self.region.get_slice(offset, bytes).map_err(|_| self.outside(at, bytes))
    }

    fn outside(&self, at: PhysAddr, bytes: usize) -> MemoryError {
        MemoryError::Outside { at, bytes, base: self.base, limit: self.bytes }
    }

    fn load<T: vm_memory::AtomicAccess + Default>(&self, at: usize) -> T {
        self.region
            .get_slice(self.start + at, size_of::<T>())
            .and_then(|slice| slice.load(0, Ordering::Relaxed))
            .unwrap_or_default()
    }

    fn store<T: vm_memory::AtomicAccess>(&self, at: usize, value: T) {
        let stored = self
            .region
            .get_slice(self.start + at, size_of::<T>())
            .and_then(|slice| slice.store(value, 0, Ordering::Relaxed));
        debug_assert!(stored.is_ok(), "ring stays in its area");
    }
}

impl Area for DmaMemory {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn load_u16(&self, at: usize) -> u16 {
        u16::from_le(self.load(at))
    }

    fn load_u32(&self, at: usize) -> u32 {
        u32::from_le(self.load(at))
    }

    fn store_u16(&self, at: usize, value: u16) {
        self.store(at, value.to_le());
    }

    fn store_u32(&self, at: usize, value: u32) {
        self.store(at, value.to_le());
    }

    fn store_u64(&self, at: usize, value: u64) {
        self.store(at, value.to_le());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: PhysAddr = PhysAddr(0x4000_0000);

    #[test]
    fn access_outside_or_across_the_end_is_refused() {
        let memory = DmaMemory::new(BASE, 0x10000).unwrap();
        let part = memory.part(0x8000, 0x4000).unwrap();
        for at in [0, 0x4000_7fff, 0x4000_bfff, 0x4000_c000, u64::MAX] {
            assert!(matches!(part.write(PhysAddr(at), &[1; 2]), Err(MemoryError::Outside { .. })), "{at:#x}");
            assert!(matches!(part.load_u64(PhysAddr(at)), Err(MemoryError::Outside { .. })), "{at:#x}");
        }
        assert!(memory.part(0xc000, 0x4001).is_err() && memory.part(usize::MAX, 1).is_err());
        assert!(part.part(0x2000, 0x2001).is_err(), "parts of parts are bounded by the part");
    }

    #[test]
    fn part_and_whole_are_the_same_memory() {
        let memory = DmaMemory::new(BASE, 0x10000).unwrap();
        let part = memory.part(0x8000, 0x4000).unwrap();
        part.write(PhysAddr(0x4000_8003), b"engine").unwrap();
        let mut seen = [0; 6];
        memory.read(PhysAddr(0x4000_8003), &mut seen).unwrap();
        assert_eq!(&seen, b"engine");
        part.store_u64(PhysAddr(0x4000_9000), 0x8000_0001_2345_4000).unwrap();
        assert_eq!(memory.load_u64(PhysAddr(0x4000_9000)).unwrap(), 0x8000_0001_2345_4000);
    }

    #[test]
    fn word_that_is_not_aligned_is_refused() {
        let memory = DmaMemory::new(BASE, 0x1000).unwrap();
        let at = PhysAddr(BASE.0 + 4);
        assert!(matches!(memory.store_u64(at, 1), Err(MemoryError::Misaligned { .. })));
    }
}
