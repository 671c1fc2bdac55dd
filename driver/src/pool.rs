//! Pools: output buffers that go round.
//!
//! ```text
//!              take                       submit
//!  available --------> taken ----+------------------> in execution
//!      ^  ^                |     |                        |
//!      |  +---- recycle ---+     +------- request ended --+
//!      +----- request ended, and it was to recycle -------+
//! ```
//!
//! An available buffer may be given to a request without being taken: a program's own output goes round so, and
//! nobody can take it meanwhile. The smallest buffer that is large enough is taken. If several have that size, the one
//! that was recycled first is taken: its reader has had it longest, and is most likely done with it.

use ane_uapi::ioctl::errno::Errno;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The pool may hand it out.
    Available,
    Taken,
    /// So many requests use it.
    InExecution,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    handle: u32,
    bytes: u64,
    /// When the buffer became available, as a number in the order of recyclings; none if it is taken.
    available: Option<u64>,
    /// Requests that use it.
    executing: u32,
}

#[derive(Debug)]
pub(crate) struct Pool {
    capacity: u32,
    members: Vec<Member>,
    /// Recyclings so far.
    order: u64,
    /// Programs that give their outputs back to it.
    pub(crate) programs: u32,
}

impl Pool {
    pub(crate) const fn new(capacity: u32) -> Self {
        Self { capacity, members: Vec::new(), order: 0, programs: 0 }
    }

    fn member(&mut self, handle: u32) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.handle == handle)
    }

    pub(crate) fn has_room(&self) -> bool {
        u32::try_from(self.members.len()).is_ok_and(|count| count < self.capacity)
    }

    /// A new buffer joins; it counts as taken.
    pub(crate) fn join(&mut self, handle: u32, bytes: u64) {
        self.members.push(Member { handle, bytes, available: None, executing: 0 });
    }

    pub(crate) fn leave(&mut self, handle: u32) {
        self.members.retain(|member| member.handle != handle);
    }

    pub(crate) fn handles(&self) -> impl Iterator<Item = u32> {
        self.members.iter().map(|member| member.handle)
    }

    pub(crate) fn state(&self, handle: u32) -> Option<State> {
        let member = self.members.iter().find(|member| member.handle == handle)?;
        Some(match member {
            Member { executing: 1.., .. } => State::InExecution,
            Member { available: Some(_), .. } => State::Available,
            Member { available: None, .. } => State::Taken,
        })
    }

    /// True if a buffer is in execution or a program uses the pool.
    pub(crate) fn is_busy(&self) -> bool {
        self.programs != 0 || self.members.iter().any(|member| member.executing != 0)
    }

    /// Takes the best available buffer of at least so many bytes. `EAGAIN` if there is none.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<u32, Errno> {
        self.members
            .iter_mut()
            .filter(|member| member.executing == 0 && member.bytes >= bytes)
            .filter_map(|member| Some(((member.bytes, member.available?), member)))
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, member)| {
                member.available = None;
                member.handle
            })
            .ok_or(Errno::EAGAIN)
    }

    /// Gives a buffer back. `EINVAL` if it is none of the pool's, `EBUSY` in execution, `EALREADY` if it is available.
    pub(crate) fn recycle(&mut self, handle: u32) -> Result<(), Errno> {
        match self.state(handle).ok_or(Errno::EINVAL)? {
            State::InExecution => Err(Errno::EBUSY),
            State::Available => Err(Errno::EALREADY),
            State::Taken => {
                self.make_available(handle);
                Ok(())
            }
        }
    }

    fn make_available(&mut self, handle: u32) {
        self.order = self.order.saturating_add(1);
        let order = self.order;
        if let Some(member) = self.member(handle) {
            member.available = Some(order);
        }
    }

    /// A request uses the buffer.
    pub(crate) fn begin(&mut self, handle: u32) {
        if let Some(member) = self.member(handle) {
            member.executing = member.executing.saturating_add(1);
        }
    }

    /// The request has ended; true if the buffer was given back with that.
    pub(crate) fn end(&mut self, handle: u32, recycles: bool) -> bool {
        let Some(member) = self.member(handle) else { return false };
        member.executing = member.executing.saturating_sub(1);
        let is_given_back = recycles && member.executing == 0 && member.available.is_none();
        if is_given_back {
            self.make_available(handle);
        }
        is_given_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(sizes: &[u64]) -> Pool {
        let mut pool = Pool::new(8);
        for (handle, &bytes) in (1..).zip(sizes) {
            pool.join(handle, bytes);
        }
        pool
    }

    /// Requirement: POOL-03
    #[test]
    fn new_buffer_counts_as_taken_and_a_full_pool_has_no_room() {
        let mut pool = Pool::new(1);
        assert!(pool.has_room());
        pool.join(7, 0x4000);
        assert!(!pool.has_room());
        assert_eq!(pool.state(7), Some(State::Taken));
        pool.leave(7);
        assert!(pool.has_room() && pool.state(7).is_none());
    }

    /// Requirement: POOL-04
    #[test]
    fn buffer_goes_round_available_taken_in_execution_and_back() {
        let mut pool = pool(&[0x4000]);
        pool.recycle(1).unwrap();
        assert_eq!(pool.take(1), Ok(1));
        pool.begin(1);
        assert_eq!(pool.state(1), Some(State::InExecution));
        assert!(pool.is_busy());
        assert!(pool.end(1, true));
        assert_eq!(pool.state(1), Some(State::Available));
        assert!(!pool.is_busy());
    }

    /// Requirement: POOL-05
    #[test]
    fn buffer_in_use_or_available_already_cannot_be_recycled() {
        let mut pool = pool(&[0x4000]);
        pool.begin(1);
        assert_eq!(pool.recycle(1), Err(Errno::EBUSY));
        pool.end(1, false);
        assert_eq!(pool.recycle(1), Ok(()));
        assert_eq!(pool.recycle(1), Err(Errno::EALREADY));
        assert_eq!(pool.recycle(2), Err(Errno::EINVAL));
    }

    #[test]
    fn smallest_that_is_large_enough_is_taken_and_of_equals_the_one_recycled_first() {
        let mut pool = pool(&[0x10000, 0x4000, 0x8000, 0x8000]);
        [1, 2, 4, 3].into_iter().for_each(|handle| pool.recycle(handle).unwrap());
        let taken: Vec<_> = (0..4).map(|_| pool.take(0x4001)).collect();
        assert_eq!(taken, [Ok(4), Ok(3), Ok(1), Err(Errno::EAGAIN)]);
    }

    #[test]
    fn buffer_of_two_requests_is_free_when_both_have_ended() {
        let mut pool = pool(&[0x4000]);
        pool.begin(1);
        pool.begin(1);
        assert!(!pool.end(1, true));
        assert_eq!(pool.state(1), Some(State::InExecution));
        assert!(pool.end(1, true));
    }

    #[test]
    fn available_buffer_that_a_request_uses_cannot_be_taken_meanwhile() {
        let mut pool = pool(&[0x4000]);
        pool.recycle(1).unwrap();
        pool.begin(1);
        assert_eq!(pool.take(1), Err(Errno::EAGAIN));
        assert!(!pool.end(1, true), "it was available before");
        assert_eq!(pool.take(1), Ok(1));
    }
}
