//! An open file: everything that belongs to one client and goes when it does.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::collections::VecDeque;

use ane_uapi::hw::tq::QueueId;
use ane_uapi::ioctl::errno::Errno;

use crate::bo::BufferId;
use crate::failure::Failures;
use crate::fault::Record;
use crate::fence::Fences;
use crate::front::Credentials;
use crate::handle::Table;
use crate::pool::Pool;
use crate::program::ProgramId;
use crate::stats::Counters;
use crate::submit::RequestId;

/// A buffer, as a file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    /// In the context's space.
    pub(crate) id: BufferId,
    /// The pool that it belongs to, by handle, or [`NONE`](ane_uapi::ioctl::handle::NONE).
    pub(crate) pool: u32,
}

/// What a handle may name.
#[derive(Debug)]
pub(crate) enum Object {
    Buffer(Buffer),
    Pool(Pool),
    Program(ProgramId),
}

/// One open file.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) who: Credentials,
    pub(crate) objects: Table<Object>,
    pub(crate) fences: Fences,
    /// Requests and chains that have not ended.
    pub(crate) in_flight: u32,
    /// Requests that have not ended.
    pub(crate) requests: u32,
    /// Requests that wait for their turn, by queue.
    pub(crate) waiting: [VecDeque<RequestId>; QueueId::COUNT as usize],
    /// Faults that were not fetched.
    pub(crate) faults: VecDeque<Record>,
    /// Why its last requests failed.
    pub(crate) failures: Failures,
    /// Faults were dropped since the last that was kept.
    pub(crate) has_lost_faults: bool,
    /// Something happened that the client has not asked about.
    pub(crate) is_readable: bool,
    /// The client has closed it; it goes once the device has let go of its requests.
    pub(crate) is_closed: bool,
    pub(crate) counters: Counters,
    pub(crate) pools: u32,
    pub(crate) programs: u32,
}

impl File {
    pub(crate) fn new(who: Credentials) -> Self {
        Self {
            who,
            objects: Table::new(),
            fences: Fences::default(),
            in_flight: 0,
            requests: 0,
            waiting: [const { VecDeque::new() }; QueueId::COUNT as usize],
            faults: VecDeque::new(),
            failures: Failures::default(),
            has_lost_faults: false,
            is_readable: false,
            is_closed: false,
            counters: Counters::default(),
            pools: 0,
            programs: 0,
        }
    }

    /// The buffer of a handle.
    ///
    /// # Errors
    ///
    /// `ENOENT`, `ESTALE`, or `EINVAL` if the handle names something else.
    pub(crate) fn buffer(&self, handle: u32) -> Result<Buffer, Errno> {
        self.objects
            .get_as(handle, |object| match object {
                Object::Buffer(buffer) => Some(*buffer),
                _ => None,
            })
            .map_err(|missing| missing.errno())
    }

    /// The program of a handle.
    ///
    /// # Errors
    ///
    /// Those of [`File::buffer`].
    pub(crate) fn program(&self, handle: u32) -> Result<ProgramId, Errno> {
        self.objects
            .get_as(handle, |object| match object {
                Object::Program(program) => Some(*program),
                _ => None,
            })
            .map_err(|missing| missing.errno())
    }

    /// The pool of a handle.
    ///
    /// # Errors
    ///
    /// Those of [`File::buffer`].
    pub(crate) fn pool(&self, handle: u32) -> Result<&Pool, Errno> {
        self.objects
            .get_as(handle, |object| match object {
                Object::Pool(pool) => Some(pool),
                _ => None,
            })
            .map_err(|missing| missing.errno())
    }

    /// The same, to change.
    ///
    /// # Errors
    ///
    /// Those of [`File::buffer`].
    pub(crate) fn pool_mut(&mut self, handle: u32) -> Result<&mut Pool, Errno> {
        match self.objects.get_mut(handle).map_err(|missing| missing.errno())? {
            Object::Pool(pool) => Ok(pool),
            _ => Err(Errno::EINVAL),
        }
    }
}
