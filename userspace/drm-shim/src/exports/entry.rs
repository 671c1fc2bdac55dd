//! The family of `access`.

use libc::{c_char, c_int};

use super::{place, place_at};
use crate::next;
use crate::sys::set_errno;

fn answer(result: Result<(), c_int>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

macro_rules! access {
    ($( $name:ident; )*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, mode: c_int) -> c_int {
            if let Some((_, place)) = place(path) {
                return answer(place.access(mode));
            }
            // SAFETY: the program's own call.
            unsafe { next::$name(path, mode) }
        }
    )* };
}

access! {
    access;
    euidaccess;
    eaccess;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn faccessat(directory: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int {
    if let Some((_, place)) = place_at(directory, path) {
        return answer(place.access(mode));
    }
    // SAFETY: the program's own call.
    unsafe { next::faccessat(directory, path, mode, flags) }
}
