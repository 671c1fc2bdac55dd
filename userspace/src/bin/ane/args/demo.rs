//! `ane demo`.

use std::path::PathBuf;

use clap::Args;

use super::device::DeviceArgs;

/// Build a small network, run it on the engine, and check what comes out
///
/// The network is a convolution, an activation, a matrix product and a softmax, built here without a compiler. What the
/// engine computes is compared with the same network computed on this processor in double precision, by code that
/// knows nothing of the engine: whole numbers have to agree exactly, the rest within a tolerance that is said.
///
/// Needs no privileges, no daemon and no Apple hardware.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane demo
  ane demo --numerics exact --save demo.anec
  ane demo --json | jq .checks")]
pub(crate) struct Demo {
    /// Keep the program that was built
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Write what the engine did, and when, as a Chrome trace that Perfetto opens; an embedded device only
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
    /// The device
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}
