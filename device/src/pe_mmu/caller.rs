//! What a DMA circuit does with the utility: it asks, it pays, and on a page fault it uses the address as it is.
//!
//! The translation itself takes no time; the caller waits for the overhead afterwards, in its own record. So
//! each question is booked here, for whoever models time to collect. Both ways in which the original's DMA works
//! pay: stages of a pass that route themselves (*pipeline*), and commands that are handled directly. In the
//! original the pipeline forgets to, which [`Control::pipeline_exempt`](ane_uapi::hw::pe_mmu::Control) brings
//! back for comparison (seed 001, D2.1, remedy (a)).

use super::PeMmu;
use super::table::Stretch;
use crate::dart::Circuit;

/// Notes that are kept until somebody takes them; more are counted only.
const NOTES: usize = 32;

/// How a DMA circuit was set to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// As a stage of a pass.
    Pipeline,
    /// By a command of its own.
    Command,
}

impl Path {
    /// The path of a circuit (Chosen): descriptors are fetched on command, everything else is part of a pass.
    pub const fn of(circuit: Circuit) -> Self {
        match circuit {
            Circuit::TdFetch => Self::Command,
            Circuit::KernelFetch | Circuit::TileFetch1 | Circuit::TileFetch2 | Circuit::TileSend => {
                Self::Pipeline
            }
        }
    }
}

/// A stretch as the circuit uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub pa: u64,
    /// Bytes; never zero.
    pub len: u64,
}

/// Something that a trace shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// No region covered the address, so it was used as it is.
    Fallback {
        circuit: Circuit,
        va: u64,
        /// Bytes.
        len: u64,
    },
    /// The pipeline did not pay for a translation, as in the original.
    Exempt { circuit: Circuit },
}

/// What was asked and not yet paid.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    owed_ps: u64,
    notes: Vec<Note>,
}

impl Ledger {
    fn note(&mut self, note: Note) {
        if self.notes.len() < NOTES && self.notes.last() != Some(&note) {
            self.notes.push(note);
        }
    }
}

impl PeMmu {
    /// Translates for a circuit: where `va` leads, with how many of the `len` bytes from there on.
    ///
    /// Without a region the address is used as it is, which costs the same (Chosen: seed 001 says "after
    /// translating", whatever came of it).
    pub fn ask(&mut self, circuit: Circuit, va: u64, len: u64) -> Found {
        let Stretch { to, len } = self.table.stretch(va, len);
        self.counters.translations = self.counters.translations.saturating_add(1);
        if self.attributes.overhead_ps > 0 {
            if Path::of(circuit) == Path::Pipeline && self.control.pipeline_exempt() {
                self.ledger.note(Note::Exempt { circuit });
            } else {
                self.ledger.owed_ps = self.ledger.owed_ps.saturating_add(self.attributes.overhead_ps.into());
            }
        }
        match to {
            Ok(pa) => Found { pa, len },
            Err(_) => {
                self.counters.fallbacks = self.counters.fallbacks.saturating_add(1);
                self.ledger.note(Note::Fallback { circuit, va, len });
                Found { pa: va, len }
            }
        }
    }

    /// What the circuits owe since that was last taken, in picoseconds.
    pub const fn wait(&self) -> u64 {
        self.ledger.owed_ps
    }

    /// What the circuits owe since this was last asked, in picoseconds; `None` where nobody has to wait.
    pub fn take_wait(&mut self) -> Option<u64> {
        match std::mem::take(&mut self.ledger.owed_ps) {
            0 => None,
            owed => Some(owed),
        }
    }

    /// What a trace shows of the translations since this was last asked.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.ledger.notes)
    }
}
