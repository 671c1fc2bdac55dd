//! The mover at work: copies and fills in units of sixteen bytes, started by a command or by XMOV.
//!
//! [`ane_uapi::hw::mover`] describes its words, registers and windows. Everything that a command or an
//! instruction moves is moved at once when it starts; how long it would have taken is kept as *modelled time*, in
//! cycles, so that STATUS, the queue and waiting mean something (seed 002, section 7). No thread ever waits for real:
//! a write that has to wait moves the bus's cycle on instead, and the device's thread is never held.
//!
//! * [`settings`]: what a mover is made with; `control` is what can be switched later.
//! * [`memories`]: scratch, configuration space and instruction RAM, which the caller lends.
//! * [`outcome`]: what can be wrong with a command, and what checking mode notes.
//! * `clock`: modelled time; `processor`: the command queue; `threads`: the port of XMOV.
//! * `transfer`: one transfer, with its refusals.
//! * `metadata`: what the packers report; `registers`: the windows on all of it.
//!
//! Chosen, where the sources leave it open: commands leave the queue one in a cycle; a mover command starts in the
//! cycle in which the mover becomes idle; an XMOV waits until no command is queued either; what is refused takes no
//! time. See `docs/mover.md`.

mod clock;
pub mod memories;
mod metadata;
pub mod outcome;
mod processor;
mod registers;
pub mod settings;
mod threads;
mod transfer;

use ane_uapi::hw::mover::model::{Control, Outcome};
use ane_uapi::hw::mover::regs::BASES;

pub use self::memories::Memories;
pub use self::outcome::{Note, Refused};
pub use self::settings::Settings;

use self::clock::BusClock;
use self::metadata::Packers;
use self::outcome::Log;
use self::processor::Queue;
use self::registers::KeptRegisters;
use self::threads::Threads;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Transfers that were carried out.
    pub transfers: u32,
    pub last_cycles: u32,
    /// Cycles of all of them.
    pub busy_cycles: u64,
    /// Cycles for which writers waited.
    pub waited_cycles: u64,
    pub refused: u32,
    /// How the last of those ended.
    pub last_outcome: Outcome,
}

impl Counters {
    const ZERO: Self = Self {
        transfers: 0,
        last_cycles: 0,
        busy_cycles: 0,
        waited_cycles: 0,
        refused: 0,
        last_outcome: Outcome::Fine,
    };
}

#[derive(Debug)]
pub struct Mover {
    settings: Settings,
    control: Control,
    clock: BusClock,
    /// First cycle in which the mover is idle.
    busy_until: u64,
    parameters: [u32; 4],
    bases: [u32; BASES],
    queue: Queue,
    threads: Threads,
    packers: Packers,
    kept: KeptRegisters,
    counters: Counters,
    log: Log,
}

impl Mover {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            control: settings.control(),
            clock: BusClock::default(),
            busy_until: 0,
            parameters: [0; 4],
            bases: [0; BASES],
            queue: Queue::default(),
            threads: Threads::default(),
            packers: Packers::default(),
            kept: KeptRegisters::default(),
            counters: Counters::ZERO,
            log: Log::default(),
        }
    }

    /// The counts since the last reset.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    pub const fn cycle(&self) -> u64 {
        self.clock.now()
    }

    pub const fn is_busy(&self) -> bool {
        self.clock.now() < self.busy_until
    }

    /// The refusals since this was last asked; the oldest, if there were many.
    pub fn take_refused(&mut self) -> Vec<Refused> {
        self.log.take_refused()
    }

    /// The notes of checking mode since this was last asked; the oldest, if there were many.
    pub fn take_notes(&mut self) -> Vec<Note> {
        self.log.take_notes()
    }

    /// Back to the state after power-on: the queue is empty, the credits are there, parameters and bases are zero, and
    /// no transfer runs. Memories keep their contents.
    pub fn reset(&mut self) {
        let clock = self.clock;
        *self = Self::new(self.settings);
        // Time does not go back; what was waited for is forgotten with the rest.
        self.clock = clock;
        self.busy_until = clock.now();
    }
}
