//! Comparing: two programs, two arrays, two timelines.
//!
//! Each comparison lists the differences: their place, and the values on both sides. Equal values are not listed; of
//! what is different there may be more than is listed, and the count tells.
//!
//! * [`programs`]: by surface, BAR, header word and register field;
//! * [`arrays`]: by element, in values and in units of the last place;
//! * [`timelines`]: by event, whatever the times.

pub mod arrays;
pub mod programs;
pub mod timelines;

use serde::Serialize;

/// Differences that are listed; more are counted.
pub const LISTED: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub place: String,
    pub a: String,
    pub b: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    pub count: u64,
    /// The first [`LISTED`] of them.
    pub differences: Vec<Difference>,
    /// The summary.
    pub notes: Vec<String>,
}

impl Comparison {
    pub const fn is_same(&self) -> bool {
        self.count == 0
    }

    /// Adds what another comparison found, under a name.
    pub fn include(&mut self, name: &str, other: Self) {
        self.count += other.count;
        let room = LISTED.saturating_sub(self.differences.len());
        let prefixed = |difference: Difference| Difference {
            place: format!("{name}: {}", difference.place),
            ..difference
        };
        self.differences.extend(other.differences.into_iter().take(room).map(prefixed));
        self.notes.extend(other.notes.into_iter().map(|note| format!("{name}: {note}")));
    }

    pub fn differs(&mut self, place: impl Into<String>, a: impl ToString, b: impl ToString) {
        self.count += 1;
        if self.differences.len() < LISTED {
            self.differences.push(Difference { place: place.into(), a: a.to_string(), b: b.to_string() });
        }
    }

    fn compare<T: PartialEq + ToString>(&mut self, place: impl FnOnce() -> String, a: &T, b: &T) {
        if a != b {
            self.differs(place(), a.to_string(), b.to_string());
        }
    }
}
