//! The client's memory, and this library's own.
//!
//! A client's pointer may lead anywhere. A kernel finds out by trying, and so does this library: it has the system copy,
//! which says how far it came; or, where the bytes are few, try the pages that they lie in, and follows the pointer only
//! after that.

use std::ptr;

use libc::{c_int, c_long, c_void};

use super::{Failure, Result, checked, process};

/// How many stretches there are at each end, and no flags: whole registers, as the system takes them.
const ONE: usize = 1;
const NONE: usize = 0;

/// Copies from the client's address `at`; the bytes that were memory.
pub(crate) fn read(at: u64, into: &mut [u8]) -> usize {
    if is_short(into.len()) && ends(at, into.len(), WORD).all(is_readable) {
        // SAFETY: the system has just read from every page of it. A program that takes memory away while a call
        // reads its argument there is lost here, where with a kernel the call would fail.
        unsafe { ptr::copy(client(at), into.as_mut_ptr(), into.len()) };
        return into.len();
    }
    // SAFETY: the system writes into the slice only.
    unsafe { transfer(libc::SYS_process_vm_readv, at, into.as_mut_ptr(), into.len()) }
}

/// Has the system copy between bytes of this library and the client's address `at`; gives the number of bytes that were
/// copied. An address without memory is an error, not a fault.
///
/// # Safety
///
/// `call` may do what it does with so many bytes at `local`.
unsafe fn transfer(call: c_long, at: u64, local: *mut u8, bytes: usize) -> usize {
    let [local, remote] = [local, client(at)].map(|at| libc::iovec { iov_base: at.cast(), iov_len: bytes });
    // By the thread: a process whose main thread has ended has no memory by its own number.
    let who = process::thread();
    // SAFETY: as the caller says; the client asked for what happens at its address.
    let result = unsafe { libc::syscall(call, who, &raw const local, ONE, &raw const remote, ONE, NONE) };
    // It is not negative.
    checked(result).map_or(0, |bytes| bytes as usize)
}

/// Copies as much from `at` as is memory, which may end within the bytes wanted.
pub(crate) fn read_prefix(at: u64, into: &mut [u8]) -> usize {
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
    if is_short(from.len()) && ends(at, from.len(), HALF).all(is_writable) {
        // SAFETY: as for reading. Nothing of this library lies where the client asked the device to write.
        unsafe { ptr::copy(from.as_ptr(), client(at), from.len()) };
        return true;
    }
    // SAFETY: the system reads the slice only.
    let written = unsafe { transfer(libc::SYS_process_vm_writev, at, from.as_ptr().cast_mut(), from.len()) };
    written == from.len()
}

/// Memory of the client's, of which this library knows nothing but the address.
fn client(at: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(at as usize)
}

/// Bytes that lie in two pages at most, so that to try both ends is to try all. Having the system copy takes it most
/// of a microsecond, and trying an end a fraction of that; most arguments are short.
const fn is_short(bytes: usize) -> bool {
    0 < bytes && bytes <= PAGE
}

/// The words of `bytes` bytes that the first and the last byte lie in: of the same page as that byte, and none twice
/// if that is one page.
fn ends(at: u64, bytes: usize, word: u64) -> impl Iterator<Item = u64> {
    let last = at.saturating_add(bytes as u64 - 1);
    let is_one_page = at / PAGE as u64 == last / PAGE as u64;
    [Some(at), (!is_one_page).then_some(last)].into_iter().flatten().map(move |end| end & !(word - 1))
}

/// Memory is there or not in pages, of no less than this.
const PAGE: usize = 4096;

/// Bytes that the system reads to see what is there: a set of signals.
const WORD: u64 = 8;

/// Bytes that the system changes at a time.
const HALF: u64 = 4;

/// True if the word at `at` is memory that can be read.
fn is_readable(at: u64) -> bool {
    /// An operation on a set of signals that does not exist; the system reads the set before it looks at this.
    const NOTHING: usize = usize::MAX >> 1;
    let set: *mut u8 = client(at);
    // SAFETY: the system reads the set at most, and changes nothing for want of something that it could do with it.
    let result =
        unsafe { libc::syscall(libc::SYS_rt_sigprocmask, NOTHING, set, ptr::null_mut::<u64>(), WORD) };
    at != 0 && checked(result) == Err(Failure(libc::EINVAL))
}

/// True if the half word at `at` is memory that can be written. It keeps its value.
fn is_writable(at: u64) -> bool {
    /// Adds nothing to the other word. If that is zero, at worst a thread that sleeps on it wakes for nothing.
    const ADD_NOTHING: usize = (libc::FUTEX_OP_ADD as usize) << 28;
    let nobody = 0_u32;
    // SAFETY: the system changes the other word as a whole or not at all, here by nothing; and wakes none of those
    // that sleep on the first, of whom there are none.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            &raw const nobody,
            libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG,
            NONE,
            NONE,
            client(at),
            ADD_NOTHING,
        )
    };
    checked(result).is_ok()
}

/// Maps a file's memory for the program, wherever there is room; its address.
pub(crate) fn map_file(bytes: usize, prot: c_int, flags: c_int, fd: c_int, offset: usize) -> Result<usize> {
    let (prot, flags, fd) = (c_long::from(prot), c_long::from(flags), c_long::from(fd));
    // SAFETY: the system chooses an address where nothing is: whoever calls has no fixed one.
    let result =
        unsafe { libc::syscall(libc::SYS_mmap, ptr::null_mut::<c_void>(), bytes, prot, flags, fd, offset) };
    checked(result).map(|at| at as usize)
}

/// Takes memory of the program's back, which it asked for.
pub(crate) fn unmap(at: usize, bytes: usize) -> Result<()> {
    // SAFETY: the program gave the mapping back that was made for it; what it still refers to there is its affair.
    let result = unsafe { libc::syscall(libc::SYS_munmap, at, bytes) };
    checked(result).map(drop)
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
    pub(crate) fn anonymous(bytes: usize) -> Result<Self> {
        Self::map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1)
    }

    /// A file's memory, shared.
    pub(crate) fn shared(fd: c_int, bytes: usize) -> Result<Self> {
        Self::map(bytes, libc::MAP_SHARED, fd)
    }

    fn map(bytes: usize, flags: c_int, fd: c_int) -> Result<Self> {
        let at = map_file(bytes, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0)?;
        Ok(Self { at: ptr::with_exposed_provenance_mut(at), bytes })
    }

    pub(crate) const fn start(&self) -> *mut u8 {
        self.at
    }

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
    pub(crate) fn wipe_on_fork(&self) -> Result<()> {
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
    fn short_bytes_are_copied_whatever_page_they_end_in() {
        let mut mapping = Mapping::anonymous(2 * PAGE).unwrap();
        let middle = mapping.start() as u64 + PAGE as u64;
        for (at, bytes) in
            [(middle - 16, 16), (middle - 5, 10), (middle - 1, 4), (middle, 1), (middle + 3, 8)]
        {
            mapping.as_mut_slice().fill(0);
            let from: Vec<u8> = (1..=bytes).collect();
            assert!(write(at, &from), "{bytes} bytes");
            let mut into = vec![0; from.len()];
            assert_eq!((read(at, &mut into), into), (from.len(), from));
        }
        // SAFETY: the second page of a mapping of this test's own, of which nobody keeps a reference.
        let result = unsafe { libc::mprotect(client(middle).cast(), PAGE, libc::PROT_NONE) };
        assert_eq!(result, 0);
        let mut into = [0; 10];
        assert_eq!(read(middle - 6, &mut into), 6, "as far as there is memory");
        assert!(!write(middle - 6, &into) && !write(middle, &into[..1]));
        assert!(write(middle - 6, &into[..6]));
    }

    #[test]
    fn trying_whether_memory_can_be_written_leaves_it_as_it_is() {
        let words = [0_u32, u32::MAX, 0x8000_0000, 7];
        assert!(words.iter().all(|word| is_writable(ptr::from_ref(word) as u64)));
        assert_eq!(words, [0, u32::MAX, 0x8000_0000, 7]);
    }

    #[test]
    fn constants_cannot_be_written() {
        static CONSTANT: [u8; 4] = [1, 2, 3, 4];
        let mut into = [0; 4];
        assert_eq!(read(CONSTANT.as_ptr() as u64, &mut into), 4);
        assert!(!write(CONSTANT.as_ptr() as u64, &[5]));
    }
}
