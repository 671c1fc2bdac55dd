//! `ane diff`.

use std::path::PathBuf;

use clap::Args;

/// Compare two programs, two timelines, two arrays, or two folders of outputs
///
/// What the files are is told by their content. Programs are compared by surface, base address, header word and
/// register field; timelines by event, whatever the times; arrays by element. Ends with exit code 5 if they differ.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane diff before.hwx after.hwx
  ane diff out-m1 out-fast --ulps 2
  ane diff a.npy b.npy --tolerance 0.001 --json")]
pub(crate) struct Diff {
    /// One
    pub(crate) a: PathBuf,
    /// The other
    pub(crate) b: PathBuf,
    /// Elements may differ by so many units of the last place
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) ulps: u32,
    /// Elements may differ by so much
    #[arg(long, value_name = "VALUE", default_value_t = 0.0)]
    pub(crate) tolerance: f64,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
}
