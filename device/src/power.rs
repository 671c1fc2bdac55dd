//! Power: the islands of the engine, as their words switch them.
//!
//! A word that is written changes its island at once, and with it every island that depends on it. A part that loses
//! its power loses its state: with the base island the task manager, the queues and the running task, with the system
//! island the DARTs too. Drivers rely on both: they switch sets, base and coprocessor off and on to get a wedged engine
//! back, and go on with the tables that the DARTs have kept.
//!
//! After power-on everything is on, so that a front without power words needs none.

use ane_uapi::hw::power::{Island, ON, PowerWord};

/// The parts that have lost their power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The task manager, the queues, and what executes.
    Engine,
    /// The DARTs as well.
    Everything,
}

#[derive(Clone, Debug)]
pub struct Power {
    words: [PowerWord; Island::ALL.len()],
}

impl Default for Power {
    fn default() -> Self {
        Self { words: [PowerWord::new().with_target(ON); Island::ALL.len()] }
    }
}

/// Bits that are kept as they are written.
const STORED: PowerWord =
    PowerWord::new().with_target(ON).with_minimum(ON).with_automatic(true).with_reset(true);

impl Power {
    fn word(&self, island: Island) -> PowerWord {
        self.words.get(island as usize).copied().unwrap_or_default()
    }

    /// The state that the island has reached.
    fn actual(&self, island: Island) -> u8 {
        let word = self.word(island);
        let has_supply = match island.parent() {
            Some(parent) => self.is_on(parent),
            None => true,
        };
        if has_supply && !word.reset() { word.target() } else { 0 }
    }

    pub fn is_on(&self, island: Island) -> bool {
        self.actual(island) == ON
    }

    /// True if tasks may run: every set is on, and with it what it hangs on.
    pub fn runs(&self) -> bool {
        Island::SETS.into_iter().all(|set| self.is_on(set))
    }

    /// The word at `offset` of the window; `None` where there is none.
    pub fn read(&self, offset: u32) -> Option<u32> {
        let island = Island::at(offset)?;
        Some(self.word(island).with_actual(self.actual(island)).into_bits())
    }

    /// Writes the word at `offset`; says what lost its power by it. `None` where there is no word.
    pub fn write(&mut self, offset: u32, value: u32) -> Option<Option<Lost>> {
        let island = Island::at(offset)?;
        let before = [Island::System, Island::Base].map(|island| self.is_on(island));
        if let Some(word) = self.words.get_mut(island as usize) {
            *word = PowerWord::from_bits(value & STORED.into_bits());
        }
        let after = [Island::System, Island::Base].map(|island| self.is_on(island));
        let [system, base] =
            [0, 1].map(|at: usize| before.get(at) == Some(&true) && after.get(at) == Some(&false));
        Some(match (system, base) {
            (true, _) => Some(Lost::Everything),
            (false, true) => Some(Lost::Engine),
            (false, false) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(power: &mut Power, island: Island, target: u32) -> Option<Lost> {
        power.write(island.offset(), target).unwrap()
    }

    #[test]
    fn everything_is_on_after_power_on() {
        let power = Power::default();
        for island in Island::ALL {
            assert_eq!(power.read(island.offset()), Some(0xff), "{}", island.name());
        }
        assert!(power.runs());
    }

    #[test]
    fn island_without_supply_is_off_and_comes_back_with_it() {
        let mut power = Power::default();
        assert_eq!(set(&mut power, Island::Base, 0), Some(Lost::Engine));
        assert_eq!(power.read(Island::Set3.offset()), Some(0x0f), "wanted, and not there");
        assert!(!power.runs());
        assert_eq!(set(&mut power, Island::Base, 15), None);
        assert!(power.runs());
    }

    #[test]
    fn sets_that_go_off_stop_tasks_and_lose_nothing() {
        let mut power = Power::default();
        assert_eq!(set(&mut power, Island::Set5, 0), None);
        assert!(!power.runs() && power.is_on(Island::Base));
    }

    #[test]
    fn system_takes_everything_with_it_once() {
        let mut power = Power::default();
        assert_eq!(set(&mut power, Island::Cpu, 0), Some(Lost::Engine));
        assert_eq!(set(&mut power, Island::System, 0), Some(Lost::Everything));
        assert_eq!(set(&mut power, Island::System, 0), None);
    }

    #[test]
    fn reset_bit_is_as_good_as_a_cycle() {
        let mut power = Power::default();
        assert_eq!(set(&mut power, Island::Base, 1 << 31 | 15), Some(Lost::Engine));
        assert_eq!(power.read(Island::Base.offset()), Some(1 << 31 | 15));
        assert_eq!(set(&mut power, Island::Base, 15), None);
        assert!(power.runs());
    }

    #[test]
    fn bits_that_say_what_there_is_cannot_be_written() {
        let mut power = Power::default();
        set(&mut power, Island::Set1, 0xffff_ffff);
        assert_eq!(power.read(Island::Set1.offset()), Some(0x900f_000f));
        assert_eq!((power.read(0), power.write(4, 0)), (None, None));
    }
}
