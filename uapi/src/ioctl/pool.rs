//! Pools: output buffers that go round.
//!
//! A chain of calls produces one output after the other, and the buffer of each can be used again as soon as
//! its reader is done. A pool keeps such buffers in one of three states: *available*, *taken* by the client,
//! or *in execution*. Taking and recycling move a buffer between the first two; a request moves it to the
//! third and back (seed 000; facts B.9).

use crate::abi::{AbiStruct, Item, Section, abi};

use super::number::ioctls;

abi! {
    /// Makes a pool.
    pub struct PoolCreate, "drm_ane_pool_create" {
        /// Input: buffers that it may hold, not zero.
        pub capacity: u32,
        /// Input: must be zero: none is defined.
        pub flags: u32,
        /// Output: the pool.
        pub handle: u32,
        /// Input: must be zero.
        pub reserved: u32
    }
}

abi! {
    /// Takes a pool apart.
    pub struct PoolDestroy, "drm_ane_pool_destroy" {
        /// Input: the pool.
        pub handle: u32,
        /// Input: must be zero.
        pub reserved: u32
    }
}

abi! {
    /// Takes a buffer out of a pool.
    pub struct PoolTake, "drm_ane_pool_take" {
        /// Input: the pool.
        pub pool: u32,
        /// Output: a buffer, the one that was recycled first.
        pub handle: u32,
        /// Input: bytes that the buffer has to have; the smallest that has them is taken.
        pub size: u64
    }
}

abi! {
    /// Gives a buffer back to its pool.
    pub struct PoolRecycle, "drm_ane_pool_recycle" {
        /// Input: the pool.
        pub pool: u32,
        /// Input: the buffer.
        pub handle: u32
    }
}

ioctls! {
    /// Makes an empty pool. Buffers join it when they are made.
    POOL_CREATE 0x88 "DRM_IOCTL_ANE_POOL_CREATE", ReadWrite, PoolCreate {
        EINVAL "the capacity is zero.";
        ENOSPC "the file has ANE_POOLS_MAX pools.";
    }
    /// Takes a pool apart; its buffers stay, without a pool.
    POOL_DESTROY 0x89 "DRM_IOCTL_ANE_POOL_DESTROY", ReadWrite, PoolDestroy {
        EBUSY "a buffer of it is in execution, or a program uses it.";
    }
    /// Takes an available buffer; a new buffer of a pool counts as taken.
    POOL_TAKE 0x8a "DRM_IOCTL_ANE_POOL_TAKE", ReadWrite, PoolTake {
        EAGAIN "no buffer of that size is available.";
    }
    /// Gives a taken buffer back, so that it is available.
    POOL_RECYCLE 0x8b "DRM_IOCTL_ANE_POOL_RECYCLE", ReadWrite, PoolRecycle {
        EINVAL "the buffer belongs to another pool or to none.";
        EALREADY "the buffer is available.";
        EBUSY "the buffer is in execution.";
    }
}

pub(super) const SECTION: Section = Section {
    title: "Pools",
    doc: "A pool keeps output buffers that are used again and again. Each is available, taken, or in execution.",
    items: &[
        Item::Struct(&PoolCreate::LAYOUT),
        Item::Struct(&PoolDestroy::LAYOUT),
        Item::Struct(&PoolTake::LAYOUT),
        Item::Struct(&PoolRecycle::LAYOUT),
    ],
};
