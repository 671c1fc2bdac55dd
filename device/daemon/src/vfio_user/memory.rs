//! The guest's memory, as the client hands it over: ranges of addresses, each a part of a file.
//!
//! Monitors map and unmap while a guest boots, and with an IOMMU in the guest page by page. A range without a descriptor, or
//! one that may only be read, is no memory to the engine: it would be asked for by messages, or could be written to by
//! mistake. A range is unmapped as it was mapped, or with others that lie wholly in what is unmapped; a part of one is
//! refused, as VFIO does.

use std::fs::File;
use std::sync::Arc;

use nix::errno::Errno;
use vm_memory::{
    FileOffset, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion, GuestRegionMmap,
    MmapRegion,
};

/// Ranges that are kept: what the DART looks through.
pub(crate) const REGIONS_MAX: usize = 4096;

/// Readable and writable, in a mapping's flags.
const READ_WRITE: u32 = 0b11;

/// Unmap everything, in an unmapping's flags. The first is VFIO's, which QEMU sends; the crate `vfio_user` sends the second.
const ALL: u32 = 1 << 1 | 1 << 2;

#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) flags: u32,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) descriptor: Option<File>,
}

/// The memory with another range in it; `None` if that is none to the engine.
///
/// # Errors
///
/// `EINVAL` for a range that wraps or is not all in its file, `EEXIST` for one that overlaps another, `ENOSPC` for one too many.
pub(crate) fn map(memory: &GuestMemoryMmap, map: Map) -> Result<Option<GuestMemoryMmap>, Errno> {
    let Map { flags, offset, address, size, descriptor } = map;
    let (Some(end), Some(file_end)) = (address.checked_add(size), offset.checked_add(size)) else {
        return Err(Errno::EINVAL);
    };
    if size == 0 {
        return Err(Errno::EINVAL);
    }
    if overlaps(memory, address, end) {
        return Err(Errno::EEXIST);
    }
    let Some(file) = descriptor.filter(|_| flags & READ_WRITE == READ_WRITE) else { return Ok(None) };
    if memory.num_regions() >= REGIONS_MAX {
        return Err(Errno::ENOSPC);
    }
    // An access to a part that is missing in the file would end this process.
    let behind = file.metadata().map_err(|_| Errno::EINVAL)?;
    if !behind.is_file() || file_end > behind.len() {
        return Err(Errno::EINVAL);
    }
    let length = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
    let region = MmapRegion::from_file(FileOffset::new(file, offset), length).map_err(|_| Errno::EINVAL)?;
    let region = GuestRegionMmap::new(region, GuestAddress(address)).ok_or(Errno::EINVAL)?;
    memory.insert_region(Arc::new(region)).map(Some).map_err(|_| Errno::EINVAL)
}

fn overlaps(memory: &GuestMemoryMmap, address: u64, end: u64) -> bool {
    memory.iter().any(|region| {
        let start = region.start_addr().0;
        start < end && address < start.saturating_add(region.len())
    })
}

/// The memory without the ranges that lie in this one.
///
/// # Errors
///
/// `EINVAL` if it would cut a range in two.
pub(crate) fn unmap(
    memory: &GuestMemoryMmap,
    flags: u32,
    address: u64,
    size: u64,
) -> Result<GuestMemoryMmap, Errno> {
    if flags & ALL != 0 {
        return if (address, size) == (0, 0) { Ok(GuestMemoryMmap::new()) } else { Err(Errno::EINVAL) };
    }
    let end = address.checked_add(size).ok_or(Errno::EINVAL)?;
    let mut left = memory.clone();
    for region in memory.iter() {
        let (start, length) = (region.start_addr(), region.len());
        let last = start.0.saturating_add(length);
        if start.0 >= end || last <= address {
            continue;
        }
        if start.0 < address || last > end {
            return Err(Errno::EINVAL);
        }
        left = left.remove_region(start, length).map_err(|_| Errno::EINVAL)?.0;
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use nix::sys::memfd::{MFdFlags, memfd_create};

    use super::*;

    fn file(bytes: u64) -> File {
        let fd = memfd_create(CString::new("guest").unwrap().as_c_str(), MFdFlags::empty()).unwrap();
        let file = File::from(fd);
        file.set_len(bytes).unwrap();
        file
    }

    fn range(address: u64, size: u64, bytes: u64) -> Map {
        Map { flags: READ_WRITE, offset: 0, address, size, descriptor: Some(file(bytes)) }
    }

    #[test]
    fn ranges_come_and_go_and_only_whole() {
        let memory = GuestMemoryMmap::new();
        let memory = map(&memory, range(0x4000, 0x4000, 0x4000)).unwrap().unwrap();
        let memory = map(&memory, range(0x8000, 0x4000, 0x4000)).unwrap().unwrap();
        assert_eq!(memory.num_regions(), 2);
        assert_eq!(unmap(&memory, 0, 0x4000, 0x2000).unwrap_err(), Errno::EINVAL);
        assert_eq!(unmap(&memory, 0, 0x4000, 0x4000).unwrap().num_regions(), 1);
        assert_eq!(unmap(&memory, 0, 0, 0x1_0000).unwrap().num_regions(), 0);
        for all in [1 << 1, 1 << 2] {
            assert_eq!(unmap(&memory, all, 0, 0).unwrap().num_regions(), 0);
            assert_eq!(unmap(&memory, all, 0x4000, 0x4000).unwrap_err(), Errno::EINVAL);
        }
        assert_eq!(unmap(&memory, 0, 0x10_0000, 0x4000).unwrap().num_regions(), 2, "what was never there");
        assert_eq!(unmap(&memory, 0, u64::MAX, 2).unwrap_err(), Errno::EINVAL);
    }

    #[test]
    fn range_that_wraps_overlaps_or_leaves_its_file_is_refused() {
        let memory = map(&GuestMemoryMmap::new(), range(0x4000, 0x4000, 0x4000)).unwrap().unwrap();
        for over in [range(0x4000, 0x4000, 0x4000), range(0x7000, 0x2000, 0x4000)] {
            assert_eq!(map(&memory, over).unwrap_err(), Errno::EEXIST);
        }
        for wrong in [
            range(0x1_0000, 0x8000, 0x4000),
            range(u64::MAX - 0xfff, 0x2000, 0x2000),
            range(0x1_0000, 0, 0x4000),
            Map { offset: u64::MAX, ..range(0x1_0000, 0x4000, 0x4000) },
        ] {
            assert_eq!(map(&memory, wrong).unwrap_err(), Errno::EINVAL);
        }
    }

    #[test]
    fn range_beyond_the_last_is_refused() {
        let mut memory = GuestMemoryMmap::new();
        for at in 0..REGIONS_MAX as u64 {
            memory = map(&memory, range(0x1000 * at, 0x1000, 0x1000)).unwrap().unwrap();
        }
        assert_eq!(map(&memory, range(1 << 40, 0x1000, 0x1000)).unwrap_err(), Errno::ENOSPC);
    }

    #[test]
    fn range_without_a_file_or_for_reading_alone_is_no_memory() {
        let memory = GuestMemoryMmap::new();
        let without = Map { descriptor: None, ..range(0x4000, 0x4000, 0x4000) };
        let reading = Map { flags: 1, ..range(0x4000, 0x4000, 0x4000) };
        assert!(map(&memory, without).unwrap().is_none() && map(&memory, reading).unwrap().is_none());
    }
}
