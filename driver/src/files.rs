//! The driver as fronts see it: files, and the calls on them.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::space::IovaRange;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::context::CONTEXT_ATTACH;
use ane_uapi::ioctl::errno::Errno;

use crate::bo::Holder;
use crate::bus::Bus;
use crate::device::Driver;
use crate::file::{File, Object};
use crate::front::{Call, Credentials, Extent, FileId, Files, Progress};
use crate::program::Load;
use crate::submit::Held;

/// Files that may be open at once: far more than there are contexts, as most wait for one.
pub const FILES_MAX: usize = 4096;

/// A context in use, for whoever wants to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextInfo {
    /// Which.
    pub context: ContextId,
    /// The processes whose files have it.
    pub processes: Vec<u32>,
    /// What is mapped in it.
    pub mappings: Vec<MappingInfo>,
    /// Where the driver's own pages are, which no client reaches.
    pub own: Option<IovaRange>,
    /// How long it is held back still although the engine could take its request, and why.
    pub held: Option<(Duration, &'static str)>,
}

/// A mapping, for whoever wants to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingInfo {
    /// Where it lies.
    pub range: IovaRange,
    /// What it is for.
    pub usage: Usage,
    /// Number of the mapping in its buffer.
    pub mapping: u32,
}

impl<B: Bus> Driver<B> {
    /// Every context in use, and what is mapped in it.
    pub fn contexts(&self) -> Vec<ContextInfo> {
        let in_use = |context: ContextId| {
            let space = self.contexts.space(context)?;
            let processes = self
                .files_of(context)
                .into_iter()
                .filter_map(|file| self.files.get(&file).map(|known| known.who.process));
            let mappings =
                space.mappings().map(|(_, mapping, range, usage)| MappingInfo { range, usage, mapping });
            Some(ContextInfo {
                context,
                processes: processes.collect(),
                mappings: mappings.collect(),
                own: space.own_range(),
                held: self.held(context),
            })
        };
        ContextId::ALL.into_iter().filter_map(in_use).filter(|info| !info.processes.is_empty()).collect()
    }

    /// How long the files of a context are held back still, and why.
    fn held(&self, context: ContextId) -> Option<(Duration, &'static str)> {
        let now = self.clock.now();
        let held = self.files_of(context).into_iter().filter_map(|file| self.shares.held(file, now));
        let (until, why) = held.max_by_key(|(until, _)| *until)?;
        let why = match why {
            Held::Hung => "its request hung",
            Held::Quota => "its user had the engine for as long as he may in a minute",
        };
        Some((until.since(now), why))
    }

    /// What the firmware keeps of every program that is loaded: region, aperture, and the records of its text.
    pub fn loads(&self) -> impl Iterator<Item = &Load> {
        self.programs.loads()
    }

    /// Ends what a file has in flight; it is gone once the device has let go.
    pub(crate) fn begin_close(&mut self, file: FileId) {
        let Some(known) = self.files.get_mut(&file) else { return };
        known.is_closed = true;
        self.contexts.give_up_all(file);
        self.doom_file(file, Errno::ECANCELED);
        self.has_closed = true;
    }

    /// Takes away the files that were closed and of which the device has nothing any more.
    pub(crate) fn purge_closed(&mut self) {
        if !self.has_closed {
            return;
        }
        let is_over = |(_, known): &(&FileId, &File)| known.is_closed && known.requests == 0;
        let over: Vec<FileId> = self.files.iter().filter(is_over).map(|(file, _)| *file).collect();
        for file in over {
            self.end_close(file);
        }
        self.has_closed = self.files.values().any(|known| known.is_closed);
    }

    /// Gives everything back that a file had.
    fn end_close(&mut self, file: FileId) {
        let Some(mut known) = self.files.remove(&file) else { return };
        self.shares.closed(file, self.clock.now());
        for turns in &mut self.turns {
            turns.retain(|other| *other != file);
        }
        let context = self.contexts.of(file);
        for object in known.objects.drain() {
            match object {
                Object::Buffer(buffer) => {
                    if let Some(space) = context.and_then(|context| self.contexts.space_mut(context)) {
                        space.release(buffer.id, Holder::Handle);
                    }
                }
                Object::Program(program) => self.destroy_program(program),
                Object::Pool(_) => {}
            }
        }
        self.detach(file);
        self.news = self.news.wrapping_add(1);
    }

    /// Gives a file's context back.
    pub(crate) fn detach(&mut self, file: FileId) {
        let Some(context) = self.contexts.of(file) else { return };
        if self.contexts.sharers(context) == 1 {
            self.keep_counters(context);
            self.faults.unpark(context);
        }
        if let Err(why) = self.contexts.detach(&mut self.bus, file) {
            log::warn!(target: "ane::driver", "{} is given back with difficulty: {why}", context.label());
        }
        self.news = self.news.wrapping_add(1);
    }
}

impl<B: Bus> Files for Driver<B> {
    fn open(&mut self, who: Credentials) -> Result<FileId, Errno> {
        if self.is_lost() {
            return Err(Errno::ENODEV);
        }
        if self.files.len() >= FILES_MAX {
            return Err(Errno::ENOMEM);
        }
        let file = self.new_file();
        self.files.insert(file, File::new(who));
        self.shares.opened(file, who.user.id);
        Ok(file)
    }

    fn close(&mut self, file: FileId) {
        self.begin_close(file);
        self.pursue();
        if self.has_closed && !self.is_lost() {
            // What was taken back is answered at once: mostly the file is gone when this returns.
            self.take_arrived();
        }
        self.purge_closed();
        self.schedule();
    }

    fn ioctl(&mut self, file: FileId, call: &mut Call) -> Poll<Result<(), Errno>> {
        if self.is_lost() || self.files.get(&file).is_none_or(|known| known.is_closed) {
            return Poll::Ready(Err(Errno::ENODEV));
        }
        self.dispatch(file, call)
    }

    fn abandon(&mut self, _: FileId, call: Call) {
        // A call that waits has changed nothing but what it started, which goes on; and its place in a line.
        if let Some(place) = call.ticket.filter(|_| call.number == CONTEXT_ATTACH.number) {
            self.contexts.give_up(place);
            self.news = self.news.wrapping_add(1);
        }
    }

    fn map(&mut self, file: FileId, offset: u64, bytes: u64) -> Result<Vec<Extent>, Errno> {
        let context = self.contexts.of(file).ok_or(Errno::EINVAL)?;
        let space = self.contexts.space_mut(context).ok_or(Errno::EINVAL)?;
        space.extents(offset, bytes).map_err(|error| error.errno())
    }

    fn unmap(&mut self, file: FileId, offset: u64, bytes: u64) -> Result<(), Errno> {
        let context = self.contexts.of(file).ok_or(Errno::EINVAL)?;
        let space = self.contexts.space_mut(context).ok_or(Errno::EINVAL)?;
        space.unmapped(offset, bytes).map_err(|error| error.errno())
    }

    fn signal(&mut self, file: FileId, fence: u64, event: OwnedFd) -> Result<(), Errno> {
        self.files.get_mut(&file).ok_or(Errno::ENODEV)?.fences.signal(fence, event)
    }

    fn failure(&self, file: FileId, fence: u64) -> Option<&str> {
        self.files.get(&file)?.failures.of(fence)
    }

    fn is_readable(&self, file: FileId) -> bool {
        self.files.get(&file).is_some_and(|known| known.is_readable)
    }

    fn arena(&mut self, file: FileId) -> Result<Arc<OwnedFd>, Errno> {
        if !self.files.contains_key(&file) {
            return Err(Errno::ENODEV);
        }
        let context = self.attached(file)?;
        Ok(Arc::clone(self.contexts.space(context).ok_or(Errno::ENODEV)?.arena().file()))
    }

    fn has_queued(&self) -> bool {
        self.has_queued
    }

    fn push(&mut self) {
        if self.has_queued {
            self.schedule();
        }
    }

    fn progress(&mut self, limit: Duration) -> Progress {
        self.advance(limit)
    }

    fn wakeup(&self) -> Option<BorrowedFd<'_>> {
        self.bus.wakeup()
    }
}
