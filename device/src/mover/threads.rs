//! The port of XMOV: three threads that issue it, and wait.
//!
//! There is no coprocessor, so a word written to a thread's port is the thread issuing it. The thread waits until the
//! mover can start, and with it the bus that the word came over. STALLWAIT does not hold its thread at once: it is remembered,
//! and the thread's next XMOV waits for it; other threads go on feeding the mover meanwhile.

use ane_uapi::hw::mover::xmov::{
    self, BANK_WORDS, Descriptor, ISSUE_CYCLES, Instruction, STALLWAIT_MIN_CYCLES, STATE_ID_WORD, StallWait,
    THREADS,
};

use super::Mover;
use super::memories::Memories;
use super::outcome::{Reason, Unit};

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// First cycle in which it can issue.
    ready: u64,
    /// It waits for the mover to be idle, since this cycle.
    waits: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Threads([Thread; THREADS as usize]);

impl Mover {
    /// Lets threads go that wait for the mover, if it was idle in a cycle up to this one.
    ///
    /// It is called before the mover becomes busy, and when time has passed.
    pub(super) fn release_waiting(&mut self, cycle: u64) {
        let idle = self.busy_until;
        for thread in &mut self.threads.0 {
            // The first cycle in which the condition was met.
            if let Some(met) = thread.waits.map(|since| since.max(idle)).filter(|&met| met <= cycle) {
                thread.waits = None;
                thread.ready = thread.ready.max(met.saturating_add(STALLWAIT_MIN_CYCLES.into()));
            }
        }
    }

    pub(super) fn issue(&mut self, thread: u16, word: u32, memories: &mut Memories<'_>) {
        let unit = Unit::Xmov { thread, word };
        if let Err(bad) = Instruction::decode(word) {
            return self.refuse(unit, Reason::NotXmov(bad));
        }
        while self.holds(thread) || !self.queue.is_empty() || self.is_busy() {
            self.wait(memories);
        }
        let state = memories.configuration_word(STATE_ID_WORD.saturating_add(thread.into()));
        let bank = xmov::bank(state).saturating_mul(BANK_WORDS);
        let first = bank.saturating_add(self.settings.chip.descriptor_word());
        let words = [0, 1, 2, 3].map(|n| memories.configuration_word(first.saturating_add(n)));
        self.start(Descriptor(words).transfer(), unit, memories);
        let ready = self.clock.now().saturating_add(ISSUE_CYCLES.into());
        if let Some(thread) = self.threads.0.get_mut(usize::from(thread)) {
            thread.ready = ready;
        }
    }

    /// True if a thread cannot issue XMOV in this cycle, whatever the mover does.
    fn holds(&self, thread: u16) -> bool {
        self.threads
            .0
            .get(usize::from(thread))
            .is_some_and(|thread| thread.waits.is_some() || self.clock.now() < thread.ready)
    }

    /// A thread is to wait before it issues what the block mask names.
    pub(super) fn stall(&mut self, thread: u16, word: StallWait) {
        if !xmov::blocks_xmov(word.block().into()) {
            return;
        }
        let now = self.clock.now();
        let is_met = !self.settings.chip.waits_for_mover(word.condition().into()) || !self.is_busy();
        if let Some(thread) = self.threads.0.get_mut(usize::from(thread)) {
            if is_met {
                thread.ready = thread.ready.max(now.saturating_add(STALLWAIT_MIN_CYCLES.into()));
            } else {
                thread.waits = Some(now);
            }
        }
    }
}
