//! The ioctls that clients of the existing Linux driver use, unchanged to the byte (client-abi; contract 5).
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
    /// Milliseconds after which a request ends that gets nowhere, or that takes so much of the engine's own time. The
    /// existing driver gives up after 1000 of its own, which a loaded host would lose.
    pub const LEGACY_TIMEOUT_MS: u32 = 2000, "ANE_LEGACY_TIMEOUT_MS";
    /// The ABI of these calls (contract 5.1).
    pub const CAPS_ABI: u32 = 1, "ANE_CAPS_ABI";
    /// The family of an M1's engine: H13 (contract 5.1).
    pub const CAPS_FAMILY_H13: u32 = 13, "ANE_CAPS_FAMILY_H13";
}

abi! {
    /// The abilities of the driver.
    pub struct Caps, "drm_ane_caps" {
        /// Output: zero.
        pub flags: u32,
        /// Output: bytes of this structure.
        pub size: u32,
        /// Output: ANE_CAPS_ABI.
        pub abi: u32,
        /// Output: the engine's family, ANE_CAPS_FAMILY_H13.
        pub family: u32,
        /// Output: zero in this ABI.
        pub section_size: u32,
        /// Output: zero in this ABI.
        pub bind_size: u32,
        /// Output: zero in this ABI.
        pub io_size: u32,
        /// Must be zero.
        pub pad: u32
    }
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
    /// Tells which calls there are. Libraries ask it first, and take an error for a driver that is older.
    GET_CAPS 0x40 "DRM_IOCTL_ANE_GET_CAPS", ReadWrite, Caps {
        EINVAL "pad is not zero.";
    }
    /// Makes a zeroed buffer and says where to map it.
    ///
    /// On a fresh file buffers lie at ascending device addresses from 0x4000, in the order of their
    /// creation, with nothing between them, unless the file shares its context.
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
        ETIMEDOUT "the engine got nowhere for ANE_LEGACY_TIMEOUT_MS, or would have taken longer on the chip.";
        EIO "the device could not carry it out, or faulted.";
    }
}

const _: () = {
    assert!(GET_CAPS.number == 0xc020_6440);
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
        Item::Struct(&Caps::LAYOUT),
        Item::Struct(&BoInit::LAYOUT),
        Item::Struct(&BoFree::LAYOUT),
        Item::Struct(&Submit::LAYOUT),
    ],
};
