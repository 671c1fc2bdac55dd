//! `ane man`.

use std::path::PathBuf;

use clap::Args;

/// Print a manual page, or write all of them to a folder
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane man | man -l -
  ane man run | man -l -
  ane man vm setup | man -l -
  ane man -o man1")]
pub(crate) struct Man {
    /// The command whose page it is, if it is not that of `ane` itself
    pub(crate) command: Vec<String>,
    /// Write every page to this folder, which is made if it is not there
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) output: Option<PathBuf>,
    /// Replace pages that are there
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}
