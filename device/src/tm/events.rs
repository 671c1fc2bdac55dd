//! The two event lines: what happened, in order, until the driver has read it.
//!
//! Which events go to which line no source says. Here line 0 carries requests that ran to their end, and line
//! 1 those that did not (Chosen); drivers drain both. Reading the info register takes the next event, and the
//! three registers behind it show the rest of the same one. With none left they show zero.
//!
//! A line holds a bounded number of events. One that finds it full is lost and counted: drivers that read the
//! count see what there is room for, as on hardware of any kind.
//!
//! An event raises its line if both enables allow. One that happens while they do not is raised when they do,
//! unless the driver has read it by then.

use std::collections::VecDeque;

use ane_uapi::hw::tm::{EventInfo, InterruptEnable, LINES, LineEnable};

use crate::time::Ticks;

/// Events that a line holds: four for each of the sixteen requests that can be in the device.
pub const DEPTH: usize = 64;

/// An event line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// Requests that ran to their end.
    Done,
    /// Requests that did not.
    Failed,
}

impl Line {
    /// Both, in the order of their registers.
    pub const ALL: [Self; LINES as usize] = [Self::Done, Self::Failed];

    /// Its number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
        }
    }
}

/// An event, as its four registers show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The request: its network id, and how many of its tasks ran, modulo 256.
    pub info: EventInfo,
    /// First error register, or zero.
    pub word_1: u32,
    /// When, in ticks.
    pub time: u32,
    /// Third error register, or zero.
    pub word_3: u32,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    entry: Entry,
    at: Ticks,
    raised: bool,
}

#[derive(Clone, Debug, Default)]
struct Fifo {
    held: VecDeque<Held>,
    shown: Entry,
    lost: u64,
}

/// An event that raises its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// The line.
    pub line: Line,
    /// How many wait on it.
    pub waiting: u32,
    /// The event.
    pub entry: Entry,
    /// When it happened.
    pub at: Ticks,
}

/// Both lines.
#[derive(Clone, Debug, Default)]
pub struct Events {
    done: Fifo,
    failed: Fifo,
    enable: InterruptEnable,
    lines: LineEnable,
    unacknowledged: bool,
}

impl Events {
    const fn fifo(&self, line: Line) -> &Fifo {
        match line {
            Line::Done => &self.done,
            Line::Failed => &self.failed,
        }
    }

    const fn fifo_mut(&mut self, line: Line) -> &mut Fifo {
        match line {
            Line::Done => &mut self.done,
            Line::Failed => &mut self.failed,
        }
    }

    /// Puts an event on a line, or counts it as lost.
    pub fn push(&mut self, line: Line, entry: Entry, at: Ticks) {
        let fifo = self.fifo_mut(line);
        if fifo.held.len() == DEPTH {
            fifo.lost = fifo.lost.saturating_add(1);
        } else {
            fifo.held.push_back(Held { entry, at, raised: false });
        }
        self.unacknowledged = true;
    }

    /// Events that wait on a line.
    pub fn waiting(&self, line: Line) -> u32 {
        u32::try_from(self.fifo(line).held.len()).unwrap_or(u32::MAX)
    }

    /// Takes the next event of a line: its info, and the rest into the registers behind.
    pub fn pop(&mut self, line: Line) -> EventInfo {
        let fifo = self.fifo_mut(line);
        fifo.shown = fifo.held.pop_front().map(|held| held.entry).unwrap_or_default();
        fifo.shown.info
    }

    /// The event that was taken last.
    pub const fn shown(&self, line: Line) -> Entry {
        self.fifo(line).shown
    }

    /// Events that a line had no room for.
    pub const fn lost(&self, line: Line) -> u64 {
        self.fifo(line).lost
    }

    /// The first word of enables.
    pub const fn enable(&self) -> InterruptEnable {
        self.enable
    }

    /// The second word of enables.
    pub const fn lines(&self) -> LineEnable {
        self.lines
    }

    /// Writes the first word of enables.
    pub const fn set_enable(&mut self, enable: InterruptEnable) {
        self.enable = enable;
    }

    /// Writes the second word of enables.
    pub const fn set_lines(&mut self, lines: LineEnable) {
        self.lines = lines;
    }

    /// True until the driver acknowledges.
    pub const fn is_unacknowledged(&self) -> bool {
        self.unacknowledged
    }

    /// The driver acknowledges.
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

    fn entry(nid: u8) -> Entry {
        Entry { info: EventInfo::new().with_nid(nid), word_1: 1, time: 2, word_3: 3 }
    }

    fn enabled() -> Events {
        let mut events = Events::default();
        events.set_enable(InterruptEnable::new().with_events(true));
        events.set_lines(LineEnable::new().with_lines(0b11));
        events
    }

    #[test]
    fn reading_takes_events_in_order_and_then_zero() {
        let mut events = Events::default();
        events.push(Line::Done, entry(5), Ticks(0));
        events.push(Line::Done, entry(6), Ticks(0));
        assert_eq!(events.waiting(Line::Done), 2);
        assert_eq!(events.pop(Line::Done).nid(), 5);
        assert_eq!(events.shown(Line::Done), entry(5));
        assert_eq!(events.pop(Line::Done).nid(), 6);
        assert_eq!(events.pop(Line::Done).into_bits(), 0);
        assert_eq!(events.shown(Line::Done), Entry::default());
        assert_eq!(events.waiting(Line::Failed), 0);
    }

    #[test]
    fn event_that_finds_its_line_full_is_counted_and_the_first_ones_stay() {
        let mut events = Events::default();
        for nid in 0..=DEPTH as u8 {
            events.push(Line::Failed, entry(nid), Ticks(0));
        }
        assert_eq!(events.waiting(Line::Failed), DEPTH as u32);
        assert_eq!(events.lost(Line::Failed), 1);
        assert_eq!(events.pop(Line::Failed).nid(), 0);
    }

    #[test]
    fn event_raises_its_line_once() {
        let mut events = enabled();
        events.push(Line::Done, entry(5), Ticks(7));
        let raised: Vec<_> = events.raise().collect();
        assert_eq!(raised, [Raised { line: Line::Done, waiting: 1, entry: entry(5), at: Ticks(7) }]);
        assert_eq!(events.raise().count(), 0);
    }

    #[test]
    fn event_of_a_disabled_line_is_raised_once_it_is_enabled_unless_read() {
        let mut events = Events::default();
        events.push(Line::Done, entry(5), Ticks(0));
        events.push(Line::Failed, entry(6), Ticks(0));
        assert_eq!(events.raise().count(), 0);
        events.set_enable(InterruptEnable::new().with_events(true));
        assert_eq!(events.raise().count(), 0);
        events.pop(Line::Done);
        events.set_lines(LineEnable::new().with_lines(0b11));
        assert_eq!(events.raise().map(|raised| raised.line).collect::<Vec<_>>(), [Line::Failed]);
    }

    #[test]
    fn acknowledgement_clears_what_is_to_be_acknowledged_and_no_event() {
        let mut events = enabled();
        events.push(Line::Done, entry(5), Ticks(0));
        assert!(events.is_unacknowledged());
        events.acknowledge();
        assert!(!events.is_unacknowledged());
        assert_eq!(events.waiting(Line::Done), 1);
    }
}
