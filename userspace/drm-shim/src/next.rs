//! The functions behind this library's: those that a program would have called without it.
//!
//! They are looked up when this library starts: a look-up takes locks, so a signal handler must not be the first to
//! need one. One may be needed before that: another library's start may open files, and a memory allocator may while it is
//! being looked up for. The one case that must not look up, a call that comes out of a look-up, has the system called instead.

use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use libc::{c_char, c_int, c_long, c_uint, c_ulong, c_void, mode_t, off_t, size_t};

use crate::sys::{process, set_errno};

/// The thread that looks something up; zero is none.
static LOOKING: AtomicI32 = AtomicI32::new(0);

/// A function that was looked up, or was not yet.
pub(crate) struct Next {
    name: &'static CStr,
    at: AtomicPtr<c_void>,
}

impl Next {
    const fn new(name: &'static CStr) -> Self {
        Self { name, at: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its address; null if there is none, or it cannot be looked up now.
    fn address(&self) -> *mut c_void {
        let at = self.at.load(Ordering::Acquire);
        if at.is_null() { self.look() } else { at }
    }

    #[cold]
    fn look(&self) -> *mut c_void {
        let me = process::thread();
        if LOOKING.load(Ordering::Relaxed) == me {
            return ptr::null_mut();
        }
        // Threads may look at the same time; only one is remembered, which is the one that has to be: in start-up
        // there is one.
        LOOKING.store(me, Ordering::Relaxed);
        // SAFETY: the name ends with its zero; the linker's own look-up has no other demands.
        let at = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if at.is_null() {
            // The program did not ask, and is not to find the error of it.
            // SAFETY: the text that it gives is not looked at.
            unsafe { libc::dlerror() };
        }
        LOOKING.store(0, Ordering::Relaxed);
        self.at.store(at, Ordering::Release);
        at
    }
}

/// Declares functions: a safe-to-name, unsafe-to-call one for each, and what it does when there is none behind it.
macro_rules! next {
    ($( fn $name:ident($( $argument:ident: $ty:ty ),* $(,)?) -> $result:ty, $missing:expr; )*) => {
        /// Every function, by its name.
        #[expect(non_upper_case_globals, reason = "they are the functions' names")]
        mod table {
            use super::{CStr, Next};

            $( pub(super) static $name: Next = Next::new(
                // SAFETY: one zero, at the end.
                unsafe { CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
            ); )*

            pub(super) static ALL: &[&Next] = &[$( &$name ),*];
        }

        $(
        /// The function of this name behind this library's.
        ///
        /// # Safety
        ///
        /// That of the function.
        pub(crate) unsafe fn $name($( $argument: $ty ),*) -> $result {
            let at = table::$name.address();
            if at.is_null() {
                let missing: fn($( $ty ),*) -> $result = $missing;
                return missing($( $argument ),*);
            }
            // SAFETY: the C library's function of this name has this type; variable arguments are passed as fixed
            // ones are on the machines that this library is built for.
            let next = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($( $ty ),*) -> $result>(at) };
            // SAFETY: the caller keeps the function's own demands.
            unsafe { next($( $argument ),*) }
        }
        )*
    };
}

/// Looks all functions up that were not needed before.
pub(crate) fn look_up() {
    for next in table::ALL {
        next.address();
    }
}

/// The program's functions that choose and order the entries of a directory. Entries are the same with 32-bit and 64-bit names.
pub(crate) type Filter = Option<unsafe extern "C" fn(*const libc::dirent) -> c_int>;
pub(crate) type Order =
    Option<unsafe extern "C" fn(*mut *const libc::dirent, *mut *const libc::dirent) -> c_int>;

/// The answer of a function that is not there.
fn nothing() -> c_int {
    set_errno(libc::ENOSYS);
    -1
}

fn no_pointer<T>() -> *mut T {
    set_errno(libc::ENOSYS);
    ptr::null_mut()
}

fn system_open(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the program's own arguments, which the system looks at itself.
    let result = unsafe { libc::syscall(libc::SYS_openat, directory, path, flags, mode) };
    // A descriptor is an `int`.
    result as c_int
}

fn system_ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    // SAFETY: the program's own arguments, which the system looks at itself.
    let result = unsafe { libc::syscall(libc::SYS_ioctl, fd, request, argument) };
    // The system answers with an `int`.
    result as c_int
}

fn system_mmap(
    at: *mut c_void,
    bytes: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    let (prot, flags, fd) = (c_long::from(prot), c_long::from(flags), c_long::from(fd));
    // SAFETY: the program's own arguments, which the system looks at itself.
    let result = unsafe { libc::syscall(libc::SYS_mmap, at, bytes, prot, flags, fd, offset) };
    ptr::with_exposed_provenance_mut(result as usize)
}

fn system_munmap(at: *mut c_void, bytes: size_t) -> c_int {
    // SAFETY: the program's own arguments, which the system looks at itself.
    let result = unsafe { libc::syscall(libc::SYS_munmap, at, bytes) };
    // The system answers with an `int`.
    result as c_int
}

next! {
    fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int, system_ioctl;
    fn mmap(at: *mut c_void, bytes: size_t, prot: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void,
        system_mmap;
    fn mmap64(at: *mut c_void, bytes: size_t, prot: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void,
        system_mmap;
    fn munmap(at: *mut c_void, bytes: size_t) -> c_int, system_munmap;
    fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int,
        |path, flags, mode| system_open(libc::AT_FDCWD, path, flags, mode);
    fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int,
        |path, flags, mode| system_open(libc::AT_FDCWD, path, flags, mode);
    fn openat(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, system_open;
    fn openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, system_open;
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut libc::FILE, |_, _| no_pointer();
    fn fopen64(path: *const c_char, mode: *const c_char) -> *mut libc::FILE, |_, _| no_pointer();
    fn access(path: *const c_char, mode: c_int) -> c_int, |_, _| nothing();
    fn euidaccess(path: *const c_char, mode: c_int) -> c_int, |_, _| nothing();
    fn eaccess(path: *const c_char, mode: c_int) -> c_int, |_, _| nothing();
    fn faccessat(directory: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int, |_, _, _, _| nothing();
    fn stat(path: *const c_char, into: *mut libc::stat) -> c_int, |_, _| nothing();
    fn stat64(path: *const c_char, into: *mut libc::stat) -> c_int, |_, _| nothing();
    fn lstat(path: *const c_char, into: *mut libc::stat) -> c_int, |_, _| nothing();
    fn lstat64(path: *const c_char, into: *mut libc::stat) -> c_int, |_, _| nothing();
    fn fstat(fd: c_int, into: *mut libc::stat) -> c_int, |_, _| nothing();
    fn fstat64(fd: c_int, into: *mut libc::stat) -> c_int, |_, _| nothing();
    fn fstatat(directory: c_int, path: *const c_char, into: *mut libc::stat, flags: c_int) -> c_int,
        |_, _, _, _| nothing();
    fn fstatat64(directory: c_int, path: *const c_char, into: *mut libc::stat, flags: c_int) -> c_int,
        |_, _, _, _| nothing();
    fn __xstat(version: c_int, path: *const c_char, into: *mut libc::stat) -> c_int, |_, _, _| nothing();
    fn __xstat64(version: c_int, path: *const c_char, into: *mut libc::stat) -> c_int, |_, _, _| nothing();
    fn __lxstat(version: c_int, path: *const c_char, into: *mut libc::stat) -> c_int, |_, _, _| nothing();
    fn __lxstat64(version: c_int, path: *const c_char, into: *mut libc::stat) -> c_int, |_, _, _| nothing();
    fn __fxstat(version: c_int, fd: c_int, into: *mut libc::stat) -> c_int, |_, _, _| nothing();
    fn __fxstat64(version: c_int, fd: c_int, into: *mut libc::stat) -> c_int, |_, _, _| nothing();
    fn __fxstatat(version: c_int, directory: c_int, path: *const c_char, into: *mut libc::stat, flags: c_int) -> c_int,
        |_, _, _, _, _| nothing();
    fn __fxstatat64(version: c_int, directory: c_int, path: *const c_char, into: *mut libc::stat, flags: c_int) -> c_int,
        |_, _, _, _, _| nothing();
    fn statx(directory: c_int, path: *const c_char, flags: c_int, mask: c_uint, into: *mut libc::statx) -> c_int,
        |_, _, _, _, _| nothing();
    fn opendir(path: *const c_char) -> *mut libc::DIR, |_| no_pointer();
    fn scandir(path: *const c_char, into: *mut *mut *mut libc::dirent, filter: Filter, order: Order) -> c_int,
        |_, _, _, _| nothing();
    fn scandir64(path: *const c_char, into: *mut *mut *mut libc::dirent, filter: Filter, order: Order) -> c_int,
        |_, _, _, _| nothing();
    fn realpath(path: *const c_char, into: *mut c_char) -> *mut c_char, |_, _| no_pointer();
    fn __realpath_chk(path: *const c_char, into: *mut c_char, room: size_t) -> *mut c_char, |_, _, _| no_pointer();
    fn canonicalize_file_name(path: *const c_char) -> *mut c_char, |_| no_pointer();
}
