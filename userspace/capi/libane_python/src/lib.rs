//! `libane_python`: the five functions that the Python binding of the Linux driver loads (client-abi), and two that tell a
//! tensor's shape, for `ane.py`.
//!
//! Tensors are dense halves in NCHW order, one pointer for each of 32 possible ones; those that a program does not have
//! are not looked at. Every function but `pyane_init` gives 0, or -1 and `errno`, which is `EINVAL` for a handle that
//! is none or was given back ([`table`]) and for a tensor that is null.
#![expect(unsafe_code, reason = "functions that C calls take pointers")]

mod table;

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use ane_capi::{Network, call};
use call::{answer, invalid};

/// Loads a program on a device; null if that fails, and `errno` says why.
///
/// # Safety
///
/// `path` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pyane_init(path: *const c_char, dev_id: c_int) -> *mut c_void {
    // SAFETY: the caller's path ends with a zero.
    unsafe { call::open(path, dev_id, None) }.map_or(ptr::null_mut(), table::add)
}

#[unsafe(no_mangle)]
pub extern "C" fn pyane_free(handle: *mut c_void) -> c_int {
    answer(table::remove(handle))
}

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

/// Declares a function that tells the shape of a program's tensor.
macro_rules! with_shape {
    ($( #[doc = $doc:literal] )* $name:ident, $bar:ident) => {
        $( #[doc = $doc] )*
        ///
        /// `shape` gets batches, channels, rows and columns; zeros for a tensor of which the file gives no shape. `EINVAL` if the
        /// program has not that many tensors.
        ///
        /// # Safety
        ///
        /// `shape` is null or has room for four numbers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: *mut c_void, index: c_int, shape: *mut [u64; 4]) -> c_int {
            answer(table::with(handle, |network| {
                let bar = usize::try_from(index).ok().and_then(|index| network.$bar(index));
                let bar = bar.filter(|_| !shape.is_null()).ok_or_else(invalid)?;
                // SAFETY: the caller has room for four numbers there, which nobody else uses meanwhile.
                unsafe { shape.write_unaligned(network.shape(bar)) };
                Ok(())
            }))
        }
    };
}

with_shape! {
    /// Tells the shape of an input, as `pyane_send` copies it.
    pyane_input_shape, source_bar
}

with_shape! {
    /// Tells the shape of an output, as `pyane_read` copies it.
    pyane_output_shape, destination_bar
}
