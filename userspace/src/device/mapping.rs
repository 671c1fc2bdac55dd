//! Memory of a buffer in this process.
//!
//! A buffer is pages that this process, the driver and the engine share, and the engine changes them at any time. So
//! there are no references into a mapping, only copies in and out of it. A scattered buffer comes in several pieces.
#![expect(unsafe_code, reason = "maps memory that others change, and copies to and from it")]

use std::io;
use std::num::NonZero;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use ane_driver::front::Extent;
use ane_tiling::Memory;
use nix::libc::c_void;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::stat::fstat;
use thiserror::Error;

/// Bytes that are not all inside a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{bytes:#x} bytes at {at:#x} are not inside a buffer of {limit:#x} bytes")]
pub struct Outside {
    pub at: u64,
    pub bytes: usize,
    /// Bytes of the buffer.
    pub limit: usize,
}

#[derive(Debug)]
pub(super) struct Mapping {
    pieces: Vec<Piece>,
    bytes: usize,
}

#[derive(Debug)]
struct Piece {
    /// The system's mapping, which has whole blocks of the file.
    mapped: NonNull<c_void>,
    mapped_bytes: NonZero<usize>,
    /// First byte that belongs to the buffer.
    start: NonNull<u8>,
    bytes: usize,
    /// Where that is in the buffer.
    at: usize,
}

// SAFETY: the pages belong to the piece until it is dropped, whichever thread that happens on.
unsafe impl Send for Piece {}

// SAFETY: the memory is never referred to, only copied by raw pointers; whoever copies at the same time, thread or engine,
// gets bytes of either, as with any memory that a device writes.
unsafe impl Sync for Piece {}

impl Mapping {
    /// Maps the extents one behind the other.
    pub(super) fn of(extents: &[Extent]) -> io::Result<Self> {
        let mut mapping = Self { pieces: Vec::with_capacity(extents.len()), bytes: 0 };
        for extent in extents {
            let bytes = usize::try_from(extent.bytes).map_err(io::Error::other)?;
            let end = mapping.bytes.checked_add(bytes).ok_or(io::ErrorKind::OutOfMemory)?;
            mapping.pieces.push(Piece::map(extent.file.as_fd(), extent.offset, bytes, mapping.bytes)?);
            mapping.bytes = end;
        }
        Ok(mapping)
    }

    pub(super) fn of_file(file: impl AsFd, offset: u64, bytes: u64) -> io::Result<Self> {
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        Ok(Self { pieces: vec![Piece::map(file, offset, bytes, 0)?], bytes })
    }

    pub(super) fn write(&self, at: u64, from: &[u8]) -> Result<(), Outside> {
        let start = self.check(at, from.len())?;
        self.copy_in(start, from);
        Ok(())
    }

    pub(super) fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Outside> {
        let start = self.check(at, into.len())?;
        self.copy_out(start, into);
        Ok(())
    }

    fn check(&self, at: u64, bytes: usize) -> Result<usize, Outside> {
        let outside = Outside { at, bytes, limit: self.bytes };
        let start = usize::try_from(at).map_err(|_| outside)?;
        let end = start.checked_add(bytes).ok_or(outside)?;
        if end <= self.bytes { Ok(start) } else { Err(outside) }
    }

    #[inline]
    fn piece(&self, at: usize) -> &Piece {
        match &self.pieces[..] {
            [only] => only,
            pieces => &pieces[pieces.partition_point(|piece| piece.at + piece.bytes <= at)],
        }
    }

    #[inline]
    fn copy_in(&self, mut at: usize, mut from: &[u8]) {
        while !from.is_empty() {
            let piece = self.piece(at);
            let (now, later) = from.split_at(from.len().min(piece.at + piece.bytes - at));
            piece.put(at - piece.at, now);
            at += now.len();
            from = later;
        }
    }

    #[inline]
    fn copy_out(&self, mut at: usize, mut into: &mut [u8]) {
        while !into.is_empty() {
            let piece = self.piece(at);
            let (now, later) = into.split_at_mut(into.len().min(piece.at + piece.bytes - at));
            piece.get(at - piece.at, now);
            at += now.len();
            into = later;
        }
    }
}

// SAFETY: a piece is mapped as long as the mapping lives, and memory that was mapped for sharing overlaps no slice.
unsafe impl Memory for &Mapping {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn start(&self) -> Option<*const u8> {
        match &self.pieces[..] {
            [only] => Some(only.start.as_ptr()),
            _ => None,
        }
    }

    fn start_mut(&mut self) -> Option<*mut u8> {
        match &self.pieces[..] {
            [only] => Some(only.start.as_ptr()),
            _ => None,
        }
    }

    fn get(&self, at: usize, into: &mut [u8]) {
        self.copy_out(at, into);
    }

    fn put(&mut self, at: usize, from: &[u8]) {
        self.copy_in(at, from);
    }
}

impl Piece {
    fn map(file: impl AsFd, offset: u64, bytes: usize, at: usize) -> io::Result<Self> {
        // Huge pages are mapped in whole ones, and a file of them says so.
        let block = u64::try_from(fstat(&file)?.st_blksize).unwrap_or(1).max(1);
        let first = offset - offset % block;
        let skipped = usize::try_from(offset - first).map_err(io::Error::other)?;
        let wanted = (skipped as u64).checked_add(bytes as u64).and_then(|wanted| {
            let whole = wanted.checked_next_multiple_of(block)?;
            NonZero::new(usize::try_from(whole).ok()?)
        });
        let mapped_bytes = wanted.ok_or(io::ErrorKind::InvalidInput)?;
        let position = i64::try_from(first).map_err(io::Error::other)?;
        // SAFETY: the system chooses the place, so nothing else of this process lies there.
        let mapped = unsafe {
            mmap(
                None,
                mapped_bytes,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_SHARED,
                file,
                position,
            )
        }?;
        // SAFETY: what is skipped is less than what was mapped.
        let start = unsafe { mapped.cast::<u8>().add(skipped) };
        Ok(Self { mapped, mapped_bytes, start, bytes, at })
    }

    /// Copies bytes in, which have to fit.
    #[inline]
    fn put(&self, at: usize, from: &[u8]) {
        assert!(at <= self.bytes && from.len() <= self.bytes - at, "bytes lie in the piece");
        // SAFETY: it is inside the piece by the assertion.
        let to = unsafe { self.start.add(at) };
        // SAFETY: both sides have the bytes, and memory that was mapped for sharing overlaps no slice.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(from).cast(), from.len()) };
    }

    /// Copies bytes out, which have to be there.
    #[inline]
    fn get(&self, at: usize, into: &mut [u8]) {
        assert!(at <= self.bytes && into.len() <= self.bytes - at, "bytes lie in the piece");
        // SAFETY: it is inside the piece by the assertion.
        let from = unsafe { self.start.add(at) };
        // SAFETY: both sides have the bytes, and memory that was mapped for sharing overlaps no slice.
        unsafe { from.copy_to_nonoverlapping(NonNull::from(&mut *into).cast(), into.len()) };
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: it was mapped so and nothing points into it any more.
        let unmapped = unsafe { munmap(self.mapped, self.mapped_bytes.get()) };
        debug_assert!(unmapped.is_ok(), "what was mapped can be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::OwnedFd;
    use std::sync::Arc;

    use nix::sys::memfd::{MFdFlags, memfd_create};

    use super::*;

    const PAGE: u64 = 0x4000;

    fn file(pages: u64) -> Arc<OwnedFd> {
        let fd = memfd_create(c"test", MFdFlags::MFD_CLOEXEC).unwrap();
        let file = File::from(fd);
        file.set_len(pages * PAGE).unwrap();
        Arc::new(file.into())
    }

    #[test]
    fn pieces_are_one_memory_in_the_order_of_the_extents() {
        let file = file(3);
        let extent = |page: u64| Extent { file: Arc::clone(&file), offset: page * PAGE, bytes: PAGE };
        let scattered = Mapping::of(&[extent(2), extent(0)]).unwrap();
        let pattern: Vec<u8> = (0..200).collect();
        scattered.write(PAGE - 100, &pattern).unwrap();
        let mut seen = vec![0; 200];
        scattered.read(PAGE - 100, &mut seen).unwrap();
        assert_eq!(seen, pattern);
        let whole = Mapping::of_file(&*file, 0, 3 * PAGE).unwrap();
        whole.read(3 * PAGE - 100, &mut seen[..100]).unwrap();
        whole.read(0, &mut seen[100..]).unwrap();
        assert_eq!(seen, pattern);
    }

    #[test]
    fn access_outside_is_refused_and_copies_nothing() {
        let mapping = Mapping::of_file(&*file(1), 0, PAGE).unwrap();
        for at in [PAGE, PAGE - 1, u64::MAX, u64::MAX - 1] {
            assert_eq!(mapping.write(at, &[1, 2]), Err(Outside { at, bytes: 2, limit: PAGE as usize }));
        }
        let mut last = [9];
        mapping.read(PAGE - 1, &mut last).unwrap();
        assert_eq!(last, [0]);
        assert_eq!(mapping.read(PAGE, &mut []), Ok(()));
    }

    #[test]
    fn stretch_that_does_not_start_at_a_block_is_mapped_with_what_is_before_it() {
        let file = file(1);
        Mapping::of_file(&*file, 0, PAGE).unwrap().write(0x123, b"engine").unwrap();
        let mut seen = [0; 6];
        Mapping::of_file(&*file, 0x123, 6).unwrap().read(0, &mut seen).unwrap();
        assert_eq!(&seen, b"engine");
    }

    #[test]
    fn empty_stretch_is_refused() {
        assert!(Mapping::of_file(&*file(1), 0, 0).is_err());
        assert!(Mapping::of_file(&*file(1), u64::MAX, 1).is_err());
    }
}
