//! Arenas: the memory that a context's buffers lie in.
//!
//! A client maps its buffers itself, so it holds the file that they lie in, and a process that holds a file can map all
//! of it. So no two contexts share a file: each has an *arena* of its own. When a context is given back the driver drops
//! its arena and makes a fresh one. A client may still have the old file mapped, but no other process writes to it again.
//!
//! An arena is sparse. It has room for twice the aperture, since a buffer keeps its contents when its mapping is evicted,
//! and takes memory only for the pages that are written. It is sealed against changes of its length: if a process
//! shortened the file, accesses of other processes to it would end in `SIGBUS`.
//!
//! The bus decides where the pages of a file lie in physical memory: one after the other for a device that has the file
//! mapped, anywhere for a device that knows only the machine's own pages.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::space::PhysAddr;
use ane_uapi::wire::config::Config;
use nix::fcntl::{FallocateFlags, FcntlArg, SealFlag, fallocate, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use vm_memory::{FileOffset, MmapRegion, VolatileMemory};

use super::arena_id::{ARENA_BYTES, ArenaId};
use super::{BusError, MemoryError, Result};

const PAGE: u64 = PAGE_SIZE as u64;

/// Bytes of a file that follow each other in physical memory too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// First byte in the file.
    pub offset: u64,
    /// Where the device knows it.
    pub at: PhysAddr,
    pub bytes: u64,
}

/// How bytes of an arena become zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zeroing {
    /// By giving the memory back to the system.
    Punch,
    /// By writing zeros: the file's pages have to stay where they are.
    Write,
}

/// A context's memory. Clones are the same memory.
#[derive(Clone, Debug)]
pub struct Arena(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: Arc<OwnedFd>,
    region: Arc<MmapRegion>,
    stretches: Vec<Stretch>,
    zeroing: Zeroing,
}

impl Arena {
    /// Its file, for somebody to close after all else of it is gone. `None` if its pages come from a pool: the next arena is made
    /// of these, so that they have to be back before.
    pub(crate) fn retirable(&self) -> Option<Arc<OwnedFd>> {
        (self.0.zeroing == Zeroing::Punch).then(|| Arc::clone(&self.0.file))
    }

    /// Sparse, sealed memory of `bytes` bytes, which the device will know at `at` and behind.
    pub fn new(at: PhysAddr, bytes: u64) -> Result<Self, MemoryError> {
        let file = sealed(bytes).map_err(|why| unavailable(bytes, why))?;
        Self::over(file, vec![Stretch { offset: 0, at, bytes }], Zeroing::Punch)
    }

    /// The arena of a number, on a bus that chooses where it lies ([`ArenaId::base`]).
    ///
    /// # Errors
    ///
    /// [`BusError::Lacks`] if the device's page tables do not lead there.
    pub fn of(id: ArenaId, config: &Config) -> Result<Self> {
        let at = config
            .pte_format()
            .ok()
            .and_then(|format| id.base(format))
            .ok_or(BusError::Lacks { feature: "addresses for one more arena" })?;
        Ok(Self::new(at, ARENA_BYTES)?)
    }

    /// Memory that is a file's, zeroed, of which the device knows each stretch elsewhere. They make up the file
    /// from its start, in order.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Unavailable`] if they do not, if one is not made of whole pages, or the file cannot be
    /// mapped.
    pub fn over(file: OwnedFd, stretches: Vec<Stretch>, zeroing: Zeroing) -> Result<Self, MemoryError> {
        let invalid = |bytes| unavailable(bytes, std::io::ErrorKind::InvalidInput.into());
        let mut end = 0u64;
        for stretch in &stretches {
            let is_whole = stretch.bytes != 0
                && stretch.bytes.is_multiple_of(PAGE)
                && stretch.at.is_aligned(PAGE)
                && stretch.at.checked_add(stretch.bytes).is_some();
            if stretch.offset != end || !is_whole {
                return Err(invalid(stretch.bytes));
            }
            end = end.checked_add(stretch.bytes).ok_or_else(|| invalid(stretch.bytes))?;
        }
        let bytes = usize::try_from(end).map_err(|_| invalid(end))?;
        let mapped = File::from(file.try_clone().map_err(|why| unavailable(end, why))?);
        let region = MmapRegion::from_file(FileOffset::new(mapped, 0), bytes)
            .map_err(|why| unavailable(end, std::io::Error::other(why)))?;
        let (file, region) = (Arc::new(file), Arc::new(region));
        Ok(Self(Arc::new(Inner { file, region, stretches, zeroing })))
    }

    pub fn file(&self) -> &Arc<OwnedFd> {
        &self.0.file
    }

    pub fn bytes(&self) -> u64 {
        self.0.region.size() as u64
    }

    /// The stretches that are contiguous in physical memory.
    pub fn stretches(&self) -> &[Stretch] {
        &self.0.stretches
    }

    pub fn region(&self) -> &Arc<MmapRegion> {
        &self.0.region
    }

    /// Where the device knows a byte of the file.
    pub fn physical(&self, offset: u64) -> Option<PhysAddr> {
        let stretches = &self.0.stretches;
        let index = stretches.partition_point(|stretch| stretch.offset <= offset).checked_sub(1)?;
        let stretch = stretches.get(index)?;
        let inside = offset.checked_sub(stretch.offset)?;
        if inside < stretch.bytes { stretch.at.checked_add(inside) } else { None }
    }

    /// Copies bytes out, all of them or none.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        self.slice(offset, into.len() as u64)?.copy_to(into);
        Ok(())
    }

    /// Copies bytes in, all of them or none.
    pub fn write(&self, offset: u64, from: &[u8]) -> Result<(), MemoryError> {
        self.slice(offset, from.len() as u64)?.copy_from(from);
        Ok(())
    }

    /// Makes bytes zero, all of them or none.
    pub fn zero(&self, offset: u64, bytes: u64) -> Result<(), MemoryError> {
        let slice = self.slice(offset, bytes)?;
        match self.0.zeroing {
            Zeroing::Punch => {
                let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
                // An offset inside of a mapping fits a signed one.
                let (offset, len) = (offset as i64, bytes as i64);
                fallocate(self.0.file.as_fd(), flags, offset, len)
                    .map_err(|why| unavailable(bytes, why.into()))
            }
            Zeroing::Write => {
                let zeros = [0; PAGE_SIZE as usize];
                let (mut at, end) = (0, slice.len());
                while at < end {
                    let part = (end - at).min(zeros.len());
                    let page = slice.subslice(at, part).map_err(|_| self.outside(offset, bytes))?;
                    page.copy_from(&zeros[..part]);
                    at += part;
                }
                Ok(())
            }
        }
    }

    fn slice(&self, offset: u64, bytes: u64) -> Result<vm_memory::VolatileSlice<'_>, MemoryError> {
        let outside = |_| self.outside(offset, bytes);
        let at = usize::try_from(offset).map_err(outside)?;
        let len = usize::try_from(bytes).map_err(outside)?;
        self.0.region.get_slice(at, len).map_err(|_| self.outside(offset, bytes))
    }

    fn outside(&self, offset: u64, bytes: u64) -> MemoryError {
        MemoryError::OutsideArena { offset, bytes, limit: self.bytes() }
    }
}

fn unavailable(bytes: u64, why: std::io::Error) -> MemoryError {
    MemoryError::Unavailable { bytes: usize::try_from(bytes).unwrap_or(usize::MAX), why }
}

/// A sparse memory file whose length is sealed.
fn sealed(bytes: u64) -> std::io::Result<OwnedFd> {
    let file: File = memfd_create(c"ane-arena", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?.into();
    file.set_len(bytes)?;
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::dart::iso::ContextId;
    use nix::errno::Errno;
    use nix::unistd::ftruncate;
    use zerocopy::FromZeros;

    use super::*;

    const AT: PhysAddr = PhysAddr(0x10_0000);

    #[test]
    fn client_cannot_change_the_length_of_an_arena() {
        let arena = Arena::new(AT, 4 * PAGE).unwrap();
        for bytes in [0, 3 * PAGE, 5 * PAGE] {
            assert_eq!(ftruncate(arena.file(), bytes as i64), Err(Errno::EPERM));
        }
        let seals = FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_WRITE);
        assert_eq!(fcntl(arena.file(), seals), Err(Errno::EPERM), "nor seal others out");
    }

    #[test]
    fn arena_of_every_context_can_be_had_and_costs_nothing_until_written() {
        let config = Config::new_zeroed();
        let arenas: Vec<_> = ContextId::ALL
            .into_iter()
            .map(|context| Arena::of(ArenaId::of(context), &config).unwrap())
            .collect();
        assert!(arenas.iter().all(|arena| nix::sys::stat::fstat(arena.file()).unwrap().st_blocks == 0));
        arenas[7].write(ARENA_BYTES - 1, &[7]).unwrap();
        assert!(nix::sys::stat::fstat(arenas[7].file()).unwrap().st_blocks > 0);
        arenas[7].zero(ARENA_BYTES - PAGE, PAGE).unwrap();
        assert_eq!(nix::sys::stat::fstat(arenas[7].file()).unwrap().st_blocks, 0);
    }

    #[test]
    fn byte_of_the_file_is_where_its_stretch_says() {
        let file = sealed(4 * PAGE).unwrap();
        let stretches = vec![
            Stretch { offset: 0, at: PhysAddr(8 * PAGE), bytes: PAGE },
            Stretch { offset: PAGE, at: PhysAddr(2 * PAGE), bytes: 3 * PAGE },
        ];
        let arena = Arena::over(file, stretches, Zeroing::Write).unwrap();
        assert!(arena.retirable().is_none(), "its pages are back when it is gone");
        assert_eq!(arena.physical(PAGE - 1), Some(PhysAddr(9 * PAGE - 1)));
        assert_eq!(arena.physical(PAGE), Some(PhysAddr(2 * PAGE)));
        assert_eq!(arena.physical(4 * PAGE - 1), Some(PhysAddr(5 * PAGE - 1)));
        assert_eq!(arena.physical(4 * PAGE), None);
    }

    #[test]
    fn stretches_that_do_not_make_up_the_file_are_refused() {
        let bad = [
            vec![Stretch { offset: PAGE, at: AT, bytes: PAGE }],
            vec![Stretch { offset: 0, at: AT, bytes: 0 }],
            vec![Stretch { offset: 0, at: AT, bytes: PAGE + 1 }],
            vec![Stretch { offset: 0, at: PhysAddr(1), bytes: PAGE }],
            vec![Stretch { offset: 0, at: PhysAddr(0u64.wrapping_sub(PAGE)), bytes: 2 * PAGE }],
        ];
        for stretches in bad {
            let file = sealed(2 * PAGE).unwrap();
            assert!(Arena::over(file, stretches.clone(), Zeroing::Punch).is_err(), "{stretches:?}");
        }
    }

    #[test]
    fn both_ways_of_zeroing_leave_zeros_and_nothing_else_changed() {
        for zeroing in [Zeroing::Punch, Zeroing::Write] {
            let stretches = vec![Stretch { offset: 0, at: AT, bytes: 4 * PAGE }];
            let arena = Arena::over(sealed(4 * PAGE).unwrap(), stretches, zeroing).unwrap();
            arena.write(0, &vec![9; 4 * PAGE as usize]).unwrap();
            arena.zero(PAGE, 2 * PAGE).unwrap();
            let mut seen = vec![1; 4 * PAGE as usize];
            arena.read(0, &mut seen).unwrap();
            let expected: Vec<u8> = [9, 0, 0, 9].iter().flat_map(|&byte| [byte; PAGE as usize]).collect();
            assert!(seen == expected, "{zeroing:?}");
        }
    }

    #[test]
    fn access_outside_is_refused() {
        let arena = Arena::new(AT, 4 * PAGE).unwrap();
        for offset in [4 * PAGE, 4 * PAGE - 1, u64::MAX] {
            assert!(
                matches!(arena.write(offset, &[1; 2]), Err(MemoryError::OutsideArena { .. })),
                "{offset:#x}"
            );
            assert!(matches!(arena.zero(offset, 2), Err(MemoryError::OutsideArena { .. })), "{offset:#x}");
        }
        assert!(matches!(arena.zero(0, u64::MAX), Err(MemoryError::OutsideArena { .. })));
    }
}
