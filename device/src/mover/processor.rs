//! The command processor: a queue of four, two parameter credits, and one command in a cycle.
//!
//! Commands are processed when their time has come, not when they are written: what a compact command adds to its
//! source, and what a transfer copies, is what stands there then.

use std::collections::VecDeque;

use ane_uapi::hw::mover::Transfer;
use ane_uapi::hw::mover::Units;
use ane_uapi::hw::mover::command::{Command, Opcode, PARAMETER_CREDITS, QUEUE_DEPTH, takes_parameters};
use ane_uapi::hw::mover::regs::Core;
use ane_uapi::hw::mover::status::State;

use super::Mover;
use super::memories::{Memories, Outside};
use super::outcome::{Note, Reason, Refused, Unit};

#[derive(Clone, Copy, Debug)]
struct QueuedCommand {
    word: u32,
    /// The parameter registers as they were when the command was written.
    parameters: [u32; 4],
    /// The core whose window the command was written in.
    core: Core,
    since: u64,
}

#[derive(Debug)]
pub(super) struct Queue {
    entries: VecDeque<QueuedCommand>,
    credits: u8,
    /// First cycle in which the processor can take a command.
    ready: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self { entries: VecDeque::new(), credits: PARAMETER_CREDITS, ready: 0 }
    }
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn len(&self) -> u8 {
        // At most four.
        u8::try_from(self.entries.len()).unwrap_or(QUEUE_DEPTH)
    }

    fn is_full(&self) -> bool {
        self.len() >= QUEUE_DEPTH
    }
}

/// True if a command waits until the mover is idle.
fn waits_for_mover(word: u32) -> bool {
    let [opcode, ..] = word.to_le_bytes();
    matches!(Opcode::try_from(opcode), Ok(Opcode::Move | Opcode::Wait))
}

impl Mover {
    /// Lets time pass, up to what the caller takes it for; commands whose time comes are processed.
    pub fn advance(&mut self, time: u64, memories: &mut Memories<'_>) {
        let until = self.clock.at(time);
        self.pass(until, memories);
    }

    /// When something happens next, in the caller's cycles; `None` while nothing is queued.
    pub fn next(&self, time: u64) -> Option<u64> {
        let due = self.due()?;
        Some(time.saturating_add(due.saturating_sub(self.clock.now())))
    }

    /// When the oldest command can be processed.
    fn due(&self) -> Option<u64> {
        let entry = self.queue.entries.front()?;
        let mover = if waits_for_mover(entry.word) { self.busy_until } else { 0 };
        Some(entry.since.max(self.queue.ready).max(mover))
    }

    fn pass(&mut self, until: u64, memories: &mut Memories<'_>) {
        while let Some(due) = self.due().filter(|&due| due <= until) {
            self.clock.pass(due);
            let Some(entry) = self.queue.entries.pop_front() else { break };
            self.process(entry, memories);
        }
        self.clock.pass(until);
        self.release_waiting(until);
    }

    /// Holds the bus until something happens: a command is processed, or the mover becomes idle.
    pub(super) fn wait(&mut self, memories: &mut Memories<'_>) {
        let next = match self.due() {
            Some(due) => due,
            None if self.is_busy() => self.busy_until,
            None => self.clock.now().saturating_add(1),
        };
        let now = self.clock.now();
        // It goes on in the next cycle at the earliest: in this one everything has happened.
        let next = next.max(now.saturating_add(1));
        let held = self.clock.hold(next);
        self.counters.waited_cycles = self.counters.waited_cycles.saturating_add(held);
        self.pass(next, memories);
    }

    /// Takes a command that was written in a core's window.
    pub(super) fn enqueue(&mut self, core: Core, word: u32, memories: &mut Memories<'_>) {
        while self.queue.is_full() {
            self.wait(memories);
        }
        let parameters = self.parameters;
        if takes_parameters(word) {
            while self.queue.credits == 0 {
                if !self.control.waits_for_credit() {
                    return self.refuse(Unit::Command { core, word, parameters }, Reason::NoCredit);
                }
                self.wait(memories);
            }
            self.queue.credits = self.queue.credits.saturating_sub(1);
        }
        let since = self.clock.now();
        self.queue.entries.push_back(QueuedCommand { word, parameters, core, since });
        self.pass(since, memories);
    }

    /// Processes a command in this cycle; it has left the queue.
    fn process(&mut self, entry: QueuedCommand, memories: &mut Memories<'_>) {
        let QueuedCommand { word, parameters, core, .. } = entry;
        self.queue.ready = self.clock.now().saturating_add(1);
        if takes_parameters(word) {
            self.queue.credits = self.queue.credits.saturating_add(1).min(PARAMETER_CREDITS);
        }
        let unit = Unit::Command { core, word, parameters };
        match Command::decode(word) {
            Ok(Command::Move) => self.start(Transfer::from_parameters(parameters), unit, memories),
            Ok(Command::CompactMove(compact)) => {
                self.start(compact.transfer(Units(self.base(core))), unit, memories);
            }
            Ok(Command::ScratchWrite { wide }) => self.write_scratch(parameters, wide, unit, memories),
            Ok(Command::Wait | Command::Nothing) => {}
            Err(bad) => self.refuse(unit, Reason::Command(bad)),
        }
    }

    fn write_scratch(
        &mut self,
        [at, _, low, high]: [u32; 4],
        wide: bool,
        unit: Unit,
        memories: &mut Memories<'_>,
    ) {
        let [[a, b, c, d], [e, f, g, h]] = [low, high].map(u32::to_le_bytes);
        let (done, bytes) = if wide {
            (memories.write_scratch(at, &[a, b, c, d, e, f, g, h]), 8)
        } else {
            (memories.write_scratch(at, &[a, b, c, d]), 4)
        };
        if done == Err(Outside) {
            self.refuse(unit, Reason::WriteOutsideScratch { at, bytes });
        }
    }

    pub(super) fn refuse(&mut self, unit: Unit, reason: Reason) {
        self.counters.refused = self.counters.refused.wrapping_add(1);
        self.counters.last_outcome = reason.outcome();
        self.log.refused(Refused { unit, reason, cycle: self.clock.now() });
    }

    pub(super) fn status(&mut self) -> u32 {
        let state = State {
            busy: self.is_busy(),
            queued: self.queue.len(),
            credits: self.queue.credits,
            error: self.counters.refused != 0,
        };
        if self.settings.check && !state.busy && state.queued > 0 {
            self.log.note(Note::IdleWithCommandsQueued { queued: state.queued });
        }
        state.word(self.settings.profile)
    }
}
