//! An open file: everything that belongs to one client and goes when it does.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::handle::NONE;
use ane_uapi::ioctl::param::{IN_FLIGHT_MAX, POOLS_MAX, PROGRAMS_MAX};

use super::failure::Failures;
use super::fault::Record;
use crate::bo::BufferId;
use crate::fence::Fences;
use crate::front::{Credentials, User};
use crate::handle::Table;
use crate::pool::Pool;
use crate::program::ProgramId;
use crate::stats::Counters;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    /// In the context's space.
    pub(crate) id: BufferId,
    /// The pool that it belongs to, by handle, or [`NONE`].
    pub(crate) pool: u32,
}

#[derive(Debug)]
pub(super) enum Object {
    Buffer(Buffer),
    Pool(Pool),
    Program(ProgramId),
}

#[derive(Debug)]
pub(crate) struct File {
    who: Credentials,
    objects: Table<Object>,
    pools: u32,
    programs: u32,
    pub(super) fences: Fences,
    /// Requests and chains that have not ended.
    pub(super) in_flight: u32,
    /// Requests that have not ended.
    pub(super) requests: u32,
    /// Mappings of processes that were made through this file.
    mapped: u32,
    /// Faults that were not fetched.
    pub(super) faults: VecDeque<Record>,
    /// Faults were dropped since the last that was kept.
    pub(super) has_lost_faults: bool,
    pub(super) failures: Failures,
    /// Something happened that the client has not asked about.
    pub(super) is_readable: bool,
    /// The client has closed it; it goes once the device has let go of its requests.
    pub(super) is_closed: bool,
    pub(super) counters: Counters,
}

impl File {
    pub(super) fn new(who: Credentials) -> Self {
        Self {
            who,
            objects: Table::new(),
            pools: 0,
            programs: 0,
            fences: Fences::default(),
            in_flight: 0,
            requests: 0,
            mapped: 0,
            faults: VecDeque::new(),
            has_lost_faults: false,
            failures: Failures::default(),
            is_readable: false,
            is_closed: false,
            counters: Counters::default(),
        }
    }

    pub(crate) const fn process(&self) -> u32 {
        self.who.process
    }

    pub(crate) const fn user(&self) -> User {
        self.who.user
    }

    /// True until its client has closed it.
    pub(crate) const fn is_open(&self) -> bool {
        !self.is_closed
    }

    /// True if something happened that the client has not asked about.
    pub(crate) const fn is_readable(&self) -> bool {
        self.is_readable
    }

    /// The client asks what happened.
    pub(crate) const fn mark_read(&mut self) {
        self.is_readable = false;
    }

    /// True if it has a request that has not ended.
    pub(crate) const fn has_requests(&self) -> bool {
        self.requests != 0
    }

    /// A process has mapped something through it. Only its context knows what, so it keeps that context until the mapping ends.
    pub(crate) const fn note_mapped(&mut self) {
        self.mapped = self.mapped.saturating_add(1);
    }

    /// Such a mapping is no more.
    pub(crate) const fn note_unmapped(&mut self) {
        self.mapped = self.mapped.saturating_sub(1);
    }

    /// True while processes have mappings that were made through it.
    pub(crate) const fn is_mapped(&self) -> bool {
        self.mapped != 0
    }

    /// True while it has less in flight than it may.
    pub(crate) const fn has_room(&self) -> bool {
        self.in_flight < IN_FLIGHT_MAX
    }

    pub(crate) const fn counters(&self) -> Counters {
        self.counters
    }

    pub(crate) const fn fences(&self) -> &Fences {
        &self.fences
    }

    /// Has `event` written to at the end of a request; see [`Fences::signal`].
    ///
    /// # Errors
    ///
    /// `ENODATA` if the number was never given out.
    pub(crate) fn signal(&mut self, fence: u64, event: Arc<OwnedFd>) -> Result<(), Errno> {
        self.fences.signal(fence, event)
    }

    /// Takes a fault out, the oldest if no number is given. With it, how many are left.
    ///
    /// # Errors
    ///
    /// `ENODATA` if there is none.
    pub(crate) fn take_fault(&mut self, sequence: u64) -> Result<(Record, usize), Errno> {
        let is_it = |record: &Record| sequence == 0 || record.sequence == sequence;
        let at = self.faults.iter().position(is_it).ok_or(Errno::ENODATA)?;
        let record = self.faults.remove(at).ok_or(Errno::ENODATA)?;
        Ok((record, self.faults.len()))
    }

    pub(crate) const fn failures(&self) -> &Failures {
        &self.failures
    }

    pub(crate) fn insert_buffer(&mut self, buffer: Buffer) -> Result<u32, Errno> {
        self.insert(Object::Buffer(buffer))
    }

    /// Makes a pool.
    ///
    /// # Errors
    ///
    /// `ENOSPC` if it has [`POOLS_MAX`]; if there are no handles left.
    pub(crate) fn insert_pool(&mut self, capacity: u32) -> Result<u32, Errno> {
        if self.pools >= POOLS_MAX {
            return Err(Errno::ENOSPC);
        }
        let handle = self.insert(Object::Pool(Pool::new(capacity)))?;
        self.pools = self.pools.saturating_add(1);
        Ok(handle)
    }

    pub(crate) fn insert_program(&mut self, program: ProgramId) -> Result<u32, Errno> {
        let handle = self.insert(Object::Program(program))?;
        self.programs = self.programs.saturating_add(1);
        Ok(handle)
    }

    fn insert(&mut self, object: Object) -> Result<u32, Errno> {
        self.objects.insert(object).map(|handle| handle.raw()).map_err(|full| full.errno())
    }

    /// True if it has as many programs as it may.
    pub(crate) const fn has_all_programs(&self) -> bool {
        self.programs >= PROGRAMS_MAX
    }

    /// True if it has a buffer or a program, which are in its context.
    pub(crate) fn uses_context(&self) -> bool {
        self.objects.iter().any(|(_, object)| !matches!(object, Object::Pool(_)))
    }

    /// Takes a buffer's handle, and the buffer out of its pool.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the handle names no buffer, as existing clients are told.
    pub(crate) fn remove_buffer(&mut self, handle: u32) -> Result<Buffer, Errno> {
        let is_buffer = |object: &Object| matches!(object, Object::Buffer(_));
        let Ok(Object::Buffer(buffer)) = self.objects.remove_if(handle, is_buffer) else {
            return Err(Errno::EINVAL);
        };
        if let Ok(pool) = self.pool_mut(buffer.pool) {
            pool.leave(handle);
        }
        Ok(buffer)
    }

    /// Takes a pool apart. Its buffers stay.
    pub(crate) fn remove_pool(&mut self, handle: u32) -> Result<(), Errno> {
        let pool = self.pool(handle)?;
        if pool.is_busy() {
            return Err(Errno::EBUSY);
        }
        let members: Vec<u32> = pool.handles().collect();
        for member in members {
            if let Ok(Object::Buffer(buffer)) = self.objects.get_mut(member) {
                buffer.pool = NONE;
            }
        }
        self.objects.remove(handle).map_err(|missing| missing.errno())?;
        self.pools = self.pools.saturating_sub(1);
        Ok(())
    }

    pub(crate) fn remove_program(&mut self, handle: u32) -> Result<ProgramId, Errno> {
        let program = self.program(handle)?;
        self.objects.remove(handle).map_err(|missing| missing.errno())?;
        self.programs = self.programs.saturating_sub(1);
        Ok(program)
    }

    pub(super) fn take_objects(&mut self) -> impl Iterator<Item = Object> + use<> {
        self.objects.drain()
    }

    /// The buffer of a handle.
    ///
    /// # Errors
    ///
    /// `ENOENT`, `ESTALE`, or `EINVAL` if the handle names something else.
    pub(crate) fn buffer(&self, handle: u32) -> Result<Buffer, Errno> {
        self.object(handle, |object| if let Object::Buffer(buffer) = object { Some(*buffer) } else { None })
    }

    pub(crate) fn program(&self, handle: u32) -> Result<ProgramId, Errno> {
        self.object(
            handle,
            |object| if let Object::Program(program) = object { Some(*program) } else { None },
        )
    }

    pub(crate) fn pool(&self, handle: u32) -> Result<&Pool, Errno> {
        self.object(handle, |object| if let Object::Pool(pool) = object { Some(pool) } else { None })
    }

    fn object<'a, T>(&'a self, handle: u32, kind: impl FnOnce(&'a Object) -> Option<T>) -> Result<T, Errno> {
        self.objects.get_as(handle, kind).map_err(|missing| missing.errno())
    }

    pub(crate) fn pool_mut(&mut self, handle: u32) -> Result<&mut Pool, Errno> {
        match self.objects.get_mut(handle).map_err(|missing| missing.errno())? {
            Object::Pool(pool) => Ok(pool),
            _ => Err(Errno::EINVAL),
        }
    }
}
