//! The early end of a pass that is cancelled.
//!
//! A pass may have 2^33 products, and where each is computed by itself that takes a minute. A driver that aborts the
//! queue, resets the device or disconnects must not wait for that. The library does not know the reason: the front
//! hands in a flag to ask ([`Cancel`]), and all code that computes or moves data asks it at bounded distances. Once the
//! answer was yes, the task is over ([`Watch`] remembers that): each loop ends where it is, its task ends as aborted,
//! and nothing that is half done counts as done.
//!
//! Asking may cost something, so every thread counts its steps (a `Pace`) and asks once in [`STRIDE`] of them. A pass
//! that is shorter never asks. A transfer of a pass on the engine's thread has the device for a [`TURN`] at a time.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ane_uapi::hw::tq::QueueId;

/// Steps between two questions. A step is a product computed by itself or by one vector instruction with others, or an
/// element moved: some hundred microseconds at the slowest.
pub const STRIDE: usize = 1 << 16;

/// Steps for which a pass on the engine's thread has the device: one to some milliseconds (Chosen).
pub const TURN: usize = 4 * STRIDE;

/// Products that a vector instruction computes at least, where there is one.
pub(super) const VECTOR: usize = 8;

/// Says whether what runs is still wanted.
pub trait Cancel: Sync {
    /// True if the task of this queue that runs is to end. It is asked from any thread of the array.
    fn is_cancelled(&self, queue: QueueId) -> bool;
}

/// A task that is never called off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Never;

impl Cancel for Never {
    fn is_cancelled(&self, _: QueueId) -> bool {
        false
    }
}

/// Lets what is only tried go on for so many questions.
pub(super) struct Limited<'a> {
    cancel: &'a dyn Cancel,
    left: AtomicUsize,
    is_called_off: AtomicBool,
}

impl<'a> Limited<'a> {
    pub(super) const fn new(cancel: &'a dyn Cancel, questions: usize) -> Self {
        Self { cancel, left: AtomicUsize::new(questions), is_called_off: AtomicBool::new(false) }
    }

    /// True if it ended for good, and not because it took too long.
    pub(super) fn is_called_off(&self) -> bool {
        self.is_called_off.load(Ordering::Relaxed)
    }
}

impl Cancel for Limited<'_> {
    fn is_cancelled(&self, queue: QueueId) -> bool {
        if self.cancel.is_cancelled(queue) {
            self.is_called_off.store(true, Ordering::Relaxed);
            return true;
        }
        let less = |left: usize| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err()
    }
}

/// A flag that calls off whatever runs.
impl Cancel for AtomicBool {
    fn is_cancelled(&self, _: QueueId) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// One task, and whether it was called off.
pub struct Watch<'a> {
    cancel: &'a dyn Cancel,
    queue: QueueId,
    is_over: AtomicBool,
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("queue", &self.queue)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

impl<'a> Watch<'a> {
    /// A task of a queue, and whom to ask about it.
    pub const fn new(cancel: &'a dyn Cancel, queue: QueueId) -> Self {
        Self { cancel, queue, is_over: AtomicBool::new(false) }
    }

    /// A task that is never called off.
    pub const fn idle() -> Self {
        Self::new(&Never, QueueId::LINUX)
    }

    /// True if an earlier question was answered with yes; does not ask again. Code that ends early has
    /// asked before.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn ask(&self) -> bool {
        let is_over = self.is_over() || self.cancel.is_cancelled(self.queue);
        if is_over {
            self.is_over.store(true, Ordering::Relaxed);
        }
        is_over
    }
}

/// The steps of one thread of a task.
#[derive(Debug)]
pub(super) struct Pace<'a> {
    watch: &'a Watch<'a>,
    /// Since it last asked.
    steps: usize,
    left: usize,
    is_over: bool,
}

impl<'a> Pace<'a> {
    pub(super) fn new(watch: &'a Watch<'a>) -> Self {
        Self { watch, steps: 0, left: usize::MAX, is_over: watch.is_over() }
    }

    /// One that has a turn of so many steps.
    pub(super) fn with_turn(watch: &'a Watch<'a>, turn: usize) -> Self {
        Self { left: turn, ..Self::new(watch) }
    }

    /// Counts steps; true if the task is over, and then nothing more is to be done.
    #[inline]
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_add(steps);
        self.left = self.left.saturating_sub(steps);
        if self.steps >= STRIDE {
            self.steps = 0;
            self.is_over = self.is_over || self.watch.ask();
        }
        self.is_over
    }

    /// Does something to elements, a stride of them after the other, as long as they are wanted.
    pub(super) fn strides(&mut self, elements: &mut [u16], mut work: impl FnMut(&mut [u16])) {
        for stride in elements.chunks_mut(STRIDE) {
            if self.spend(stride.len()) {
                return;
            }
            work(stride);
        }
    }

    /// Begins another turn of so many steps.
    pub(super) const fn begin_turn(&mut self, turn: usize) {
        self.left = turn;
    }

    pub(super) const fn has_had_its_turn(&self) -> bool {
        self.left == 0
    }

    /// True if the thread knows that the task is over.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says yes once, and counts how often it was asked.
    #[derive(Default)]
    struct Once(AtomicUsize);

    impl Cancel for Once {
        fn is_cancelled(&self, _: QueueId) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) == 1
        }
    }

    #[test]
    fn pace_asks_once_in_a_stride() {
        let once = Once::default();
        let watch = Watch::new(&once, QueueId::LINUX);
        let mut pace = Pace::new(&watch);
        let over: Vec<bool> = (0..8).map(|_| pace.spend(STRIDE / 4)).collect();
        assert_eq!(over, [false, false, false, false, false, false, false, true]);
        assert_eq!(once.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn what_is_tried_goes_on_for_so_many_questions_and_says_whether_it_was_called_off_instead() {
        let limited = Limited::new(&Never, 2);
        let answers = [(); 4].map(|()| limited.is_cancelled(QueueId::LINUX));
        assert_eq!((answers, limited.is_called_off()), ([false, false, true, true], false));
        let once = Once::default();
        let limited = Limited::new(&once, 2);
        let answers = [(); 2].map(|()| limited.is_cancelled(QueueId::LINUX));
        assert_eq!((answers, limited.is_called_off()), ([false, true], true));
    }

    #[test]
    fn what_is_over_stays_over_for_every_thread_whatever_is_said_later() {
        let once = Once(AtomicUsize::new(1));
        let watch = Watch::new(&once, QueueId::LINUX);
        let (mut first, mut second) = (Pace::new(&watch), Pace::new(&watch));
        assert!(first.spend(STRIDE) && second.spend(STRIDE) && first.is_over());
        assert!(watch.is_over() && Pace::new(&watch).is_over());
        assert_eq!(once.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn strides_end_where_the_task_is_over() {
        let once = Once::default();
        let watch = Watch::new(&once, QueueId::LINUX);
        let mut elements = vec![0; 3 * STRIDE];
        Pace::new(&watch).strides(&mut elements, |stride| stride.fill(1));
        assert_eq!(elements.iter().position(|&element| element == 0), Some(STRIDE));
        assert!(watch.is_over());
    }

    #[test]
    fn pace_has_had_its_turn_when_its_steps_are_spent_and_one_without_a_turn_goes_on() {
        let watch = Watch::idle();
        let (mut short, mut endless) = (Pace::with_turn(&watch, 3), Pace::new(&watch));
        let turns = [2, 1].map(|steps| (short.spend(steps), short.has_had_its_turn()));
        assert_eq!(turns, [(false, false), (false, true)]);
        assert!(!endless.spend(TURN) && !endless.has_had_its_turn());
    }

    #[test]
    fn steps_beyond_counting_are_asked_about() {
        let watch = Watch::idle();
        let mut pace = Pace::new(&watch);
        assert!(!pace.spend(usize::MAX) && !pace.spend(usize::MAX) && !watch.is_over());
    }
}
