//! Counters of what driver and device did.
//!
//! The array grows with this ABI: a driver tells how many counters it has, fills in as many as fit, and a
//! client with more room than that finds zeros.

use crate::abi::{AbiStruct, Item, Section, abi, constants};
use crate::codes;

use super::number::ioctls;

constants! {
    SCOPES;
    /// Counters of this file.
    pub const STATS_FILE: u32 = 0, "ANE_STATS_FILE";
    /// Counters of the whole device, all files that were ever open included.
    pub const STATS_DEVICE: u32 = 1, "ANE_STATS_DEVICE";
    /// Counters that one call takes: room for this ABI to grow, in a page of 4 KiB.
    pub const STATS_MAX: u32 = 512, "ANE_STATS_MAX";
}

codes! {
    /// The counters, as indices into the array. PE_MMU and mover count for the whole device only.
    pub enum Counter: u32, "counter" {
        /// Requests accepted.
        Submitted = 0, "submitted";
        /// Requests that ended well.
        Completed = 1, "completed";
        /// Requests that ended with an error of the device.
        Failed = 2, "failed";
        /// Requests that were cancelled.
        Cancelled = 3, "cancelled";
        /// Requests that missed their deadline or time-out.
        TimedOut = 4, "timed out";
        /// Requests and chains in flight now.
        InFlight = 5, "in flight";
        /// Most requests and chains that were ever in flight at once.
        InFlightPeak = 6, "in flight peak";
        /// Nanoseconds that requests waited for their turn.
        QueuedNs = 7, "queued ns";
        /// Nanoseconds that requests were with the device.
        RunningNs = 8, "running ns";
        /// Buffers.
        Buffers = 9, "buffers";
        /// Bytes of buffers.
        BufferBytes = 10, "buffer bytes";
        /// Bytes of the aperture that are mapped.
        MappedBytes = 11, "mapped bytes";
        /// Mappings made, those after an eviction included.
        Maps = 12, "maps";
        /// Mappings taken away, evictions included.
        Unmaps = 13, "unmaps";
        /// Mappings evicted.
        Evictions = 14, "evictions";
        /// Mappings made ahead of their first request.
        Premaps = 15, "premaps";
        /// Invalidations of the translation buffer.
        Invalidations = 16, "invalidations";
        /// Real faults.
        Faults = 17, "faults";
        /// Benign faults.
        BenignFaults = 18, "benign faults";
        /// Recoveries and resets.
        Recoveries = 19, "recoveries";
        /// Events that the device reported.
        Events = 20, "events";
        /// Events that the device had to drop.
        EventsLost = 21, "events lost";
        /// Programs made.
        Programs = 22, "programs";
        /// Rebases computed, one for each program.
        Rebases = 23, "rebases";
        /// Buffers taken out of pools.
        PoolTakes = 24, "pool takes";
        /// Buffers given back to pools.
        PoolRecycles = 25, "pool recycles";
        /// PE_MMU: map entries.
        PeMmuMaps = 26, "pe mmu maps";
        /// PE_MMU: unmap entries.
        PeMmuUnmaps = 27, "pe mmu unmaps";
        /// Mover: transfers.
        MoverTransfers = 28, "mover transfers";
        /// Mover: units of 16 bytes moved or filled.
        MoverUnits = 29, "mover units";
    }
}

abi! {
    /// Fetches counters.
    pub struct GetStats, "drm_ane_get_stats" {
        /// Input: pointer to __u64, which are filled in; the index is ANE_COUNTER_.
        pub counters: u64,
        /// Input: number of them, at most ANE_STATS_MAX. Output: counters that the driver has.
        pub count: u32,
        /// Input: ANE_STATS_FILE or ANE_STATS_DEVICE.
        pub scope: u32
    }
}

ioctls! {
    /// Fetches counters; none of them changes while they are copied.
    GET_STATS 0x94 "DRM_IOCTL_ANE_GET_STATS", ReadWrite, GetStats {
        EINVAL "no such scope.";
        EPERM "the scope is ANE_STATS_DEVICE, and the client is neither root nor the user that the daemon runs as.";
        E2BIG "more than ANE_STATS_MAX counters.";
    }
}

pub(super) const SECTION: Section = Section {
    title: "Counters",
    doc: "",
    items: &[
        Item::Constants(SCOPES),
        Item::enumeration("ANE_COUNTER_", "The counters, as indices into the array.", Counter::CODES),
        Item::Struct(&GetStats::LAYOUT),
    ],
};
