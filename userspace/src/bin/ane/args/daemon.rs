//! `ane daemon`.

use std::path::PathBuf;

use ane_device::options::args::OptionArgs;
use aned::limits::LimitArgs;
use clap::Args;

/// Serve an embedded device to other processes
///
/// The driver and a device in one process, behind a socket: several clients at once, each with a context of its own.
/// Stays in the foreground until SIGTERM, SIGINT or SIGHUP. `aned` is the same server before a device elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane daemon &
  sleep 1
  ane run network.hwx --device aned
  ane daemon --socket-path /tmp/ane.sock --check &
  sleep 1
  ANE_DEVICE=aned:/tmp/ane.sock ane demo")]
pub(crate) struct Daemon {
    /// Where to listen [default: $XDG_RUNTIME_DIR/ane/aned.sock, as root /run/ane/aned.sock]
    #[arg(short, long, value_name = "PATH")]
    pub(crate) socket_path: Option<PathBuf>,
    /// Look for messages this long before sleeping, once there was one: answers come faster, for a busy processor
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 100, value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub(crate) poll_us: u32,
    /// What a request and a user may take
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Keep what the system lets a program do. Otherwise the daemon shuts off, before it serves anybody, all files but its
    /// socket and all system calls that serving does not need: one of those ends it
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// What the device is told
    #[command(flatten)]
    pub(crate) options: OptionArgs,
}
