//! System calls that no library has for this bus: all of its `unsafe`.
#![expect(unsafe_code, reason = "mappings are placed and handed to the device")]

use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use ane_uapi::hw::space::PhysAddr;
use nix::sys::mman::{MapFlags, ProtFlags, mmap};
use vfio_ioctls::{VfioContainer, VfioError};
use vm_memory::MmapRegion;

/// Puts `bytes` bytes of `file` from `from` into `region`, `at` bytes from its start, in the place of what was there.
pub(super) fn place(
    region: &MmapRegion,
    at: usize,
    bytes: usize,
    file: impl AsFd,
    from: i64,
) -> std::io::Result<()> {
    let outside = std::io::ErrorKind::InvalidInput;
    let end = at.checked_add(bytes).filter(|&end| end <= region.size()).ok_or(outside)?;
    let start = (region.as_ptr() as usize).checked_add(end - bytes).and_then(NonZeroUsize::new);
    let length = NonZeroUsize::new(bytes).ok_or(outside)?;
    let flags = MapFlags::MAP_SHARED | MapFlags::MAP_FIXED;
    // SAFETY: what is replaced lies inside of a mapping that the region owns and unmaps as a whole. Nothing has a
    // reference into it, only pointers that are good for whatever is mapped there.
    let placed = unsafe {
        mmap(
            Some(start.ok_or(outside)?),
            length,
            ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
            flags,
            file,
            from,
        )
    };
    placed.map(|_: NonNull<_>| ()).map_err(Into::into)
}

/// Lets the devices of `container` reach `bytes` bytes of `region` from `offset` at `at`, and keeps the pages in place.
pub(super) fn share(
    container: &VfioContainer,
    at: PhysAddr,
    region: &MmapRegion,
    offset: usize,
    bytes: usize,
) -> Result<(), VfioError> {
    if offset.checked_add(bytes).is_none_or(|end| end > region.size()) {
        return Err(VfioError::InvalidDmaUnmapSize);
    }
    let start = region.as_ptr().wrapping_add(offset);
    // SAFETY: the bytes lie inside of the region, and memory of a region is only ever copied from and to, or accessed
    // a word at a time and atomically (`DmaMemory` and `Arena` give out no references), so that the device may
    // change it at any time.
    unsafe { container.vfio_dma_map(at.0, bytes, start) }
}
