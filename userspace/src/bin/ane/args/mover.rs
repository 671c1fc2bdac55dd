//! `ane mover`.

use std::path::PathBuf;

use clap::Args;

use super::device::DeviceArgs;

/// Run a transfer script on the mover
///
/// The mover copies and fills in units of 16 bytes between scratch (the on-chip buffer), configuration space and
/// instruction RAM (kernel memory). A script is text, a command to a line; it is read as a whole before
/// anything is done. What it reads and shows is printed, and so is what the mover refused.
///
/// Lines: scratch AT = BYTES, iram AT = BYTES, config WORD = VALUES, fill MEMORY AT BYTES VALUE, move SOURCE
/// DESTINATION SIZE DIRECTION, write REGISTER VALUE [CORE], read REGISTER [CORE], xmov THREAD [WORD], stallwait THREAD
/// BLOCK CONDITION, wait, show MEMORY AT BYTES, expect MEMORY AT = BYTES. A # begins a comment.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  printf 'scratch 0 = 01 02\\nmove 0 1 1 scratch-to-scratch\\nwait\\nshow scratch 16 4\\n' | ane mover -
  ane mover --mover-profile isa --mover contended transfer.txt")]
pub(crate) struct Mover {
    /// The script; - is standard input
    pub(crate) script: PathBuf,

    /// Print what the script shows as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}
