//! Contexts: each open file's own device address space.
//!
//! A context is a stream of the DART: 0 is the base mapper, 1 to 7 are `iso1` to `iso7` (seed 000). What one
//! maps, requests of another cannot reach. There are eight and there may be more files, so what happens to
//! the ninth is said by the file itself and never assumed. A file that says nothing is refused. One that cannot say
//! anything, of a client that knows of no contexts, shares with others like it of the same user.

use crate::abi::{AbiStruct, Item, Section, abi, constants};
use crate::codes;

use super::number::ioctls;

constants! {
    CONSTANTS;
    /// Any context will do; also what a file without a context has.
    pub const CONTEXT_ANY: u32 = 0xffffffff, "ANE_CONTEXT_ANY";
}

codes! {
    /// The rule for the case that no context is free.
    pub enum ContextPolicy: u32, "context policy" {
        /// Fail.
        Refuse = 0, "refuse";
        /// Wait until one is given back.
        Wait = 1, "wait";
        /// Join the context, of those whose files all asked for this and are the same user's, that the fewest
        /// files share. What one of them maps, all of them reach.
        Share = 2, "share";
    }
}

abi! {
    /// Gets a context.
    pub struct ContextAttach, "drm_ane_context_attach" {
        /// Input: what to do when none is free, ANE_CONTEXT_POLICY_.
        pub policy: u32,
        /// Input: a context's number, or ANE_CONTEXT_ANY. Output: the context.
        pub context: u32,
        /// Input: for ANE_CONTEXT_POLICY_WAIT, when to give up: nanoseconds of ANE_PARAM_CLOCK_NS;
        /// INT64_MAX is never. Otherwise must be zero.
        pub timeout_ns: i64,
        /// Output: how many files have the context, this one included.
        pub sharers: u32,
        /// Input: must be zero.
        pub reserved: u32
    }
}

abi! {
    /// Gives the context back.
    pub struct ContextDetach, "drm_ane_context_detach" {
        /// Input: must be zero: none is defined.
        pub flags: u32,
        /// Input: must be zero.
        pub reserved: u32
    }
}

ioctls! {
    /// Gets the file its context.
    ///
    /// Never has to be called: the first call that needs a context attaches one, with
    /// ANE_CONTEXT_POLICY_REFUSE and ANE_CONTEXT_ANY. Closing the file gives it back.
    CONTEXT_ATTACH 0x81 "DRM_IOCTL_ANE_CONTEXT_ATTACH", ReadWrite, ContextAttach {
        EALREADY "the file has a context.";
        EBUSY "no context is free, or not the one asked for, or the file's user, who is not privileged, has as many as are free.";
        EINVAL "no such policy or context.";
        ETIMEDOUT "none became free in time.";
        EINTR "a signal came first; call again with the same time.";
    }
    /// Gives the file's context back.
    CONTEXT_DETACH 0x82 "DRM_IOCTL_ANE_CONTEXT_DETACH", ReadWrite, ContextDetach {
        ENOENT "the file has no context.";
        EBUSY "the file still has buffers, programs or requests, or, with aned, mappings by MAP.";
    }
}

pub(super) const SECTION: Section = Section {
    title: "Contexts",
    doc: "Each file has a device address space of its own: one of the eight streams that the DART keeps for \
          clients. Any call that needs one and finds none free fails with EBUSY. Files of unmodified clients get theirs \
          when they are opened, and share those of their user when none is free.",
    items: &[
        Item::Constants(CONSTANTS),
        Item::enumeration(
            "ANE_CONTEXT_POLICY_",
            "The rule for the case that no context is free.",
            ContextPolicy::CODES,
        ),
        Item::Struct(&ContextAttach::LAYOUT),
        Item::Struct(&ContextDetach::LAYOUT),
    ],
};
