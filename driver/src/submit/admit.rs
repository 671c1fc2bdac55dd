//! From a client's words to a request: every word is checked before anything is done, and what was done is undone
//! when a later step fails.

use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::Iova;
use ane_uapi::hw::tm::RequestInfo;
use ane_uapi::ioctl::drm_ane::FIFO_NID;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::handle::NONE;
use ane_uapi::ioctl::param::{BARS_MAX, CHAIN_MAX, IN_FENCES_MAX, IN_FLIGHT_MAX};
use ane_uapi::ioctl::program::NETWORK_ID_MAX;
use ane_uapi::ioctl::request::{
    Bar, PRIORITY_APPLICATION, REQUEST_NONBLOCK, REQUEST_RECYCLE, Request as Words,
};

use super::{Bound, First, GroupId, Request, Scheduler};
use crate::bo::{Holder, Use};
use crate::bus::Bus;
use crate::clients::Clients;
use crate::clock::Time;
use crate::front::{FileId, Segments};
use crate::hardware::{BOOTSTRAP_BYTES, Hardware};
use crate::ioctl::argument::{each, elements, unless};
use crate::journal::told;
use crate::program::{Program, ProgramId};
use crate::tm::{RequestId, queue_of};

/// Requests of all files together: eight files with the longest chains. Files that share contexts may be more. A user has no
/// more of them than are left.
const REQUESTS_MAX: usize = 8 * IN_FLIGHT_MAX as usize * CHAIN_MAX as usize;

/// Why something is not admitted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Submission {
    /// Never.
    Refused(Errno),
    /// Not while as much is in flight as there may be.
    Full,
}

impl From<Errno> for Submission {
    fn from(errno: Errno) -> Self {
        Self::Refused(errno)
    }
}

/// The BARs of a request, checked as far as that goes without their buffers.
#[derive(Clone, Copy, Debug)]
struct Bars<'a>(&'a [u8]);

impl<'a> Bars<'a> {
    /// The BARs that a request points at. `E2BIG` if they are too many, `EINVAL` for a BAR that does not exist or is
    /// named twice, `EFAULT`.
    fn read(words: &Words, memory: &'a Segments) -> Result<Self, Errno> {
        let bytes = elements::<Bar>(memory, words.bars, words.bar_count, words.bar_size, BARS_MAX)?;
        let mut seen = 0_u32;
        for bar in Self(bytes).iter() {
            let bit = 1_u32.checked_shl(bar.index).ok_or(Errno::EINVAL)?;
            unless(bar.reserved != 0 || seen & bit != 0, Errno::EINVAL)?;
            seen |= bit;
        }
        Ok(Self(bytes))
    }

    fn iter(self) -> impl Iterator<Item = Bar> + use<'a> {
        each::<Bar>(self.0)
    }
}

#[derive(Clone, Copy)]
struct Asked<'a> {
    file: FileId,
    words: &'a Words,
    /// The memory that the pointers among the words lead to.
    memory: &'a Segments,
    /// The requests that it is in flight with, if it is not alone.
    group: Option<GroupId>,
}

/// True if a request may insist on a network id, or leave it to the driver. The one that all existing clients have to share
/// is theirs alone: they would wait for the end of whoever else has it, as giving way does not free it.
pub(crate) const fn may_insist(network_id: u32) -> bool {
    network_id <= NETWORK_ID_MAX && network_id != FIFO_NID
}

/// Checks what can be checked of a request without its buffers.
fn check<'m>(clients: &Clients, Asked { file, words, memory, .. }: Asked<'m>) -> Result<Bars<'m>, Errno> {
    let known = clients.file(file)?;
    unless(words.reserved != 0 || words.reserved2 != [0; 2], Errno::EINVAL)?;
    unless(words.flags & !(REQUEST_NONBLOCK | REQUEST_RECYCLE) != 0, Errno::EINVAL)?;
    queue_of(words.priority).ok_or(Errno::EINVAL)?;
    unless(words.priority < PRIORITY_APPLICATION && !known.user().is_privileged, Errno::EPERM)?;
    let raw = [words.stream_size, words.task_count.into(), words.first_size.into()];
    if words.program == NONE {
        unless(raw.contains(&0) || !may_insist(words.network_id), Errno::EINVAL)?;
    } else {
        unless(raw != [0; 3] || words.network_id != 0, Errno::EINVAL)?;
        known.program(words.program)?;
    }
    let bars = Bars::read(words, memory)?;
    let fences = elements::<u64>(memory, words.in_fences, words.in_fence_count, 8, IN_FENCES_MAX)?;
    let is_known = |fence| known.fences().state(fence).is_some();
    unless(!each::<u64>(fences).all(is_known), Errno::ENODATA)?;
    Ok(bars)
}

/// Checks that a raw request's stream lies in the buffer of its BAR 0.
fn check_stream<B: Bus>(
    hardware: &Hardware<B>,
    clients: &Clients,
    Asked { file, words, .. }: Asked<'_>,
    bars: Bars<'_>,
) -> Result<(), Errno> {
    let tasks = bars.iter().find(|bar| bar.index == 0).ok_or(Errno::EINVAL)?;
    let buffer = clients.file(file)?.buffer(tasks.handle)?;
    let space = hardware.space(file).ok_or(Errno::EINVAL)?;
    let mapping = space.mapping(buffer.id, tasks.mapping).map_err(|_| Errno::EINVAL)?;
    let left = mapping.bytes.checked_sub(tasks.offset).ok_or(Errno::EINVAL)?;
    unless(words.stream_size > left || u64::from(words.first_size) > words.stream_size, Errno::EINVAL)
}

impl Scheduler {
    /// Says whether a file may have one request or chain more in flight. It is [`Submission::Full`], or `EIO` while its
    /// context is parked or the device is dead.
    pub(crate) fn admits<B: Bus>(
        &self,
        hardware: &Hardware<B>,
        clients: &Clients,
        file: FileId,
    ) -> Result<(), Submission> {
        if hardware.is_dead()
            || hardware.contexts().of(file).is_some_and(|context| clients.is_parked(context))
        {
            return Err(Errno::EIO.into());
        }
        if self.has_room(clients, file) { Ok(()) } else { Err(Submission::Full) }
    }

    /// True while a file has less in flight than it may, its user, and all files together.
    pub(super) fn has_room(&self, clients: &Clients, file: FileId) -> bool {
        let Ok(known) = clients.file(file) else { return false };
        let left = REQUESTS_MAX.saturating_sub(self.requests.count());
        known.has_room()
            && known.user().may_take(self.shares.requests_of_user(file), left)
            && !self.shares.has_all_tasks(file)
    }

    /// Takes a request of a client's. Its fence.
    pub(crate) fn submit<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        file: FileId,
        (words, memory): (&Words, &Segments),
    ) -> Result<u64, Submission> {
        self.admits(hardware, clients, file)?;
        let id = self.admit(hardware, clients, Asked { file, words, memory, group: None })?;
        clients.group_admitted(file);
        Ok(self.commit(hardware, clients, id, None))
    }

    /// Takes requests of a client's that complete one after the other: all of them or none. Their fences.
    pub(crate) fn submit_chain<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        file: FileId,
        (chain, memory): (impl Iterator<Item = Words>, &Segments),
    ) -> Result<Vec<u64>, (u32, Errno)> {
        let mut admitted = Vec::new();
        let mut group = None;
        for (index, words) in (0..).zip(chain) {
            // A chain is taken as a whole or not at all, so only the chain itself may ask not to wait.
            let is_bare = words.flags & REQUEST_NONBLOCK == 0 && words.reserved2 == [0; 2];
            let asked = Asked { file, words: &words, memory, group };
            let id = unless(!is_bare, Errno::EINVAL).and_then(|()| self.admit(hardware, clients, asked));
            match id {
                Ok(id) => admitted.push(id),
                Err(errno) => {
                    admitted.into_iter().for_each(|id| self.discard(hardware, clients, id));
                    return Err((index, errno));
                }
            }
            group = admitted.first().and_then(|&id| self.requests.get(id)).map(|request| request.group);
        }
        clients.group_admitted(file);
        let mut fences = Vec::with_capacity(admitted.len());
        for id in admitted {
            fences.push(self.commit(hardware, clients, id, fences.last().copied()));
        }
        Ok(fences)
    }

    /// Makes a request of what a client asks for. It waits for its turn once it was [committed](Self::commit). Its
    /// errors are what `docs/uapi.md` says of `SUBMIT_REQUEST`; nothing has changed then.
    fn admit<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        asked: Asked<'_>,
    ) -> Result<RequestId, Errno> {
        let bars = check(clients, asked)?;
        let Asked { file, words, group, .. } = asked;
        clients.attached(hardware, file)?;
        let info = if words.program == NONE {
            unless(words.first_size > BOOTSTRAP_BYTES, Errno::EINVAL)?;
            let info = RequestInfo::of(words.first_size, words.task_count).map_err(|_| Errno::EINVAL)?;
            check_stream(hardware, clients, asked, bars)?;
            info
        } else {
            RequestInfo::new()
        };
        let id = self.requests.create(group);
        let filled = self.fill(hardware, clients, id, (asked, bars, info));
        if filled.is_err()
            && let Some(request) = self.requests.get_mut(id)
        {
            // They are in execution only once all is filled in: others' use of them does not end here.
            request.pooled.clear();
        }
        let outcome =
            filled.and_then(|()| self.check_tasks(id)).and_then(|()| self.map_request(hardware, id));
        if let Err(errno) = outcome {
            self.discard(hardware, clients, id);
            return Err(errno);
        }
        Ok(id)
    }

    /// Fills a request in; what it refers to is held from now on.
    fn fill<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        id: RequestId,
        (Asked { file, words, memory, .. }, bars, info): (Asked<'_>, Bars<'_>, RequestInfo),
    ) -> Result<(), Errno> {
        let context = hardware.contexts().of(file).ok_or(Errno::EINVAL)?;
        let known = clients.file(file)?;
        let (_, space) = hardware.reach(context).ok_or(Errno::EINVAL)?;
        let request = self.requests.get_mut(id).ok_or(Errno::EINVAL)?;
        request.file = file;
        request.context = context;
        request.queue = queue_of(words.priority).ok_or(Errno::EINVAL)?;
        request.nid = Nid::new(words.network_id).ok();
        request.recycles = words.flags & REQUEST_RECYCLE != 0;
        request.deadline = if words.deadline_ns == 0 { Time::NEVER } else { Time(words.deadline_ns) };
        request.info = info;
        let fences = elements::<u64>(memory, words.in_fences, words.in_fence_count, 8, IN_FENCES_MAX)?;
        each::<u64>(fences).for_each(|fence| request.wait_for(fence));
        let mut overridden = 0_u32;
        for bar in bars.iter() {
            let buffer = known.buffer(bar.handle)?;
            let mapping = space.mapping(buffer.id, bar.mapping).map_err(|_| Errno::EINVAL)?;
            unless(bar.offset >= mapping.bytes, Errno::EINVAL)?;
            if bar.index == 0 && words.program == NONE {
                let offset = mapping.offset.saturating_add(bar.offset);
                request.first = First::Copied { buffer: buffer.id, offset };
            }
            let index = BarIndex::new(bar.index).map_err(|_| Errno::EINVAL)?;
            let offset = u32::try_from(bar.offset).map_err(|_| Errno::EINVAL)?;
            overridden |= 1_u32.checked_shl(bar.index).unwrap_or_default();
            space.hold(buffer.id, Holder::Request);
            request.bind(index, Use { buffer: buffer.id, mapping: bar.mapping }, offset);
            if buffer.pool != NONE && !request.pooled.contains(&(buffer.pool, bar.handle)) {
                request.pooled.push((buffer.pool, bar.handle));
            }
        }
        if words.program != NONE {
            // The text is the program's: what runs was checked when the program was made.
            unless(overridden & 1 != 0, Errno::EINVAL)?;
            let program = known.program(words.program)?;
            if let Some(loaded) = clients.programs_mut().begin(program) {
                request.run(program, loaded, overridden);
            }
        }
        clients.begin_pooled(file, &request.pooled);
        Ok(())
    }

    fn check_tasks(&self, id: RequestId) -> Result<(), Errno> {
        let Some(limit) = self.shares.limits().request_tasks else { return Ok(()) };
        let tasks = self.requests.get(id).map_or(0, |request| request.info.tasks());
        unless(u32::from(tasks) > limit, Errno::E2BIG)
    }

    /// Gives the mappings of a request their places, from now on until it ends.
    ///
    /// While other requests of the context take up the room, it has to wait for that, and it is no error. Room is only looked
    /// for again once some may have become free, since that takes long where much could be evicted.
    pub(super) fn map_request<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        id: RequestId,
    ) -> Result<(), Errno> {
        let Some(request) = self.requests.get_mut(id) else { return Err(Errno::EINVAL) };
        if request.is_mapped {
            return Ok(());
        }
        let context = request.context;
        let (bus, space) = hardware.reach(context).ok_or(Errno::EINVAL)?;
        let chances = space.chances();
        if request.no_room == Some(chances) {
            return Ok(());
        }
        match space.begin(bus, &request.uses, &mut request.places) {
            Ok(()) => {
                request.is_mapped = true;
                Ok(())
            }
            Err(error) => {
                let errno = told(&error, error.errno());
                let is_other = |(other, request): (RequestId, &Request)| {
                    other != id && request.context == context && request.is_mapped
                };
                if errno != Errno::ENOSPC || !self.requests.iter().any(is_other) {
                    return Err(errno);
                }
                if let Some(request) = self.requests.get_mut(id) {
                    request.no_room = Some(chances);
                }
                Ok(())
            }
        }
    }

    /// Takes back a request that was not committed.
    pub(super) fn discard<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        id: RequestId,
    ) {
        if let Some(request) = self.requests.get_mut(id) {
            // It wrote no output, so its client still has what it took from pools.
            request.recycles = false;
        }
        self.let_go(hardware, clients, id);
        self.requests.remove(id);
    }

    /// Gives a request its fence, behind `before` if that is to complete first, and lets it wait for its turn.
    pub(super) fn commit<B: Bus>(
        &mut self,
        hardware: &mut Hardware<B>,
        clients: &mut Clients,
        id: RequestId,
        before: Option<u64>,
    ) -> u64 {
        let now = hardware.now();
        let Some(request) = self.requests.get_mut(id) else { return 0 };
        let Some(fence) = clients.submitted(request.file) else { return 0 };
        request.fence = fence;
        request.submitted = now;
        if let Some(before) = before {
            request.wait_for(before);
        }
        clients.depend(request.file, request.waits());
        self.shares.submitted(request.file, request.info.tasks(), now);
        self.waiting[request.queue].push_back(request.file, id);
        hardware.ring_at(request.deadline);
        self.has_queued = true;
        fence
    }
}

impl Request {
    /// Makes it a request of a program: its base addresses, but for those that the request has of its own.
    fn run(&mut self, id: ProgramId, program: &Program, overridden: u32) {
        self.program = Some(id);
        self.bars = program.bars;
        self.info = program.info;
        self.nid = program.nid;
        let (buffer, offset) = program.text;
        self.first = First::Copied { buffer, offset };
        for &(bar, pool, buffer) in &program.pooled {
            let is_own = overridden >> bar.number() & 1 == 0;
            if is_own && !self.pooled.contains(&(pool, buffer)) {
                self.pooled.push((pool, buffer));
            }
        }
    }

    /// Makes a BAR lead `offset` bytes behind the start of a mapping.
    pub(super) fn bind(&mut self, bar: BarIndex, used: Use, offset: u32) {
        let mapping = self.uses.len();
        self.uses.push(used);
        self.bound.push(Bound { bar, mapping, offset });
    }

    /// Makes the BARs lead to where the mappings lie.
    pub(super) fn resolve(&mut self) {
        for bound in &self.bound {
            if let (Some(place), Some(address)) =
                (self.places.get(bound.mapping), self.bars.get_mut(bound.bar.index()))
            {
                // The offset lies inside the mapping, which lies inside the aperture.
                *address = Iova(place.base().0.saturating_add(bound.offset));
            }
        }
    }
}
