//! The errors that ioctls and fences report: Linux's numbers.
//!
//! An ioctl returns -1 and sets `errno`; the result of a request stands in its fence as the negative number.

use crate::codes;

codes! {
    /// An error number of Linux, the same on x86-64 and AArch64.
    pub enum Errno: u32, "error number" {
        /// Operation not permitted.
        EPERM = 1, "EPERM";
        /// No such object.
        ENOENT = 2, "ENOENT";
        /// Interrupted by a signal.
        EINTR = 4, "EINTR";
        /// The device could not carry it out.
        EIO = 5, "EIO";
        /// Too many elements.
        E2BIG = 7, "E2BIG";
        /// Not an open file.
        EBADF = 9, "EBADF";
        /// Not now.
        EAGAIN = 11, "EAGAIN";
        /// Out of memory.
        ENOMEM = 12, "ENOMEM";
        /// Not for this file.
        EACCES = 13, "EACCES";
        /// A pointer leads nowhere.
        EFAULT = 14, "EFAULT";
        /// In use.
        EBUSY = 16, "EBUSY";
        /// Exists already.
        EEXIST = 17, "EEXIST";
        /// The device is gone.
        ENODEV = 19, "ENODEV";
        /// Not a valid argument.
        EINVAL = 22, "EINVAL";
        /// The process has no descriptor left.
        EMFILE = 24, "EMFILE";
        /// Not an ioctl of this device.
        ENOTTY = 25, "ENOTTY";
        /// No room.
        ENOSPC = 28, "ENOSPC";
        /// Out of range.
        ERANGE = 34, "ERANGE";
        /// Nothing there.
        ENODATA = 61, "ENODATA";
        /// Waited long enough.
        ETIME = 62, "ETIME";
        /// Not offered by this device.
        EOPNOTSUPP = 95, "EOPNOTSUPP";
        /// Waited long enough.
        ETIMEDOUT = 110, "ETIMEDOUT";
        /// Is so already.
        EALREADY = 114, "EALREADY";
        /// Was there, is not any more.
        ESTALE = 116, "ESTALE";
        /// Taken back before it ran.
        ECANCELED = 125, "ECANCELED";
    }
}

impl Errno {
    /// The result that a fence holds for it.
    pub const fn as_result(self) -> i32 {
        -(self as i32)
    }
}
