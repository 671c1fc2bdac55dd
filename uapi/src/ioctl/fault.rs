//! Faults: what the DART caught, and going on afterwards.
//!
//! A fault is kept for the file in whose context it happened, with the descriptor that every consumer of
//! DART faults gets. A benign one (the engine was idle) changes nothing. A real one sets a latch and parks
//! the work of its context for [`RECOVERY_PARK_MS`](super::param::RECOVERY_PARK_MS), for someone to recover; nobody
//! did, it goes on without the request that faulted (seed 000). Other contexts keep running.

use crate::abi::{AbiStruct, Item, Section, abi, constants};
use crate::hw::fault::{self, IoDartErrorInfo};

use super::number::ioctls;

constants! {
    FLAGS;
    /// The engine was idle when it faulted: nothing was latched, nothing stopped.
    pub const FAULT_BENIGN: u32 = 0x1, "ANE_FAULT_BENIGN";
    /// Faults of this file were dropped before this one, as nobody asked for them.
    pub const FAULT_LOST: u32 = 0x2, "ANE_FAULT_LOST";
}

constants! {
    RECOVERY;
    /// Clear the latch and let the context's work go on, without the request that faulted.
    pub const RECOVER_RESUME: u32 = 0x1, "ANE_RECOVER_RESUME";
    /// Reset the device. Every request of every file ends with ECANCELED; buffers keep their contents.
    pub const RECOVER_RESET: u32 = 0x2, "ANE_RECOVER_RESET";
}

abi! {
    /// Fetches a fault.
    pub struct GetFault, "drm_ane_get_fault" {
        /// Input: the fault's sequence number; zero takes the oldest that was not fetched. Output: its number.
        pub sequence: u64,
        /// Output: fence of the request that faulted, zero if it was none of this file.
        pub fence: u64,
        /// Output: when, in ticks of the device's clock.
        pub timestamp: u64,
        /// Output: ANE_FAULT_ flags.
        pub flags: u32,
        /// Output: the context.
        pub context: u32,
        /// Output: the DART window that caught it, 0 to 3.
        pub window: u32,
        /// Output: the engine's status word at that moment; benign if it is 0x20 or 0xa0.
        pub engine_status: u32,
        /// Output: faults still to be fetched.
        pub remaining: u32,
        /// Input: must be zero.
        pub reserved: u32,
        /// Output: the descriptor.
        pub info: IoDartErrorInfo
    }
}

abi! {
    /// Goes on after a fault.
    pub struct Recover, "drm_ane_recover" {
        /// Input: ANE_RECOVER_RESUME or ANE_RECOVER_RESET.
        pub flags: u32,
        /// Output: ANE_STATE_ before the call.
        pub state: u32,
        /// Output: requests, of all files, that ended with ECANCELED.
        pub cancelled: u32,
        /// Input: must be zero.
        pub reserved: u32
    }
}

constants! {
    FAILURE;
    /// Bytes of text that a driver has at most about one request.
    pub const FAILURE_TEXT_MAX: u32 = 1024, "ANE_FAILURE_TEXT_MAX";
}

abi! {
    /// Fetches why a request failed, in words.
    pub struct GetFailure, "drm_ane_get_failure" {
        /// Input: the request's fence; zero means the last request that failed. Output: the fence.
        pub fence: u64,
        /// Input: pointer to bytes, which are filled with UTF-8 without a zero behind it.
        pub text: u64,
        /// Input: how many bytes there is room for. Output: bytes of the whole text, at most ANE_FAILURE_TEXT_MAX.
        pub text_size: u32,
        /// Input: must be zero.
        pub reserved: u32
    }
}

ioctls! {
    /// Fetches a fault of this file's context. The last ANE_FAULTS_MAX are kept.
    GET_FAULT 0x92 "DRM_IOCTL_ANE_GET_FAULT", ReadWrite, GetFault {
        ENODATA "there is none, or none of that number any more.";
    }
    /// Tells why a request of this file failed: task, register, bits, value, and what to try. The last 16 are kept.
    GET_FAILURE 0x98 "DRM_IOCTL_ANE_GET_FAILURE", ReadWrite, GetFailure {
        ENODATA "no request failed, or not the one of that fence, or nothing is known of it any more.";
    }
    /// Lets work go on after a fault, or resets the device.
    RECOVER 0x93 "DRM_IOCTL_ANE_RECOVER", ReadWrite, Recover {
        EINVAL "not exactly one of the flags.";
        EALREADY "to resume: the file's context is not parked.";
        EIO "to resume: the device is dead and has to be reset; or the reset failed.";
        EPERM "the parked fault is that of another file with the same context, or a reset, and the client may not do that.";
    }
}

const _: () = assert!(super::param::RECOVERY_PARK_MS == fault::RECOVERY_PARK_MS);

pub(super) const SECTION: Section = Section {
    title: "Faults",
    doc: "A fault of the engine's translation ends the request that caused it with EIO, and is kept for its file.",
    items: &[
        Item::Constants(FLAGS),
        Item::Constants(RECOVERY),
        Item::Constants(FAILURE),
        fault::ITEMS[0],
        fault::ITEMS[1],
        fault::ITEMS[2],
        fault::ITEMS[3],
        fault::ITEMS[4],
        Item::Struct(&GetFault::LAYOUT),
        Item::Struct(&GetFailure::LAYOUT),
        Item::Struct(&Recover::LAYOUT),
    ],
};
