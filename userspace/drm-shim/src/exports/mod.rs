//! The functions that programs call: each looks whether it is about the device, and goes on to the one behind it if not.
//! The rules for a safe call are those of the C library's function of that name.
//!
//! Names with underscores are those that programs are compiled to call: the fortified ones, which have lost their
//! `mode`, and those of C libraries before 2.33, in which `stat` was inline.

mod entry;
mod ioctl;
mod memory;
mod open;
mod status;

use std::ffi::CStr;
use std::ptr;

use libc::{c_char, c_int};

use crate::config::{self, Config};
use crate::node::{self, Place};
use crate::sys::file;
use crate::{connection, next};

/// Reads the environment and finds the functions behind these early: the first call may come in a signal handler.
extern "C" fn start() {
    next::look_up();
    if config::get().is_some() {
        connection::watch();
    }
}

#[used]
// SAFETY: the linker's list of functions to call at start-up has pointers to functions of this type.
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

/// The file at a path, if the path is this library's.
fn place(path: *const c_char) -> Option<(&'static Config, Place)> {
    let config = config::get()?;
    let path = string(path)?;
    Some((config, node::find(config, path)?))
}

/// The same of a path that begins in a directory.
fn place_at(directory: c_int, path: *const c_char) -> Option<(&'static Config, Place)> {
    let config = config::get()?;
    let path = string(path)?;
    if let Some(place) = node::find(config, path) {
        return Some((config, place));
    }
    let name = path.to_bytes();
    let may_be_node = directory != libc::AT_FDCWD && name.first().is_some_and(|first| b"a.".contains(first));
    (may_be_node && is_listing(config, directory)).then(|| (config, node::named(config, name)))
}

/// A program's string. One that is null is the C library's to refuse.
fn string<'a>(path: *const c_char) -> Option<&'a CStr> {
    if path.is_null() {
        return None;
    }
    // SAFETY: what these functions are called with ends with a zero: they say so.
    Some(unsafe { CStr::from_ptr(path) })
}

/// True if the descriptor is of the directory that is listed in the place of `/dev/accel`.
fn is_listing(config: &Config, directory: c_int) -> bool {
    let Some(listing) = config.listing else { return false };
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    let Ok(fd) = file::open(libc::AT_FDCWD, listing, flags, 0) else { return false };
    let is_same = file::identity(fd).is_some_and(|identity| file::identity(directory) == Some(identity));
    file::close(fd);
    is_same
}

/// The path that is really there for the directory of the nodes.
fn listing(config: &Config) -> *const c_char {
    config.listing.map_or(ptr::null(), CStr::as_ptr)
}
