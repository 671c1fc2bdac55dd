//! Clients: their open files, what each file has, and what each is told.
//!
//! Only the names of a file's things in the device are known here: its context belongs to the hardware, and its requests to
//! the scheduler. Here are its handles, its fences, its faults and failures, and the counters.
//!
//! * `file`: one open file;
//! * `close`: what is left of a file when its client is gone;
//! * `fault`: what becomes of a fault: who is told, and which context is parked for it;
//! * `failure`: why a file's last requests failed;
//! * `unload`: the end of a program.

mod close;
mod failure;
mod fault;
mod file;
mod unload;

use std::collections::BTreeMap;

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::ioctl::context::ContextPolicy;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::stats::Counter;

use self::fault::Faults;
use crate::bus::Bus;
use crate::fence::Ending;
use crate::front::{Credentials, FILES_MAX, FileId};
use crate::hardware::Hardware;
use crate::iso::Seeker;
use crate::journal::told;
use crate::program::Programs;
use crate::stats::Counters;

pub(crate) use self::close::add_events;
pub use self::fault::Consumer;
pub(crate) use self::file::{Buffer, File};
pub(crate) use self::unload::release;

#[derive(Debug, Default)]
pub(crate) struct Clients {
    files: BTreeMap<FileId, File>,
    /// How many were ever opened.
    opened: u64,
    programs: Programs,
    faults: Faults,
    /// The last request that the device did not run to its end, in words.
    failure: Option<String>,
    /// The counters of all files that were ever open.
    counters: Counters,
    /// A file was closed and is still there.
    has_closed: bool,
    /// Something happened that a client may wait for, and fronts have not been told.
    has_news: bool,
}

impl Clients {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if there are [`FILES_MAX`] already.
    pub(crate) fn open(&mut self, who: Credentials) -> Result<FileId, Errno> {
        if self.files.len() >= FILES_MAX {
            return Err(Errno::ENOMEM);
        }
        self.opened = self.opened.wrapping_add(1);
        let file = FileId(self.opened);
        self.files.insert(file, File::new(who));
        Ok(file)
    }

    /// An open file, or one that was closed and is still there.
    ///
    /// # Errors
    ///
    /// `ENODEV` if there is none.
    pub(crate) fn file(&self, file: FileId) -> Result<&File, Errno> {
        self.files.get(&file).ok_or(Errno::ENODEV)
    }

    pub(crate) fn file_mut(&mut self, file: FileId) -> Result<&mut File, Errno> {
        self.files.get_mut(&file).ok_or(Errno::ENODEV)
    }

    /// The processes that have a context, a number for each of their files.
    pub(crate) fn processes<B: Bus>(&self, hardware: &Hardware<B>, context: ContextId) -> Vec<u32> {
        let files = hardware.contexts().files_of(context);
        files.filter_map(|file| self.files.get(&file).map(File::process)).collect()
    }

    /// A file as one that asks for a context.
    pub(crate) fn seeker(&self, file: FileId) -> Result<Seeker, Errno> {
        Ok(Seeker { file, user: self.file(file)?.user() })
    }

    /// The context of a file, which gets one if it has none.
    ///
    /// # Errors
    ///
    /// `EBUSY` if none is free; `ENOMEM`, `ENODEV`.
    pub(crate) fn attached<B: Bus>(
        &self,
        hardware: &mut Hardware<B>,
        file: FileId,
    ) -> Result<ContextId, Errno> {
        if let Some(context) = hardware.contexts().of(file) {
            return Ok(context);
        }
        let attached = hardware.attach(self.seeker(file)?, ContextPolicy::Refuse, None, None);
        attached.map(|attached| attached.context).map_err(|error| told(&error, error.errno()))
    }

    pub(crate) const fn programs(&self) -> &Programs {
        &self.programs
    }

    /// All programs, to load one or to use it.
    pub(crate) const fn programs_mut(&mut self) -> &mut Programs {
        &mut self.programs
    }

    /// Something happened that a client may wait for.
    pub(crate) const fn announce(&mut self) {
        self.has_news = true;
    }

    /// True if something was announced since this was last asked.
    pub(crate) const fn take_news(&mut self) -> bool {
        std::mem::replace(&mut self.has_news, false)
    }

    pub(crate) const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Counts something of the whole device.
    pub(crate) fn count(&mut self, counter: Counter, amount: u64) {
        self.counters.add(counter, amount);
    }

    /// Counts something of a file that was counted of the whole device before.
    pub(crate) fn count_of_file(&mut self, file: FileId, counter: Counter, amount: u64) {
        if let Some(known) = self.files.get_mut(&file) {
            known.counters.add(counter, amount);
        }
    }

    /// Counts something of a file and of the whole device.
    pub(crate) fn count_of(&mut self, file: FileId, counter: Counter, amount: u64) {
        self.count_of_file(file, counter, amount);
        self.count(counter, amount);
    }

    /// One request or chain more of a file is in flight.
    pub(crate) fn group_admitted(&mut self, file: FileId) {
        let Some(known) = self.files.get_mut(&file) else { return };
        known.in_flight = known.in_flight.saturating_add(1);
        for counters in [&mut known.counters, &mut self.counters] {
            counters.add(Counter::InFlight, 1);
            counters.raise(Counter::InFlightPeak, counters.get(Counter::InFlight));
        }
    }

    /// A file has one request more, which waits for its turn. Its fence.
    pub(crate) fn submitted(&mut self, file: FileId) -> Option<u64> {
        let known = self.files.get_mut(&file)?;
        known.requests = known.requests.saturating_add(1);
        known.counters.add(Counter::Submitted, 1);
        self.counters.add(Counter::Submitted, 1);
        Some(known.fences.create())
    }

    /// A request of a file waits for these fences, from now until it ends.
    pub(crate) fn depend(&mut self, file: FileId, fences: &[u64]) {
        if let Some(known) = self.files.get_mut(&file) {
            fences.iter().for_each(|&fence| known.fences.depend(fence));
        }
    }

    /// A request of a file that waited for these fences has ended.
    pub(crate) fn release(&mut self, file: FileId, fences: &[u64]) {
        if let Some(known) = self.files.get_mut(&file) {
            fences.iter().for_each(|&fence| known.fences.release(fence));
        }
    }

    /// A request that waited for so many nanoseconds went to the device.
    pub(crate) fn started(&mut self, file: FileId, fence: u64, waited: u64) {
        self.counters.add(Counter::QueuedNs, waited);
        if let Some(known) = self.files.get_mut(&file) {
            known.fences.set_running(fence, true);
            known.counters.add(Counter::QueuedNs, waited);
        }
    }

    /// A request came back without having run.
    pub(crate) fn returned(&mut self, file: FileId, fence: u64) {
        if let Some(known) = self.files.get_mut(&file) {
            known.fences.set_running(fence, false);
        }
    }

    /// A request has ended after it had the engine for so many nanoseconds. It was the last one of its group if
    /// `is_last`.
    pub(crate) fn ended(&mut self, file: FileId, fence: u64, ending: Ending, ran: u64, is_last: bool) {
        self.announce();
        let how = match ending.result {
            Ok(()) => Counter::Completed,
            Err(Errno::ECANCELED) => Counter::Cancelled,
            Err(Errno::ETIME | Errno::ETIMEDOUT) => Counter::TimedOut,
            Err(_) => Counter::Failed,
        };
        let Some(known) = self.files.get_mut(&file) else { return };
        known.fences.end(fence, ending);
        known.is_readable = true;
        known.requests = known.requests.saturating_sub(1);
        known.in_flight = known.in_flight.saturating_sub(is_last.into());
        for counters in [&mut known.counters, &mut self.counters] {
            counters.add(how, 1);
            counters.add(Counter::RunningNs, ran);
            counters.sub(Counter::InFlight, is_last.into());
        }
    }

    /// A request uses these buffers of pools, by pool and buffer.
    pub(crate) fn begin_pooled(&mut self, file: FileId, pooled: &[(u32, u32)]) {
        for &(pool, buffer) in pooled {
            if let Ok(pool) = self.file_mut(file).and_then(|known| known.pool_mut(pool)) {
                pool.begin(buffer);
            }
        }
    }

    /// A request does not use these buffers of pools any more, by pool and buffer.
    pub(crate) fn end_pooled(&mut self, file: FileId, pooled: &[(u32, u32)], recycles: bool) {
        for &(pool, buffer) in pooled {
            let Some(known) = self.files.get_mut(&file) else { return };
            let is_recycled = known.pool_mut(pool).is_ok_and(|pool| pool.end(buffer, recycles));
            for counters in [&mut known.counters, &mut self.counters] {
                counters.add(Counter::PoolRecycles, is_recycled.into());
            }
        }
    }
}
