//! `ane doctor`.

use std::fmt::Write as _;
use std::io::{IsTerminal, stdout};

use ane::decode::is_upsetting;
use ane::doctor::{Check, Verdict, checks};
use anyhow::Result;
use clap::Args;

use crate::failure::{Exit, Failure};
use crate::files;

/// Check each layer, with advice for each one that is missing
///
/// Checks the embedded device, the preload library, daemons, device nodes, virtual machines and Python; inside a guest it
/// also checks what VFIO needs. Most commands need the embedded device only, so a missing part is no failure. The exit
/// code is 5 if a part is there and does not work.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane doctor
  ane doctor --json | jq '.[] | select(.verdict != \"fine\")'")]
pub(crate) struct Doctor {
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &Doctor) -> Result<()> {
    let checks = checks();
    if args.json {
        files::print_json(&checks)?;
    } else {
        files::print(page(&checks, stdout().is_terminal())?.as_bytes())?;
    }
    let broken: Vec<_> =
        checks.iter().filter(|check| check.verdict == Verdict::Broken).map(|check| check.layer).collect();
    if broken.is_empty() {
        return Ok(());
    }
    let what = format!("broken: {}", broken.join(", "));
    Err(Failure::new(Exit::Differs, what, "do what is said there").into())
}

fn page(checks: &[Check], colour: bool) -> Result<String, std::fmt::Error> {
    let mut page = String::new();
    for check in checks {
        let (word, code) = match check.verdict {
            Verdict::Fine => ("ok    ", 32),
            Verdict::Absent => ("absent", 33),
            Verdict::Broken => ("BROKEN", 31),
        };
        let word = if colour { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word.to_owned() };
        writeln!(page, "{word}  {:<18}  {}", check.layer, check.found.replace(is_upsetting, " "))?;
        if let Some(advice) = &check.advice {
            writeln!(page, "{:28}{advice}", "")?;
        }
    }
    Ok(page)
}
