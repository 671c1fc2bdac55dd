//! F1: every fuzz target, so many executions each, with the limits of `tools/fuzz`.
//!
//! A target draws its own seed and keeps what it found in its corpus, from which the next run begins: no two runs are the
//! same, and what one of them found bad is kept in `fuzz/artifacts/`. Executions are counted in slices, so that a run of the same
//! commit goes on where one was killed, and a larger figure has the smaller one in it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::coverage;
use super::ledger::Ledger;
use super::line::Line;
use crate::output::root;

/// Executions of each target before a release.
const RELEASE: u64 = 20_000_000;
/// Executions of a target at a time.
const SLICE: u64 = 1_000_000;
/// Seconds of each target beside other checks.
const CI_SECONDS: &str = "60";

/// Executions of a target that found nothing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Slice {
    target: String,
    executions: u64,
    /// Since the slice before, whichever target that was of: together they are the time of the figure.
    seconds: u64,
}

pub(super) fn run(size: &str) -> Result<Line> {
    let runs = match size {
        "ci" => None,
        "release" => Some(RELEASE),
        number => Some(number.parse::<u64>().context("a size is ci, release or a number")?),
    };
    // They come last, and without them hours of work would have no line.
    let tools = coverage::tools()?;
    let targets = targets()?;
    let ledger = if runs.is_some() { Ledger::open("release-fuzz.jsonl")? } else { None };
    let mut slices = ledger.as_ref().map(Ledger::done::<Slice>).transpose()?.unwrap_or_default();
    let begin = Instant::now();
    let mut told = 0;
    let mut failed = Vec::new();
    let mut keep = |target: String, executions: u64, slices: &mut Vec<Slice>| {
        let now = begin.elapsed().as_secs();
        let slice = Slice { target, executions, seconds: now - std::mem::replace(&mut told, now) };
        if let Some(ledger) = &ledger {
            ledger.keep(&slice)?;
        }
        slices.push(slice);
        Ok(())
    };
    let mut is_sound = true;
    match runs {
        None => is_sound = fuzz(&[], None, &mut failed, |target, count| keep(target, count, &mut slices))?,
        Some(runs) => {
            while let (Some((together, amount)), true) = (next(&targets, &slices, runs), is_sound) {
                let before = slices.len();
                is_sound = fuzz(&together, Some(amount), &mut failed, |target, count| {
                    keep(target, count, &mut slices)
                })?;
                if is_sound && slices.len() < before + together.len() {
                    bail!("tools/fuzz did not tell the executions of each of {}", together.join(", "));
                }
            }
        }
    }
    let least = targets.iter().map(|target| executions(&slices, target)).min().unwrap_or_default();
    let total: u64 = slices.iter().map(|slice| slice.executions).sum();
    let mut got = format!("{} targets, {total} executions, at least {least} each", targets.len());
    if !is_sound {
        let what = if failed.is_empty() { "the build".to_owned() } else { failed.join(", ") };
        got = format!("{got}; {what} failed");
    }
    let lines = coverage::run(&tools)?;
    got = format!("{got}; {}", lines.text());
    Ok(Line {
        id: "F1".to_owned(),
        what: "every fuzz target; which lines of the parsers that runs".to_owned(),
        wanted: "no crash, no hang above 1 s, growth below 256 MiB (more where tasks or models are computed, as tools/fuzz \
                 says); at least 90 % of the lines"
            .to_owned(),
        got,
        held: is_sound && least > 0 && lines.part() >= coverage::WANTED,
        size: least,
        release: RELEASE,
        seconds: slices.iter().map(|slice| slice.seconds).sum(),
        ..Line::default()
    })
}

/// Every target.
fn targets() -> Result<Vec<String>> {
    let mut targets = Vec::new();
    for file in std::fs::read_dir(root().join("fuzz/fuzz_targets")).context("the fuzz targets")? {
        let path = file?.path();
        targets.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    targets.sort();
    Ok(targets)
}

/// How often a target was executed.
fn executions(slices: &[Slice], target: &str) -> u64 {
    slices.iter().filter(|slice| slice.target == target).map(|slice| slice.executions).sum()
}

/// The targets that are behind the others, and how often they are executed next; none if each was executed often enough.
fn next(targets: &[String], slices: &[Slice], runs: u64) -> Option<(Vec<String>, u64)> {
    let least = targets.iter().map(|target| executions(slices, target)).min()?;
    let amount = runs.checked_sub(least).filter(|rest| *rest > 0)?.min(SLICE);
    let behind = |target: &&String| executions(slices, target) < least + amount;
    Some((targets.iter().filter(behind).cloned().collect(), amount))
}

/// Has `tools/fuzz` run some targets so often, or all for some seconds. Hands over each that found nothing, with its executions, and
/// notes the others. Gives whether all went well.
fn fuzz(
    targets: &[String],
    runs: Option<u64>,
    failed: &mut Vec<String>,
    mut each: impl FnMut(String, u64) -> Result<()>,
) -> Result<bool> {
    let mut command = Command::new(root().join("tools/fuzz"));
    command.arg(CI_SECONDS).args(targets).current_dir(root()).stdout(Stdio::piped());
    if let Some(runs) = runs {
        command.env("FUZZ_RUNS", runs.to_string());
    }
    let mut child = command.spawn().context("running tools/fuzz")?;
    let mut fuzzed = String::new();
    for line in BufReader::new(child.stdout.take().context("its output is piped")?).lines() {
        let line = line?;
        println!("{line}");
        if let Some(target) = line.strip_prefix("-- failed: ") {
            failed.push(target.split(';').next().unwrap_or_default().to_owned());
        } else if let Some(target) = line.strip_prefix("-- fuzzed ") {
            target.clone_into(&mut fuzzed);
        } else if let Some(count) = line.strip_prefix("stat::number_of_executed_units:") {
            each(std::mem::take(&mut fuzzed), count.trim().parse().context("a number of executions")?)?;
        }
    }
    Ok(child.wait()?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_that_is_behind_is_next_until_each_was_executed_often_enough() {
        let targets = ["a", "b"].map(str::to_owned);
        let mut slices = Vec::new();
        let mut turns = Vec::new();
        let of = |target: &str, executions| Slice { target: target.to_owned(), executions, seconds: 1 };
        slices.push(of("b", 1_200_000));
        while let Some((together, amount)) = next(&targets, &slices, 2_500_000) {
            turns.push((together.concat(), amount));
            slices.extend(together.iter().map(|target| of(target, amount)));
        }
        let wanted = [("a", 1_000_000), ("ab", 1_000_000), ("ab", 500_000)];
        assert_eq!(turns, wanted.map(|(targets, amount)| (targets.to_owned(), amount)));
        assert_eq!(next(&targets, &slices, 2_500_000), None);
    }

    #[test]
    fn every_target_is_known_by_its_name() {
        assert!(targets().unwrap().contains(&"page_walk".to_owned()));
    }
}
