//! The command line of `ane`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Tools for programs of the Apple Neural Engine, without the engine
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    after_help = "\
Examples:
  ane decode program.hwx            name every word of a compiled program
  ane decode --json program.anec    the same for another program to read
  ane convert program.hwx out.anec  repackage for the Linux driver's clients

Exit codes: 0 done, 1 the file is damaged or refused, 2 the command line is wrong."
)]
pub(crate) struct Cli {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print what a compiled program says, word by word
    Decode(Decode),
    /// Repackage a .hwx program as .anec
    Convert(Convert),
}

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

/// Repackage a .hwx program as .anec
///
/// Surfaces are bound as the object's own table of base addresses says, so objects of every compiler come
/// out right. Where clients of .anec expect another order than the object has, the base-address numbers in
/// the task headers are rewritten; no register is touched. An .anec has no names: clients bind surfaces by
/// position, and the command prints which surface went where.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane convert program.hwx program.anec")]
pub(crate) struct Convert {
    /// The .hwx program
    pub(crate) from: PathBuf,
    /// The .anec file to write; one that exists is not overwritten
    pub(crate) to: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Write a header of 0x800 bytes, as the first libane reads it, instead of 0x1000
    #[arg(long)]
    pub(crate) short_header: bool,
}
