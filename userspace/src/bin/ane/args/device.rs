//! Which device a command uses, and what it is told if it is made for the command.

use ane::device::Location;
use ane_device::options::args::OptionArgs;
use clap::Args;

/// A device.
#[derive(Debug, Args)]
#[command(next_help_heading = "The device")]
pub(crate) struct DeviceArgs {
    /// Where it is: embedded (in this process), aned or aned:PATH (behind the daemon's socket), vhost-user:PATH (behind
    /// that of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: what ANE_DEVICE says, or embedded]. What
    /// follows here is for an embedded one
    #[arg(long, value_name = "WHERE")]
    pub(crate) device: Option<Location>,

    /// What an embedded device is told
    #[command(flatten)]
    pub(crate) options: OptionArgs,
}
