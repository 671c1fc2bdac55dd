//! The family of `open`.

use libc::{c_char, c_int, mode_t, size_t};

use super::ioctl::answer;
use super::{listing, place, place_at};
use crate::config::Config;
use crate::node::Place;
use crate::sys::{Failure, file, keeping_errno, set_errno};
use crate::{device, next};

/// Opens what lies at a place; `None` if that is a directory that is not there to be listed.
fn open_place((config, place): (&Config, Place), flags: c_int) -> Option<c_int> {
    match place {
        Place::Node => Some(answer(keeping_errno(|| device::open(config, flags)))),
        Place::Nothing => Some(answer(Err(Failure(libc::ENOENT)))),
        Place::Directory => {
            let listing = config.listing?;
            Some(answer(keeping_errno(|| file::open(libc::AT_FDCWD, listing, flags, 0))))
        }
    }
}

macro_rules! open {
    ($( $name:ident => $next:ident; )*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
            if let Some(fd) = place(path).and_then(|place| open_place(place, flags)) {
                return fd;
            }
            // SAFETY: the program's own call.
            unsafe { next::$next(path, flags, mode) }
        }
    )* };
}

open! {
    open => open;
    open64 => open64;
    __open => open;
    __open64 => open64;
}

macro_rules! open_at {
    ($( $name:ident => $next:ident; )*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
            if let Some(fd) = place_at(directory, path).and_then(|place| open_place(place, flags)) {
                return fd;
            }
            // SAFETY: the program's own call.
            unsafe { next::$next(directory, path, flags, mode) }
        }
    )* };
}

open_at! {
    openat => openat;
    openat64 => openat64;
}

macro_rules! fortified {
    ($( $name:ident($( $directory:ident )?) => $call:ident; )*) => { $(
        /// Opens a path that is not made anew.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($( $directory: c_int, )? path: *const c_char, flags: c_int) -> c_int {
            // SAFETY: the program's own call; without `O_CREAT` nobody looks at the mode.
            unsafe { $call($( $directory, )? path, flags, 0) }
        }
    )* };
}

fortified! {
    __open_2() => open;
    __open64_2() => open64;
    __openat_2(directory) => openat;
    __openat64_2(directory) => openat64;
}

macro_rules! stream {
    ($( $name:ident; )*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
            let found = place(path).filter(|(_, place)| *place != Place::Directory);
            let Some(found) = found else {
                // SAFETY: the program's own call.
                return unsafe { next::$name(path, mode) };
            };
            let Some(fd) = flags_of(mode).and_then(|flags| open_place(found, flags)) else {
                set_errno(libc::EINVAL);
                return std::ptr::null_mut();
            };
            if fd < 0 {
                return std::ptr::null_mut();
            }
            // SAFETY: the descriptor was just made and belongs to the stream from now on; the mode is the program's.
            unsafe { libc::fdopen(fd, mode) }
        }
    )* };
}

stream! {
    fopen;
    fopen64;
}

/// The flags that a stream's mode stands for; `None` for one that is none.
fn flags_of(mode: *const c_char) -> Option<c_int> {
    let mode = super::string(mode)?.to_bytes();
    let access = match (mode.first()?, mode.contains(&b'+')) {
        (b'r', false) => libc::O_RDONLY,
        (b'w' | b'a', false) => libc::O_WRONLY,
        (b'r' | b'w' | b'a', true) => libc::O_RDWR,
        _ => return None,
    };
    Some(if mode.contains(&b'e') { access | libc::O_CLOEXEC } else { access })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn opendir(path: *const c_char) -> *mut libc::DIR {
    let path = match place(path) {
        Some((_, Place::Node)) => {
            set_errno(libc::ENOTDIR);
            return std::ptr::null_mut();
        }
        Some((config, Place::Directory)) if config.listing.is_some() => listing(config),
        _ => path,
    };
    // SAFETY: the program's own call, or one with a path that ends with its zero.
    unsafe { next::opendir(path) }
}

macro_rules! scan {
    ($( $name:ident; )*) => { $(
        /// The entries of a directory, as many as the program's filter lets pass, in the program's order.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            path: *const c_char,
            into: *mut *mut *mut libc::dirent,
            filter: next::Filter,
            order: next::Order,
        ) -> c_int {
            let path = match place(path) {
                Some((_, Place::Node)) => {
                    set_errno(libc::ENOTDIR);
                    return -1;
                }
                Some((config, Place::Directory)) if config.listing.is_some() => listing(config),
                _ => path,
            };
            // SAFETY: the program's own call, or one with a path that ends with its zero.
            unsafe { next::$name(path, into, filter, order) }
        }
    )* };
}

scan! {
    scandir;
    scandir64;
}

/// The path without links: the device's has none.
#[unsafe(no_mangle)]
unsafe extern "C" fn realpath(path: *const c_char, into: *mut c_char) -> *mut c_char {
    // SAFETY: the program's room has `PATH_MAX` bytes: the function demands it.
    let found = unsafe { whole_path(path, into) };
    // SAFETY: the program's own call.
    found.unwrap_or_else(|| unsafe { next::realpath(path, into) })
}

/// The same of a fortified program, which says how much room there is.
#[unsafe(no_mangle)]
unsafe extern "C" fn __realpath_chk(path: *const c_char, into: *mut c_char, room: size_t) -> *mut c_char {
    // The C library ends a program that has too little.
    let has_room = room >= libc::PATH_MAX as size_t;
    // SAFETY: the program's room has `PATH_MAX` bytes: it says so.
    let found = if has_room { unsafe { whole_path(path, into) } } else { None };
    // SAFETY: the program's own call.
    found.unwrap_or_else(|| unsafe { next::__realpath_chk(path, into, room) })
}

/// The same in memory that the program frees.
#[unsafe(no_mangle)]
unsafe extern "C" fn canonicalize_file_name(path: *const c_char) -> *mut c_char {
    // SAFETY: there is no room that could be too little.
    let found = unsafe { whole_path(path, std::ptr::null_mut()) };
    // SAFETY: the program's own call.
    found.unwrap_or_else(|| unsafe { next::canonicalize_file_name(path) })
}

/// The path of the device or of its directory, in the program's room, or in new memory if there is none; `None` for other
/// paths.
///
/// # Safety
///
/// `into` is null or has room for `PATH_MAX` bytes.
unsafe fn whole_path(path: *const c_char, into: *mut c_char) -> Option<*mut c_char> {
    let (config, place) = place(path).filter(|(_, place)| *place != Place::Nothing)?;
    let text = crate::node::path(config, place);
    if into.is_null() {
        // SAFETY: the text ends with its zero; the program frees the copy.
        return Some(unsafe { libc::strdup(text.as_ptr().cast()) });
    }
    // SAFETY: the caller's room is larger.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), into, text.len()) };
    Some(into)
}
