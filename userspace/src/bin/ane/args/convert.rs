//! `ane convert`.

use std::path::PathBuf;

use clap::Args;

/// Repackage a .hwx program as .anec
///
/// Surfaces are bound as the object's own table of base addresses says, so objects of every compiler come
/// out right. Where clients of .anec expect another order than the object has, the base-address numbers in
/// the task headers are rewritten; no register is touched. The names go into a part of the header that other
/// clients skip: those bind surfaces by position, and the command prints which surface went where.
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
