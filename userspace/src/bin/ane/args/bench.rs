//! `ane bench`.

use std::path::PathBuf;

use clap::Args;

use super::device::DeviceArgs;

/// Measure what it costs to use the engine here
///
/// With MODEL: how long a run takes, from submission to completion, and how many there are in a second. Without: opening
/// a device, a call, a run of the smallest program, and tiling against a plain copy of as many bytes. The figures are of
/// this machine; `cargo xtask performance` has those that are held to goals.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane bench
  ane bench network.hwx --numerics fast --seconds 5
  ane bench --device aned --json")]
pub(crate) struct Bench {
    /// The program: .hwx or .anec, told apart by content
    pub(crate) model: Option<PathBuf>,
    /// How long to measure each figure
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Give a run up that has not ended after this long: exit code 4
    #[arg(long, value_name = "SECONDS", value_parser = super::run::seconds)]
    pub(crate) timeout: Option<f64>,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
    /// The device
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("wanted is a number of seconds from 0.001 to 3600".to_owned()),
    }
}
