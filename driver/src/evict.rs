//! Eviction: which mapping loses its addresses when there are none left.
//!
//! A process may map more than the aperture has room for. It is not refused: mappings that no work uses are taken
//! away, the least recently used first, and come back when they are next used, at whatever address is free then.
//! The buffer keeps its pages all the while. Apple's driver picks its victims by a score whose formula is not
//! published; here it is [`score`] (Chosen).
//!
//! Using a mapping must cost nothing, so the order is put right late: a mapping that was used since it was queued
//! is found out when its turn comes, and queued anew.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A mapping, by its buffer and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub buffer: u32,
    pub mapping: u32,
}

/// A mapping that may be evicted, as it was when it was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub last_use: u64,
    pub pages: u32,
    pub key: Key,
}

/// Bits of a score that say how large a mapping is: the aperture has fewer pages.
const SIZE_BITS: u32 = 18;

/// How much there is to say for evicting a mapping: how long it was not used, and then how much room it makes.
pub const fn score(now: u64, last_use: u64, pages: u32) -> u64 {
    let age = now.saturating_sub(last_use);
    let size = if pages >> SIZE_BITS == 0 { pages as u64 } else { (1 << SIZE_BITS) - 1 };
    if age >> (u64::BITS - SIZE_BITS) == 0 { age << SIZE_BITS | size } else { u64::MAX }
}

/// Mappings that may be evicted, the one with the highest score first.
#[derive(Debug, Default)]
pub struct Queue {
    /// Age counts down as time goes on, for all alike: the order never changes by itself.
    order: BTreeSet<(u64, Reverse<u32>, Key)>,
}

impl Queue {
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub fn insert(&mut self, candidate: Candidate) {
        self.order.insert((candidate.last_use, Reverse(candidate.pages), candidate.key));
    }

    /// Takes one out that may not be evicted any more.
    pub fn remove(&mut self, candidate: Candidate) {
        self.order.remove(&(candidate.last_use, Reverse(candidate.pages), candidate.key));
    }

    /// Takes the first out.
    pub fn pop(&mut self) -> Option<Candidate> {
        let (last_use, Reverse(pages), key) = self.order.pop_first()?;
        Some(Candidate { last_use, pages, key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(buffer: u32, last_use: u64, pages: u32) -> Candidate {
        Candidate { last_use, pages, key: Key { buffer, mapping: 0 } }
    }

    /// Requirement: POOL-09
    #[test]
    fn score_is_higher_the_longer_a_mapping_was_not_used_and_then_the_larger_it_is() {
        assert!(score(100, 10, 1) > score(100, 11, 200_000), "older");
        assert!(score(100, 10, 2) > score(100, 10, 1), "of the same age, larger");
        assert_eq!(score(100, 100, 7), 7);
        assert_eq!(score(5, 100, 7), 7, "a use to come is no age");
        assert_eq!((score(u64::MAX, 0, 1), score(0, 0, u32::MAX)), (u64::MAX, (1 << 18) - 1));
    }

    /// Requirement: POOL-08
    #[test]
    fn victims_come_in_the_order_of_their_score_least_recently_used_first() {
        let all = [candidate(0, 30, 4), candidate(1, 10, 1), candidate(2, 30, 9), candidate(3, 20, 2)];
        let mut queue = Queue::default();
        all.into_iter().for_each(|candidate| queue.insert(candidate));
        let victims: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        let scores: Vec<_> = victims.iter().map(|victim| score(40, victim.last_use, victim.pages)).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        assert_eq!(victims.iter().map(|victim| victim.key.buffer).collect::<Vec<_>>(), [1, 3, 2, 0]);
    }
}
