//! Plans that were made, by the words they were made from.
//!
//! The registers of a task decide its plan, all of them and nothing else but two flags of the header; a changed
//! byte is another plan. A plan has one place, found by a hash of the words; another plan may take it.

use std::hash::BuildHasher;

use ane_uapi::hw::td::REGISTER_WORDS;
use ane_uapi::hw::td::header::Header;
use foldhash::fast::RandomState;
use zerocopy::IntoBytes;

use super::verdict::Verdict;
use super::{Plan, plan};
use crate::td::register_file::RegisterFile;
use crate::timing::{Cost, Machine};

/// Places, a power of two: four times the tasks of a large network, so that few of them meet in one place.
const PLACES: usize = 4096;

/// The bits of a hash that name a place.
const MASK: u64 = PLACES as u64 - 1;

const _: () = assert!(PLACES.is_power_of_two());

struct Kept {
    words: [u32; REGISTER_WORDS],
    flags: u32,
    plan: Plan,
}

/// The plans, each with its cost if somebody wants to know.
pub struct PlanCache {
    machine: Option<Machine>,
    places: Box<[Option<Box<Kept>>]>,
    /// Its own for each cache, so that a guest cannot aim at one place.
    state: RandomState,
    made: u64,
}

impl Default for PlanCache {
    fn default() -> Self {
        Self {
            machine: None,
            places: (0..PLACES).map(|_| None).collect(),
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
    ///
    /// # Errors
    ///
    /// Why it has none.
    pub fn get(&mut self, header: &Header, registers: &RegisterFile) -> Result<Plan, Verdict> {
        let words = registers.words();
        let flags = header.flags.into_bits();
        let hash = self.state.hash_one((words.as_bytes(), flags));
        let index = usize::try_from(hash & MASK).unwrap_or(0);
        let place = self.places.get_mut(index);
        if let Some(Some(kept)) = &place
            && kept.flags == flags
            && kept.words == *words
        {
            return Ok(kept.plan);
        }
        let mut plan = plan(header, registers)?;
        if let Some(machine) = &self.machine {
            plan.cost = Cost::of(machine, &plan.pass);
        }
        self.made = self.made.saturating_add(1);
        if let Some(place) = place {
            *place = Some(Box::new(Kept { words: *words, flags, plan }));
        }
        Ok(plan)
    }

    /// How many plans were made.
    pub const fn made(&self) -> u64 {
        self.made
    }
}
