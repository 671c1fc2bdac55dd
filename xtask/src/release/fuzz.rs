//! F1: every fuzz target, so many executions each, with the limits of `tools/fuzz`.
//!
//! A target draws its own seed and keeps what it found in its corpus, from which the next run begins: no two runs are the
//! same, and what one of them found bad is kept in `fuzz/artifacts/`.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use super::coverage;
use super::line::Line;
use crate::output::root;

/// Executions of each target before a release.
const RELEASE: u64 = 20_000_000;
/// Seconds of each target beside other checks.
const CI_SECONDS: &str = "60";

pub(super) fn run(size: &str) -> Result<Line> {
    let runs = match size {
        "ci" => None,
        "release" => Some(RELEASE),
        number => Some(number.parse::<u64>().context("a size is ci, release or a number")?),
    };
    let start = Instant::now();
    let mut command = Command::new(root().join("tools/fuzz"));
    command.arg(CI_SECONDS).current_dir(root()).stdout(Stdio::piped());
    if let Some(runs) = runs {
        command.env("FUZZ_RUNS", runs.to_string());
    }
    let mut child = command.spawn().context("running tools/fuzz")?;
    let (mut failed, mut executed) = (Vec::new(), Vec::new());
    for line in BufReader::new(child.stdout.take().context("its output is piped")?).lines() {
        let line = line?;
        println!("{line}");
        if let Some(target) = line.strip_prefix("-- failed: ") {
            failed.push(target.split(';').next().unwrap_or_default().to_owned());
        } else if let Some(count) = line.strip_prefix("stat::number_of_executed_units:") {
            executed.push(count.trim().parse::<u64>().context("a number of executions")?);
        }
    }
    let is_sound = child.wait()?.success();
    let least = executed.iter().min().copied().unwrap_or_default();
    let total: u64 = executed.iter().sum();
    let mut got = format!("{} targets, {total} executions, at least {least} each", executed.len());
    if !is_sound {
        let what = if failed.is_empty() { "the build".to_owned() } else { failed.join(", ") };
        got = format!("{got}; {what} failed");
    }
    let lines = coverage::run()?;
    got = format!("{got}; {}", lines.text());
    Ok(Line {
        id: "F1".to_owned(),
        what: "every fuzz target; which lines of the parsers that runs".to_owned(),
        wanted: "no crash, no hang above 1 s, growth below 256 MiB (more where tasks or models are computed, as tools/fuzz \
                 says); at least 90 % of the lines"
            .to_owned(),
        got,
        held: is_sound && !executed.is_empty() && lines.part() >= coverage::WANTED,
        size: least,
        release: RELEASE,
        seconds: start.elapsed().as_secs(),
        ..Line::default()
    })
}
