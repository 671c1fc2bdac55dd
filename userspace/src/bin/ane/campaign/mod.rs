//! `ane campaign`.

mod progress;

use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use ane::campaign::case::{Case, Limits, Shard};
use ane::campaign::manifest;
use ane::campaign::pool;
use ane::campaign::record::{self, Log, Record};
use ane::campaign::report::Report;
use ane::count::count;
use anyhow::{Context, Result, anyhow};

use crate::args;
use crate::failure::{Advise, Exit, Failure};
use crate::files::{self, Existing};
use progress::Progress;

pub(crate) fn run(args: &args::Campaign) -> Result<()> {
    match (&args.command, &args.manifest) {
        (Some(args::CampaignCommand::Report(args)), _) => report(args),
        (None, _) if args.worker => Ok(pool::serve(io::stdin().lock(), io::stdout().lock())?),
        (None, Some(manifest)) => campaign(args, manifest),
        // The parser wants one of them.
        (None, None) => Err(anyhow!("there is no manifest")),
    }
}

fn campaign(args: &args::Campaign, manifest: &Path) -> Result<()> {
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let mut cases = manifest::cases(manifest)
        .advise(Exit::Refused, "`ane help campaign` says what may stand in a manifest")?;
    let all = cases.len();
    cases.retain(|case| shard.has(&case.id()));
    limit(args, &mut cases)?;
    if args.list {
        let lines: String = cases.iter().map(line).collect();
        return files::print(lines.as_bytes());
    }
    let Some(output) = &args.output else { return Err(anyhow!("there is no -o")) };
    let name = files::name(output);
    let mut log = Log::open(output)
        .with_context(|| name.clone())
        .advise(Exit::Refused, "name a file that can be appended to")?;
    if log.damaged() > 0 && !args.quiet {
        let lines = count(log.damaged(), "line");
        files::tell(format_args!("{name}: {lines} cut short; the cases that are missing are run again"));
    }
    let part = cases.len();
    cases.retain(|case| !log.has(&case.id()));
    let left = cases.len();
    let program = std::env::current_exe().context("looking for this program")?;
    let worker = || {
        let mut command = Command::new(&program);
        command.args(["campaign", "--worker"]);
        command
    };
    let jobs =
        args.jobs.map(usize::from).or_else(|| std::thread::available_parallelism().ok().map(usize::from));
    let start = Instant::now();
    let mut progress = Progress::new(left, args.quiet);
    let done = pool::run(cases, jobs.unwrap_or(1), worker, |case, outcome| {
        let record = Record::of(case, outcome);
        log.append(&record)?;
        progress.step(&record);
        Ok(())
    });
    progress.end();
    done.map_err(|why| stopped(&name, &why))?;
    let seconds = start.elapsed().as_secs_f64();
    let lines = record::read(std::fs::File::open(output)?).with_context(|| name.clone())?;
    let report = Report::of([lines]);
    let total = &report.total;
    let mut said =
        format!("{name}: {} of {all} in this part, {left} run in {seconds:.1} s", count(part, "case"));
    for (verdict, count) in &total.verdicts {
        said.push_str(&format!(", {count} {}", verdict.name()));
    }
    said.push('\n');
    files::print(said.as_bytes())?;
    verdict(&report)
}

/// Puts the limits of the command line above those of the manifest.
fn limit(args: &args::Campaign, cases: &mut [Case]) -> Result<()> {
    if args.seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds <= 1e6)) {
        let advice = "give a number above 0, and at most 1000000";
        return Err(
            Failure::new(Exit::CommandLine, "--seconds is no time that a case can take", advice).into()
        );
    }
    for case in cases {
        let Limits { seconds, mebibytes } = case.limits;
        case.limits = Limits {
            seconds: args.seconds.unwrap_or(seconds),
            mebibytes: args.mebibytes.unwrap_or(mebibytes),
        };
    }
    Ok(())
}

/// A case, for people and for `grep`.
fn line(case: &Case) -> String {
    let (id, expect) = (case.id(), case.expect.name());
    format!(
        "{id}  {}  {}  seed {}  {expect}\n",
        ane::decode::printable(&case.program),
        case.numerics,
        case.seed
    )
}

/// Why a campaign did not come to its end. What it has written stays.
fn stopped(name: &str, why: &io::Error) -> anyhow::Error {
    let advice = match why.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "make room and start it again: it goes on where it stopped"
        }
        _ => "start it again: it goes on where it stopped",
    };
    Failure::new(Exit::Refused, format_args!("{name}: {why}"), advice).into()
}

fn report(args: &args::CampaignReport) -> Result<()> {
    let mut lines = Vec::new();
    for path in &args.files {
        let bytes = files::read(path)?;
        lines.push(record::read(&bytes[..]).with_context(|| files::name(path))?);
    }
    let report = Report::of(lines);
    if let Some(path) = &args.junit {
        files::save(path, report.junit().as_bytes(), Existing::Replace)?;
    }
    if let Some(path) = &args.html {
        files::save(path, report.html().as_bytes(), Existing::Replace)?;
    }
    if args.json {
        files::print_json(&report)?
    } else {
        files::print(report.page()?.as_bytes())?
    }
    verdict(&report)
}

/// An error, if there is something to look into.
fn verdict(report: &Report) -> Result<()> {
    let failures = report.total.failures();
    if failures == 0 && report.contradictions.is_empty() {
        return Ok(());
    }
    let (wrong, other) = (report.total.count(record::Verdict::Wrong), report.contradictions.len());
    let what = format!(
        "{wrong} of {} are wrong, {} did not come to an end, {other} contradict themselves",
        count(report.total.cases, "case"),
        failures.saturating_sub(wrong)
    );
    Err(Failure::new(Exit::Differs, what, "`ane campaign report` names them; `ane run` shows one alone")
        .into())
}
