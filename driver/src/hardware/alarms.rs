//! Alarms: times at which something is to be looked at, such as deadlines and the ends of waits.

use std::collections::BTreeSet;

use crate::clock::Time;

/// The bits of a time that alarms do without: a sixteenth of a millisecond.
const MASK: u64 = 0xffff;

/// Alarms that are kept at a time (Chosen: clients that behave have a few, and those of others cost little memory).
const ALARMS_MAX: usize = 1024;

/// The alarms that have not rung.
///
/// They are not taken back with what they were set for, and a client may set as many as it likes. So only the first ones are
/// kept, and whoever is behind the last of them is called with it. So what is called too early has to set its alarm again.
#[derive(Debug, Default)]
pub(super) struct Alarms(BTreeSet<Time>);

impl Alarms {
    /// Sets an alarm.
    ///
    /// Times are rounded up a little, so that a thousand deadlines of the same millisecond are a few alarms.
    pub(super) fn ring_at(&mut self, time: Time) {
        if time < Time::NEVER {
            self.0.insert(Time(time.0.saturating_add(MASK) & !MASK));
            if self.0.len() > ALARMS_MAX {
                self.0.pop_last();
            }
        }
    }

    pub(super) fn next(&self) -> Time {
        self.0.first().copied().unwrap_or(Time::NEVER)
    }

    /// True if the time of one has come, and then none of those is left.
    pub(super) fn have_rung(&mut self, now: Time) -> bool {
        let have_rung = self.next() <= now;
        if have_rung {
            self.0 = self.0.split_off(&Time(now.0.saturating_add(1)));
        }
        have_rung
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_of_nearly_the_same_time_ring_once_and_not_too_early() {
        let mut alarms = Alarms::default();
        for time in [Time(70_000), Time(70_001), Time(300_000), Time::NEVER] {
            alarms.ring_at(time);
        }
        assert!(!alarms.have_rung(Time(70_001)));
        assert_eq!(alarms.next(), Time(0x2_0000));
        assert!(alarms.have_rung(Time(0x2_0000)));
        assert!(!alarms.have_rung(Time(0x2_0000)));
        assert_eq!(alarms.next(), Time(0x5_0000));
        assert!(alarms.have_rung(Time::NEVER));
        assert_eq!(alarms.next(), Time::NEVER);
    }

    #[test]
    fn alarms_beyond_the_last_are_not_kept_and_the_first_ones_are() {
        let mut alarms = Alarms::default();
        for n in 1..=10_000 {
            alarms.ring_at(Time(n << 32));
        }
        alarms.ring_at(Time(5 << 16));
        assert_eq!(alarms.0.len(), ALARMS_MAX);
        assert_eq!(alarms.next(), Time(5 << 16));
        assert!(alarms.have_rung(Time(10_000 << 32)), "who is behind the last one kept is called with it");
        assert_eq!(alarms.next(), Time::NEVER);
    }
}
