//! Arbitration: which queue's request starts next.
//!
//! The higher priority goes first, and each has credit (facts F.2): a start takes one credit, a queue without
//! credit waits while another has some, and when nobody who waits has any left everyone gets theirs back. How
//! much that is no source says; it is the priority's own number, and at least one (Chosen: the firmware calls
//! the same numbers weights). So thirty-one requests of the most urgent kind pass before one of the least.
//! Between equals the older request goes first.
//!
//! The arbiter takes no request off the engine: registers persist from task to task, and the sources hardly saw the
//! descriptors' context-switch flags used. A request gives way only if its driver asks for that between two tasks
//! (`tm/aside.rs`, an extension).

use ane_uapi::hw::tq::QueueId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub queue: QueueId,
    pub priority: u8,
    /// The place of the request in the order of pushes.
    pub age: u64,
}

/// The credit of each queue; `None` is all of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arbiter {
    credit: [Option<u8>; QueueId::COUNT as usize],
}

impl Arbiter {
    fn credit_of(&self, candidate: &Candidate) -> u8 {
        self.credit.get(candidate.queue.index()).copied().flatten().unwrap_or(candidate.priority.max(1))
    }

    /// Chooses who starts, and takes a credit for it.
    pub fn choose(&mut self, candidates: impl Iterator<Item = Candidate> + Clone) -> Option<Candidate> {
        let first = |arbiter: &Self| {
            candidates
                .clone()
                .filter(|candidate| arbiter.credit_of(candidate) != 0)
                .max_by_key(|candidate| (candidate.priority, std::cmp::Reverse(candidate.age)))
        };
        let chosen = match first(self) {
            Some(chosen) => chosen,
            None => {
                *self = Self::default();
                first(self)?
            }
        };
        let left = self.credit_of(&chosen).saturating_sub(1);
        if let Some(credit) = self.credit.get_mut(chosen.queue.index()) {
            *credit = Some(left);
        }
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(queue: u32, priority: u8, age: u64) -> Candidate {
        Candidate { queue: QueueId::new(queue).unwrap(), priority, age }
    }

    fn order(candidates: &[Candidate], starts: usize) -> Vec<u8> {
        let mut arbiter = Arbiter::default();
        (0..starts).map(|_| arbiter.choose(candidates.iter().copied()).unwrap().queue.number()).collect()
    }

    /// Requirement: TM-09
    #[test]
    fn higher_priority_goes_first_until_its_credit_is_used_up() {
        assert_eq!(order(&[waiting(0, 1, 0), waiting(2, 3, 1)], 8), [2, 2, 2, 0, 2, 2, 2, 0]);
    }

    #[test]
    fn older_request_goes_first_between_equals() {
        assert_eq!(order(&[waiting(5, 4, 9), waiting(1, 4, 8)], 1), [1]);
    }

    #[test]
    fn lone_queue_never_waits_for_credit() {
        assert_eq!(order(&[waiting(3, 0, 0)], 5), [3; 5]);
    }

    #[test]
    fn no_priority_is_starved() {
        let all: Vec<_> = QueueId::ALL
            .into_iter()
            .map(|queue| Candidate { queue, priority: queue.priority(), age: 0 })
            .collect();
        let round: usize = QueueId::ALL.iter().map(|queue| usize::from(queue.priority())).sum();
        let order = order(&all, round);
        for queue in QueueId::ALL {
            let starts = order.iter().filter(|&&number| number == queue.number()).count();
            assert_eq!(starts, usize::from(queue.priority()), "{queue}");
        }
    }

    #[test]
    fn nobody_waits_and_nobody_is_chosen() {
        assert_eq!(Arbiter::default().choose([].into_iter()), None);
    }
}
