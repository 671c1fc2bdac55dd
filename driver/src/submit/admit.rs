//! From a client's words to a request: every word is checked before anything is done, and what was done is undone
//! when a later step fails.

use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::Iova;
use ane_uapi::hw::tm::RequestInfo;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::handle::NONE;
use ane_uapi::ioctl::param::{BARS_MAX, CHAIN_MAX, IN_FENCES_MAX, IN_FLIGHT_MAX};
use ane_uapi::ioctl::program::NETWORK_ID_MAX;
use ane_uapi::ioctl::request::{
    Bar, PRIORITY_APPLICATION, REQUEST_NONBLOCK, REQUEST_RECYCLE, Request as Words,
};
use ane_uapi::ioctl::stats::Counter;

use super::{Bound, First, GroupId, Request, RequestId};
use crate::bo::{Holder, Use};
use crate::bus::Bus;
use crate::clock::Time;
use crate::device::{BOOTSTRAP_BYTES, Driver};
use crate::front::{FileId, Segments};
use crate::ioctl::argument::{elements, unless};
use crate::tm::queue_of;

/// Requests of all files together: what eight files have with the longest chains. Files that share contexts may be
/// more than eight.
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
pub(crate) struct Bars<'a>(&'a [u8]);

impl<'a> Bars<'a> {
    /// The BARs that a request points at.
    ///
    /// # Errors
    ///
    /// `E2BIG` if they are too many, `EINVAL` for a BAR that does not exist or is named twice, `EFAULT`.
    pub(crate) fn read(words: &Words, memory: &'a Segments) -> Result<Self, Errno> {
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
        crate::ioctl::argument::each::<Bar>(self.0)
    }
}

impl<B: Bus> Driver<B> {
    /// Says whether a file may have one request or chain more in flight.
    ///
    /// # Errors
    ///
    /// [`Submission::Full`], or `EIO` while its context is parked or the device is dead.
    pub(crate) fn admits(&self, file: FileId) -> Result<(), Submission> {
        if self.is_dead() || self.contexts.of(file).is_some_and(|context| self.faults.is_parked(context)) {
            return Err(Errno::EIO.into());
        }
        if self.has_room(file) { Ok(()) } else { Err(Submission::Full) }
    }

    /// True while a file has less in flight than it may, and all files together.
    pub(crate) fn has_room(&self, file: FileId) -> bool {
        let is_below = self.files.get(&file).is_some_and(|known| known.in_flight < IN_FLIGHT_MAX);
        is_below && self.requests.count() < REQUESTS_MAX && !self.shares.has_all_tasks(file)
    }

    /// Makes a request of what a client asks for. It waits for its turn once it was [committed](Self::commit).
    ///
    /// # Errors
    ///
    /// What `docs/uapi.md` says of `SUBMIT_REQUEST`; nothing has changed then.
    pub(crate) fn admit(
        &mut self,
        file: FileId,
        words: &Words,
        memory: &Segments,
        group: GroupId,
    ) -> Result<RequestId, Errno> {
        let bars = self.check(file, words, memory)?;
        self.attached(file)?;
        let info = if words.program == NONE {
            unless(words.first_size > BOOTSTRAP_BYTES, Errno::EINVAL)?;
            RequestInfo::of(words.first_size, words.task_count).map_err(|_| Errno::EINVAL)?
        } else {
            RequestInfo::new()
        };
        if words.program == NONE {
            self.check_stream(file, words, bars)?;
        }
        let id = self.requests.create(group);
        let outcome = self.fill(file, id, words, bars, memory, info);
        let outcome = outcome.and_then(|()| self.check_tasks(id)).and_then(|()| self.map_request(id));
        if let Err(errno) = outcome {
            self.discard(id);
            return Err(errno);
        }
        Ok(id)
    }

    /// Checks what can be checked of a request without its buffers.
    fn check<'m>(&self, file: FileId, words: &Words, memory: &'m Segments) -> Result<Bars<'m>, Errno> {
        let known = self.files.get(&file).ok_or(Errno::ENODEV)?;
        unless(words.reserved != 0 || words.reserved2 != [0; 2], Errno::EINVAL)?;
        unless(words.flags & !(REQUEST_NONBLOCK | REQUEST_RECYCLE) != 0, Errno::EINVAL)?;
        queue_of(words.priority).ok_or(Errno::EINVAL)?;
        unless(words.priority < PRIORITY_APPLICATION && !known.who.user.is_privileged, Errno::EPERM)?;
        let raw = [words.stream_size, words.task_count.into(), words.first_size.into()];
        if words.program == NONE {
            unless(raw.contains(&0) || words.network_id > NETWORK_ID_MAX, Errno::EINVAL)?;
        } else {
            unless(raw != [0; 3] || words.network_id != 0, Errno::EINVAL)?;
            known.program(words.program)?;
        }
        let bars = Bars::read(words, memory)?;
        let fences = elements::<u64>(memory, words.in_fences, words.in_fence_count, 8, IN_FENCES_MAX)?;
        let is_known = |fence| known.fences.state(fence).is_some();
        unless(!crate::ioctl::argument::each::<u64>(fences).all(is_known), Errno::ENODATA)?;
        Ok(bars)
    }

    /// Checks that a raw request's stream lies in the buffer of its BAR 0.
    fn check_stream(&self, file: FileId, words: &Words, bars: Bars<'_>) -> Result<(), Errno> {
        let tasks = bars.iter().find(|bar| bar.index == 0).ok_or(Errno::EINVAL)?;
        let buffer = self.files.get(&file).ok_or(Errno::ENODEV)?.buffer(tasks.handle)?;
        let space = self.space(file).ok_or(Errno::EINVAL)?;
        let mapping = space.mapping(buffer.id, tasks.mapping).map_err(|_| Errno::EINVAL)?;
        let left = mapping.bytes.checked_sub(tasks.offset).ok_or(Errno::EINVAL)?;
        unless(words.stream_size > left || u64::from(words.first_size) > words.stream_size, Errno::EINVAL)
    }

    /// Fills a request in; what it refers to is held from now on.
    fn fill(
        &mut self,
        file: FileId,
        id: RequestId,
        words: &Words,
        bars: Bars<'_>,
        memory: &Segments,
        info: RequestInfo,
    ) -> Result<(), Errno> {
        let context = self.contexts.of(file).ok_or(Errno::EINVAL)?;
        let known = self.files.get_mut(&file).ok_or(Errno::ENODEV)?;
        let space = self.contexts.space_mut(context).ok_or(Errno::EINVAL)?;
        let request = self.requests.get_mut(id).ok_or(Errno::EINVAL)?;
        request.file = file;
        request.context = context;
        request.queue = queue_of(words.priority).ok_or(Errno::EINVAL)?;
        request.nid = Nid::new(words.network_id).ok();
        request.recycles = words.flags & REQUEST_RECYCLE != 0;
        request.deadline = if words.deadline_ns == 0 { Time::NEVER } else { Time(words.deadline_ns) };
        request.info = info;
        let fences = elements::<u64>(memory, words.in_fences, words.in_fence_count, 8, IN_FENCES_MAX)?;
        crate::ioctl::argument::each::<u64>(fences).for_each(|fence| request.wait_for(fence));
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
            self.programs.use_for(program, request, overridden);
        }
        for &(pool, buffer) in &request.pooled {
            if let Ok(pool) = known.pool_mut(pool) {
                pool.begin(buffer);
            }
        }
        Ok(())
    }

    /// Checks that a request has no more tasks than one may have.
    fn check_tasks(&self, id: RequestId) -> Result<(), Errno> {
        let Some(limit) = self.shares.limits().request_tasks else { return Ok(()) };
        let tasks = self.requests.get(id).map_or(0, |request| request.info.tasks());
        unless(u32::from(tasks) > limit, Errno::E2BIG)
    }

    /// Gives the mappings of a request their places, from now on until it ends.
    ///
    /// While other requests of the context take up the room, it has to wait for that, and it is no error.
    pub(crate) fn map_request(&mut self, id: RequestId) -> Result<(), Errno> {
        let Some(request) = self.requests.get_mut(id) else { return Err(Errno::EINVAL) };
        if request.is_mapped {
            return Ok(());
        }
        let context = request.context;
        let space = self.contexts.space_mut(context).ok_or(Errno::EINVAL)?;
        match space.begin(&mut self.bus, &request.uses, &mut request.places) {
            Ok(()) => {
                request.is_mapped = true;
                Ok(())
            }
            Err(error) => {
                let errno = error.errno();
                let is_other = |(other, request): (RequestId, &Request)| {
                    other != id && request.context == context && request.is_mapped
                };
                if errno == Errno::ENOSPC && self.requests.iter().any(is_other) { Ok(()) } else { Err(errno) }
            }
        }
    }

    /// True if a request of the file's context that has not ended names a mapping.
    pub(crate) fn is_in_flight(&self, file: FileId, named: Use) -> bool {
        let context = self.contexts.of(file);
        let mut all = self.requests.iter();
        all.any(|(_, request)| Some(request.context) == context && request.uses.contains(&named))
    }

    /// Takes back a request that was not committed.
    pub(crate) fn discard(&mut self, id: RequestId) {
        self.let_go(id);
        self.requests.remove(id);
    }

    /// Gives a request its fence, behind `before` if that is to complete first, and lets it wait for its turn.
    pub(crate) fn commit(&mut self, id: RequestId, before: Option<u64>) -> u64 {
        let now = self.clock.now();
        let Some(request) = self.requests.get_mut(id) else { return 0 };
        let Some(file) = self.files.get_mut(&request.file) else { return 0 };
        request.fence = file.fences.create();
        request.submitted = now;
        if let Some(before) = before {
            request.wait_for(before);
        }
        self.shares.submitted(request.file, request.info.tasks(), now);
        let deadline = request.deadline;
        let index = request.queue.index();
        if let (Some(waiting), Some(turns)) = (file.waiting.get_mut(index), self.turns.get_mut(index)) {
            if waiting.is_empty() && !turns.contains(&request.file) {
                turns.push_back(request.file);
            }
            waiting.push_back(id);
        }
        file.requests = file.requests.saturating_add(1);
        file.counters.add(Counter::Submitted, 1);
        self.counters.add(Counter::Submitted, 1);
        let fence = request.fence;
        self.has_queued = true;
        self.ring_at(deadline);
        fence
    }

    /// One request or chain more is in flight.
    pub(crate) fn count_group(&mut self, file: FileId) {
        let Some(known) = self.files.get_mut(&file) else { return };
        known.in_flight = known.in_flight.saturating_add(1);
        known.counters.add(Counter::InFlight, 1);
        known.counters.raise(Counter::InFlightPeak, known.counters.get(Counter::InFlight));
        self.counters.add(Counter::InFlight, 1);
        self.counters.raise(Counter::InFlightPeak, self.counters.get(Counter::InFlight));
    }
}

impl Request {
    /// Makes a BAR lead `offset` bytes behind the start of a mapping.
    pub(crate) fn bind(&mut self, bar: BarIndex, used: Use, offset: u32) {
        let mapping = self.uses.len();
        self.uses.push(used);
        self.bound.push(Bound { bar, mapping, offset });
    }

    /// Makes the BARs lead to where the mappings lie.
    pub(crate) fn resolve(&mut self) {
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
