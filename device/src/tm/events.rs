//! The two event lines: what happened, in order, until the driver has read it.
//!
//! Every event goes to both lines: a driver takes a request for ended when both have said so (contract 2). The first
//! word says how it ended, and what drivers wait for on a real engine is [`EventCode::Done`] alone. Reading the info
//! register takes the next event, and the three registers behind it show the rest of the same one. With none left
//! they show zero.
//!
//! A line holds a bounded number of events. One that finds it full is lost and counted: drivers that read the
//! count see what there is room for, as on hardware of any kind.
//!
//! An event raises its line if both enables allow. One that happens while they do not is raised when they do,
//! unless the driver has read it by then.

use std::collections::VecDeque;

#[cfg(doc)]
use ane_uapi::hw::tm::EventCode;
use ane_uapi::hw::tm::{EventInfo, InterruptEnable, LINES, LineEnable};

use crate::time::Ticks;

/// Events that a line holds: four for each of the sixteen requests that can be in the device.
pub const DEPTH: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    First,
    /// Line 1, which says the same.
    Second,
}

impl Line {
    /// Both, in the order of their registers.
    pub const ALL: [Self; LINES as usize] = [Self::First, Self::Second];

    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// An event, as its four registers show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventWords {
    /// The request: how it ended, its network id, and the task that was the last to run.
    pub info: EventInfo,
    /// Of a request that failed, the first error register; of any other, its time on the chip so far, in ticks.
    pub word_1: u32,
    /// When, in ticks.
    pub time: u32,
    /// Third error register, or zero.
    pub word_3: u32,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    entry: EventWords,
    at: Ticks,
    raised: bool,
}

#[derive(Clone, Debug, Default)]
struct Fifo {
    held: VecDeque<Held>,
    shown: EventWords,
    lost: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    pub line: Line,
    pub waiting: u32,
    pub entry: EventWords,
    pub at: Ticks,
}

/// Both lines.
#[derive(Clone, Debug, Default)]
pub struct Events {
    first: Fifo,
    second: Fifo,
    enable: InterruptEnable,
    lines: LineEnable,
    unacknowledged: bool,
}

impl Events {
    const fn fifo(&self, line: Line) -> &Fifo {
        match line {
            Line::First => &self.first,
            Line::Second => &self.second,
        }
    }

    const fn fifo_mut(&mut self, line: Line) -> &mut Fifo {
        match line {
            Line::First => &mut self.first,
            Line::Second => &mut self.second,
        }
    }

    /// Puts an event on both lines; one that finds its line full counts as lost there.
    pub fn push(&mut self, entry: EventWords, at: Ticks) {
        for line in Line::ALL {
            let fifo = self.fifo_mut(line);
            if fifo.held.len() == DEPTH {
                fifo.lost = fifo.lost.saturating_add(1);
            } else {
                fifo.held.push_back(Held { entry, at, raised: false });
            }
        }
        self.unacknowledged = true;
    }

    pub fn waiting(&self, line: Line) -> u32 {
        u32::try_from(self.fifo(line).held.len()).unwrap_or(u32::MAX)
    }

    /// Takes the next event of a line: its info, and the rest into the registers behind.
    pub fn pop(&mut self, line: Line) -> EventInfo {
        let fifo = self.fifo_mut(line);
        fifo.shown = fifo.held.pop_front().map(|held| held.entry).unwrap_or_default();
        fifo.shown.info
    }

    pub const fn shown(&self, line: Line) -> EventWords {
        self.fifo(line).shown
    }

    /// Events that a line had no room for.
    pub const fn lost(&self, line: Line) -> u64 {
        self.fifo(line).lost
    }

    pub const fn enable(&self) -> InterruptEnable {
        self.enable
    }

    pub const fn lines(&self) -> LineEnable {
        self.lines
    }

    pub const fn set_enable(&mut self, enable: InterruptEnable) {
        self.enable = enable;
    }

    pub const fn set_lines(&mut self, lines: LineEnable) {
        self.lines = lines;
    }

    /// True until the driver acknowledges.
    pub const fn is_unacknowledged(&self) -> bool {
        self.unacknowledged
    }

    pub const fn acknowledge(&mut self) {
        self.unacknowledged = false;
    }

    const fn is_enabled(&self, line: Line) -> bool {
        self.enable.events() && self.lines.lines() >> line.number() & 1 == 1
    }

    /// The events that raise their line now; each does so once.
    pub fn raise(&mut self) -> impl Iterator<Item = Raised> + use<> {
        let mut raised = Vec::new();
        for line in Line::ALL {
            if !self.is_enabled(line) {
                continue;
            }
            let waiting = self.waiting(line);
            for held in self.fifo_mut(line).held.iter_mut().filter(|held| !held.raised) {
                held.raised = true;
                raised.push(Raised { line, waiting, entry: held.entry, at: held.at });
            }
        }
        raised.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(nid: u8) -> EventWords {
        EventWords { info: EventInfo::new().with_nid(nid), word_1: 1, time: 2, word_3: 3 }
    }

    fn enabled() -> Events {
        let mut events = Events::default();
        events.set_enable(InterruptEnable::new().with_events(true));
        events.set_lines(LineEnable::new().with_lines(0b11));
        events
    }

    #[test]
    fn reading_takes_events_of_both_lines_in_order_and_then_zero() {
        let mut events = Events::default();
        events.push(entry(5), Ticks(0));
        events.push(entry(6), Ticks(0));
        for line in Line::ALL {
            assert_eq!(events.waiting(line), 2);
            assert_eq!(events.pop(line).nid(), 5);
            assert_eq!(events.shown(line), entry(5));
            assert_eq!(events.pop(line).nid(), 6);
            assert_eq!(events.pop(line).into_bits(), 0);
            assert_eq!(events.shown(line), EventWords::default());
        }
    }

    #[test]
    fn event_that_finds_one_line_full_is_counted_there_and_the_first_ones_stay() {
        let mut events = Events::default();
        for nid in 0..=DEPTH as u8 {
            events.push(entry(nid), Ticks(0));
            events.pop(Line::First);
        }
        assert_eq!(events.waiting(Line::Second), DEPTH as u32);
        assert_eq!(Line::ALL.map(|line| events.lost(line)), [0, 1]);
        assert_eq!(events.pop(Line::Second).nid(), 0);
    }

    #[test]
    fn event_raises_each_line_once() {
        let mut events = enabled();
        events.push(entry(5), Ticks(7));
        let raised: Vec<_> = events.raise().collect();
        assert_eq!(raised, Line::ALL.map(|line| Raised { line, waiting: 1, entry: entry(5), at: Ticks(7) }));
        assert_eq!(events.raise().count(), 0);
    }

    #[test]
    fn event_of_a_disabled_line_is_raised_once_it_is_enabled_unless_read() {
        let mut events = Events::default();
        events.push(entry(5), Ticks(0));
        assert_eq!(events.raise().count(), 0);
        events.set_enable(InterruptEnable::new().with_events(true));
        assert_eq!(events.raise().count(), 0);
        events.pop(Line::First);
        events.set_lines(LineEnable::new().with_lines(0b11));
        assert_eq!(events.raise().map(|raised| raised.line).collect::<Vec<_>>(), [Line::Second]);
    }

    #[test]
    fn acknowledgement_clears_what_is_to_be_acknowledged_and_no_event() {
        let mut events = enabled();
        events.push(entry(5), Ticks(0));
        assert!(events.is_unacknowledged());
        events.acknowledge();
        assert!(!events.is_unacknowledged());
        assert_eq!(events.waiting(Line::First), 1);
    }
}
