//! The family of `stat`: the node, and descriptors of it, are character devices.

use libc::{c_char, c_int, c_uint};

use super::{place, place_at, string};
use crate::config::{self, Config};
use crate::node::{self, Place};
use crate::sys::file::Identity;
use crate::sys::{keeping_errno, set_errno};
use crate::{device, next};

fn describe(config: &Config, place: Place, into: *mut libc::stat) -> c_int {
    let mode = match place {
        Place::Node => node::mode(),
        Place::Directory => node::directory_mode(),
        Place::Nothing => {
            set_errno(libc::ENOENT);
            return -1;
        }
    };
    // SAFETY: it is numbers, for which zeros are valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    stat.st_mode = mode;
    stat.st_nlink = 1;
    stat.st_ino = node::inode(config);
    stat.st_blksize = 4096;
    if place == Place::Node {
        let (major, minor) = node::numbers(config);
        stat.st_rdev = libc::makedev(major, minor);
    }
    // SAFETY: the program's room for the answer: the function demands it.
    unsafe { into.write(stat) };
    0
}

/// Makes what `fstat` said of a memory object what it would say of the node, if it is one of the device's.
fn correct(into: *mut libc::stat, result: c_int) -> c_int {
    if result == 0
        && let Some(config) = config::get()
    {
        // SAFETY: the C library just wrote it.
        let stat = unsafe { &mut *into };
        if device::is_open(Identity::of(stat)) {
            let (major, minor) = node::numbers(config);
            stat.st_mode = node::mode();
            stat.st_dev = 0;
            stat.st_ino = node::inode(config);
            stat.st_rdev = libc::makedev(major, minor);
            stat.st_size = 0;
            stat.st_blocks = 0;
        }
    }
    result
}

/// True if a call is about the descriptor itself.
fn is_descriptor(path: *const c_char, flags: c_int) -> bool {
    flags & libc::AT_EMPTY_PATH != 0 && string(path).is_none_or(|path| path.is_empty())
}

macro_rules! of_path {
    ($( $name:ident($( $version:ident )?); )*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($( $version: c_int, )? path: *const c_char, into: *mut libc::stat) -> c_int {
            if let Some((config, place)) = place(path) {
                return describe(config, place, into);
            }
            // SAFETY: the program's own call.
            unsafe { next::$name($( $version, )? path, into) }
        }
    )* };
}

of_path! {
    stat();
    stat64();
    lstat();
    lstat64();
    __xstat(version);
    __xstat64(version);
    __lxstat(version);
    __lxstat64(version);
}

macro_rules! of_descriptor {
    ($( $name:ident($( $version:ident )?); )*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($( $version: c_int, )? fd: c_int, into: *mut libc::stat) -> c_int {
            // SAFETY: the program's own call.
            let result = unsafe { next::$name($( $version, )? fd, into) };
            correct(into, result)
        }
    )* };
}

of_descriptor! {
    fstat();
    fstat64();
    __fxstat(version);
    __fxstat64(version);
}

macro_rules! at {
    ($( $name:ident($( $version:ident )?); )*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            $( $version: c_int, )?
            directory: c_int,
            path: *const c_char,
            into: *mut libc::stat,
            flags: c_int,
        ) -> c_int {
            if let Some((config, place)) = place_at(directory, path) {
                return describe(config, place, into);
            }
            // SAFETY: the program's own call.
            let result = unsafe { next::$name($( $version, )? directory, path, into, flags) };
            if is_descriptor(path, flags) { correct(into, result) } else { result }
        }
    )* };
}

at! {
    fstatat();
    fstatat64();
    __fxstatat(version);
    __fxstatat64(version);
}

/// Says what lies at a path that begins in a directory, as far as is asked for.
#[unsafe(no_mangle)]
unsafe extern "C" fn statx(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    into: *mut libc::statx,
) -> c_int {
    if let Some((config, place)) = place_at(directory, path) {
        return describe_more(config, place, into);
    }
    // SAFETY: the program's own call.
    let result = unsafe { next::statx(directory, path, flags, mask, into) };
    if result == 0
        && is_descriptor(path, flags)
        && let Some(config) = config::get()
    {
        // SAFETY: the C library just wrote it.
        let stat = unsafe { &mut *into };
        let device = libc::makedev(stat.stx_dev_major, stat.stx_dev_minor);
        if keeping_errno(|| device::is_open(Identity { device, inode: stat.stx_ino })) {
            let (major, minor) = node::numbers(config);
            // The upper half of the mode's 32 bits is empty.
            stat.stx_mode = node::mode() as u16;
            (stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino) = (0, 0, node::inode(config));
            (stat.stx_rdev_major, stat.stx_rdev_minor) = (major, minor);
            (stat.stx_size, stat.stx_blocks) = (0, 0);
        }
    }
    result
}

fn describe_more(config: &Config, place: Place, into: *mut libc::statx) -> c_int {
    // SAFETY: it is numbers, for which zeros are valid.
    let mut plain: libc::stat = unsafe { std::mem::zeroed() };
    if describe(config, place, &raw mut plain) != 0 {
        return -1;
    }
    // SAFETY: it is numbers, for which zeros are valid.
    let mut stat: libc::statx = unsafe { std::mem::zeroed() };
    stat.stx_mask = libc::STATX_BASIC_STATS;
    // The upper half of the mode's 32 bits is empty, and the others are small.
    stat.stx_mode = plain.st_mode as u16;
    stat.stx_nlink = 1;
    stat.stx_ino = plain.st_ino;
    stat.stx_blksize = 4096;
    if place == Place::Node {
        (stat.stx_rdev_major, stat.stx_rdev_minor) = node::numbers(config);
    }
    // SAFETY: the program's room for the answer: the function demands it.
    unsafe { into.write(stat) };
    0
}
