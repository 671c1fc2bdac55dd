//! `ane faults`.

use std::fmt::Write as _;

use ane::device::{self, Device};
use ane::inspect;
use ane::session;
use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use super::Seen;
use super::Subject;
use crate::device::failure;
use crate::files;

/// Show the faults of a run, or the last of a device
///
/// With MODEL: runs it, and prints each fault with the whole descriptor, what was mapped and what the device did at that
/// moment, and why the request failed. Without MODEL: prints the last faults of a daemon's device, or of a device at its
/// control socket together with its state.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane faults examples/add_relu.anec --inject translation-fault:0x8000
  ane faults --device aned
  ane faults --control control.sock")]
pub(crate) struct Faults {
    /// Device to inspect
    #[command(flatten)]
    pub(crate) subject: Subject,
}

#[derive(Debug, Serialize)]
struct RunFaults {
    /// How the run ended, if it did not end well.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// The faults of the run, each with its descriptor.
    faults: Vec<String>,
    #[serde(flatten)]
    device: inspect::Faults,
}

/// Appends the faults that nobody has fetched yet.
fn fetch(device: &Device, faults: &mut Vec<String>) -> Result<(), device::Error> {
    while let Some(fault) = device.fault()? {
        faults.push(format!("{fault:#}"));
    }
    Ok(())
}

pub(crate) fn run(args: &Faults) -> Result<()> {
    let seen = Seen::of(&args.subject)?;
    let mut faults = Vec::new();
    // The one that ended the run has been fetched by it.
    if let Some(session::Error::Failed { fault: Some(fault), .. }) = &seen.failure {
        faults.push(format!("{fault:#}"));
    }
    if let Some(device) = &seen.device {
        let fetched = fetch(device, &mut faults).map_err(|why| failure(&why, device.location()));
        // The list is not whole then. How the run ended is told all the same.
        fetched.or_else(|why| match &seen.failure {
            Some(run) => Err(why).with_context(|| run.to_string()),
            None => Err(why),
        })?;
    }
    let device = inspect::Faults::of(&seen.source).map_err(super::no_report)?;
    let report = RunFaults { run: seen.failure.map(|why| why.to_string()), faults, device };
    if args.subject.json {
        return files::print_json(&report);
    }
    let mut page = String::new();
    for fault in &report.faults {
        writeln!(page, "{fault}")?;
    }
    if let Some(run) = &report.run {
        writeln!(page, "{run}")?;
    }
    if let Some(failure) = &report.device.failure {
        writeln!(page, "{failure}")?;
    }
    if let Some(dump) = &report.device.dump {
        writeln!(page, "\nat the last fault:\n{}", dump.trim_end())?;
    }
    if page.is_empty() {
        writeln!(page, "no faults")?;
    }
    if let Some(state) = &report.device.device {
        writeln!(page, "\nthe device:\n{}", state.trim_end())?;
    }
    files::print(page.as_bytes())
}
