//! F10: mutants of device and driver that the tests catch.
//!
//! `cargo-mutants` lists thousands of changes that leave the tree compilable: a function that returns a constant, an operator
//! that is another one. A sample is drawn by module, so that large files do not stand for all, and each change is made in a
//! second checkout of the commit (`Checkout`): a run that is killed leaves no mutant where someone works. (`cargo-mutants` itself
//! cannot be told to try one change and no other.) The tests of the mutant's own package come first; what survives them meets
//! those that cross packages, guests and release figures apart. A mutant that does not compile says nothing, and one that makes
//! tests hang is caught.
//!
//! The outcome of each is kept in the target folder, so that a run of the same seed and commit goes on where one was killed,
//! and a larger sample has the smaller one in it.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ledger::Ledger;
use super::line::Line;
use crate::output::{cargo, printed, root};

/// Mutants that are drawn before a release.
const RELEASE: u64 = 400;
/// Mutants of a small run.
const CI: u64 = 8;
/// The part of them that has to be caught.
const WANTED: f64 = 0.85;

/// Packages whose mutants are drawn.
const PACKAGES: &[&str] = &["ane-device", "ane-driver", "aned", "vhost-device-ane"];
/// The tests that cross packages. They need what all packages build.
const ACROSS: &[&str] =
    &["--workspace", "-E", "package(ane-tests) and not (binary(guest) or binary(release))"];
/// All tests that try mutants.
const ALL: &[&str] = &["--workspace", "-E", "not (binary(guest) or binary(release))"];

/// The time after which the tests of a mutant hang. All tests of a tree without a change take less on two processors.
const TIMEOUT: Duration = Duration::from_secs(2400);

/// The variable that names the folder of the compiled programs, and where tests look without it, from their root on: from
/// the root of the second checkout on they would find nothing there.
const DATA: &str = "ANE_TEST_DATA";
const BESIDE: &str = "../shared/data/h13";

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Mutant {
    file: String,
    package: String,
    name: String,
    /// The text that it replaces: from which line and column on, counted from 1, and before which.
    start: (u64, u64),
    end: (u64, u64),
    replacement: String,
}

impl Mutant {
    /// The text of its file with the change; `None` if it has no such place.
    fn applied(&self, text: &str) -> Option<String> {
        let (start, end) = (offset(text, self.start)?, offset(text, self.end)?);
        (start <= end).then(|| format!("{}{}{}", &text[..start], self.replacement, &text[end..]))
    }
}

/// The outcome of a mutant.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum End {
    Caught(String),
    Survived,
    #[serde(rename = "does not compile")]
    Unviable,
}

/// A mutant that was tried.
#[derive(Deserialize, Serialize)]
struct Tried {
    mutant: String,
    end: End,
}

/// The outcomes of the mutants that were tried.
struct Ends(Ledger);

impl Ends {
    fn open() -> Result<Self> {
        let ledger = Ledger::open("release-mutants.jsonl")?;
        Ok(Self(ledger.context("mutants are those of a commit: commit the changes of the tree first")?))
    }

    /// The outcome of a mutant; `attempt` runs it if it has none yet.
    fn of_or(&self, mutant: &Mutant, attempt: impl FnOnce() -> Result<End>) -> Result<End> {
        if let Some(end) = self.of(mutant)? {
            return Ok(end);
        }
        let end = attempt()?;
        self.keep(mutant, &end)?;
        Ok(end)
    }

    fn of(&self, mutant: &Mutant) -> Result<Option<End>> {
        let mut tried = self.0.done::<Tried>()?.into_iter();
        Ok(tried.find(|tried| tried.mutant == mutant.name).map(|tried| tried.end))
    }

    fn keep(&self, mutant: &Mutant, end: &End) -> Result<()> {
        self.0.keep(&Tried { mutant: mutant.name.clone(), end: end.clone() })
    }
}

/// A second checkout of the commit, for the changes: whatever a run that was killed left there is gone once it is opened.
struct Checkout {
    path: PathBuf,
    /// Locked as long as it is in use.
    _lock: File,
}

impl Checkout {
    fn open() -> Result<Self> {
        let path = root().join("target/mutants-tree");
        let lock = File::create(path.with_extension("lock")).context("the lock of the mutants' checkout")?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("another run tries mutants in {}: wait for its end", path.display())
            }
            Err(TryLockError::Error(why)) => return Err(why).context("the lock of the mutants' checkout"),
        }
        let git = |command: &mut Command| -> Result<()> {
            let output = command.output().context("running git")?;
            if !output.status.success() {
                bail!("a checkout for mutants: {}", String::from_utf8_lossy(&output.stderr));
            }
            Ok(())
        };
        if !path.join(".git").exists() {
            let mut add = Command::new("git");
            git(add.current_dir(root()).args(["worktree", "add", "--force", "--detach"]).arg(&path))?;
        }
        let commit = printed("git", &["rev-parse", "HEAD"])?;
        git(Command::new("git").current_dir(&path).args(["checkout", "--force", "--detach", &commit]))?;
        git(Command::new("git").current_dir(&path).args(["clean", "-ffdxq"]))?;
        Ok(Self { path, _lock: lock })
    }

    /// Makes the change, has the tests try it, and takes it back.
    fn attempt(&self, mutant: &Mutant) -> Result<End> {
        let path = self.path.join(&mutant.file);
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let changed =
            mutant.applied(&text).with_context(|| format!("{}: is not where it was", mutant.name))?;
        let restored = Restored { path: &path, text: &text };
        std::fs::write(&path, changed).with_context(|| path.display().to_string())?;
        let end = match self.tested(&["--package", &mutant.package])? {
            End::Survived => self.tested(ACROSS)?,
            end => end,
        };
        drop(restored);
        Ok(end)
    }

    /// The outcome of the tests of some packages.
    fn tested(&self, packages: &[&str]) -> Result<End> {
        let nextest = |command: &mut Command, more: &[&str]| {
            command.args(["nextest", "run", "--profile", "mutants"]).args(packages).args(more);
            // A change that leaves something unused is one all the same; so the build has flags, and a folder, of its own.
            command
                .env("RUSTFLAGS", "--cap-lints=warn")
                .env("CARGO_TARGET_DIR", root().join("target/mutants"));
            // Tests look from their own folder on, and a path that is absolute stays what it is.
            let data = std::env::var_os(DATA)
                .map_or_else(|| root().join(BESIDE), |path| root().join("tests").join(path));
            command.env(DATA, data);
            // An input that one mutant fails is not there for the next.
            command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
            command.current_dir(&self.path).output().context("running `cargo nextest run`")
        };
        // A mutant can make tests hang, and no build; the first build of all takes longer than the tests may.
        let built = nextest(&mut cargo(&[]), &["--no-run"])?;
        match built.status.code() {
            Some(0) => {}
            Some(101) if is_refused(&String::from_utf8_lossy(&built.stderr)) => return Ok(End::Unviable),
            _ => bail!("the tests cannot be built: {}", String::from_utf8_lossy(&built.stderr)),
        }
        let mut timed = Command::new("timeout");
        timed.args(["--kill-after=10", &TIMEOUT.as_secs().to_string()]).arg(cargo(&[]).get_program());
        let start = Instant::now();
        let run = nextest(&mut timed, &[])?;
        let told = String::from_utf8_lossy(&run.stderr);
        match run.status.code() {
            Some(0) => Ok(End::Survived),
            Some(100) => Ok(End::Caught(failed(&told).unwrap_or_default().to_owned())),
            // 137 is also what `timeout` says if someone else has killed the tests: the kernel, for want of memory.
            Some(124 | 137) if start.elapsed() >= TIMEOUT => Ok(End::Caught("time".to_owned())),
            _ => bail!("the tests do not run ({}): {told}", run.status),
        }
    }
}

/// Puts a file back as it was.
struct Restored<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        if let Err(why) = std::fs::write(self.path, self.text) {
            eprintln!("{}: {why}", self.path.display());
        }
    }
}

/// Where a line and column of a text are, in bytes.
fn offset(text: &str, (line, column): (u64, u64)) -> Option<usize> {
    let before = usize::try_from(line.checked_sub(1)?).ok()?;
    let skipped: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let line = text.split_inclusive('\n').nth(before)?;
    let within = usize::try_from(column.checked_sub(1)?).ok()?;
    let within = line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(within)?;
    Some(skipped + within)
}

/// Draws mutants and has the tests try them; the line.
pub(super) fn run(size: &str, seed: Option<u64>) -> Result<Line> {
    let count = match size {
        "ci" => CI,
        "release" => RELEASE,
        number => number.parse().context("a size is ci, release or a number")?,
    };
    let known = Ends::open()?;
    let drawn = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_micros() as u64);
    let seed = seed.unwrap_or(drawn % 1_000_000_000);
    println!("F10: {count} mutants, seed {seed}");
    let start = Instant::now();
    let checkout = Checkout::open()?;
    let mutants = sample(list(&checkout)?, count, seed);
    let none = Mutant { name: "no change".to_owned(), ..Mutant::default() };
    if known.of(&none)?.is_none() {
        match checkout.tested(ALL)? {
            End::Survived => known.keep(&none, &End::Survived)?,
            other => bail!("tests that fail without a change say nothing of mutants: {other:?}"),
        }
    }
    let mut ends = Vec::new();
    for mutant in &mutants {
        let end = known.of_or(mutant, || checkout.attempt(mutant))?;
        println!("{}: {end:?}", mutant.name);
        ends.push(end);
    }
    let of = |wanted: fn(&End) -> bool| ends.iter().filter(|end| wanted(end)).count() as u64;
    let missed = of(|end| *end == End::Survived);
    let caught = of(|end| matches!(end, End::Caught(_)));
    let survivors: Vec<&str> = mutants
        .iter()
        .zip(&ends)
        .filter(|(_, end)| **end == End::Survived)
        .map(|(mutant, _)| mutant.name.as_str())
        .take(5)
        .collect();
    let told =
        if survivors.is_empty() { String::new() } else { format!("; survived: {}", survivors.join(", ")) };
    let viable = caught + missed;
    Ok(Line {
        id: "F10".to_owned(),
        what: "mutants of device and driver, drawn by module".to_owned(),
        wanted: "at least 85 % are caught".to_owned(),
        got: format!(
            "{caught} of {viable} caught, {} did not compile{told}",
            of(|end| *end == End::Unviable)
        ),
        held: viable > 0 && caught as f64 >= WANTED * viable as f64,
        seed,
        size: ends.len() as u64,
        release: RELEASE,
        seconds: start.elapsed().as_secs(),
        ..Line::default()
    })
}

fn list(checkout: &Checkout) -> Result<Vec<Mutant>> {
    let mut command = cargo(&["mutants", "--list", "--json"]);
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    let output = command.current_dir(&checkout.path).output().context("running cargo")?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        bail!("`cargo mutants` lists nothing (`cargo install cargo-mutants` brings it): {told}");
    }
    let list: Value = serde_json::from_slice(&output.stdout).context("the list of mutants")?;
    let word = |one: &Value, key: &str| one.get(key).and_then(Value::as_str).map(str::to_owned);
    let place = |one: &Value, end: &str| {
        let number = |key| one.pointer(&format!("/span/{end}/{key}")).and_then(Value::as_u64);
        Some((number("line")?, number("column")?))
    };
    let mutants = list.as_array().context("the list of mutants")?.iter();
    mutants
        .map(|one| {
            Some(Mutant {
                file: word(one, "file")?,
                package: word(one, "package")?,
                name: word(one, "name")?,
                start: place(one, "start")?,
                end: place(one, "end")?,
                replacement: word(one, "replacement")?,
            })
        })
        .collect::<Option<_>>()
        .context("a mutant has a file, a package and a name")
}

/// So many of them: one of each file, in random order, then another of each, until there are enough.
fn sample(mutants: Vec<Mutant>, count: u64, seed: u64) -> Vec<Mutant> {
    let mut state = seed;
    let mut next = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut files: BTreeMap<String, Vec<(u64, Mutant)>> = BTreeMap::new();
    for mutant in mutants {
        files.entry(mutant.file.clone()).or_default().push((next(), mutant));
    }
    let mut turns = Vec::new();
    for (_, mut of_file) in files {
        of_file.sort();
        turns.extend(of_file.into_iter().enumerate().map(|(turn, (_, mutant))| (turn, next(), mutant)));
    }
    turns.sort();
    turns
        .into_iter()
        .map(|(_, _, mutant)| mutant)
        .take(usize::try_from(count).unwrap_or(usize::MAX))
        .collect()
}

/// Whether the compiler has refused the code, by what it said: one that was killed, or whose disk was full, says nothing of it.
fn is_refused(told: &str) -> bool {
    let is_cut_short =
        ["(signal: ", "terminated with signal", "No space left on device", "internal compiler error"];
    told.lines().any(|line| line.starts_with("error[E") || line.starts_with("error: "))
        && !is_cut_short.iter().any(|word| told.contains(word))
}

/// The test that did not pass in any try, by the last lines of what nextest said.
fn failed(told: &str) -> Option<&str> {
    let mut lines = told.lines().map(str::trim_start);
    let line = lines.rfind(|line| {
        let end = line
            .strip_prefix("TRY ")
            .map_or(*line, |of_try| of_try.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start());
        ["FAIL ", "TIMEOUT ", "SIG", "ABORT ", "TMT "].iter().any(|word| end.starts_with(word))
    })?;
    line.rsplit_once(") ").or_else(|| line.rsplit_once("] ")).map(|(_, test)| test)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_takes_one_of_each_file_before_another_and_depends_on_the_seed_alone() {
        let mutant = |file: &str, at: usize| Mutant {
            file: file.to_owned(),
            package: "ane-driver".to_owned(),
            name: format!("{file}:{at}"),
            ..Mutant::default()
        };
        let all: Vec<Mutant> = [("large.rs", 50), ("small.rs", 2), ("other.rs", 5)]
            .into_iter()
            .flat_map(|(file, count)| (0..count).map(move |at| mutant(file, at)))
            .collect();
        let drawn = sample(all.clone(), 6, 7);
        for file in ["large.rs", "small.rs", "other.rs"] {
            assert_eq!(drawn.iter().filter(|mutant| mutant.file == file).count(), 2, "{file}");
        }
        assert_eq!(sample(all.clone(), 6, 7), drawn);
        assert_ne!(sample(all, 6, 8), drawn);
    }

    #[test]
    fn test_that_failed_is_named() {
        let told =
            "   PASS [   0.005s] (1/9) ane-device a::b\n   FAIL [   0.101s] (2/9) ane-device::device c::d\n";
        assert_eq!(failed(told), Some("ane-device::device c::d"));
        assert_eq!(failed("  TIMEOUT [ 180.002s] (3/9) aned e\n"), Some("aned e"));
        let twice = "  TRY 1 FAIL [   0.101s] (2/9) ane-driver a::flaky\n  TRY 2 PASS [   0.090s] (2/9) ane-driver a::flaky\n  TRY 2 FAIL [   0.101s] (7/9) ane-driver c::d\n";
        assert_eq!(failed(twice), Some("ane-driver c::d"));
        assert_eq!(failed("error: no test run\n"), None);
        for (end, text) in [
            (End::Caught("c::d".to_owned()), r#"{"caught":"c::d"}"#),
            (End::Survived, r#""survived""#),
            (End::Unviable, r#""does not compile""#),
        ] {
            assert_eq!(serde_json::to_string(&end).unwrap(), text);
            assert_eq!(serde_json::from_str::<End>(text).unwrap(), end);
        }
    }

    #[test]
    fn build_that_was_cut_short_says_nothing_of_the_code() {
        assert!(is_refused("error[E0308]: mismatched types\nerror: could not compile `a` (lib)\n"));
        let killed = "error: could not compile `a` (lib)\n\nCaused by:\n  process didn't exit successfully: `rustc` (signal: 9, SIGKILL: kill)\n";
        assert!(!is_refused(killed));
        assert!(!is_refused("error: failed to write a.rmeta: No space left on device (os error 28)\n"));
    }

    #[test]
    fn change_is_made_where_the_list_says() {
        let mutant = Mutant { start: (2, 5), end: (3, 6), replacement: "()".to_owned(), ..Mutant::default() };
        assert_eq!(mutant.applied("fn f() {\n    é();\n    1\n}\n").unwrap(), "fn f() {\n    ()\n}\n");
        assert_eq!(Mutant { end: (9, 1), ..mutant.clone() }.applied("fn f() {\n    é();\n"), None);
        assert_eq!(Mutant { start: (3, 7), ..mutant }.applied("fn f() {\n    é();\n    1\n}\n"), None);
    }
}
