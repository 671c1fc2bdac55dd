//! Fences: the numbers of a file's requests, and how each request ended.
//!
//! Numbers count up from 1 and are never used again, so none has to be freed and none can be mistaken for another. A window
//! of them is kept, from the oldest number whose result is still known to the newest one. The last [`FENCE_HISTORY`] requests
//! that ended keep their result. An older one is *forgotten*, and its result is no longer known. One that failed is not
//! forgotten while a request waits for it, since that request may not run.
//!
//! A long request does not hold the window open while thousands of later ones end: it is set aside, and the window moves on.
//! So the requests in flight and the history bound the memory, in whatever order requests end.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fence::FenceState;
use ane_uapi::ioctl::param::FENCE_HISTORY;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// With which error, if not well.
    pub result: Result<(), Errno>,
    /// Sequence number of the fault that ended it, or zero.
    pub fault: u64,
    /// When, in ticks of the device's clock; zero if it never started.
    pub timestamp: u64,
}

impl Ending {
    /// The end of a request that never reached the device.
    pub(crate) const fn unstarted(why: Errno) -> Self {
        Self { result: Err(why), fault: 0, timestamp: 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Waits for its turn.
    Queued,
    /// Is with the device.
    Running,
    Complete(Ending),
    /// Has ended so long ago that its result is no longer kept.
    Forgotten,
}

impl State {
    pub(crate) const fn has_ended(self) -> bool {
        matches!(self, Self::Complete(_) | Self::Forgotten)
    }

    pub(crate) const fn code(self) -> FenceState {
        match self {
            Self::Queued => FenceState::Queued,
            Self::Running => FenceState::Running,
            Self::Complete(_) => FenceState::Complete,
            Self::Forgotten => FenceState::Forgotten,
        }
    }
}

#[derive(Debug)]
struct Fence {
    state: State,
    /// Descriptors to write to at the end; hardly ever any.
    signals: Vec<Arc<OwnedFd>>,
    /// Requests that have not ended and run only if this one ended well.
    dependents: u32,
    /// It would be forgotten already, without dependents.
    is_overdue: bool,
}

impl Fence {
    const fn new() -> Self {
        Self { state: State::Queued, signals: Vec::new(), dependents: 0, is_overdue: false }
    }

    /// True if its result still decides about a request.
    const fn is_needed(&self) -> bool {
        self.dependents != 0 && matches!(self.state, State::Complete(Ending { result: Err(_), .. }))
    }
}

#[derive(Debug)]
pub(crate) struct Fences {
    /// The number of the first that is kept.
    first: u64,
    kept: VecDeque<Fence>,
    /// Fences older than `kept` that are still needed.
    aside: BTreeMap<u64, Fence>,
    /// Numbers of kept fences that have ended, in the order in which they ended.
    ended: VecDeque<u64>,
}

impl Default for Fences {
    fn default() -> Self {
        Self { first: 1, kept: VecDeque::new(), aside: BTreeMap::new(), ended: VecDeque::new() }
    }
}

impl Fences {
    /// Gives out the next number, for a request that waits for its turn.
    pub(crate) fn create(&mut self) -> u64 {
        if self.kept.len() >= WINDOW_MAX
            && let Some(fence) = self.kept.pop_front()
        {
            self.aside.insert(self.first, fence);
            self.first = self.first.saturating_add(1);
            self.trim();
        }
        self.kept.push_back(Fence::new());
        self.last()
    }

    /// The number that was given out last; zero before the first.
    pub(crate) fn last(&self) -> u64 {
        // Numbers are given out one at a time: 64 bits do not run out.
        self.first.saturating_add(self.kept.len() as u64).saturating_sub(1)
    }

    /// How far the request of `number` has come; `None` if the number was never given out.
    pub(crate) fn state(&self, number: u64) -> Option<State> {
        if number == 0 || number > self.last() {
            return None;
        }
        Some(self.get(number).map_or(State::Forgotten, |fence| fence.state))
    }

    /// The request is with the device now, or waits for its turn again.
    pub(crate) fn set_running(&mut self, number: u64, is_running: bool) {
        if let Some(fence) = self.get_mut(number)
            && !fence.state.has_ended()
        {
            fence.state = if is_running { State::Running } else { State::Queued };
        }
    }

    /// The request has ended. False if it had already, and then nothing changes.
    pub(crate) fn end(&mut self, number: u64, ending: Ending) -> bool {
        let Some(fence) = self.get_mut(number) else { return false };
        if fence.state.has_ended() {
            return false;
        }
        fence.state = State::Complete(ending);
        for signal in fence.signals.drain(..) {
            raise(&signal);
        }
        self.ended.push_back(number);
        if self.ended.len() > FENCE_HISTORY as usize {
            self.forget_oldest();
        }
        true
    }

    /// Has `event` written to at the end of the request, or now if it has ended. `ENODATA` if there was none. Any number may wait
    /// for one request: the front bounds how many descriptors its clients have.
    pub(crate) fn signal(&mut self, number: u64, event: Arc<OwnedFd>) -> Result<(), Errno> {
        match self.state(number) {
            None => return Err(Errno::ENODATA),
            Some(state) if state.has_ended() => raise(&event),
            Some(_) => {
                if let Some(fence) = self.get_mut(number) {
                    fence.signals.push(event);
                }
            }
        }
        Ok(())
    }

    /// A request that has not ended waits for `number`, until [`Fences::release`]. So the requests in flight bound what is kept.
    pub(crate) fn depend(&mut self, number: u64) {
        if let Some(fence) = self.get_mut(number) {
            fence.dependents = fence.dependents.saturating_add(1);
        }
    }

    /// A request that waited for `number` has ended.
    pub(crate) fn release(&mut self, number: u64) {
        let Some(fence) = self.get_mut(number) else { return };
        fence.dependents = fence.dependents.saturating_sub(1);
        if fence.is_overdue && fence.dependents == 0 {
            self.forget(number);
        }
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.ended.pop_front() else { return };
        match self.get_mut(oldest) {
            Some(fence) if fence.is_needed() => fence.is_overdue = true,
            _ => self.forget(oldest),
        }
    }

    fn forget(&mut self, number: u64) {
        if let Some(fence) = self.get_mut(number) {
            fence.state = State::Forgotten;
            self.aside.remove(&number);
        }
        self.trim();
    }

    /// Begins the window with one that is not forgotten.
    fn trim(&mut self) {
        while self.kept.front().is_some_and(|fence| fence.state == State::Forgotten) {
            self.kept.pop_front();
            self.first = self.first.saturating_add(1);
        }
    }

    fn index(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }

    fn get(&self, number: u64) -> Option<&Fence> {
        match self.index(number) {
            Some(index) => self.kept.get(index),
            None => self.aside.get(&number),
        }
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Fence> {
        match self.index(number) {
            Some(index) => self.kept.get_mut(index),
            None => self.aside.get_mut(&number),
        }
    }
}

/// Fences in the window (Chosen: the history, and as many again that are in flight, before any is set aside).
const WINDOW_MAX: usize = 2 * FENCE_HISTORY as usize;

/// Writes eight bytes: an eventfd counts one more, a pipe can be read. A descriptor that is full gets nothing.
fn raise(event: &OwnedFd) {
    let _ = nix::unistd::write(event, &1_u64.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use nix::sys::eventfd::{EfdFlags, EventFd};

    use super::*;

    const WELL: Ending = Ending { result: Ok(()), fault: 0, timestamp: 7 };

    fn shared(event: &EventFd) -> Arc<OwnedFd> {
        Arc::new(std::os::fd::AsFd::as_fd(event).try_clone_to_owned().unwrap())
    }

    #[test]
    fn numbers_count_up_from_one_and_zero_was_never_given_out() {
        let mut fences = Fences::default();
        assert_eq!((fences.create(), fences.create()), (1, 2));
        assert_eq!(fences.state(0), None);
        assert_eq!(fences.state(3), None);
        assert_eq!(fences.state(2), Some(State::Queued));
    }

    #[test]
    fn request_ends_once_and_keeps_its_first_ending() {
        let mut fences = Fences::default();
        let number = fences.create();
        assert!(fences.end(number, WELL));
        assert!(!fences.end(number, Ending::unstarted(Errno::ECANCELED)));
        assert_eq!(fences.state(number), Some(State::Complete(WELL)));
    }

    #[test]
    fn the_last_1024_endings_are_kept_in_the_order_in_which_they_happened() {
        let mut fences = Fences::default();
        let straggler = fences.create();
        let numbers: Vec<u64> = (0..FENCE_HISTORY).map(|_| fences.create()).collect();
        for &number in &numbers {
            fences.end(number, WELL);
        }
        assert_eq!(fences.state(numbers[0]), Some(State::Complete(WELL)));
        fences.end(straggler, WELL);
        assert_eq!(fences.state(numbers[0]), Some(State::Forgotten));
        assert_eq!(fences.state(straggler), Some(State::Complete(WELL)));
        assert_eq!(fences.create(), u64::from(FENCE_HISTORY) + 2);
    }

    #[test]
    fn forgotten_fences_take_no_room() {
        let mut fences = Fences::default();
        for _ in 0..10 * FENCE_HISTORY {
            let number = fences.create();
            fences.end(number, WELL);
        }
        assert_eq!(fences.kept.len(), FENCE_HISTORY as usize);
        assert_eq!(fences.state(1), Some(State::Forgotten));
    }

    #[test]
    fn straggler_keeps_its_state_and_no_room_for_those_that_pass_it_by() {
        let event = EventFd::from_flags(EfdFlags::EFD_NONBLOCK).unwrap();
        let mut fences = Fences::default();
        let stragglers = [fences.create(), fences.create()];
        fences.signal(stragglers[1], shared(&event)).unwrap();
        let numbers: Vec<u64> = (0..10 * FENCE_HISTORY)
            .map(|_| {
                let number = fences.create();
                fences.end(number, WELL);
                number
            })
            .collect();
        assert!(fences.kept.len() <= WINDOW_MAX, "{}", fences.kept.len());
        assert_eq!(fences.aside.len(), stragglers.len());
        let (oldest_known, newest_forgotten) = {
            let known = numbers.len() - FENCE_HISTORY as usize;
            (numbers[known], numbers[known - 1])
        };
        assert_eq!(fences.state(oldest_known), Some(State::Complete(WELL)));
        assert_eq!(fences.state(newest_forgotten), Some(State::Forgotten));
        fences.set_running(stragglers[0], true);
        assert_eq!(
            stragglers.map(|number| fences.state(number)),
            [Some(State::Running), Some(State::Queued)]
        );
        assert!(stragglers.iter().all(|&number| fences.end(number, WELL)));
        assert_eq!(event.read(), Ok(1));
        assert_eq!(fences.state(stragglers[1]), Some(State::Complete(WELL)));
        for _ in 0..FENCE_HISTORY {
            let number = fences.create();
            fences.end(number, WELL);
        }
        assert_eq!(fences.state(stragglers[1]), Some(State::Forgotten));
        assert!(fences.aside.is_empty());
    }

    #[test]
    fn ended_fences_between_stragglers_take_room_for_as_long_as_their_results_are_known() {
        let mut fences = Fences::default();
        for number in 0..u64::from(20 * FENCE_HISTORY) {
            let given = fences.create();
            if number % u64::from(FENCE_HISTORY) != 0 {
                fences.end(given, WELL);
            }
        }
        assert!(fences.kept.len() <= WINDOW_MAX, "{}", fences.kept.len());
        assert_eq!(fences.ended.len(), FENCE_HISTORY as usize);
        assert!(fences.aside.values().all(|fence| !fence.state.has_ended()), "{:?}", fences.aside);
    }

    #[test]
    fn failure_is_not_forgotten_while_a_request_waits_for_it() {
        let failed = Ending::unstarted(Errno::EIO);
        let mut fences = Fences::default();
        let numbers = [fences.create(), fences.create()];
        for (number, ending) in numbers.into_iter().zip([failed, WELL]) {
            fences.depend(number);
            fences.depend(number);
            fences.end(number, ending);
        }
        // More than the window has room for.
        for _ in 0..10 * FENCE_HISTORY {
            let number = fences.create();
            fences.end(number, WELL);
        }
        let states = |fences: &Fences| numbers.map(|number| fences.state(number));
        assert_eq!(states(&fences), [State::Complete(failed), State::Forgotten].map(Some));
        numbers.into_iter().for_each(|number| fences.release(number));
        assert_eq!(states(&fences)[0], Some(State::Complete(failed)), "another one waits still");
        numbers.into_iter().for_each(|number| fences.release(number));
        assert_eq!(states(&fences), [State::Forgotten; 2].map(Some));
        assert!(fences.aside.is_empty());
    }

    #[test]
    fn descriptor_is_written_to_at_the_end_or_at_once() {
        let event = || EventFd::from_flags(EfdFlags::EFD_NONBLOCK).unwrap();
        let (before, after) = (event(), event());
        let mut fences = Fences::default();
        let number = fences.create();
        fences.signal(number, shared(&before)).unwrap();
        assert!(before.read().is_err());
        fences.end(number, WELL);
        fences.signal(number, shared(&after)).unwrap();
        assert_eq!((before.read(), after.read()), (Ok(1), Ok(1)));
        assert_eq!(fences.signal(9, shared(&after)), Err(Errno::ENODATA));
    }

    #[test]
    fn every_descriptor_that_waits_for_a_request_is_written_to() {
        let events: Vec<_> = (0..100).map(|_| EventFd::from_flags(EfdFlags::EFD_NONBLOCK).unwrap()).collect();
        let mut fences = Fences::default();
        let number = fences.create();
        events.iter().for_each(|event| fences.signal(number, shared(event)).unwrap());
        fences.end(number, WELL);
        assert!(events.iter().all(|event| event.read() == Ok(1)));
    }
}
