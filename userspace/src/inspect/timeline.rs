//! The last events, if they were kept.

use ane_device::trace::Record;

use super::{ReportError, Source};

/// The last events, the latest at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    pub records: Vec<Record>,
    /// Those before them that are not.
    pub lost: u64,
}

impl Timeline {
    /// Keeps what happens from now on, or forgets it.
    pub fn keep(source: &Source, is_wanted: bool) -> Result<(), ReportError> {
        source.report(if is_wanted { "trace on" } else { "trace off" }).map(|_| ())
    }

    /// The events until now.
    ///
    /// # Errors
    ///
    /// [`ReportError::Refused`] if it is not kept, and others.
    pub fn of(source: &Source) -> Result<Self, ReportError> {
        Self::read(&source.report("timeline")?)
    }

    fn read(text: &str) -> Result<Self, ReportError> {
        let mut timeline = Self::default();
        for line in text.lines() {
            let nonsense = || ReportError::Nonsense { what: "time", line: line.to_owned() };
            match line.strip_prefix("lost ") {
                Some(lost) => timeline.lost = lost.parse().map_err(|_| nonsense())?,
                None => timeline.records.push(line.parse().map_err(|_| nonsense())?),
            }
        }
        Ok(timeline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_behind_the_number_of_those_that_are_lost() {
        let timeline = Timeline::read("lost 3\n1 2 queue 4 nid 64 task 0 begin 1\n").unwrap();
        assert_eq!((timeline.lost, timeline.records.len()), (3, 1));
        assert!(Timeline::read("lost many\n").is_err());
        assert!(Timeline::read("1 2 queue 9 nid 64 task 0 begin 1\n").is_err());
    }
}
