//! `docs/reliability.md`: the release figures, each run at the size that is asked for.
//!
//! Most figures are tests of `ane-tests` (`tests/tests/release/`), which say what came of them in a line of JSON. What
//! takes programs of its own is here. A line is kept in the target folder as soon as it is there, so that a run that
//! was killed goes on where it stopped; a figure that does not hold counts as one that does not until it is run with --again. The page is
//! made of the last line of each figure.
//!
//! * `fuzz`: F1; `coverage`: which part of the parsers it runs;
//! * `mutants`: F10;
//! * `ledger`: what these two have done so far;
//! * `line`: a line, and where lines are kept;
//! * `page`: the page.

mod coverage;
mod fuzz;
mod ledger;
mod line;
mod mutants;
mod page;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use self::line::{Line, Store, Wanted};
use crate::output::{cargo, root, write_or_check};

/// The choice of figures to run, and their sizes.
#[derive(Args)]
pub struct Options {
    /// Only this figure; may be given several times
    #[arg(long = "figure", value_name = "ID")]
    figures: Vec<String>,
    /// ci, release, or a number of what the figure counts (seconds, where it is a time)
    #[arg(long, default_value = "release")]
    size: String,
    /// Where the random numbers begin, but for F1; drawn, and printed, if it is not given
    #[arg(long)]
    seed: Option<u64>,
    /// The profile to build for; F1 and F10 have their own
    #[arg(long, value_enum, default_value = "release")]
    profile: Profile,
    /// Run figures, too, that have been run at this size, commit, profile and seed
    #[arg(long)]
    again: bool,
    /// Run nothing, and write the page of what was run
    #[arg(long)]
    page: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// As for tests: quickly built.
    Dev,
    /// As they are released.
    Release,
}

/// How a figure is run.
enum Runner {
    /// By the test of `ane-tests` whose name has this in it.
    Test(&'static str),
    /// By every fuzz target.
    Fuzz,
    /// By tests that try changed programs.
    Mutants,
}

const FIGURES: &[(&str, Runner)] = &[
    ("F1", Runner::Fuzz),
    ("F2", Runner::Test("f2_")),
    ("F3", Runner::Test("f3_")),
    ("F4", Runner::Test("f4_")),
    ("F5", Runner::Test("f5_")),
    ("F6", Runner::Test("f6_")),
    ("F7", Runner::Test("f7_")),
    ("F8", Runner::Test("f8_")),
    ("F9", Runner::Test("f9_")),
    ("F10", Runner::Mutants),
    ("F11", Runner::Test("f11_")),
];

/// Runs the figures and writes the page.
///
/// # Errors
///
/// If a figure is not known or cannot be run, or one does not hold and is no known miss.
pub fn run(options: &Options) -> Result<()> {
    if options.seed.is_some() && options.figures.iter().any(|id| id == "F1") {
        bail!("--seed: each fuzz target of F1 draws its own");
    }
    if let Some(unknown) = options.figures.iter().find(|id| FIGURES.iter().all(|(known, _)| known != id)) {
        bail!("no figure {unknown}");
    }
    let store = Store::open()?;
    let commit = line::commit()?;
    let mut missed = Vec::new();
    for (id, runner) in FIGURES {
        let is_wanted = options.figures.is_empty() || options.figures.iter().any(|wanted| wanted == id);
        if options.page || !is_wanted {
            continue;
        }
        let is_release = match runner {
            Runner::Test(_) => options.profile == Profile::Release,
            Runner::Fuzz => true,
            Runner::Mutants => false,
        };
        let wanted = Wanted {
            id,
            size: &options.size,
            commit: &commit,
            build: if is_release { "release" } else { "dev" },
            seed: options.seed.filter(|_| !matches!(runner, Runner::Fuzz)),
        };
        let kept = if options.again { None } else { store.kept(&wanted)? };
        if let Some(line) = kept {
            let outcome = if line.held { "holds" } else { "does not hold" };
            println!("{id}: was run on {}, and {outcome}; --again runs it anew", line.date);
            missed.extend(line.is_miss().then_some(*id));
            continue;
        }
        let found = match runner {
            Runner::Test(name) => test(options, name)?,
            Runner::Fuzz => fuzz::run(&options.size)?,
            Runner::Mutants => mutants::run(&options.size, options.seed)?,
        };
        missed.extend(found.is_miss().then_some(*id));
        store.keep(&found, &wanted)?;
        // A page after each: a run may be ended at any time.
        write_page(&store)?;
    }
    write_page(&store)?;
    if !missed.is_empty() {
        bail!("does not hold: {}", missed.join(", "));
    }
    Ok(())
}

fn write_page(store: &Store) -> Result<()> {
    const PAGE: &str = "docs/reliability.md";
    let present = std::fs::read_to_string(root().join(PAGE)).unwrap_or_default();
    write_or_check(PAGE, page::render(&store.lines()?, &present)?, false, "release")
}

/// Runs a figure that is a test; its line.
fn test(options: &Options, name: &str) -> Result<Line> {
    let results = root().join("target/release-figure.json");
    let _ = std::fs::remove_file(&results);
    let mut test = cargo(&["test", "--quiet", "--locked", "--package", "ane-tests", "--test", "release"]);
    if options.profile == Profile::Release {
        test.arg("--release");
    }
    test.args(["--", "--nocapture", "--test-threads", "1", name]);
    test.env("ANE_RELEASE", &options.size)
        .env("ANE_RELEASE_RESULTS", &results)
        .env("ANE_RELEASE_BUILDS", "1");
    if let Some(seed) = options.seed {
        test.env("ANE_RELEASE_SEED", seed.to_string());
    }
    // A figure that does not hold fails, and has its line all the same.
    test.status().context("running cargo")?;
    let text = std::fs::read_to_string(&results).with_context(|| format!("{name}: it has said nothing"))?;
    Line::of(text.lines().last().unwrap_or_default())
}
