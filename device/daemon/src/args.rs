//! The command line, by the conventions of vhost-user backends.

use std::path::PathBuf;

use ane_device::options::args::OptionArgs;
use clap::Parser;

/// A virtual Apple Neural Engine behind a vhost-user socket.
///
/// The device waits for a frontend (QEMU, or a process that uses the engine without a virtual machine),
/// serves it until it disconnects, and waits for the next. It stays in the foreground and logs to standard
/// error. SIGTERM, SIGINT and SIGHUP end it; SIGUSR1 prints the state of every engine.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "vhost-device-ane",
    version,
    max_term_width = 100,
    after_help = "Exit status: 0 after SIGTERM, SIGINT or SIGHUP, 1 if the device cannot be set up, 2 if an argument is wrong.",
    after_long_help = "Exit status:\n  0  ended by SIGTERM, SIGINT or SIGHUP, or --print-capabilities\n  1  the device cannot \
                       be set up\n  2  an argument is wrong\n\nExample:\n  vhost-device-ane --socket-path ane.sock &\n  \
                       qemu-system-x86_64 -M q35,memory-backend=mem -m 1G \\\n    -object \
                       memory-backend-memfd,id=mem,size=1G,share=on \\\n    -chardev socket,id=ane,path=ane.sock \\\n    \
                       -device vhost-user-test-device-pci,chardev=ane,virtio-id=21,num_vqs=2,vq_size=256,config_size=56"
)]
pub(crate) struct Args {
    /// Where to listen. If this is a directory, it gets one socket for each engine of the chip, named after its
    /// device-tree node: ane.sock, or ane0.sock and so on
    #[arg(short, long, value_name = "PATH", group = "socket")]
    pub(crate) socket_path: Option<PathBuf>,

    /// A listening socket that a parent process, such as a service manager, passes as this descriptor
    #[arg(long, value_name = "N", group = "socket")]
    pub(crate) fd: Option<i32>,

    /// Listen here as a vfio-user server instead: a PCI function whose BARs are the register ranges of a real engine,
    /// three DARTs and power words, for drivers of the real engine
    #[arg(long, value_name = "PATH", group = "socket")]
    pub(crate) vfio_user: Option<PathBuf>,

    /// Write the timeline of each engine to FILE, as a Chrome trace that Perfetto opens. Each of several engines has
    /// its own file: trace.json becomes trace.ane0.json and so on
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Listen here for commands that inject faults and show the state of the running device. Root and the user that
    /// the device runs as may send them; "help" lists them
    #[arg(long, value_name = "PATH")]
    pub(crate) control: Option<PathBuf>,

    /// Do not confine the device. By default, before it serves a frontend, it gives up all files but its sockets, and
    /// all system calls that serving does not need
    #[arg(long)]
    pub(crate) no_sandbox: bool,

    /// Poll at most this long for a request before sleeping: answers come faster, and the processor is busy. The time
    /// adapts to how quickly requests follow each other
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub(crate) poll_us: u32,

    /// How much to log: off, error, warn, info, debug or trace. RUST_LOG sets it for each module, and goes first
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = log_level)]
    pub(crate) log_level: log::LevelFilter,

    /// Print what this program can do, as JSON, and exit
    #[arg(long)]
    pub(crate) print_capabilities: bool,

    /// Options of the device
    #[command(flatten)]
    pub(crate) device: OptionArgs,
}

fn log_level(text: &str) -> Result<log::LevelFilter, String> {
    text.parse()
        .map_err(|_| format!("log level {text:?} is not known; known: off, error, warn, info, debug, trace"))
}
