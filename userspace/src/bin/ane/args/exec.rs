//! `ane exec`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::device::DeviceArgs;

/// Run a program that uses /dev/accel/accel0, as it is, on a virtual engine
///
/// Starts a private daemon with an embedded device for as long as CMD runs, unless --device or ANE_DEVICE names a daemon
/// that runs already, and starts CMD with the preload library that stands in for the device node. CMD and all that it
/// starts see /dev/accel/accel0; nothing else changes for them. Ends as CMD does.
///
/// If a request of CMD fails, one line on standard error says why when CMD has ended: which task, which register, which of
/// its bits, their value, and what to try. CMD itself is told an error number, as by any device.
///
/// The preload library is looked for where ANE_SHIM says, beside this program, and in ../lib/ane.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane exec -- python3 infer.py
  ane exec --quiet -- ./client network.anec
  ane exec --check -- ./client network.anec
  ane exec --root /tmp/m1 -- ./check-tool --root /tmp/m1
  ane exec --device aned -- ./client network.anec

Exit codes: CMD's own; 128 and the signal's number if one ended it; 124 after --timeout; 126 if it cannot be
started, 127 if it is not there; 3 if there is no device or no preload library.")]
pub(crate) struct Exec {
    /// Make the names in the empty folder DIR by which tools look for the driver of a real engine, for as long as
    /// CMD runs: device tree, links of sysfs, node. Tools that check a machine take the folder with --root
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
    /// End CMD if it has not ended after this long: with SIGTERM, two seconds later with SIGKILL; exit code 124
    #[arg(long, value_name = "SECONDS", value_parser = super::run::seconds)]
    pub(crate) timeout: Option<f64>,
    /// Do not say why a request of CMD failed
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// The device
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}
