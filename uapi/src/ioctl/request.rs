//! Requests: work for the engine, one at a time or in a chain.
//!
//! Submitting returns at once with a *fence*, a number that is never used again in the file and stands for
//! the request from then on: to wait for it, to make others wait for it, to cancel it.

use crate::abi::{AbiStruct, Item, Section, abi, constants};

use super::number::ioctls;

constants! {
    CONSTANTS;
    /// The most urgent priority; it and the next are the system's own (facts F.2).
    pub const PRIORITY_FIRST: u32 = 0, "ANE_PRIORITY_FIRST";
    /// The most urgent priority of applications.
    pub const PRIORITY_APPLICATION: u32 = 2, "ANE_PRIORITY_APPLICATION";
    /// The priority of `DRM_IOCTL_ANE_SUBMIT`.
    pub const PRIORITY_DEFAULT: u32 = 4, "ANE_PRIORITY_DEFAULT";
    /// The least urgent priority. The driver gives each to a task queue of its own; a queue's PRTY register
    /// counts the other way, the larger number goes first, so priority 0 goes to the queue with 0x1f.
    pub const PRIORITY_LAST: u32 = 7, "ANE_PRIORITY_LAST";
}

constants! {
    FLAGS;
    /// Fail with EAGAIN instead of waiting while ANE_IN_FLIGHT_MAX requests and chains are in
    /// flight.
    pub const REQUEST_NONBLOCK: u32 = 0x1, "ANE_REQUEST_NONBLOCK";
    /// Give the output buffers that belong to a pool back to it when the request has ended.
    pub const REQUEST_RECYCLE: u32 = 0x2, "ANE_REQUEST_RECYCLE";
}

abi! {
    /// The address of one BAR: a buffer, and an offset into it.
    pub struct Bar, "drm_ane_bar" {
        /// Input: the BAR, below ANE_BARS_MAX.
        pub index: u32,
        /// Input: the buffer.
        pub handle: u32,
        /// Input: number of the buffer's mapping.
        pub mapping: u32,
        /// Input: must be zero.
        pub reserved: u32,
        /// Input: bytes from the start of the mapping, below its size.
        pub offset: u64
    }
}

abi! {
    /// Work for the engine.
    ///
    /// Either of a program, and then stream_size, task_count, first_size and network_id are zero and the BARs
    /// only those that differ from the program's; or raw, and then BAR 0 is the task stream.
    pub struct Request, "drm_ane_request" {
        /// Input: the program, or ANE_HANDLE_NONE.
        pub program: u32,
        /// Input: priority, ANE_PRIORITY_FIRST to ANE_PRIORITY_LAST.
        pub priority: u32,
        /// Input: ANE_REQUEST_ flags.
        pub flags: u32,
        /// Input, raw: network id, 1 to ANE_NETWORK_ID_MAX but not ANE_FIFO_NID; zero leaves it to the driver.
        pub network_id: u32,
        /// Input: pointer to struct drm_ane_bar.
        pub bars: u64,
        /// Input: number of them, at most ANE_BARS_MAX; no BAR twice.
        pub bar_count: u32,
        /// Input: bytes of one.
        pub bar_size: u32,
        /// Input: pointer to __u64, the fences that have to complete first. If one of them fails, the
        /// request does not run and its result is ECANCELED. One that was forgotten already counts as
        /// one that ended well.
        pub in_fences: u64,
        /// Input: number of them, at most ANE_IN_FENCES_MAX.
        pub in_fence_count: u32,
        /// Input: must be zero.
        pub reserved: u32,
        /// Input, raw: bytes of the task stream, not zero.
        pub stream_size: u64,
        /// Input, raw: number of tasks, not zero.
        pub task_count: u32,
        /// Input, raw: bytes of the first descriptor, not zero.
        pub first_size: u32,
        /// Input: when to abort the request, in nanoseconds of ANE_PARAM_CLOCK_NS; zero is never.
        pub deadline_ns: u64,
        /// Output: the request's fence.
        pub out_fence: u64,
        /// Input: must be zero.
        pub reserved2: [u64; 2]
    }
}

abi! {
    /// Requests that run one after the other.
    pub struct Chain, "drm_ane_chain" {
        /// Input: pointer to struct drm_ane_request. Output: out_fence of each.
        pub requests: u64,
        /// Input: number of them, 1 to ANE_CHAIN_MAX.
        pub request_count: u32,
        /// Input: bytes of one.
        pub request_size: u32,
        /// Input: ANE_REQUEST_NONBLOCK or zero; requests of a chain do not have that flag themselves.
        pub flags: u32,
        /// Output, also of a call that failed: index of the request that was refused.
        pub failed: u32,
        /// Output: fence of the last request.
        pub out_fence: u64
    }
}

ioctls! {
    /// Submits a request and returns its fence.
    SUBMIT_REQUEST 0x8e "DRM_IOCTL_ANE_SUBMIT_REQUEST", ReadWrite, Request {
        EINVAL "no such priority, a BAR out of range or twice there, a mapping or offset its buffer does not have, a size zero or beyond the stream's buffer, or raw fields or BAR 0 together with a program.";
        E2BIG "too many BARs or fences, or more tasks than a request may have here.";
        EPERM "the priority is the system's and the client may not use it.";
        EAGAIN "with ANE_REQUEST_NONBLOCK: ANE_IN_FLIGHT_MAX requests and chains are in flight, or all tasks that the user may have.";
        EINTR "a signal came while waiting for one of them to end; nothing was submitted.";
        ENODATA "a fence to wait for was never given out.";
        ENOSPC "the request's buffers do not fit the aperture together.";
        EIO "the file's context is parked after a fault, or the device dead; see DRM_IOCTL_ANE_RECOVER.";
    }
    /// Submits requests that run one after the other: all of them or none.
    ///
    /// A chain counts as one of what is in flight, and each of its requests has a fence of its own.
    /// When one fails, those behind it do not run and their result is ECANCELED.
    SUBMIT_CHAIN 0x8f "DRM_IOCTL_ANE_SUBMIT_CHAIN", ReadWrite, Chain {
        EINVAL "the chain is empty, or a request would be refused so by DRM_IOCTL_ANE_SUBMIT_REQUEST.";
        E2BIG "too many requests, or too many BARs, fences or tasks in one.";
        EPERM "a priority is the system's and the client may not use it.";
        EAGAIN "with ANE_REQUEST_NONBLOCK: ANE_IN_FLIGHT_MAX requests and chains are in flight, or all tasks that the user may have.";
        EINTR "a signal came while waiting for room; nothing was submitted.";
        ENODATA "a fence to wait for was never given out.";
        ENOSPC "a request's buffers do not fit the aperture together.";
        EIO "the file's context is parked after a fault, or the device dead; see DRM_IOCTL_ANE_RECOVER.";
    }
}

pub(super) const SECTION: Section = Section {
    title: "Requests",
    doc: "A request is one run of a task stream. Submitting returns at once with a fence. Requests of one \
          file and priority start in the order of their submission.",
    items: &[
        Item::Constants(CONSTANTS),
        Item::Constants(FLAGS),
        Item::Struct(&Bar::LAYOUT),
        Item::Struct(&Request::LAYOUT),
        Item::Struct(&Chain::LAYOUT),
    ],
};
