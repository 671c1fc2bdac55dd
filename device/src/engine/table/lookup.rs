//! Many values at once: all 65,536 results of a table, once it has been used enough, and the tables used last.

use ane_uapi::hw::td::activation::BYTES;

use super::{BadTable, Table};

const HALVES: usize = 1 << 16;

/// What a table gives for every half; made when that pays.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookup {
    results: Option<Box<[u16; HALVES]>>,
    /// Values that were evaluated one by one.
    evaluated: usize,
}

impl Table {
    /// Replaces each value by what the table gives for it; all are fp16 bit patterns.
    ///
    /// Values are evaluated one by one until, with these, they would be as many as there are halves. From then on they
    /// are looked up. So no sequence of calls costs more than twice what it has to, and a table that is used once on a
    /// few values costs little.
    pub fn apply(&mut self, values: &mut [u16]) {
        if self.lookup.results.is_none() {
            self.lookup.evaluated = self.lookup.evaluated.saturating_add(values.len());
            if self.lookup.evaluated >= HALVES {
                self.lookup.results = Some(self.all());
            }
        }
        match self.lookup.results.as_deref() {
            Some(results) => look_up(results, values),
            None => values.iter_mut().for_each(|value| *value = self.evaluate(*value)),
        }
    }

    fn all(&self) -> Box<[u16; HALVES]> {
        let mut results = Box::new([0; HALVES]);
        for (value, result) in (0..=u16::MAX).zip(results.iter_mut()) {
            *result = self.evaluate(value);
        }
        results
    }
}

#[expect(clippy::indexing_slicing, reason = "a half is always less than the number of halves")]
fn look_up(results: &[u16; HALVES], values: &mut [u16]) {
    for value in values {
        *value = results[usize::from(*value)];
    }
}

/// The tables that were used last, by their bytes.
///
/// Published kernels need three: base-2 exponential, reciprocal and hyperbolic tangent (td 8.3). What is kept comes to
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
    ///
    /// # Errors
    ///
    /// The errors of [`Table::parse`]; a table that is refused is not kept.
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

    /// How many are kept now.
    pub fn kept(&self) -> usize {
        self.older.len().saturating_add(self.latest.iter().len())
    }

    /// Forgets them all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
