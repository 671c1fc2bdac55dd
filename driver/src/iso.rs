//! Isolation contexts: which open file has which of the eight.
//!
//! A context is a stream of the DART with page tables and an arena of its own. Requests of one context cannot reach the
//! mappings of another. The base context is like the others, and is given out first. A file that asks when all contexts are
//! taken is refused, waits (in `waiting_line`), or shares one; it says itself which. A file that cannot say it shares with others
//! that cannot (`beside`). A file that shares a context reaches all of its addresses, so only files of one user share.
//! The number of contexts that one user may have is bounded ([`User`]). A user who has them all is treated as if all were
//! taken.
//!
//! A context that is given back takes everything along: its mappings, its tables' place in the windows, what the
//! translation buffer holds of it, and its arena, of which the next client gets another.

mod shared;
mod waiting_line;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::pte::PteFormat;
use ane_uapi::ioctl::context::ContextPolicy;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::wire::config::FEATURE_CHECK;
use thiserror::Error;

use crate::bo::{Space, StoreId};
use crate::bus::{Arena, ArenaId, Bus, BusError, Operation};
use crate::dart::{Controller, Nub, TableError};
use crate::front::{FileId, User};
use crate::per_number::PerContext;
use crate::usage::Rules;
use waiting_line::Line;

/// A context that cannot be had or given back.
#[derive(Debug, Error)]
pub enum Error {
    #[error("the file has {0} already")]
    Attached(ContextId),
    #[error("the file has no context")]
    Detached,
    #[error("{0} does not exist, the device has {1}")]
    Unknown(ContextId, u32),
    #[error("all {0} contexts are in use: close another file, or ask to wait or to share")]
    NoneFree(u32),
    #[error(
        "user {0} has {1} contexts, and so many have to be left for all other users: close another file, or ask to share a context"
    )]
    Share(u32, usize),
    #[error("device has page tables of format {0}, which this driver does not know")]
    Format(u8),
    #[error(transparent)]
    Tables(TableError),
    #[error(transparent)]
    Bus(#[from] BusError),
}

impl Error {
    pub const fn errno(&self) -> Errno {
        match self {
            Self::Attached(_) => Errno::EALREADY,
            Self::Detached => Errno::ENOENT,
            Self::Unknown(..) => Errno::EINVAL,
            Self::NoneFree(_) | Self::Share(..) => Errno::EBUSY,
            Self::Tables(_) | Self::Bus(BusError::Memory(_)) => Errno::ENOMEM,
            Self::Format(_) | Self::Bus(_) => Errno::ENODEV,
        }
    }
}

/// A file that asks for a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeker {
    pub file: FileId,
    pub user: User,
}

/// A context that a file got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached {
    pub context: ContextId,
    /// Files that have it, this one included.
    pub sharers: u32,
}

#[derive(Debug)]
pub struct Contexts {
    controller: Controller,
    nub: Nub,
    rules: Rules,
    is_checking: bool,
    count: u32,
    slots: PerContext<Option<Slot>>,
    of: BTreeMap<FileId, Member>,
    line: Line,
    /// Where the memory of files goes that have given their contexts back.
    sink: Option<SyncSender<Arc<OwnedFd>>>,
}

#[derive(Debug)]
struct Member {
    context: ContextId,
    /// The arena that its buffers lie in, by the context's number and by the bus's.
    store: StoreId,
    arena: ArenaId,
    /// The same arena's file, if others may close it: all else of the arena goes before it.
    memory: Option<Arc<OwnedFd>>,
}

#[derive(Debug)]
struct Slot {
    /// The user of all its files.
    user: u32,
    files: u32,
    joins: Joins,
    /// Arenas that files left behind when the device did not answer, and to which it may still translate for this context:
    /// no file gets them until the context is given back.
    unsure: Vec<ArenaId>,
    space: Space,
}

/// The files that may join a context: those that have the same way of access as its first file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joins {
    /// It has the context for itself.
    Never,
    /// It asked to share.
    OnRequest,
    /// It cannot say what it wants, and neither can they.
    Silent,
}

impl Contexts {
    /// The contexts of the device behind a bus, all free.
    pub fn new(bus: &impl Bus) -> Result<Self, Error> {
        let config = bus.config();
        let format: PteFormat = config.pte_format().map_err(|_| Error::Format(config.pte_format))?;
        let mut controller = Controller::new(bus.memory().clone(), format);
        let nub = controller.publish().ok_or(Error::Format(config.pte_format))?;
        Ok(Self {
            controller,
            nub,
            rules: Rules::of_chip(config.chip.get()),
            is_checking: config.features.get() & FEATURE_CHECK != 0,
            count: u32::from(config.context_count.get()).min(ContextId::COUNT.into()),
            slots: PerContext::default(),
            of: BTreeMap::new(),
            line: Line::default(),
            sink: None,
        })
    }

    pub const fn count(&self) -> u32 {
        self.count
    }

    pub fn free(&self) -> u32 {
        let used = self.slots.0.iter().flatten().count();
        self.count.saturating_sub(u32::try_from(used).unwrap_or(u32::MAX))
    }

    fn held(&self, user: u32) -> usize {
        self.slots.0.iter().flatten().filter(|slot| slot.user == user).count()
    }

    pub fn of(&self, file: FileId) -> Option<ContextId> {
        Some(self.of.get(&file)?.context)
    }

    pub fn files_of(&self, context: ContextId) -> impl Iterator<Item = FileId> {
        self.of.iter().filter(move |(_, of)| of.context == context).map(|(file, _)| *file)
    }

    pub fn sharers(&self, context: ContextId) -> u32 {
        self.slot(context).map_or(0, |slot| slot.files)
    }

    pub fn space(&self, context: ContextId) -> Option<&Space> {
        self.slot(context).map(|slot| &slot.space)
    }

    pub fn space_mut(&mut self, context: ContextId) -> Option<&mut Space> {
        self.slots[context].as_mut().map(|slot| &mut slot.space)
    }

    /// The arena of a file in its context.
    pub fn store(&self, file: FileId) -> Option<StoreId> {
        Some(self.of.get(&file)?.store)
    }

    pub fn arena(&self, file: FileId) -> Option<&Arena> {
        let of = self.of.get(&file)?;
        self.space(of.context)?.arena(of.store)
    }

    /// From now on the memory of a file that gives its context back goes to `sink`; without one it is closed at once.
    pub(crate) fn retire_to(&mut self, sink: SyncSender<Arc<OwnedFd>>) {
        self.sink = Some(sink);
    }

    /// A file is about to give its context back, with an arena that is its alone. The pages are not made zero one buffer
    /// after the other: all of them go with the arena.
    pub(crate) fn begin_detach(&mut self, file: FileId) {
        let Some(&Member { context, store, .. }) = self.of.get(&file) else { return };
        if let Some(slot) = &mut self.slots[context]
            && (slot.files == 1 || slot.joins == Joins::Silent)
        {
            slot.space.drop_arena(store);
        }
    }

    fn slot(&self, context: ContextId) -> Option<&Slot> {
        self.slots[context].as_ref()
    }

    fn all(&self) -> impl Iterator<Item = ContextId> + use<> {
        let count = self.count;
        ContextId::ALL.into_iter().filter(move |context| u32::from(context.number()) < count)
    }

    /// Gives a file a context: the one it wants, or the first that is free, or one that it may share.
    ///
    /// # Errors
    ///
    /// As `DRM_IOCTL_ANE_CONTEXT_ATTACH` has them. A file that would wait is refused, and may wait.
    pub fn attach(
        &mut self,
        bus: &mut impl Bus,
        seeker: Seeker,
        policy: ContextPolicy,
        wanted: Option<ContextId>,
    ) -> Result<Attached, Error> {
        self.attach_in_turn(bus, seeker, policy, wanted, None)
    }

    /// Has a file wait for a context behind all that wait already; its place in the line.
    pub(crate) fn wait(&mut self, seeker: Seeker, wanted: Option<ContextId>) -> u64 {
        self.line.join(seeker, wanted)
    }

    /// The waiter at this place of the line gives up.
    pub(crate) fn give_up(&mut self, place: u64) {
        self.line.leave(place);
    }

    /// A file that is closed waits no more.
    pub(crate) fn give_up_all(&mut self, file: FileId) {
        self.line.leave_all(file);
    }

    /// The same for who has a place in the line, or none: those before it are to be served first.
    pub(crate) fn attach_in_turn(
        &mut self,
        bus: &mut impl Bus,
        seeker: Seeker,
        policy: ContextPolicy,
        wanted: Option<ContextId>,
        place: Option<u64>,
    ) -> Result<Attached, Error> {
        let Seeker { file, user } = seeker;
        if let Some(context) = self.of(file) {
            return Err(Error::Attached(context));
        }
        if let Some(context) = wanted.filter(|context| u32::from(context.number()) >= self.count) {
            return Err(Error::Unknown(context, self.count));
        }
        let shares = policy == ContextPolicy::Share;
        let is_wanted = |&context: &ContextId| wanted.is_none_or(|wanted| wanted == context);
        let may_share = |slot: &Slot| slot.joins == Joins::OnRequest && slot.user == user.id;
        let all_free: Vec<ContextId> = self.all().filter(|&context| self.slot(context).is_none()).collect();
        let held = self.held(user.id);
        let may_take = user.may_take(held, all_free.len());
        let is_left = !all_free.is_empty();
        // Mostly there is none, or none for him, and then the line does not matter: it may be long.
        let left =
            if may_take { self.line.left_for(place, all_free, |id| self.held(id)) } else { Vec::new() };
        let free = left.into_iter().find(is_wanted);
        let shared = self
            .all()
            .filter(is_wanted)
            .filter(|&context| shares && self.slot(context).is_some_and(may_share))
            .min_by_key(|&context| self.sharers(context));
        let context = match (free, shared) {
            (Some(context), _) => {
                let space = self.set_up(bus, context)?;
                let joins = if shares { Joins::OnRequest } else { Joins::Never };
                self.slots[context] =
                    Some(Slot { user: user.id, files: 1, joins, unsure: Vec::new(), space });
                context
            }
            (None, Some(context)) => {
                if let Some(slot) = &mut self.slots[context] {
                    slot.files = slot.files.saturating_add(1);
                }
                context
            }
            (None, None) if is_left && !may_take => return Err(Error::Share(user.id, held)),
            (None, None) => return Err(Error::NoneFree(self.count)),
        };
        // A file that asked to share also shares the arena, so there is one for all.
        let (store, arena) = (StoreId::FIRST, ArenaId::of(context));
        let memory = self.space(context).and_then(|space| space.arena(store));
        let memory = memory.ok_or(Error::NoneFree(self.count))?.retirable();
        self.of.insert(file, Member { context, store, arena, memory });
        Ok(Attached { context, sharers: self.sharers(context) })
    }

    /// Everything that a context needs; nothing of it remains if something fails.
    fn set_up(&mut self, bus: &mut impl Bus, context: ContextId) -> Result<Space, Error> {
        let id = ArenaId::of(context);
        let arena = bus.arena(id).map_err(|why| match why {
            // A device that takes less memory has room for fewer contexts.
            BusError::Lacks { .. } => Error::NoneFree(self.count),
            other => other.into(),
        })?;
        let space = match self.nub.give(context) {
            Ok(Some(mapper)) => Space::new(arena, mapper, self.rules, self.is_checking),
            Ok(None) => return Err(Error::NoneFree(self.count)),
            Err(why) => {
                // An arena that cannot be taken back now is replaced when the context is set up the next time.
                let _ = bus.retire(id);
                return Err(Error::Tables(why));
            }
        };
        let mut operations = Vec::new();
        let mappers = self.slots.0.iter().flatten().map(|slot| slot.space.mapper());
        self.controller.program(mappers.chain([space.mapper()]), &mut operations);
        match bus.batch(&operations, &mut []) {
            Ok(_) => Ok(space),
            Err(why) => {
                self.take_down(bus, (context, id), space);
                Err(why.into())
            }
        }
    }

    /// Gives a file's context back. If no other file has it, everything in it goes: buffers, addresses, arena. If others
    /// have it, an arena that only this file had goes, with the buffers in it.
    /// Nothing of it may be in flight.
    pub fn detach(&mut self, bus: &mut impl Bus, file: FileId) -> Result<(), Error> {
        let Member { context, store, arena, memory } = self.of.remove(&file).ok_or(Error::Detached)?;
        match &mut self.slots[context] {
            Some(slot) if slot.files > 1 => {
                slot.files = slot.files.saturating_sub(1);
                if slot.joins == Joins::Silent {
                    if !slot.space.leave(bus, store) {
                        slot.unsure.push(arena);
                    }
                    // An arena that cannot be taken back now is replaced when the number is given out again.
                    let _ = bus.retire(arena);
                }
            }
            place => {
                if let Some(slot) = place.take() {
                    self.take_down(bus, (context, arena), slot.space);
                }
            }
        }
        if let Some((sink, memory)) = self.sink.as_ref().zip(memory) {
            // If the front has as many as it takes, or takes none any more, this one is closed here.
            let _ = sink.try_send(memory);
        }
        Ok(())
    }

    /// Takes everything of a context back, in the reverse order of setting it up.
    ///
    /// A device that does not answer does not keep the context from being given back: setting it up again begins
    /// with another arena, and tells the device everything anew.
    fn take_down(&mut self, bus: &mut impl Bus, (context, arena): (ContextId, ArenaId), mut space: Space) {
        space.clear();
        let mut operations = Vec::new();
        self.controller
            .program(self.slots.0.iter().flatten().map(|slot| slot.space.mapper()), &mut operations);
        self.controller.detach(context, &mut operations);
        let _ = bus.batch(&operations, &mut []).and_then(|_| Controller::invalidate(bus, context));
        // After `clear` there is no mapping for which it could be refused.
        let taken = self.nub.take_back(space.into_mapper());
        debug_assert!(taken.is_ok(), "a cleared space has no mappings");
        let _ = bus.retire(arena);
    }

    /// The writes by which the windows know every context in use: after probe, resume, and reset. The spaces
    /// declare and invalidate anew with their next request.
    pub fn restore(&mut self, into: &mut Vec<Operation>) {
        self.controller.program(self.slots.0.iter().flatten().map(|slot| slot.space.mapper()), into);
        for slot in self.slots.0.iter_mut().flatten() {
            slot.space.declare_again();
        }
    }

    /// The writes by which the windows know none: before remove and suspend.
    pub fn withdraw(&self, into: &mut Vec<Operation>) {
        for context in self.all().filter(|&context| self.slot(context).is_some()) {
            self.controller.detach(context, into);
        }
        self.controller.program(std::iter::empty(), into);
    }
}

#[cfg(test)]
mod tests;
