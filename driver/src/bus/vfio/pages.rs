//! Memory that the device reaches by the addresses of the machine itself.
//!
//! The device sits outside of the guest and behind no IOMMU: the addresses that it is given are those of the
//! guest's physical memory. A process has no say over where its memory lies, but it can learn it
//! (`/proc/self/pagemap`), and with huge pages there are 2 MiB at least that follow each other. Mapping them for
//! VFIO, each at its own physical address, keeps them where they are; no access ever uses the mapping itself.
//!
//! The driver's own memory, rings and page tables, is one stretch of several pages. It is made of pages that
//! happen to follow each other: all that are free are taken, looked at, and the others given back. Pages that are
//! reserved early do.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use ane_uapi::hw::space::PhysAddr;
use nix::fcntl::{FallocateFlags, FcntlArg, SealFlag, fallocate, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::{SysconfVar, sysconf};
use vfio_ioctls::{VfioContainer, VfioError};
use vm_memory::{Bytes, FileOffset, MmapRegion, VolatileMemory};

use super::super::arena::{Stretch, Zeroing};
use super::super::queues::transport;
use super::super::{Arena, BusError, DmaMemory, MemoryError, Result};
use super::sys;

pub(super) const HUGE: usize = 2 << 20;

/// The number of free huge pages.
const FREE: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";

pub(super) fn free() -> Result<usize> {
    let text = std::fs::read_to_string(FREE).map_err(transport("asking for huge pages of 2 MiB"))?;
    text.trim().parse().map_err(transport("asking for huge pages of 2 MiB"))
}

fn too_few(bytes: usize, why: impl Into<String>) -> BusError {
    MemoryError::Unavailable { bytes, why: std::io::Error::other(why.into()) }.into()
}

/// A file of huge pages that are all there, zeroed, and a mapping of it.
fn file(pages: usize) -> Result<(File, Arc<MmapRegion>)> {
    let bytes = pages.saturating_mul(HUGE);
    let flags =
        MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING | MFdFlags::MFD_HUGETLB | MFdFlags::MFD_HUGE_2MB;
    let file: File =
        memfd_create(c"ane-huge", flags).map_err(transport("making a file of huge pages"))?.into();
    fallocate(&file, FallocateFlags::empty(), 0, bytes as i64)
        .map_err(|why| too_few(bytes, format!("{pages} huge pages of 2 MiB are not free ({why})")))?;
    let copy = file.try_clone().map_err(transport("copying a descriptor"))?;
    let region =
        MmapRegion::from_file(FileOffset::new(copy, 0), bytes).map_err(transport("mapping huge pages"))?;
    Ok((file, Arc::new(region)))
}

/// Where each huge page of a mapping lies.
fn places(region: &MmapRegion) -> Result<Vec<PhysAddr>> {
    let action = "asking where memory lies";
    let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten().and_then(|page| u64::try_from(page).ok());
    let page =
        page.filter(|page| page.is_power_of_two()).ok_or(BusError::Lacks { feature: "a page size" })?;
    let map = File::open("/proc/self/pagemap").map_err(transport(action))?;
    (0..region.size() / HUGE)
        .map(|index| {
            // It only has a place in the process's tables once it is touched.
            let _: u8 = region
                .get_slice(index * HUGE, 1)
                .and_then(|slice| slice.load(0, std::sync::atomic::Ordering::Relaxed))
                .map_err(transport(action))?;
            let address = region.as_ptr() as u64 + (index * HUGE) as u64;
            let mut entry = [0; 8];
            map.read_exact_at(&mut entry, address / page * 8).map_err(transport(action))?;
            let entry = u64::from_le_bytes(entry);
            let frame = entry & ((1 << 55) - 1);
            if entry >> 63 == 0 || frame == 0 {
                let why = "/proc/self/pagemap does not tell: it takes the capability CAP_SYS_ADMIN";
                return Err(transport(action)(why));
            }
            Ok(PhysAddr(frame * page))
        })
        .collect()
}

/// The first `count` places that follow each other, by their indices.
fn run(places: &[PhysAddr], count: usize) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&index| places.get(index).map(|place| place.0));
    let follows = |pair: &[usize]| match pair {
        [a, b] => places.get(*a).zip(places.get(*b)).is_some_and(|(a, b)| a.0 + HUGE as u64 == b.0),
        _ => true,
    };
    order.windows(count).find(|window| window.windows(2).all(follows)).map(<[usize]>::to_vec)
}

/// One stretch of at least `bytes` bytes, which the devices of `container` reach at its own address.
pub(super) fn contiguous(container: &VfioContainer, bytes: usize) -> Result<DmaMemory> {
    let count = bytes.div_ceil(HUGE).max(1);
    let free = free()?;
    if free < count {
        let why = format!(
            "{free} huge pages of 2 MiB are free, {count} are needed for the driver alone: \
             write 64 to /proc/sys/vm/nr_hugepages"
        );
        return Err(too_few(bytes, why));
    }
    let (file, all) = file(free)?;
    let found = places(&all)?;
    let Some(chosen) = run(&found, count) else {
        let why = format!(
            "of {free} free huge pages no {count} follow each other: reserve them at boot, \
             with hugepages=64 on the kernel's command line"
        );
        return Err(too_few(bytes, why));
    };
    drop(all);
    // A mapping of the file has the right length and alignment; then each page is put where it belongs.
    let copy = file.try_clone().map_err(transport("copying a descriptor"))?;
    let region = MmapRegion::from_file(FileOffset::new(copy, 0), count * HUGE)
        .map_err(transport("mapping huge pages"))?;
    for (to, &from) in chosen.iter().enumerate() {
        sys::place(&region, to * HUGE, HUGE, &file, (from * HUGE) as i64)
            .map_err(transport("mapping huge pages"))?;
    }
    let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    for index in (0..found.len()).filter(|index| !chosen.contains(index)) {
        fallocate(&file, flags, (index * HUGE) as i64, HUGE as i64)
            .map_err(transport("giving huge pages back"))?;
    }
    let base = chosen.first().and_then(|&first| found.get(first)).copied();
    let base = base.ok_or(BusError::Lacks { feature: "memory" })?;
    sys::share(container, base, &region, 0, region.size()).map_err(transport("mapping memory for VFIO"))?;
    // Before VFIO had them, pages could still have been moved.
    let now = places(&region)?;
    if now.first() != Some(&base) || run(&now, count).is_none() {
        return Err(too_few(bytes, "the system moved huge pages away; try again"));
    }
    Ok(DmaMemory::over(Arc::new(region), base))
}

/// An arena of `pages` huge pages, which the devices of `container` reach, each at its own address.
pub(super) fn arena(container: &VfioContainer, pages: usize) -> Result<Arena> {
    let (file, region) = file(pages)?;
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals)).map_err(transport("sealing an arena"))?;
    let stretches = stretches(&places(&region)?);
    let arena = Arena::over(file.into(), stretches, Zeroing::Write)?;
    share_all(container, &arena).map_err(transport("mapping memory for VFIO"))?;
    if places(arena.region())? != places(&region)? {
        withdraw(container, arena.stretches());
        return Err(too_few(pages * HUGE, "the system moved huge pages away; try again"));
    }
    Ok(arena)
}

/// Has the devices of another container reach what those of an earlier one did, at the same addresses. It fails if the
/// system has moved pages meanwhile: nothing kept them where they were.
pub(super) fn share_again<'a>(
    container: &VfioContainer,
    own: &DmaMemory,
    arenas: impl Iterator<Item = &'a Arena>,
) -> Result<()> {
    let moved =
        |bytes| too_few(bytes, "the system moved huge pages away while the device was gone: start again");
    let refused = transport("mapping memory for VFIO");
    let region = own.region();
    sys::share(container, own.base(), region, 0, region.size()).map_err(&refused)?;
    // Looked at once they are held: before, they could still be moved.
    if stretches(&places(region)?) != [Stretch { offset: 0, at: own.base(), bytes: region.size() as u64 }] {
        return Err(moved(region.size()));
    }
    for arena in arenas {
        share_all(container, arena).map_err(&refused)?;
        if stretches(&places(arena.region())?) != arena.stretches() {
            return Err(moved(arena.region().size()));
        }
    }
    Ok(())
}

/// Has the devices of `container` reach all stretches of an arena.
fn share_all(container: &VfioContainer, arena: &Arena) -> Result<(), VfioError> {
    for (n, stretch) in arena.stretches().iter().enumerate() {
        let (offset, bytes) = (stretch.offset as usize, stretch.bytes as usize);
        sys::share(container, stretch.at, arena.region(), offset, bytes)
            .inspect_err(|_| withdraw(container, arena.stretches().get(..n).unwrap_or_default()))?;
    }
    Ok(())
}

/// Takes the mappings of an arena back.
pub(super) fn withdraw(container: &VfioContainer, stretches: &[Stretch]) {
    for stretch in stretches {
        // It fails only for what is not mapped, and then there is nothing to take back.
        let _ = container.vfio_dma_unmap(stretch.at.0, stretch.bytes as usize);
    }
}

/// Pages in the order of the file, those that follow each other in memory as one.
fn stretches(places: &[PhysAddr]) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::new();
    for (offset, &at) in (0u64..).step_by(HUGE).zip(places) {
        match all.last_mut() {
            Some(last) if last.at.0 + last.bytes == at.0 => last.bytes += HUGE as u64,
            _ => all.push(Stretch { offset, at, bytes: HUGE as u64 }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn at(mib: &[u64]) -> Vec<PhysAddr> {
        mib.iter().map(|mib| PhysAddr(mib * MIB)).collect()
    }

    #[test]
    fn run_is_found_whatever_the_order_of_pages() {
        assert_eq!(run(&at(&[8, 20, 6, 4, 30]), 3), Some(vec![3, 2, 0]));
        assert_eq!(run(&at(&[8, 20, 6, 4, 30]), 4), None);
        assert_eq!(run(&at(&[8]), 1), Some(vec![0]));
        assert_eq!(run(&[], 1), None);
    }

    #[test]
    fn stretches_make_up_the_file_and_join_what_follows_each_other() {
        let stretch =
            |offset, at, bytes| Stretch { offset: offset * MIB, at: PhysAddr(at * MIB), bytes: bytes * MIB };
        let expected = [stretch(0, 10, 4), stretch(4, 8, 2), stretch(6, 20, 2)];
        assert_eq!(stretches(&at(&[10, 12, 8, 20])), expected);
    }
}
