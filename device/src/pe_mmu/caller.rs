//! The use of the utility by a DMA circuit. It asks for a translation and waits for the overhead. On a page fault it uses the
//! address as it is.
//!
//! The translation itself takes no time; the caller waits for the overhead afterwards, in its own record. So
//! each question is added up here, for the timing model to collect. Both ways in which the original's DMA works
//! pay: stages of a pass that route themselves (*pipeline*), and commands that are handled directly. In the
//! original the pipeline forgets to, which [`Control::pipeline_exempt`](ane_uapi::hw::pe_mmu::Control) brings
//! back for comparison (seed 001, D2.1, remedy (a)).

use super::PeMmu;
use super::table::Stretch;
use crate::dart::Circuit;

/// The number of notes that are kept until they are taken. More are only counted.
const NOTES: usize = 32;

/// How a DMA circuit was set to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// As a stage of a pass.
    Pipeline,
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
    /// `len` is in bytes.
    Fallback { circuit: Circuit, va: u64, len: u64 },
    /// The pipeline did not wait for a translation, as in the original.
    Exempt { circuit: Circuit },
}

/// What circuits had asked at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    translations: u64,
    fallbacks: u64,
    wait_ps: u64,
    notes: usize,
}

/// The time to wait and the notes that the caller has not taken yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    wait_ps: u64,
    notes: Vec<Note>,
}

impl Pending {
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
                self.pending.note(Note::Exempt { circuit });
            } else {
                self.pending.wait_ps =
                    self.pending.wait_ps.saturating_add(self.attributes.overhead_ps.into());
            }
        }
        match to {
            Ok(pa) => Found { pa, len },
            Err(_) => {
                self.counters.fallbacks = self.counters.fallbacks.saturating_add(1);
                self.pending.note(Note::Fallback { circuit, va, len });
                Found { pa: va, len }
            }
        }
    }

    /// What was asked until now, to [come back to](Self::take_back).
    pub(crate) const fn asked(&self) -> Asked {
        Asked {
            translations: self.counters.translations,
            fallbacks: self.counters.fallbacks,
            wait_ps: self.pending.wait_ps,
            notes: self.pending.notes.len(),
        }
    }

    /// Takes back the questions since then: their transfer will ask them again.
    pub(crate) fn take_back(&mut self, asked: Asked) {
        let Asked { translations, fallbacks, wait_ps, notes } = asked;
        (self.counters.translations, self.counters.fallbacks) = (translations, fallbacks);
        self.pending.wait_ps = wait_ps;
        self.pending.notes.truncate(notes);
    }

    /// How long the circuits have to wait since that was last taken, in picoseconds.
    pub const fn wait(&self) -> u64 {
        self.pending.wait_ps
    }

    /// How long the circuits have to wait since this was last asked, in picoseconds; `None` if not at all.
    pub fn take_wait(&mut self) -> Option<u64> {
        match std::mem::take(&mut self.pending.wait_ps) {
            0 => None,
            wait => Some(wait),
        }
    }

    /// The notes for a trace on the translations since this was last asked.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.pending.notes)
    }
}
