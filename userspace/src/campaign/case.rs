//! One case: a program, how it is computed, a seed, and what is expected.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The expected result of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expect {
    Nothing,
    /// These arrays, by the output's name, or one by `""` for a program with one output.
    Arrays(BTreeMap<String, PathBuf>),
    /// This SHA-256 of all outputs, in the order of BARs, as dense little-endian elements.
    Sha256(String),
    /// The meaning of an operation, in the words of [`meaning`](super::meaning).
    Meaning(String),
    /// The result of another way of computing.
    Numerics(String),
    /// The result of another device.
    Device(String),
}

impl Expect {
    /// A word for tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Arrays(_) => "arrays",
            Self::Sha256(_) => "hash",
            Self::Meaning(_) => "meaning",
            Self::Numerics(_) => "numerics",
            Self::Device(_) => "device",
        }
    }
}

/// How far an output may be from what is expected: `absolute + relative * |expected|`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    pub absolute: f64,
    /// For each unit of what is expected.
    pub relative: f64,
}

impl Tolerance {
    /// Not at all.
    pub const EXACT: Self = Self { absolute: 0.0, relative: 0.0 };

    /// The errors of activation tables and of sums of halves (Chosen).
    pub const TABLES: Self = Self { absolute: 0.002, relative: 0.01 };
}

/// The limits of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Seconds from its start to its result.
    pub seconds: f64,
    /// Mebibytes of memory that its process has in use.
    pub mebibytes: u64,
}

impl Limits {
    /// The time as a span.
    pub fn time(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or(Duration::MAX)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { seconds: 60.0, mebibytes: 4096 }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The program, as the manifest names it.
    pub program: String,
    /// The group under which it is counted.
    pub family: String,
    /// How the array computes: `m1` or `exact`.
    pub numerics: String,
    /// Seed of the inputs that no file is given for.
    pub seed: u64,
    /// Files of inputs, by name or number. The cases of an entry share them and what is expected.
    #[serde(with = "shared")]
    pub inputs: Arc<BTreeMap<String, PathBuf>>,
    #[serde(with = "shared")]
    pub expect: Arc<Expect>,
    pub tolerance: Tolerance,
    /// Its limits.
    pub limits: Limits,
    /// The folder from which files are named.
    pub base: PathBuf,
}

/// What several cases share is written as if it were each one's own.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(value: &Arc<T>, into: S) -> Result<S::Ok, S::Error> {
        value.as_ref().serialize(into)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(from).map(Arc::new)
    }
}

impl Case {
    /// The name of the case for all times: of what it is, not of where it lies, how it is counted or what it may take.
    pub fn id(&self) -> String {
        let Self { program, numerics, seed, inputs, expect, tolerance, .. } = self;
        let what = (program, numerics, seed, &**inputs, &**expect, tolerance);
        // Strings, numbers and maps with strings as keys: nothing of it is without a form in JSON.
        let text = serde_json::to_vec(&what).unwrap_or_default();
        hex(Sha256::digest(text).iter().take(16))
    }

    /// A file that the case names.
    pub fn file(&self, named: &std::path::Path) -> PathBuf {
        self.base.join(named)
    }
}

pub(super) fn hex<'a>(bytes: impl Iterator<Item = &'a u8>) -> String {
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// One part of a campaign, of several that are equally large up to chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    pub index: u64,
    pub count: u64,
}

impl Shard {
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// True if the case with this name is part of it. A case belongs to the same part on every machine.
    pub fn has(&self, id: &str) -> bool {
        let number = id.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0);
        number % self.count.max(1) == self.index.saturating_sub(1)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || "wanted is I/N with I from 1 to N, such as 3/16".to_owned();
        let (index, count) = text.split_once('/').ok_or_else(wanted)?;
        let shard =
            Self { index: index.parse().map_err(|_| wanted())?, count: count.parse().map_err(|_| wanted())? };
        if (1..=shard.count).contains(&shard.index) { Ok(shard) } else { Err(wanted()) }
    }
}

#[cfg(test)]
pub(super) fn example(program: &str) -> Case {
    Case {
        program: program.to_owned(),
        family: "example".to_owned(),
        numerics: "m1".to_owned(),
        seed: 0,
        inputs: BTreeMap::new().into(),
        expect: Expect::Nothing.into(),
        tolerance: Tolerance::EXACT,
        limits: Limits::default(),
        base: PathBuf::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_case_follows_from_what_it_is() {
        let case = example("a.hwx");
        let moved = Case { base: "elsewhere".into(), family: "other".to_owned(), ..case.clone() };
        assert_eq!(case.id(), moved.id());
        let others = [
            Case { seed: 1, ..case.clone() },
            Case { numerics: "exact".to_owned(), ..case.clone() },
            Case { expect: Expect::Meaning("relu".to_owned()).into(), ..case.clone() },
            example("b.hwx"),
        ];
        assert!(others.iter().all(|other| other.id() != case.id()));
        assert_eq!((case.id().len(), case.id()), (32, "a916c3cfff1a37a928177d91ca3694bb".to_owned()));
    }

    #[test]
    fn every_case_belongs_to_one_part() {
        for count in [1, 2, 3, 7, 16] {
            let parts = (1..=count).map(|index| Shard { index, count });
            for seed in 0..100 {
                let id = Case { seed, ..example("a.hwx") }.id();
                assert_eq!(parts.clone().filter(|part| part.has(&id)).count(), 1);
            }
        }
    }

    #[test]
    fn part_that_is_none_is_refused() {
        for bad in ["", "1", "0/4", "5/4", "1/0", "a/b", "-1/4", "1/4/2"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
        assert_eq!("4/4".parse(), Ok(Shard { index: 4, count: 4 }));
    }
}
