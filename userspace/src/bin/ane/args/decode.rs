//! `ane decode`.

use std::path::PathBuf;

use clap::Args;

/// Print what a compiled program says, word by word
///
/// Reads a .hwx or .anec file and prints its container, its surfaces, its table of base addresses, and each
/// task: the header, then the registers by block, with the name, value and meaning of every field. Bits
/// that nobody can explain are called out. Behind the first task, an asterisk marks what changed.
///
/// Needs no device and changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane decode examples/add_relu.anec
  ane decode --explain examples/add_relu.anec | less
  ane decode --changes network.hwx
  ane decode --json network.hwx | jq '.tasks[].summary'")]
pub(crate) struct Decode {
    /// The program: .hwx or .anec, told apart by content; - is standard input
    pub(crate) file: PathBuf,
    /// Print JSON for another program to read: complete, with all that the other options show
    #[arg(long, conflicts_with_all = ["all", "explain", "changes"])]
    pub(crate) json: bool,
    /// Say what each register and field does, how well that is established, and where it is known from
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print fields that are zero, too
    #[arg(long)]
    pub(crate) all: bool,
    /// Behind the first task, print only the registers that changed
    #[arg(long)]
    pub(crate) changes: bool,
}
