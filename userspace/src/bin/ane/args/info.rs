//! `ane info`.

use std::path::PathBuf;

use clap::Args;

use super::device::DeviceArgs;

/// Say what a program needs, or what a device is
///
/// With MODEL: the container, the tasks and what each does, the operands with their shapes, and how much memory it
/// takes. Without: the chip, what the device offers, and its caps.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane info examples/add_relu.anec
  ane info --chip t6000
  ane info --device aned --json")]
pub(crate) struct Info {
    /// The program: .hwx or .anec, told apart by content; - is standard input
    pub(crate) model: Option<PathBuf>,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
    /// The device
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}
