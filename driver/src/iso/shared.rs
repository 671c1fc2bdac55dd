//! Files that share a context without having asked: their clients know another driver's interface, and cannot say
//! what to do when no context is free.
//!
//! That driver has one address space for all files, and any number of files. Its clients know of no contexts. So each
//! file gets a context of its own while there is one for its user. After that it joins the context that the fewest
//! files share, of those of the same user's files with the same interface. The files share addresses: tasks of one file
//! reach the mappings of the others. Its bytes are in an arena of its own, so its descriptor shows the others nothing,
//! and its buffers go with it.

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::ioctl::context::ContextPolicy;
use ane_uapi::ioctl::errno::Errno;

use super::{Attached, Contexts, Error, Joins, Member, Seeker};
use crate::bus::{ArenaId, Bus, BusError};
use crate::front::User;

impl Contexts {
    /// Gives a file that cannot say what it wants a context of its own, or a part in one.
    ///
    /// # Errors
    ///
    /// [`Error::NoneFree`] or [`Error::Share`] if no context is free, and there is none to join or no arena to join it with.
    pub(crate) fn attach_silent(&mut self, bus: &mut impl Bus, seeker: Seeker) -> Result<Attached, Error> {
        match self.attach(bus, seeker, ContextPolicy::Refuse, None) {
            Ok(attached) => {
                if let Some(slot) = &mut self.slots[attached.context] {
                    slot.joins = Joins::Silent;
                }
                Ok(attached)
            }
            Err(why) if why.errno() == Errno::EBUSY => self.join(bus, seeker, why),
            Err(why) => Err(why),
        }
    }

    /// Has a file join a context that has others; `refused` says why it got none of its own.
    fn join(&mut self, bus: &mut impl Bus, seeker: Seeker, refused: Error) -> Result<Attached, Error> {
        let Seeker { file, user } = seeker;
        let Some(context) = self.least_shared(user) else { return Err(refused) };
        let Some(id) = self.arena_for(context, user) else { return Err(refused) };
        let arena = match bus.arena(id) {
            Ok(arena) => arena,
            Err(BusError::Lacks { .. }) => return Err(refused),
            Err(why) => return Err(why.into()),
        };
        let Some(slot) = &mut self.slots[context] else { return Err(refused) };
        let memory = arena.retirable();
        let store = slot.space.join(arena);
        slot.files = slot.files.saturating_add(1);
        self.of.insert(file, Member { context, store, arena: id, memory });
        Ok(Attached { context, sharers: self.sharers(context) })
    }

    fn least_shared(&self, user: User) -> Option<ContextId> {
        let may_join = |&context: &ContextId| {
            self.slot(context).is_some_and(|slot| slot.joins == Joins::Silent && slot.user == user.id)
        };
        self.all().filter(may_join).min_by_key(|&context| self.sharers(context))
    }

    /// An arena that no file has: the context's own if its first file is gone, or one beside, as far as the user may have
    /// one more of those.
    fn arena_for(&self, context: ContextId, user: User) -> Option<ArenaId> {
        let is_unsure = |id: ArenaId| self.slots.0.iter().flatten().any(|slot| slot.unsure.contains(&id));
        let is_taken = |id: ArenaId| self.of.values().any(|member| member.arena == id) || is_unsure(id);
        let own = ArenaId::of(context);
        if !is_taken(own) {
            return Some(own);
        }
        let is_his = |member: &&Member| {
            member.arena.is_extra() && self.slot(member.context).is_some_and(|slot| slot.user == user.id)
        };
        let held = self.of.values().filter(is_his).count();
        let mut free = ArenaId::all_extra().filter(|&id| !is_taken(id));
        let first = free.next()?;
        user.may_take(held, free.count().saturating_add(1)).then_some(first)
    }
}

#[cfg(test)]
mod tests;
