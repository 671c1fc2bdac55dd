//! `libane_python`: the five functions that the Python binding of the Linux driver loads (client-abi).
//!
//! Tensors are dense halves in NCHW order, one pointer for each of 32 possible ones; those that a program does not have
//! are not looked at. Every function but `pyane_init` gives 0, or -1 and `errno`, which is `EINVAL` for a handle that
//! is none or was given back ([`table`]) and for a tensor that is null.

mod table;

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use ane_capi::Network;

fn set_errno(value: c_int) {
    // SAFETY: the C library gives a valid pointer to the calling thread's own variable.
    let at = unsafe { libc::__errno_location() };
    // SAFETY: as above; nobody else reads or writes it.
    unsafe { *at = value };
}

fn answer(result: io::Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(why) => {
            set_errno(why.raw_os_error().unwrap_or(libc::EINVAL));
            -1
        }
    }
}

fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

/// Loads a program on a device; null if that fails, and `errno` says why.
///
/// # Safety
///
/// `path` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pyane_init(path: *const c_char, dev_id: c_int) -> *mut c_void {
    let device = usize::try_from(dev_id).ok();
    let Some(device) = device.filter(|_| !path.is_null()) else {
        set_errno(libc::EINVAL);
        return ptr::null_mut();
    };
    // SAFETY: the caller's path ends with a zero.
    let path = unsafe { CStr::from_ptr(path) };
    match Network::open(Path::new(OsStr::from_bytes(path.to_bytes())), device) {
        Ok(network) => table::add(network),
        Err(why) => {
            set_errno(why.raw_os_error().unwrap_or(libc::EINVAL));
            ptr::null_mut()
        }
    }
}

/// Gives a program back.
#[unsafe(no_mangle)]
pub extern "C" fn pyane_free(handle: *mut c_void) -> c_int {
    answer(table::remove(handle))
}

/// Runs a program.
#[unsafe(no_mangle)]
pub extern "C" fn pyane_exec(handle: *mut c_void) -> c_int {
    answer(table::with(handle, Network::execute))
}

/// Declares a function that takes a program and 32 tensors.
macro_rules! with_tensors {
    ($( #[doc = $doc:literal] )* $name:ident, $count:ident, $each:ident) => {
        with_tensors!(
            $( #[doc = $doc] )* $name, $count, $each,
            x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15
            x16 x17 x18 x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 x30 x31
        );
    };
    ($( #[doc = $doc:literal] )* $name:ident, $count:ident, $each:ident, $( $tensor:ident )*) => {
        $( #[doc = $doc] )*
        ///
        /// # Safety
        ///
        /// Each tensor that the program has is null or large enough.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: *mut c_void, $( $tensor: *mut c_void ),*) -> c_int {
            let tensors = [$( $tensor ),*];
            answer(table::with(handle, |network| {
                let count = network.anec.$count.get() as usize;
                tensors.into_iter().take(count).enumerate().try_for_each(|(index, tensor)| {
                    // SAFETY: the caller's tensor is large enough.
                    unsafe { network.$each(tensor, index) }.then_some(()).ok_or_else(invalid)
                })
            }))
        }
    };
}

with_tensors! {
    /// Copies all inputs in.
    pyane_send, src_count, tile_send
}

with_tensors! {
    /// Copies all outputs out.
    pyane_read, dst_count, tile_read
}
