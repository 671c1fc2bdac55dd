//! The ioctls that every DRM device answers and that clients of this one use.
//!
//! They are DRM's, not this project's: the C header does not repeat them, `<drm/drm.h>` declares them.

use crate::abi::abi;

use super::number::ioctls;

/// The driver's name, by which clients recognise the device (client-abi).
pub const DRIVER_NAME: &str = "ane";

/// Nodes that clients try, `/dev/accel/accel0` upwards (client-abi).
pub const NODES: u8 = 64;

abi! {
    /// Name and version of a driver; the layout of 64-bit Linux.
    ///
    /// Clients call twice: with all lengths zero to learn them, then with room for the strings. A string is
    /// copied up to the length given, without an end mark, and the length becomes the string's own.
    pub struct Version, "drm_version" {
        /// Output: major version.
        pub version_major: i32,
        /// Output: minor version.
        pub version_minor: i32,
        /// Output: patch level.
        pub version_patchlevel: i32,
        /// Padding of C; not looked at.
        pub padding: u32,
        /// Input: bytes at `name`. Output: bytes of the name.
        pub name_len: u64,
        /// Input: where the name goes.
        pub name: u64,
        /// Input: bytes at `date`. Output: bytes of the date.
        pub date_len: u64,
        /// Input: where the date goes.
        pub date: u64,
        /// Input: bytes at `desc`. Output: bytes of the description.
        pub desc_len: u64,
        /// Input: where the description goes.
        pub desc: u64
    }
}

abi! {
    /// A buffer object to release.
    pub struct GemClose, "drm_gem_close" {
        /// Input: the buffer.
        pub handle: u32,
        /// Not looked at by DRM.
        pub padding: u32
    }
}

ioctls! {
    /// Tells name and version of the driver.
    VERSION 0x00 "DRM_IOCTL_VERSION", ReadWrite, Version {
        EFAULT "a string's pointer leads nowhere.";
    }
    /// Lets a buffer go, as generic DRM clients do; the same as `DRM_IOCTL_ANE_BO_FREE`.
    GEM_CLOSE 0x09 "DRM_IOCTL_GEM_CLOSE", Write, GemClose {
        EINVAL "the handle names no buffer.";
    }
}

const _: () = assert!(VERSION.number == 0xc040_6400 && GEM_CLOSE.number == 0x4008_6409);
