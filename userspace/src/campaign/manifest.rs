//! Manifests: which programs, in which modes, with which inputs, and what is expected of them.
//!
//! A folder is one: every program in it and below, run once, and expected to give the arrays beside it. A TOML file says
//! more:
//!
//! ```toml
//! numerics = ["m1", "exact"]       # every program in each of these
//! seeds = 3                        # and with seeds 0, 1 and 2; or a list
//! seconds = 10                     # a case may take so long,
//! mebibytes = 1024                 # and so much memory
//!
//! [[program]]
//! path = "conv/*.hwx"              # a file, several, or a folder
//! family = "convolution"           # what it is counted under; the folder's name, if nothing is said
//! expect.numerics = "exact"        # what another way of computing gives
//!
//! [[program]]
//! path = "relu.anec"
//! numerics = ["exact"]              # for this one only
//! inputs = { x = "x.npy" }         # the other inputs are random
//! expect.meaning = "y = relu x"    # also: expect.arrays, expect.sha256, expect.device
//! absolute = 0.0                   # how far off a result may be,
//! relative = 0.001                 # and for each unit of what is expected
//! ```
//!
//! Everything that it names is looked at before the first case runs, so that a part of a campaign does not find out
//! after hours that a file is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ane_device::options::Numerics;
use serde::Deserialize;
use thiserror::Error;

use super::case::{Case, Expect, Limits, Tolerance};
use super::files::{check, family_of, programs};

/// Longest manifest that is read (Chosen): a million entries fit.
const MANIFEST_MAX: u64 = 64 << 20;

/// Longest array that is read (Chosen): doubles for every half that the aperture has room for would be longer.
pub const ARRAY_MAX: u64 = 4 << 30;

/// Longest text of what an entry says of the inputs and the result of its cases (Chosen): each case's name is made of it, and each worker
/// is sent it.
const SAID_MAX: usize = 64 << 10;

/// Longest family (Chosen): each case has it.
const FAMILY_MAX: usize = 256;

/// Most cases of a campaign (Chosen): a week of them.
pub(super) const CASES_MAX: usize = 10_000_000;

/// The errors of a manifest.
#[derive(Debug, Error)]
pub enum ManifestError {
    /// A file that cannot be read.
    #[error("{}: {why}", path.display())]
    File {
        /// Where it is, or should be.
        path: PathBuf,
        why: std::io::Error,
    },
    /// A file that is none, that is too long, or whose text is no manifest.
    #[error("{}: {what}", path.display())]
    Unfit {
        path: PathBuf,
        /// The error, in words.
        what: String,
    },
    /// An entry that cannot be.
    #[error("program {entry} ({path}): {what}")]
    Entry {
        /// Its number in the manifest, from 1.
        entry: usize,
        /// The programs that it names.
        path: String,
        /// The error, in words.
        what: String,
    },
    #[error("the manifest has more than {CASES_MAX} cases")]
    TooMany,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    #[serde(default)]
    numerics: Option<Vec<String>>,
    #[serde(default)]
    seeds: Option<Seeds>,
    #[serde(default)]
    seconds: Option<f64>,
    #[serde(default)]
    mebibytes: Option<u64>,
    #[serde(default)]
    program: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: String,
    family: Option<String>,
    numerics: Option<Vec<String>>,
    seeds: Option<Seeds>,
    seconds: Option<f64>,
    mebibytes: Option<u64>,
    #[serde(default)]
    inputs: BTreeMap<String, PathBuf>,
    expect: Option<Expected>,
    absolute: Option<f64>,
    relative: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Seeds {
    Count(u32),
    List(Vec<u64>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    arrays: Option<Arrays>,
    sha256: Option<String>,
    meaning: Option<String>,
    numerics: Option<String>,
    device: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Arrays {
    One(PathBuf),
    Named(BTreeMap<String, PathBuf>),
}

/// The cases of a manifest or of a folder, in their order, none twice.
///
/// # Errors
///
/// [`enum@ManifestError`]: the first thing that is wrong.
pub fn cases(path: &Path) -> Result<Vec<Case>, ManifestError> {
    let file = |why| ManifestError::File { path: path.to_owned(), why };
    if fs::metadata(path).map_err(file)?.is_dir() {
        return of_folder(path);
    }
    check(path, MANIFEST_MAX)?;
    let text = fs::read_to_string(path).map_err(file)?;
    let base = path.parent().unwrap_or(Path::new(""));
    // The message of the parser shows the line.
    let unfit = |why: toml::de::Error| {
        let what = why.to_string().replace('\n', " ");
        ManifestError::Unfit { path: path.to_owned(), what: what.trim_end().to_owned() }
    };
    of_text(toml::from_str(&text).map_err(unfit)?, base)
}

fn of_text(manifest: Manifest, base: &Path) -> Result<Vec<Case>, ManifestError> {
    let mut cases = Cases::default();
    for (index, entry) in manifest.program.iter().enumerate() {
        let wrong = |what: String| ManifestError::Entry { entry: index + 1, path: entry.path.clone(), what };
        let numerics = entry.numerics.as_ref().or(manifest.numerics.as_ref());
        let mut numerics = numerics.cloned().unwrap_or_else(|| vec!["m1".to_owned()]);
        for name in &mut numerics {
            *name = known_numerics(name).map_err(wrong)?;
        }
        let seeds: Vec<u64> = match entry.seeds.as_ref().or(manifest.seeds.as_ref()) {
            None => vec![0],
            Some(Seeds::List(list)) => list.clone(),
            Some(&Seeds::Count(count)) => {
                if count as usize > CASES_MAX {
                    return Err(ManifestError::TooMany);
                }
                (0..u64::from(count)).collect()
            }
        };
        let (expect, otherwise) =
            entry.expect.as_ref().map_or(Ok((Expect::Nothing, Tolerance::EXACT)), expected).map_err(wrong)?;
        let (inputs, expect) = (Arc::new(entry.inputs.clone()), Arc::new(expect));
        let said = serde_json::to_vec(&(&*inputs, &*expect)).map_err(|why| wrong(why.to_string()))?.len();
        if said > SAID_MAX {
            return Err(wrong(format!(
                "inputs and expect have {said} bytes, more than the {SAID_MAX} that are read"
            )));
        }
        if entry.family.as_ref().is_some_and(|family| family.len() > FAMILY_MAX) {
            return Err(wrong(format!("family has more than {FAMILY_MAX} bytes")));
        }
        let tolerance = Tolerance {
            absolute: entry.absolute.unwrap_or(otherwise.absolute),
            relative: entry.relative.unwrap_or(otherwise.relative),
        };
        if ![tolerance.absolute, tolerance.relative]
            .iter()
            .all(|number| (0.0..f64::INFINITY).contains(number))
        {
            return Err(wrong("absolute and relative are numbers from 0 on".to_owned()));
        }
        let limits = Limits {
            seconds: entry.seconds.or(manifest.seconds).unwrap_or(Limits::default().seconds),
            mebibytes: entry.mebibytes.or(manifest.mebibytes).unwrap_or(Limits::default().mebibytes),
        };
        if !(limits.seconds > 0.0 && limits.seconds <= 1e6) || limits.mebibytes == 0 {
            return Err(wrong("seconds are above 0 and at most 1000000, mebibytes above 0".to_owned()));
        }
        let arrays: Vec<&PathBuf> = match &*expect {
            Expect::Arrays(files) => files.values().collect(),
            _ => Vec::new(),
        };
        for file in entry.inputs.values().chain(arrays) {
            check(&base.join(file), ARRAY_MAX).map_err(|why| wrong(why.to_string()))?;
        }
        let programs = programs(base, &entry.path).map_err(|why| wrong(why.to_string()))?;
        if programs.is_empty() {
            return Err(wrong("there is no such program".to_owned()));
        }
        for program in programs {
            let family = entry.family.clone().unwrap_or_else(|| family_of(&base.join(&program)));
            for numerics in &numerics {
                for &seed in &seeds {
                    cases.push(Case {
                        program: program.display().to_string(),
                        family: family.clone(),
                        numerics: numerics.clone(),
                        seed,
                        inputs: Arc::clone(&inputs),
                        expect: Arc::clone(&expect),
                        tolerance,
                        limits,
                        base: base.to_owned(),
                    })?;
                }
            }
        }
    }
    Ok(cases.list)
}

/// Cases, of which none comes twice.
#[derive(Default)]
struct Cases {
    list: Vec<Case>,
    ids: BTreeSet<String>,
    /// Cases that were named, with those that came twice: each costs time.
    named: usize,
}

impl Cases {
    fn push(&mut self, case: Case) -> Result<(), ManifestError> {
        if self.named >= CASES_MAX {
            return Err(ManifestError::TooMany);
        }
        self.named += 1;
        if self.ids.insert(case.id()) {
            self.list.push(case);
        }
        Ok(())
    }
}

/// The expected result, and the tolerance by default.
fn expected(expected: &Expected) -> Result<(Expect, Tolerance), String> {
    let Expected { arrays, sha256, meaning, numerics, device } = expected;
    let arrays = arrays.as_ref().map(|arrays| {
        let files = match arrays {
            Arrays::One(file) => BTreeMap::from([(String::new(), file.clone())]),
            Arrays::Named(files) => files.clone(),
        };
        (Expect::Arrays(files), Tolerance::EXACT)
    });
    let sha256 = sha256.as_ref().map(|hash| (Expect::Sha256(hash.to_ascii_lowercase()), Tolerance::EXACT));
    let meaning = meaning.as_ref().map(|text| (Expect::Meaning(text.clone()), Tolerance::TABLES));
    let numerics = numerics.as_deref().map(known_numerics).transpose()?;
    let other = numerics.map(|name| (Expect::Numerics(name), Tolerance::TABLES));
    let device = device.as_ref().map(|name| (Expect::Device(name.clone()), Tolerance::EXACT));
    let mut said = [arrays, sha256, meaning, other, device].into_iter().flatten();
    let one = "expect wants one of arrays, sha256, meaning, numerics and device";
    let (Some(found), None) = (said.next(), said.next()) else { return Err(one.to_owned()) };
    match &found.0 {
        Expect::Sha256(hash) if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            return Err("expect.sha256 wants 64 hexadecimal digits".to_owned());
        }
        Expect::Meaning(text) => super::meaning::check(text)?,
        Expect::Device(device) => {
            device.parse::<crate::device::Location>().map_err(|why| format!("expect.device: {why}"))?;
        }
        _ => {}
    }
    Ok(found)
}

/// The name of an arithmetic as cases have it, which is not a former one.
fn known_numerics(name: &str) -> Result<String, String> {
    name.parse::<Numerics>().map(|numerics| numerics.name().to_owned()).map_err(|_| {
        let known = Numerics::NAMES.map(|(name, _)| name);
        format!("numerics {name:?} is not known; known: {}", known.join(", "))
    })
}

/// A folder of programs; `NAME.npy` beside `NAME.hwx` is what it gives.
fn of_folder(folder: &Path) -> Result<Vec<Case>, ManifestError> {
    let mut cases = Cases::default();
    for program in programs(folder, "")? {
        let array = program.with_extension("npy");
        let expect = match check(&folder.join(&array), ARRAY_MAX) {
            Ok(()) => Expect::Arrays(BTreeMap::from([(String::new(), array)])),
            Err(ManifestError::File { why, .. }) if why.kind() == std::io::ErrorKind::NotFound => {
                Expect::Nothing
            }
            Err(why) => return Err(why),
        };
        cases.push(Case {
            family: family_of(&folder.join(&program)),
            program: program.display().to_string(),
            numerics: "m1".to_owned(),
            seed: 0,
            inputs: BTreeMap::new().into(),
            expect: expect.into(),
            tolerance: Tolerance::EXACT,
            limits: Limits::default(),
            base: folder.to_owned(),
        })?;
    }
    Ok(cases.list)
}

#[cfg(test)]
mod tests {
    use super::super::files::PROGRAM_MAX;
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"x").unwrap();
        }
        folder
    }

    fn of(folder: &tempfile::TempDir, text: &str) -> Result<Vec<Case>, ManifestError> {
        let path = folder.path().join("m.toml");
        fs::write(&path, text).unwrap();
        cases(&path)
    }

    #[test]
    fn manifest_is_programs_times_modes_times_seeds() {
        let folder = folder(&["conv/a.hwx", "conv/b.hwx", "conv/c.txt", "relu.anec", "y.npy"]);
        let text = r#"
            numerics = ["m1", "exact"]
            seeds = 3
            [[program]]
            path = "conv/*.hwx"
            expect.numerics = "exact"
            [[program]]
            path = "relu.anec"
            family = "activation"
            numerics = ["exact"]
            seeds = [7]
            seconds = 1.5
            expect.arrays = "y.npy"
            [[program]]
            path = "conv"
            numerics = ["m1"]
            expect.numerics = "exact"
        "#;
        let cases = of(&folder, text).unwrap();
        // The third entry names cases that the first has already.
        assert_eq!(cases.len(), 2 * 2 * 3 + 1);
        assert_eq!((cases[0].program.as_str(), cases[0].family.as_str()), ("conv/a.hwx", "conv"));
        assert_eq!(
            (cases[12].family.as_str(), cases[12].seed, cases[12].limits.seconds),
            ("activation", 7, 1.5)
        );
        assert_eq!(cases[0].tolerance, Tolerance::TABLES);
    }

    #[test]
    fn cases_of_an_entry_share_what_it_says() {
        let folder = folder(&["a.hwx", "b.hwx", "x.npy"]);
        let text = "seeds = 100\n[[program]]\npath = \"*.hwx\"\ninputs = { x = \"x.npy\" }\nexpect.meaning = \"relu\"\n";
        let cases = of(&folder, text).unwrap();
        assert_eq!(cases.len(), 200);
        assert!(cases.iter().all(|case| Arc::ptr_eq(&case.expect, &cases[0].expect)));
        assert!(cases.iter().all(|case| Arc::ptr_eq(&case.inputs, &cases[0].inputs)));
        let line = serde_json::to_string(&cases[0]).unwrap();
        assert_eq!(serde_json::from_str::<Case>(&line).unwrap(), cases[0]);
        assert!(line.contains("\"expect\":{\"meaning\":\"relu\"}"), "{line}");
    }

    #[test]
    fn case_that_comes_twice_counts_twice_against_the_bound() {
        let mut cases = Cases { named: CASES_MAX - 2, ..Cases::default() };
        for _ in 0..2 {
            cases.push(super::super::case::example("a.hwx")).unwrap();
        }
        assert_eq!(cases.list.len(), 1);
        let ended = cases.push(super::super::case::example("a.hwx"));
        assert!(matches!(ended, Err(ManifestError::TooMany)));
    }

    #[test]
    fn folder_is_each_of_its_programs_with_the_array_beside_it() {
        let folder = folder(&["a.hwx", "sub/b.anec", "sub/b.npy", "notes.txt"]);
        let cases = cases(folder.path()).unwrap();
        assert_eq!(
            cases.iter().map(|case| case.program.as_str()).collect::<Vec<_>>(),
            ["a.hwx", "sub/b.anec"]
        );
        assert_eq!((&*cases[0].expect, cases[1].expect.name()), (&Expect::Nothing, "arrays"));
    }

    #[test]
    fn manifest_that_is_wrong_is_told_what_and_where() {
        let folder = folder(&["a.hwx"]);
        let long = fs::File::create(folder.path().join("long.hwx")).unwrap();
        long.set_len(PROGRAM_MAX + 1).unwrap();
        let entry = |rest: &str| format!("[[program]]\npath = \"a.hwx\"\n{rest}\n");
        let cases = [
            ("nonsense".to_owned(), "expected"),
            (entry("colour = 1"), "unknown field `colour`"),
            ("[[program]]\npath = \"no.hwx\"".to_owned(), "program 1 (no.hwx): "),
            ("[[program]]\npath = \"x*.hwx\"".to_owned(), "there is no such program"),
            ("[[program]]\npath = \"long.hwx\"".to_owned(), "has 1073741825 bytes, more than the 1073741824"),
            ("[[program]]\npath = \"/dev/zero\"".to_owned(), "is not a regular file"),
            (entry("numerics = [\"best\"]"), "numerics \"best\" is not known; known: "),
            (entry("inputs = { x = \"no.npy\" }"), "no.npy"),
            (entry("expect.arrays = \"no.npy\""), "no.npy"),
            (entry("expect.sha256 = \"ab\""), "64 hexadecimal digits"),
            (entry("expect.meaning = \"y = frobnicate x\""), "frobnicate"),
            (entry("expect.device = \"\""), "expect.device: "),
            (
                entry(&format!("expect.meaning = \"y = relu x\\n#{}\"", "x".repeat(SAID_MAX))),
                "more than the 65536",
            ),
            (
                entry(&format!("family = \"{}\"", "x".repeat(FAMILY_MAX + 1))),
                "family has more than 256 bytes",
            ),
            (entry("expect = {}"), "one of arrays"),
            (entry("expect = { numerics = \"m1\", meaning = \"relu\" }"), "one of arrays"),
            (entry("absolute = -1"), "from 0 on"),
            (entry("relative = nan"), "from 0 on"),
            (entry("seconds = 0"), "seconds are above 0"),
            (entry("seeds = 4000000000"), "more than 10000000 cases"),
        ];
        for (text, expected) in cases {
            let error = of(&folder, &text).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}\nexpected: {expected}");
        }
        assert!(super::cases(Path::new("/no/such/manifest")).is_err());
    }
}
