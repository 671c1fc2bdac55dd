//! How much of a figure is run, and the line that says what came of it.
//!
//! `ANE_RELEASE` is `ci` (or nothing), `release`, or a number of what the figure counts: of seconds, where it is a time that
//! the figure is given. With `ANE_RELEASE_RESULTS` the line is appended to a file, too.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ane_tests::percentile;
use ane_tests::random::Random;
use serde_json::json;

/// Figures that do not hold yet, and why. They fail no test and are shown as what they are.
const KNOWN_MISSES: &[(&str, &str)] = &[];

/// A figure as the table of releases has it.
pub(crate) struct Figure {
    /// `F2` and the like.
    pub(crate) id: &'static str,
    pub(crate) what: &'static str,
    /// The condition that has to hold.
    pub(crate) wanted: &'static str,
    /// How many, or how many seconds, beside other tests.
    pub(crate) ci: u64,
    pub(crate) release: u64,
}

/// How much of a figure is run now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// How many, or how many seconds.
    pub(crate) count: u64,
    /// Where the random numbers begin.
    pub(crate) seed: u64,
}

impl Plan {
    /// The count as a time.
    pub(crate) const fn time(self) -> Duration {
        Duration::from_secs(self.count)
    }

    /// Random numbers of a part of the figure.
    pub(crate) fn random(self, part: u64) -> Random {
        Random::new(Random::new(self.seed ^ part.rotate_left(32)).next())
    }
}

/// The outcome of a figure.
pub(crate) struct Verdict {
    /// The observation, in words and numbers.
    pub(crate) got: String,
    /// Whether the condition holds.
    pub(crate) held: bool,
    /// Whether it also fails a test beside other tests. Where times are compared on a machine that is shared,
    /// the bounds are wide: a figure that is missed narrowly there is reported and fails nothing.
    pub(crate) fails: bool,
    /// Parts that could not be run here. The page does not say of such a figure that it holds.
    pub(crate) not_run: Vec<String>,
}

impl Verdict {
    /// The verdict on a figure that is no time: it holds, or a test fails.
    pub(crate) const fn counted(got: String, held: bool) -> Self {
        Self { got, held, fails: !held, not_run: Vec::new() }
    }
}

impl Figure {
    /// Runs the figure and prints its line.
    ///
    /// # Panics
    ///
    /// If it does not hold and is no known miss; beside other tests, if it fails by the wide bounds.
    pub(crate) fn run(&self, run: impl FnOnce(Plan) -> Verdict) {
        let size = std::env::var("ANE_RELEASE").unwrap_or_default();
        let count = match size.as_str() {
            "" | "ci" => self.ci,
            "release" => self.release,
            number => number.parse().expect("ANE_RELEASE is ci, release or a number"),
        };
        let drawn = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_micros() as u64);
        let seed =
            std::env::var("ANE_RELEASE_SEED").ok().map(|seed| seed.parse().expect("a seed is a number"));
        // As one test of many it is the same in each run: a change is not to fail by numbers that it never saw.
        let unasked = if size.is_empty() { 611_268_043 } else { drawn % 1_000_000_000 };
        let plan = Plan { count, seed: seed.unwrap_or(unasked) };
        // Said before it starts, so that a figure that dies can be repeated.
        println!("{}: {}; {count}, seed {}", self.id, self.what, plan.seed);
        let start = SystemTime::now();
        let Verdict { got, held, fails, not_run } = run(plan);
        let seconds = start.elapsed().map_or(0, |time| time.as_secs());
        let known = KNOWN_MISSES.iter().find(|(id, _)| *id == self.id).map(|(_, why)| *why);
        let line = json!({
            "id": self.id, "what": self.what, "wanted": self.wanted, "got": got, "held": held, "seed": plan.seed,
            "size": count, "ci": self.ci, "release": self.release, "seconds": seconds,
            "known": if held { None } else { known }, "not_run": not_run,
        });
        println!("{line}");
        if let Some(path) = std::env::var_os("ANE_RELEASE_RESULTS") {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.and_then(|mut file| writeln!(file, "{line}")).expect("the results can be written");
        }
        let is_whole = held && not_run.is_empty();
        let fails = if size == "release" { !is_whole && known.is_none() } else { fails };
        assert!(!fails, "{} does not hold with seed {}: {got}; not run: {not_run:?}", self.id, plan.seed);
    }
}

/// The value that 99 of 100 do not exceed; sorts them.
pub(crate) fn p99(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    percentile::p99(times)
}
