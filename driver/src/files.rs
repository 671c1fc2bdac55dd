//! The driver as fronts see it: files, and the calls on them.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::task::Poll;
use std::time::Duration;

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::space::IovaRange;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::context::CONTEXT_ATTACH;
use ane_uapi::ioctl::errno::Errno;

use crate::bo::{Space, StoreId};
use crate::bus::Bus;
use crate::device::Driver;
use crate::front::{Call, Credentials, Extent, FileId, Files, Progress};
use crate::journal::told;
use crate::program::Load;
use crate::submit::Held;

/// A context in use, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextInfo {
    pub context: ContextId,
    /// The processes whose files have it.
    pub processes: Vec<u32>,
    pub mappings: Vec<MappingInfo>,
    /// Where the driver's own pages are, which no client reaches.
    pub own: Option<IovaRange>,
    /// How long it is held back still although the engine could take its request, and why.
    pub held: Option<(Duration, &'static str)>,
}

/// A mapping, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingInfo {
    pub range: IovaRange,
    pub usage: Usage,
    /// Number of the mapping in its buffer.
    pub mapping: u32,
}

impl<B: Bus> Driver<B> {
    /// Every context in use, and what is mapped in it.
    pub fn contexts(&self) -> Vec<ContextInfo> {
        let in_use = |context: ContextId| {
            let space = self.hardware.contexts().space(context)?;
            let mappings =
                space.mappings().map(|(_, mapping, range, usage)| MappingInfo { range, usage, mapping });
            Some(ContextInfo {
                context,
                processes: self.clients.processes(&self.hardware, context),
                mappings: mappings.collect(),
                own: space.own_range(),
                held: self.held(context),
            })
        };
        ContextId::ALL.into_iter().filter_map(in_use).filter(|info| !info.processes.is_empty()).collect()
    }

    /// The memory of a file's context, and which arena of it is the file's.
    fn memory_of(&mut self, file: FileId) -> Option<(&mut Space, StoreId)> {
        let contexts = self.hardware.contexts_mut();
        let (context, store) = contexts.of(file).zip(contexts.store(file))?;
        Some((contexts.space_mut(context)?, store))
    }

    /// How long the files of a context are held back still, and why.
    fn held(&self, context: ContextId) -> Option<(Duration, &'static str)> {
        let now = self.hardware.now();
        let held =
            self.hardware.contexts().files_of(context).filter_map(|file| self.scheduler.held(file, now));
        let (until, why) = held.max_by_key(|(until, _)| *until)?;
        let why = match why {
            Held::Hung => "its request hung",
            Held::Quota => "its user had the engine for as long as he may in a minute",
        };
        Some((until.since(now), why))
    }

    /// The firmware's record of every program that is loaded: region, aperture, and the records of its text.
    pub fn loads(&self) -> impl Iterator<Item = &Load> {
        self.clients.programs().loads()
    }

    /// Ends what a file has in flight; it is gone once the device has let go.
    pub(crate) fn begin_close(&mut self, file: FileId) {
        if self.clients.begin_close(&mut self.hardware, file) {
            self.scheduler.stop_file(&mut self.hardware, &mut self.clients, file, Errno::ECANCELED);
        }
    }
}

impl<B: Bus> Files for Driver<B> {
    fn open(&mut self, who: Credentials) -> Result<FileId, Errno> {
        if self.hardware.is_lost() {
            return Err(Errno::ENODEV);
        }
        let file = self.clients.open(who)?;
        self.scheduler.opened(file, who.user.id);
        Ok(file)
    }

    fn close(&mut self, file: FileId) {
        self.begin_close(file);
        self.scheduler.pursue(&mut self.hardware, &mut self.clients);
        if self.clients.has_closed() && !self.hardware.is_lost() {
            // A queue that was taken back answers at once: mostly the file is gone when this returns.
            self.take_arrived();
        }
        let Self { hardware, clients, scheduler } = self;
        scheduler.purge_closed(hardware, clients);
        // A client that is gone may leave many files, and one pass is enough for all.
        scheduler.note_room();
    }

    fn ioctl(&mut self, file: FileId, call: &mut Call) -> Poll<Result<(), Errno>> {
        if self.hardware.is_lost() || !self.clients.file(file).is_ok_and(|known| known.is_open()) {
            return Poll::Ready(Err(Errno::ENODEV));
        }
        let answer = self.dispatch(file, call);
        self.scheduler.end_failed(&mut self.hardware, &mut self.clients);
        answer
    }

    fn abandon(&mut self, _: FileId, call: Call) {
        // A call that waits has changed nothing but what it started, which goes on; and its place in a line.
        if let Some(place) = call.ticket.filter(|_| call.number == CONTEXT_ATTACH.number) {
            self.hardware.contexts_mut().give_up(place);
            self.clients.announce();
        }
    }

    fn map(&mut self, file: FileId, offset: u64, bytes: u64) -> Result<Vec<Extent>, Errno> {
        let (space, store) = self.memory_of(file).ok_or(Errno::EINVAL)?;
        let extents = space.extents(store, offset, bytes).map_err(|error| told(&error, error.errno()))?;
        self.clients.file_mut(file)?.note_mapped();
        Ok(extents)
    }

    fn unmap(&mut self, file: FileId, offset: u64, bytes: u64) -> Result<(), Errno> {
        let (space, store) = self.memory_of(file).ok_or(Errno::EINVAL)?;
        space.unmapped(store, offset, bytes).map_err(|error| told(&error, error.errno()))?;
        self.clients.file_mut(file)?.note_unmapped();
        Ok(())
    }

    fn signal(&mut self, file: FileId, fence: u64, event: Arc<OwnedFd>) -> Result<(), Errno> {
        self.clients.file_mut(file)?.signal(fence, event)
    }

    fn failure(&self, file: FileId, fence: u64) -> Option<&str> {
        self.clients.file(file).ok()?.failures().of(fence)
    }

    fn is_readable(&self, file: FileId) -> bool {
        self.clients.file(file).is_ok_and(|known| known.is_readable())
    }

    fn arena(&mut self, file: FileId) -> Result<Arc<OwnedFd>, Errno> {
        // A client that maps the node as a file is one that knows of no contexts.
        if self.hardware.contexts().of(file).is_none() {
            let seeker = self.clients.seeker(file)?;
            self.hardware.attach_silent(seeker).map_err(|error| told(&error, error.errno()))?;
        }
        Ok(Arc::clone(self.hardware.contexts().arena(file).ok_or(Errno::ENODEV)?.file()))
    }

    fn retire_to(&mut self, sink: SyncSender<Arc<OwnedFd>>) {
        self.hardware.contexts_mut().retire_to(sink);
    }

    fn has_queued(&self) -> bool {
        self.scheduler.has_queued()
    }

    fn push(&mut self) {
        if self.scheduler.has_queued() {
            self.scheduler.schedule(&mut self.hardware, &mut self.clients);
        }
    }

    fn progress(&mut self, limit: Duration) -> Progress {
        self.advance(limit)
    }

    fn wakeup(&self) -> Option<BorrowedFd<'_>> {
        self.hardware.wakeup()
    }
}
