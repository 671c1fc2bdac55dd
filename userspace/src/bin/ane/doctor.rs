//! `ane doctor`.

use std::fmt::Write as _;
use std::io::{IsTerminal, stdout};

use ane::doctor::{Check, Verdict, checks};
use anyhow::Result;
use clap::Args;

use crate::failure::{Exit, Failure};
use crate::files;

/// Check each layer, and say what to do about what is missing
///
/// The embedded device, the preload library, daemons, device nodes, virtual machines, Python; inside a guest also what
/// VFIO needs. Nothing but the embedded device is needed for most things, and what is only absent is no failure. Ends
/// with exit code 5 if something is there and does not work.
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
        writeln!(page, "{word}  {:<18}  {}", check.layer, check.found.replace(char::is_control, " "))?;
        if let Some(advice) = &check.advice {
            writeln!(page, "{:28}{advice}", "")?;
        }
    }
    Ok(page)
}
