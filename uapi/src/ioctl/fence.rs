//! Fences: waiting for requests, and taking them back.
//!
//! A fence is a 64-bit number that counts up in its file and is never used again, so a fence cannot be freed
//! and cannot be mistaken for another. The results of the last [`FENCE_HISTORY`](super::param::FENCE_HISTORY)
//! completed requests are kept.
//!
//! Times are points on the driver's clock, not spans: a wait that a signal interrupts is simply called again
//! and still ends when it should.

use crate::abi::{AbiStruct, Item, Section, abi, constants};
use crate::codes;

use super::number::ioctls;

constants! {
    CONSTANTS;
    /// The time that never comes.
    pub const TIME_NEVER: u64 = 0x7fffffffffffffff, "ANE_TIME_NEVER";
    /// Return as soon as one of the fences has completed, not all.
    pub const WAIT_ANY: u32 = 0x1, "ANE_WAIT_ANY";
    /// Abort the request at its next task boundary if it runs already.
    pub const CANCEL_RUNNING: u32 = 0x1, "ANE_CANCEL_RUNNING";
}

codes! {
    /// How far a request has come.
    pub enum FenceState: u32, "fence state" {
        /// Waits for its turn or for other fences.
        Queued = 0, "queued";
        /// Is with the device.
        Running = 1, "running";
        /// Has ended; the result says how.
        Complete = 2, "complete";
        /// Has ended so long ago that the result is not kept.
        Forgotten = 3, "forgotten";
    }
}

abi! {
    /// One fence, and what became of its request.
    pub struct Fence, "drm_ane_fence" {
        /// Input: the fence.
        pub fence: u64,
        /// Output: 0, or the negative errno with which the request ended: ECANCELED, ETIME for its deadline,
        /// EIO for anything the device refused.
        pub result: i32,
        /// Output: ANE_FENCE_STATE_.
        pub state: u32,
        /// Output: sequence number of the fault that ended it, zero if none did.
        pub fault: u64,
        /// Output: when it ended, in ticks of the device's clock; zero if it never started.
        pub timestamp: u64
    }
}

abi! {
    /// Waits for requests.
    pub struct Wait, "drm_ane_wait" {
        /// Input: pointer to struct drm_ane_fence, which are filled in.
        pub fences: u64,
        /// Input: number of them, 1 to ANE_WAIT_MAX.
        pub count: u32,
        /// Input: bytes of one.
        pub fence_size: u32,
        /// Input: when to give up, in nanoseconds of ANE_PARAM_CLOCK_NS: one that has passed, such as zero,
        /// asks without waiting, ANE_TIME_NEVER waits for ever.
        pub timeout_ns: i64,
        /// Input: ANE_WAIT_ANY or zero.
        pub flags: u32,
        /// Output: how many of them are complete or forgotten.
        pub completed: u32
    }
}

abi! {
    /// Takes a request back.
    pub struct Cancel, "drm_ane_cancel" {
        /// Input: its fence.
        pub fence: u64,
        /// Input: ANE_CANCEL_RUNNING or zero.
        pub flags: u32,
        /// Output: ANE_FENCE_STATE_ before the call.
        pub state: u32
    }
}

ioctls! {
    /// Waits until requests have ended. How each ended is in its fence: the call succeeds also if they did not.
    WAIT 0x90 "DRM_IOCTL_ANE_WAIT", ReadWrite, Wait {
        EINVAL "no fences, or an unknown flag.";
        E2BIG "more than ANE_WAIT_MAX fences.";
        ENODATA "a fence was never given out.";
        ETIMEDOUT "not all of them, or with ANE_WAIT_ANY none, had ended in time; the fences are filled in.";
        EINTR "a signal came first; call again with the same time.";
    }
    /// Takes a request back, if it has not started or may be aborted. Its result becomes ECANCELED.
    CANCEL 0x91 "DRM_IOCTL_ANE_CANCEL", ReadWrite, Cancel {
        EALREADY "the request has ended.";
        EBUSY "the request runs, and ANE_CANCEL_RUNNING is not set.";
        ENODATA "the fence was never given out.";
    }
}

pub(super) const SECTION: Section = Section {
    title: "Fences",
    doc: "A fence stands for a request. Its number counts up in the file and is never used again.",
    items: &[
        Item::Constants(CONSTANTS),
        Item::enumeration("ANE_FENCE_STATE_", "How far a request has come.", FenceState::CODES),
        Item::Struct(&Fence::LAYOUT),
        Item::Struct(&Wait::LAYOUT),
        Item::Struct(&Cancel::LAYOUT),
    ],
};
