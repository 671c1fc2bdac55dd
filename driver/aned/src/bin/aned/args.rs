//! The command line.

use std::path::PathBuf;

use aned::limits::LimitArgs;
use clap::Parser;

/// Owns a virtual Apple Neural Engine and serves the processes of this machine.
///
/// A client makes the calls of a device node: it opens files, creates and maps buffers, submits and waits. Each open file
/// has its own context, and a client that dies leaves nothing behind. The daemon stays in the foreground and logs to
/// standard error. SIGTERM, SIGINT and SIGHUP end it; calls that wait then have two and a half seconds to end.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "aned",
    version,
    max_term_width = 100,
    after_help = "Exit status: 0 after SIGTERM, SIGINT or SIGHUP, 1 if there is no device or no place to listen, 2 if an argument is wrong.",
    after_long_help = "Exit status:\n  0  ended by SIGTERM, SIGINT or SIGHUP\n  1  no device, or no place to listen\n  2  an \
                       argument is wrong\n\nExamples:\n  A device in a process of its own, for this user:\n    vhost-device-ane --socket-path \
                       /tmp/ane.sock &\n    sleep 1\n    aned --device vhost-user:/tmp/ane.sock &\n    sleep 1\n    ane run model.hwx --device aned\n\n  \
                       In a virtual machine, for the users of a group:\n    aned --device vfio:0000:01:00.0 --group render"
)]
pub(crate) struct Args {
    /// The device: vhost-user:PATH (the socket of vhost-device-ane) or vfio:ADDRESS (a PCI function, such as
    /// 0000:01:00.0)
    #[arg(short, long, value_name = "DEVICE")]
    pub(crate) device: String,

    /// Where to listen [default: $XDG_RUNTIME_DIR/ane/aned.sock, as root /run/ane/aned.sock]
    #[arg(short, long, value_name = "PATH", group = "place")]
    pub(crate) socket_path: Option<PathBuf>,

    /// A listening socket that a parent process, such as a service manager, passes as this descriptor. It is of type
    /// SOCK_SEQPACKET, and every user who may write to it may use the device
    #[arg(long, value_name = "N", group = "place")]
    pub(crate) fd: Option<i32>,

    /// Let this group use the device too: it gets the socket, with mode 0660 unless --mode says otherwise
    #[arg(long, value_name = "NAME", conflicts_with = "fd")]
    pub(crate) group: Option<String>,

    /// Permissions of the socket, in octal: every user who may write to it may use the device. Without this and
    /// --group, only root and the user that the daemon runs as may
    #[arg(long, value_name = "MODE", value_parser = mode, conflicts_with = "fd")]
    pub(crate) mode: Option<u32>,

    /// The control socket of the device (vhost-device-ane --control). The daemon tells it to root and to its own user, so
    /// that `ane trace` finds the device's timeline
    #[arg(long, value_name = "PATH")]
    pub(crate) control: Option<PathBuf>,

    /// Poll this long for messages and for the device before sleeping: answers come faster, and the processor is busy
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub(crate) poll_us: u32,

    /// Limits of a request and of a user
    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// Do not confine the daemon. By default, before it serves a client, it gives up all files but its socket, and all system
    /// calls that serving does not need; such a call then ends it
    #[arg(long)]
    pub(crate) no_sandbox: bool,

    /// How much to log: off, error, warn, info, debug or trace. RUST_LOG sets it for each module, and goes first
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = log_level)]
    pub(crate) log_level: log::LevelFilter,
}

fn mode(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|&mode| mode <= 0o777)
        .ok_or_else(|| format!("{text:?} is not a mode in octal, such as 660"))
}

fn log_level(text: &str) -> Result<log::LevelFilter, String> {
    text.parse()
        .map_err(|_| format!("log level {text:?} is not known; known: off, error, warn, info, debug, trace"))
}
