//! `mmap` and `munmap`, of files that are made of huge pages; all others go on.

use libc::{c_int, c_void, off_t, size_t};

use super::ioctl::answer;
use crate::sys::{keeping_errno, set_errno};
use crate::{huge, next};

macro_rules! map {
    ($( $name:ident; )*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            at: *mut c_void,
            bytes: size_t,
            prot: c_int,
            flags: c_int,
            fd: c_int,
            offset: off_t,
        ) -> *mut c_void {
            match keeping_errno(|| huge::map(bytes, prot, flags, fd, offset)) {
                Some(Ok(mapped)) => std::ptr::with_exposed_provenance_mut(mapped),
                Some(Err(failure)) => {
                    set_errno(failure.number());
                    libc::MAP_FAILED
                }
                // SAFETY: the program's own call.
                None => unsafe { next::$name(at, bytes, prot, flags, fd, offset) },
            }
        }
    )* };
}

map! {
    mmap;
    mmap64;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(at: *mut c_void, bytes: size_t) -> c_int {
    match keeping_errno(|| huge::unmap(at.addr(), bytes)) {
        Some(result) => answer(result.map(|()| 0)),
        // SAFETY: the program's own call.
        None => unsafe { next::munmap(at, bytes) },
    }
}
