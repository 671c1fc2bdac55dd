//! Many values at once: all 65,536 results of a table, once it has been used enough, or two bounds where these say the same; and
//! the tables used last.

use ane_uapi::hw::td::activation::BYTES;

use super::{BadTable, Table};
use crate::engine::numerics::bounds::Bounds;

const HALVES: usize = 1 << 16;

/// The results of a table for every half; made when that pays.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookup {
    results: Option<Box<[u16; HALVES]>>,
    /// The same, where all that the table does to numbers is to keep them within two bounds.
    bounds: Option<Bounds>,
    /// Values that were evaluated one by one.
    evaluated: usize,
}

impl Table {
    /// Prepares for so many values, which are [replaced](Self::replace) then.
    ///
    /// Values are evaluated one by one until, with these, they would be as many as there are halves. From then on they
    /// are looked up. So no sequence of calls costs more than twice what it has to, and a table that is used once on a
    /// few values costs little.
    pub fn prepare(&mut self, values: usize) {
        if self.lookup.results.is_some() {
            return;
        }
        self.lookup.evaluated = self.lookup.evaluated.saturating_add(values);
        if self.lookup.evaluated >= HALVES {
            let results = self.all();
            self.lookup.bounds = bounds(&results);
            self.lookup.results = Some(results);
        }
    }

    /// Replaces each value by what the table gives for it, as any thread may; all are fp16 bit patterns.
    pub fn replace(&self, values: &mut [u16]) {
        match self.lookup.results.as_deref() {
            Some(results) => look_up(results, values),
            None => values.iter_mut().for_each(|value| *value = self.evaluate(*value)),
        }
    }

    /// The bounds within which the table keeps numbers, if it was found to do no more.
    pub fn bounds(&self) -> Option<Bounds> {
        self.lookup.bounds
    }

    fn all(&self) -> Box<[u16; HALVES]> {
        let mut results = Box::new([0; HALVES]);
        for (value, result) in (0..=u16::MAX).zip(results.iter_mut()) {
            *result = self.evaluate(value);
        }
        results
    }
}

/// The bounds that are all there is to some results: not below zero, and true of every half that is a number.
fn bounds(results: &[u16; HALVES]) -> Option<Bounds> {
    const BELOW: usize = 0xfc00;
    const ABOVE: usize = 0x7c00;
    let bounds = Bounds::new(results[BELOW], results[ABOVE])?;
    let is_number = |half: u16| half & 0x7fff <= 0x7c00;
    let holds = |(half, &result)| !is_number(half) || bounds.of(half) == result;
    (0..=u16::MAX).zip(results).all(holds).then_some(bounds)
}

#[expect(clippy::indexing_slicing, reason = "a half is always less than the number of halves")]
fn look_up(results: &[u16; HALVES], values: &mut [u16]) {
    for value in values {
        *value = results[usize::from(*value)];
    }
}

/// The tables that were used last, by their bytes.
///
/// Published kernels need three: base-2 exponential, reciprocal and hyperbolic tangent (td 8.3). The kept tables take
/// about a megabyte.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    latest: Option<KnownTable>,
    /// The others; the one used last comes first.
    older: Vec<KnownTable>,
}

type KnownTable = ([u8; BYTES], Table);

impl Tables {
    pub const KEPT: usize = 8;

    /// The table that these bytes describe.
    pub fn get(&mut self, bytes: &[u8; BYTES]) -> Result<&mut Table, BadTable> {
        let entry = match self.latest.take() {
            Some(latest) if latest.0 == *bytes => latest,
            other => {
                self.older.splice(0..0, other);
                let entry = match self.older.iter().position(|(kept, _)| kept == bytes) {
                    Some(place) => self.older.remove(place),
                    None => (*bytes, Table::parse(bytes)?),
                };
                self.older.truncate(Self::KEPT.saturating_sub(1));
                entry
            }
        };
        let (_, table) = self.latest.insert(entry);
        Ok(table)
    }

    pub fn kept(&self) -> usize {
        self.older.len().saturating_add(self.latest.iter().len())
    }

    /// Forgets them all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::td::activation::{ActivationTable, KNOTS};
    use zerocopy::IntoBytes;

    use super::*;

    /// A table that gives each value between its ends as it is.
    fn clip(low: u16, high: u16) -> Table {
        let raw = ActivationTable {
            domain_low: low.into(),
            domain_high: high.into(),
            below: low.into(),
            above: high.into(),
            knots: [0.into(); KNOTS],
            slope_low: 0x3c00.into(),
            intercept_low: 0.into(),
            slope_high: 0x3c00.into(),
            intercept_high: 0.into(),
            spacing: 64.into(),
            mode: 1.into(),
            rest: [0.into(); 21],
        };
        Table::parse(raw.as_bytes().try_into().expect("as many")).expect("a good table")
    }

    #[test]
    fn clip_is_two_bounds_where_these_give_what_its_table_gives() {
        for (low, high, is_bounds) in [
            (0, 0x4600, true),
            (0, 0x7c00, true),
            (0x3c00, 0x4000, true),
            // A zero with a sign comes out without one.
            (0xbc00, 0x3c00, false),
            (0xfc00, 0x4600, false),
        ] {
            let mut table = clip(low, high);
            table.prepare(HALVES);
            assert_eq!(table.bounds(), Bounds::new(low, high).filter(|_| is_bounds), "{low:#x} to {high:#x}");
        }
    }
}
