//! Programs: a stream of tasks, the buffers it works on, and which BAR names which.
//!
//! Creating a program does once what need not be done for each request: the buffers get their device
//! addresses and the firmware's share, the rebase into its aperture, is computed and kept. A request then
//! only says what is different from the program (seed 000). One matmul with activation has nine buffers:
//! input, output, weights, text, constants, intermediate, working set, and two surfaces of the firmware.

use crate::abi::{AbiStruct, Item, Section, abi, constants};
use crate::hw::nid::Nid;

use super::number::ioctls;

constants! {
    CONSTANTS;
    /// Largest network id: eight bits, of which 0 names nothing, and sources disagree on 255 (facts M, X-08).
    pub const NETWORK_ID_MAX: u32 = 254, "ANE_NETWORK_ID_MAX";
}

const _: () = assert!(NETWORK_ID_MAX == Nid::DRIVER_MAX as u32);

abi! {
    /// One buffer of a program.
    pub struct ProgramBuffer, "drm_ane_program_buffer" {
        /// Input: the buffer; ANE_HANDLE_NONE for one that the driver makes, where the contents do not matter
        /// at the start: intermediate, working set, the firmware's.
        pub handle: u32,
        /// Input: its role, ANE_USAGE_. The firmware's codes are allowed here.
        pub usage: u32,
        /// Input: first byte of the buffer that the program uses.
        pub offset: u64,
        /// Input: bytes that the program uses, not zero.
        pub size: u64
    }
}

abi! {
    /// The buffer of a BAR.
    pub struct ProgramBinding, "drm_ane_program_binding" {
        /// Input: the BAR, below ANE_BARS_MAX.
        pub bar: u32,
        /// Input: index into the program's buffers.
        pub buffer: u32,
        /// Input: bytes from where the buffer's part begins.
        pub offset: u64
    }
}

abi! {
    /// Makes a program.
    pub struct ProgramCreate, "drm_ane_program_create" {
        /// Input: pointer to struct drm_ane_program_buffer.
        pub buffers: u64,
        /// Input: number of them, at most ANE_PROGRAM_BUFFERS_MAX.
        pub buffer_count: u32,
        /// Input: bytes of one.
        pub buffer_size: u32,
        /// Input: pointer to struct drm_ane_program_binding.
        pub bindings: u64,
        /// Input: number of them, at most ANE_BARS_MAX; no BAR twice. BAR 0 has to point at the text.
        pub binding_count: u32,
        /// Input: bytes of one.
        pub binding_size: u32,
        /// Input: index of the buffer with the task stream; its usage is ANE_USAGE_PROGRAM.
        pub text: u32,
        /// Input: must be zero: none is defined.
        pub flags: u32,
        /// Input: bytes of the task stream, not zero.
        pub stream_size: u64,
        /// Input: number of tasks, not zero.
        pub task_count: u32,
        /// Input: bytes of the first descriptor, not zero.
        pub first_size: u32,
        /// Input: network id, 1 to ANE_NETWORK_ID_MAX but not ANE_FIFO_NID; zero leaves it to the driver.
        pub network_id: u32,
        /// Input: the pool that outputs go back to, or ANE_HANDLE_NONE.
        pub pool: u32,
        /// Output: device address at which the program's region begins.
        pub dva_base: u64,
        /// Output: bytes of the region.
        pub region_size: u64,
        /// Output: where the firmware's aperture has the region: a tile's address is
        /// mapped_base + (device address - dva_base).
        pub mapped_base: u64,
        /// Output: the program.
        pub handle: u32,
        /// Input: must be zero.
        pub reserved: u32
    }
}

abi! {
    /// Takes a program apart.
    pub struct ProgramDestroy, "drm_ane_program_destroy" {
        /// Input: the program.
        pub handle: u32,
        /// Input: must be zero.
        pub reserved: u32
    }
}

ioctls! {
    /// Makes a program of a task stream and the buffers around it.
    ///
    /// Its buffers are held until it is destroyed and their mappings stay where they are.
    PROGRAM_CREATE 0x8c "DRM_IOCTL_ANE_PROGRAM_CREATE", ReadWrite, ProgramCreate {
        EINVAL "a size is zero or beyond its buffer, an index or BAR is out of range or twice there, BAR 0 is not the text, a usage is unknown, an output belongs to another pool, or there is no such network id.";
        E2BIG "too many buffers or bindings.";
        ENOMEM "there is no memory for a buffer that the driver makes.";
        ENOSPC "the file has ANE_PROGRAMS_MAX programs, or the aperture has no room.";
    }
    /// Takes a program apart once its last request has ended; no new one is accepted.
    PROGRAM_DESTROY 0x8d "DRM_IOCTL_ANE_PROGRAM_DESTROY", ReadWrite, ProgramDestroy {
    }
}

pub(super) const SECTION: Section = Section {
    title: "Programs",
    doc: "A program is a task stream with the buffers it works on and the BARs that name them.",
    items: &[
        Item::Constants(CONSTANTS),
        Item::Struct(&ProgramBuffer::LAYOUT),
        Item::Struct(&ProgramBinding::LAYOUT),
        Item::Struct(&ProgramCreate::LAYOUT),
        Item::Struct(&ProgramDestroy::LAYOUT),
    ],
};
