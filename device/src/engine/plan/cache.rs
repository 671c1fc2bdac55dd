//! Plans that were made, by the words they were made from.
//!
//! The registers of a task decide its plan, all of them and nothing else but two flags of the header; a changed
//! byte is another plan. A hash of the words names a set of a few places; where all of a set are taken, the plan that
//! was made first gives way. With one place for each hash a chain of a thousand tasks would have two in one place for
//! every fifth, which would be planned anew in every run.

use std::hash::BuildHasher;

use ane_uapi::hw::td::REGISTER_WORDS;
use ane_uapi::hw::td::header::Header;
use foldhash::fast::RandomState;
use zerocopy::IntoBytes;

use super::verdict::Result;
use super::{Plan, plan};
use crate::td::register_file::RegisterFile;
use crate::timing::{Cost, Machine};

/// Sets, a power of two.
const SETS: usize = 512;

/// Places of a set: a thousand tasks overflow one set in five thousand.
const PLACES: usize = 8;

/// The bits of a hash that name a set.
const MASK: u64 = SETS as u64 - 1;

const _: () = assert!(SETS.is_power_of_two());

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costed {
    pub plan: Plan,
    /// Its cost on the chip; zero where that is not modelled.
    pub cost: Cost,
}

struct Kept {
    words: [u32; REGISTER_WORDS],
    flags: u32,
    costed: Costed,
}

/// A plan that may be there, behind the hash that it has to have.
#[derive(Default)]
struct Place {
    hash: u64,
    kept: Option<Box<Kept>>,
}

/// The plans, each with its cost if that is modelled.
pub struct PlanCache {
    machine: Option<Machine>,
    sets: Box<[[Place; PLACES]]>,
    /// Each cache has its own seed, so that a guest cannot aim at one set.
    state: RandomState,
    made: u64,
}

impl Default for PlanCache {
    fn default() -> Self {
        Self {
            machine: None,
            sets: (0..SETS).map(|_| Default::default()).collect(),
            state: RandomState::default(),
            made: 0,
        }
    }
}

impl PlanCache {
    /// Plans with what they would cost on `machine`.
    pub fn with_costs(machine: Machine) -> Self {
        Self { machine: Some(machine), ..Self::default() }
    }

    /// The plan of a task, made if it is not there.
    pub fn get(&mut self, header: &Header, registers: &RegisterFile) -> Result<Costed> {
        let words = registers.words();
        let flags = header.flags.into_bits();
        let hash = self.state.hash_one((words.as_bytes(), flags));
        let index = usize::try_from(hash & MASK).unwrap_or(0);
        let set = self.sets.get_mut(index).map(<[Place; PLACES]>::as_mut_slice).unwrap_or_default();
        let mut kept =
            set.iter().filter(|place| place.hash == hash).filter_map(|place| place.kept.as_deref());
        if let Some(kept) = kept.find(|kept| kept.flags == flags && kept.words == *words) {
            return Ok(kept.costed);
        }
        let plan = plan(header, registers)?;
        let cost = self.machine.as_ref().map_or_else(Cost::default, |machine| Cost::of(machine, &plan.pass));
        let costed = Costed { plan, cost };
        self.made = self.made.saturating_add(1);
        if let Some(place) = set.last_mut() {
            *place = Place { hash, kept: Some(Box::new(Kept { words: *words, flags, costed })) };
        }
        set.rotate_right(1.min(set.len()));
        Ok(costed)
    }

    pub const fn made(&self) -> u64 {
        self.made
    }
}
