//! The guest's memory when its file is cut short.
//!
//! Guest memory is a mapping of the frontend's file. A process that has the file may shorten it, unless it is sealed. From then
//! on the kernel answers each access to the missing part with `SIGBUS`, in the middle of a transfer. By default that ends the
//! process, and with it the engines of all other frontends.
//!
//! So every region that an engine uses stands in a table while it is used, and the handler of the signal looks there. It puts
//! private memory of zeros in the place of the whole region: the access is repeated and goes on, and none of the
//! region's bytes are the frontend's from then on. The region is marked as lost. The thread that runs the engine asks after each turn and
//! before each answer ([`Guard::lost`]), reports no result of such a turn, and ends the session.
//!
//! A signal at any other address ends the process as before: that is no guest's doing.
#![expect(unsafe_code, reason = "a signal handler has no safe interface")]

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fmt;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use vm_memory::{GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion};

use super::lock::lock;

/// Regions of all engines together: more than every engine of the largest chip can have.
const REGIONS_MAX: usize = 1 << 15;

/// A region as the handler sees it. A start of zero is none.
struct Entry {
    start: AtomicUsize,
    bytes: AtomicUsize,
    is_lost: AtomicBool,
}

/// Every region in use. The handler may run between any two instructions, so there is no lock.
static TABLE: [Entry; REGIONS_MAX] = [const {
    Entry { start: AtomicUsize::new(0), bytes: AtomicUsize::new(0), is_lost: AtomicBool::new(false) }
}; REGIONS_MAX];

/// Entries that were used and are free again, and how many were ever used.
static FREE: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));

/// An entry of the table, while the region is in use.
struct Listed {
    index: usize,
    address: u64,
    bytes: usize,
}

impl Listed {
    fn new(start: usize, bytes: usize, address: u64) -> Option<Self> {
        let index = {
            let (free, used) = &mut *lock(&FREE);
            free.pop().or_else(|| {
                let next = *used;
                *used = next.checked_add(1)?;
                (next < REGIONS_MAX).then_some(next)
            })?
        };
        let entry = TABLE.get(index)?;
        entry.is_lost.store(false, Ordering::SeqCst);
        entry.bytes.store(bytes, Ordering::SeqCst);
        // Last: from here on the handler takes it for a region.
        entry.start.store(start, Ordering::SeqCst);
        Some(Self { index, address, bytes })
    }

    fn is_lost(&self) -> bool {
        TABLE.get(self.index).is_some_and(|entry| entry.is_lost.load(Ordering::SeqCst))
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        if let Some(entry) = TABLE.get(self.index) {
            entry.start.store(0, Ordering::SeqCst);
            lock(&FREE).0.push(self.index);
        }
    }
}

/// A region whose file was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    address: u64,
    bytes: usize,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, bytes } = self;
        write!(f, "the file behind the guest's memory at {address:#x}, {bytes:#x} bytes, was cut short")
    }
}

/// Memory whose regions stand in the table for as long as this or a clone of it lives.
#[derive(Clone, Default)]
pub(crate) struct Guard {
    /// By where they lie in this process. They leave the table before the memory below is unmapped, or the handler could put
    /// zeros over what is mapped there next.
    listed: Arc<BTreeMap<usize, Arc<Listed>>>,
    memory: GuestMemoryMmap,
}

impl Guard {
    /// Puts the regions of `memory` into the table. Those that `before` has too keep their entries. `None` if the table is full.
    pub(crate) fn over(memory: &GuestMemoryMmap, before: &Self) -> Option<Self> {
        let mut listed = BTreeMap::new();
        for region in memory.iter() {
            let (start, bytes) = (region.as_ptr().addr(), usize::try_from(region.len()).ok()?);
            // The mappings of `before` are still there, so the same place is the same mapping.
            let known = before.listed.get(&start).filter(|known| known.bytes == bytes);
            let entry = match known {
                Some(known) => Arc::clone(known),
                None => Arc::new(Listed::new(start, bytes, region.start_addr().0)?),
            };
            listed.insert(start, entry);
        }
        Some(Self { listed: Arc::new(listed), memory: memory.clone() })
    }

    /// The memory itself, which stays mapped for as long as this lives.
    pub(crate) const fn memory(&self) -> &GuestMemoryMmap {
        &self.memory
    }

    /// The first region that was lost, if one was.
    pub(crate) fn lost(&self) -> Option<Lost> {
        let lost = self.listed.values().find(|listed| listed.is_lost())?;
        Some(Lost { address: lost.address, bytes: lost.bytes })
    }
}

/// Has the process survive accesses to guest memory whose file was cut short. Once, before the first frontend.
pub(crate) fn survive() -> io::Result<()> {
    let flags = SaFlags::SA_SIGINFO | SaFlags::SA_ONSTACK;
    let action = SigAction::new(SigHandler::SigAction(replace), flags, SigSet::empty());
    // SAFETY: the handler calls nothing but what may be called at any time: `mmap` and `sigaction`; it uses atomics and no lock.
    unsafe { sigaction(Signal::SIGBUS, &action) }?;
    Ok(())
}

/// The handler of `SIGBUS`.
extern "C" fn replace(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel passes the signal's description to a handler that was set up with SA_SIGINFO.
    let info = unsafe { &*info };
    // SAFETY: of SIGBUS it holds an address.
    let at = unsafe { info.si_addr() }.addr();
    let errno = Errno::last_raw();
    if !put_zeros_at(at) {
        let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        // SAFETY: the default has no handler. The access is repeated, and ends the process.
        let _ = unsafe { sigaction(Signal::SIGBUS, &default) };
    }
    // The thread that was interrupted may be about to look at it.
    Errno::set_raw(errno);
}

/// Puts zeros in the place of the region that the address lies in; false if it lies in none, or that fails.
fn put_zeros_at(at: usize) -> bool {
    for entry in &TABLE {
        let start = entry.start.load(Ordering::SeqCst);
        let bytes = entry.bytes.load(Ordering::SeqCst);
        if start == 0 || at.checked_sub(start).is_none_or(|inside| inside >= bytes) {
            continue;
        }
        // Another engine's region may have left the table meanwhile, and a new one taken its entry: these bytes would be the new
        // one's. A start is stored behind its bytes, so one that is still there goes with them.
        if entry.start.load(Ordering::SeqCst) != start {
            continue;
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: start and bytes are those of one region, which is a mapping of guest memory. The access that was interrupted is
        // in it, so its `Guard` lives, and it stays in the table and mapped; whoever uses it expects its bytes to change at any time.
        let new = unsafe { libc::mmap(ptr::without_provenance_mut(start), bytes, access, flags, -1, 0) };
        if new == libc::MAP_FAILED {
            return false;
        }
        entry.is_lost.store(true, Ordering::SeqCst);
        return true;
    }
    false
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use nix::sys::memfd::{MFdFlags, memfd_create};
    use vm_memory::{Bytes, FileOffset, GuestAddress};

    use super::*;

    fn memory(address: u64, bytes: usize) -> (File, GuestMemoryMmap) {
        let file = File::from(memfd_create(c"guest", MFdFlags::empty()).unwrap());
        file.set_len(bytes as u64).unwrap();
        let shared = FileOffset::new(file.try_clone().unwrap(), 0);
        let ranges = [(GuestAddress(address), bytes, Some(shared))];
        (file, GuestMemoryMmap::from_ranges_with_files(ranges).unwrap())
    }

    #[test]
    fn memory_whose_file_is_cut_short_reads_as_zeros_and_is_told_as_lost() {
        survive().unwrap();
        let (file, memory) = memory(0x4000, 0x8000);
        let guard = Guard::over(&memory, &Guard::default()).unwrap();
        memory.write_obj(1_u32, GuestAddress(0x4000)).unwrap();
        assert_eq!(guard.lost(), None);
        file.set_len(0x4000).unwrap();
        assert_eq!(memory.read_obj::<u32>(GuestAddress(0x4000)).unwrap(), 1);
        assert_eq!(guard.lost(), None, "what is left is there");
        memory.write_obj(2_u32, GuestAddress(0x9000)).unwrap();
        assert_eq!(memory.read_obj::<u32>(GuestAddress(0x9000)).unwrap(), 2);
        let told = guard.lost().unwrap().to_string();
        assert_eq!(told, "the file behind the guest's memory at 0x4000, 0x8000 bytes, was cut short");
        assert_eq!(memory.read_obj::<u32>(GuestAddress(0x4000)).unwrap(), 0, "nothing of it is the file's");
    }

    #[test]
    fn region_that_stays_keeps_its_entry_and_one_that_goes_leaves_the_table() {
        survive().unwrap();
        let (file, first) = memory(0, 0x4000);
        let guard = Guard::over(&first, &Guard::default()).unwrap();
        let (start, entry) =
            guard.listed.iter().map(|(start, listed)| (*start, listed.index)).next().unwrap();
        let again = Guard::over(&first, &guard).unwrap();
        drop(guard);
        assert!(again.listed.values().all(|listed| listed.index == entry));
        file.set_len(0).unwrap();
        first.read_obj::<u32>(GuestAddress(0)).unwrap();
        assert!(again.lost().is_some());
        drop(again);
        assert!(!put_zeros_at(start), "nothing is in the table there");
    }

    #[test]
    fn address_of_nobody_is_left_alone() {
        let byte = Box::new(1_u8);
        assert!(!put_zeros_at(ptr::from_ref(&*byte).addr()) && !put_zeros_at(0));
        assert_eq!(*byte, 1);
    }
}
