//! `ane doctor`.

use clap::Args;

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
