//! `ioctl`.

use ane_uapi::ioctl::number::{DRM_TYPE, Number};
use libc::{c_int, c_ulong, c_void};

use crate::sys::{self, keeping_errno, set_errno};
use crate::{config, device, next};

/// Calls with DRM's letter on a file of the device go to the daemon; a comparison is all that others cost.
#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    // The upper half is a sign that C put there, or is not.
    let number = request as u32;
    if Number::decode(number).subsystem == DRM_TYPE
        && let Some(config) = config::get()
        && let Some(result) = keeping_errno(|| device::ioctl(config, fd, number, argument.addr() as u64))
    {
        return answer(result.map(|()| 0));
    }
    // SAFETY: the program's own call.
    unsafe { next::ioctl(fd, request, argument) }
}

pub(super) fn answer(result: Result<c_int, sys::Failure>) -> c_int {
    result.unwrap_or_else(|failure| {
        set_errno(failure.number());
        -1
    })
}
