//! The client's memory, and this library's own.
//!
//! A client's pointer may lead anywhere. A kernel finds out by trying, and so does this library: it asks the system to
//! copy, which says how far it came, and never follows the pointer itself.

use std::ptr;

use libc::{c_int, c_void};

use super::{Failure, checked, process};

/// How many stretches there are at each end, and no flags: whole registers, as the system takes them.
const ONE: usize = 1;
const NONE: usize = 0;

/// Copies from the client's address `at`; the bytes that were memory.
pub(crate) fn read(at: u64, into: &mut [u8]) -> usize {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: ptr::without_provenance_mut(at as usize), iov_len: into.len() };
    // SAFETY: the system writes into the slice only; what cannot be read at the other address is an error, not a
    // fault.
    let result = unsafe {
        libc::syscall(
            libc::SYS_process_vm_readv,
            process::id(),
            &raw const local,
            ONE,
            &raw const remote,
            ONE,
            NONE,
        )
    };
    // It is not negative.
    checked(result).map_or(0, |bytes| bytes as usize)
}

/// Copies as much from `at` as is memory, which may end within the bytes wanted.
pub(crate) fn read_prefix(at: u64, into: &mut [u8]) -> usize {
    /// Memory is there or not in pages, of no less than this.
    const PAGE: usize = 4096;
    let mut done = 0;
    while done < into.len() {
        let Some(from) = at.checked_add(done as u64) else { break };
        let left = into.len() - done;
        let step = (PAGE - from as usize % PAGE).min(left);
        let Some(part) = into.get_mut(done..done + step) else { break };
        let got = read(from, part);
        done += got;
        if got < step {
            break;
        }
    }
    done
}

/// Copies to the client's address `at`; false if not all of it can be written.
pub(crate) fn write(at: u64, from: &[u8]) -> bool {
    let local = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: from.len() };
    let remote = libc::iovec { iov_base: ptr::without_provenance_mut(at as usize), iov_len: from.len() };
    // SAFETY: the system reads the slice, and writes where the client asked the device to write.
    let result = unsafe {
        libc::syscall(
            libc::SYS_process_vm_writev,
            process::id(),
            &raw const local,
            ONE,
            &raw const remote,
            ONE,
            NONE,
        )
    };
    checked(result).is_ok_and(|bytes| bytes as usize == from.len())
}

/// Memory that this library mapped and nobody else knows of.
#[derive(Debug)]
pub(crate) struct Mapping {
    at: *mut u8,
    bytes: usize,
}

// SAFETY: it is an address and a length; the memory belongs to whoever has the value.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Zeroed memory that takes room only where it is touched, gone in a child after `fork`'s own copy.
    pub(crate) fn anonymous(bytes: usize) -> Result<Self, Failure> {
        Self::map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1)
    }

    /// A file's memory, shared.
    pub(crate) fn shared(fd: c_int, bytes: usize) -> Result<Self, Failure> {
        Self::map(bytes, libc::MAP_SHARED, fd)
    }

    fn map(bytes: usize, flags: c_int, fd: c_int) -> Result<Self, Failure> {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the system chooses an address where nothing is.
        let result = unsafe {
            libc::syscall(
                libc::SYS_mmap,
                ptr::null_mut::<c_void>(),
                bytes,
                prot as usize,
                flags as usize,
                fd,
                NONE,
            )
        };
        checked(result)?;
        Ok(Self { at: ptr::with_exposed_provenance_mut(result as usize), bytes })
    }

    /// Its first byte.
    pub(crate) const fn start(&self) -> *mut u8 {
        self.at
    }

    /// How long it is.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes, while nobody else has them.
    pub(crate) const fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is that long, readable, writable and initialised; it is borrowed as a whole. Only
        // anonymous mappings are used so: nobody else changes them.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.bytes) }
    }

    /// Asks for a page to be zeros in the child of a `fork`.
    pub(crate) fn wipe_on_fork(&self) -> Result<(), Failure> {
        // SAFETY: advice about memory of this library's own.
        let result = unsafe { libc::syscall(libc::SYS_madvise, self.at, self.bytes, libc::MADV_WIPEONFORK) };
        checked(result).map(drop)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this address and length, and nothing refers to it any more.
        unsafe { libc::syscall(libc::SYS_munmap, self.at, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_without_memory_is_noticed_and_not_followed() {
        let mut into = [0; 16];
        for at in [0, 8, u64::MAX - 8, 0x0000_8000_0000_0000] {
            assert_eq!(read(at, &mut into), 0, "{at:#x}");
            assert!(!write(at, &into), "{at:#x}");
        }
    }

    #[test]
    fn memory_that_ends_within_the_bytes_wanted_is_read_up_to_there() {
        let mut mapping = Mapping::anonymous(0x1000).unwrap();
        mapping.as_mut_slice().fill(7);
        let end = mapping.start() as u64 + 0x1000;
        let mut into = [0; 64];
        assert!(read_prefix(end - 16, &mut into) >= 16, "what follows may be another mapping");
        assert_eq!(into[..16], [7; 16]);
    }

    #[test]
    fn constants_cannot_be_written() {
        static CONSTANT: [u8; 4] = [1, 2, 3, 4];
        let mut into = [0; 4];
        assert_eq!(read(CONSTANT.as_ptr() as u64, &mut into), 4);
        assert!(!write(CONSTANT.as_ptr() as u64, &[5]));
    }
}
