//! The three ioctls that clients of the existing Linux driver use, unchanged to the byte (client-abi).
//!
//! A client makes buffers, maps them, writes inputs and commands into them, and submits: one call runs the
//! whole program and returns when the engine is idle. There are no usage codes, no contexts and no choice of
//! queue; each file gets a context of its own and its buffers ascending addresses, as it always was.

use crate::abi::{AbiStruct, Item, Section, abi, constants};

use super::number::ioctls;

constants! {
    CONSTANTS;
    /// Number of BARs (seed 004).
    pub const TILE_COUNT: u32 = 0x20, "ANE_TILE_COUNT";
    /// Network id under which `DRM_IOCTL_ANE_SUBMIT` runs (client-abi).
    pub const FIFO_NID: u32 = 0x40, "ANE_FIFO_NID";
    /// Bytes to which the command part of buffer 0 is rounded up; coefficients, BAR 1, start behind it.
    pub const CMD_GRAN: u32 = 0x10, "ANE_CMD_GRAN";
    /// Task queue that `DRM_IOCTL_ANE_SUBMIT` uses (client-abi).
    pub const LEGACY_QUEUE: u32 = 4, "ANE_LEGACY_QUEUE";
    /// Milliseconds after which `DRM_IOCTL_ANE_SUBMIT` gives up (client-abi).
    pub const LEGACY_TIMEOUT_MS: u32 = 1000, "ANE_LEGACY_TIMEOUT_MS";
}

abi! {
    /// Makes a buffer.
    pub struct BoInit, "drm_ane_bo_init" {
        /// Output: the new buffer.
        pub handle: u32,
        /// Input: must be zero.
        pub pad: u32,
        /// Input: bytes; rounded up to a page.
        pub size: u64,
        /// Output: where to `mmap` the file to reach the buffer.
        pub offset: u64
    }
}

abi! {
    /// Lets a buffer go.
    pub struct BoFree, "drm_ane_bo_free" {
        /// Input: the buffer.
        pub handle: u32,
        /// Input: must be zero.
        pub pad: u32
    }
}

abi! {
    /// Runs a program and waits for it.
    pub struct Submit, "drm_ane_submit" {
        /// Input: bytes of the command part of buffer 0. Must not be zero, and must be below that buffer's
        /// size.
        pub tsk_size: u64,
        /// Input: number of tasks. Must not be zero.
        pub td_count: u32,
        /// Input: bytes of the first descriptor. Must not be zero.
        pub td_size: u32,
        /// Input: the buffer of each BAR, zero for none. `handles[0]`, commands and coefficients, must not
        /// be zero; `handles[1]` must be, as BAR 1 points behind the commands in buffer 0.
        pub handles: [u32; 32],
        /// Input: a buffer with a copy of the first descriptor whose network id is `ANE_FIFO_NID`. Must not
        /// be zero.
        pub btsp_handle: u32,
        /// Input: must be zero.
        pub pad: u32
    }
}

ioctls! {
    /// Makes a zeroed buffer and says where to map it.
    ///
    /// On a fresh file buffers lie at ascending device addresses from 0x4000, in the order of their
    /// creation, with nothing between them.
    BO_INIT 0x41 "DRM_IOCTL_ANE_BO_INIT", ReadWrite, BoInit {
        EINVAL "pad is not zero, or the size is zero or beyond the aperture.";
        ENOMEM "there is no memory for it.";
        EBUSY "the file has no context yet and all are taken.";
    }
    /// Lets a buffer go; mappings that the process made of it stay usable.
    BO_FREE 0x42 "DRM_IOCTL_ANE_BO_FREE", ReadWrite, BoFree {
        EINVAL "pad is not zero, or the handle names no buffer.";
    }
    /// Runs a program and returns when the engine is idle again.
    SUBMIT 0x43 "DRM_IOCTL_ANE_SUBMIT", ReadWrite, Submit {
        EINVAL "a field breaks its rule, or a handle names no buffer.";
        ETIMEDOUT "the engine was not idle after ANE_LEGACY_TIMEOUT_MS; the queue was aborted.";
        EIO "the device could not carry it out, or faulted.";
    }
}

const _: () = {
    assert!(BO_INIT.number == 0xc018_6441);
    assert!(BO_FREE.number == 0xc008_6442);
    assert!(SUBMIT.number == 0xc098_6443);
    assert!(TILE_COUNT as usize * 4 == 128);
};

pub(super) const SECTION: Section = Section {
    title: "The ioctls of existing clients",
    doc: "Numbers and layouts are those of the Linux driver that existing clients were written for.",
    items: &[
        Item::Constants(CONSTANTS),
        Item::Struct(&BoInit::LAYOUT),
        Item::Struct(&BoFree::LAYOUT),
        Item::Struct(&Submit::LAYOUT),
    ],
};
