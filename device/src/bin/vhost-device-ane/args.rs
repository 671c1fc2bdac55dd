//! The command line, by the conventions of vhost-user backends.

use std::num::NonZero;
use std::path::PathBuf;

use ane_device::inject::Injection;
use ane_device::options::{self, FaultPolicy, Hang, Numerics, Options};
use ane_uapi::hw::chip::Soc;
use ane_uapi::hw::dart::pte::PteFormat;
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
    /// Where to listen. In an existing directory, one socket for each engine of the chip, named after its
    /// device-tree node: ane.sock, or ane0.sock and so on
    #[arg(short, long, value_name = "PATH", group = "socket")]
    pub(crate) socket_path: Option<PathBuf>,

    /// A socket that somebody else listens on and passes as this descriptor, such as a service manager
    #[arg(long, value_name = "N", group = "socket")]
    pub(crate) fd: Option<i32>,

    /// The chip: t8103 (M1), t6000 (M1 Pro), t6001 (M1 Max), t6002 (M1 Ultra) or t8112 (M2: its registers and map;
    /// programs are read as H13's all the same)
    #[arg(long, value_name = "CHIP", default_value = "t8103", value_parser = options::chip)]
    pub(crate) chip: Soc,

    /// Which engine of the chip, from 0 [default: 0, or all where --socket-path is a directory]
    #[arg(long, value_name = "N")]
    pub(crate) instance: Option<usize>,

    /// Layout of page-table entries: seed (valid in bit 63, as Apple's kernel hands them over), t8020 or t6000
    /// (valid in bit 0, as Linux writes them: a Linux DART driver needs one of these)
    #[arg(long, value_name = "FORMAT", default_value = "seed", value_parser = options::pte_format)]
    pub(crate) pte_format: PteFormat,

    /// What a real fault does: contain (report it) or panic (be dead until reset, as an M1 is)
    #[arg(long, value_name = "POLICY", default_value = "contain", value_parser = options::fault_policy)]
    pub(crate) fault_policy: FaultPolicy,

    /// What becomes of a task that would hang an engine: deadline (its queue is aborted after two seconds) or
    /// report (it fails at once)
    #[arg(long, value_name = "HOW", default_value = "deadline")]
    pub(crate) hang: Hang,

    /// Report programming mistakes that silicon lets pass
    #[arg(long)]
    pub(crate) check: bool,

    /// Refuse accesses to registers that nothing is known about, and not just log them; and tasks that need
    /// behaviour which is inferred and not established (padding, strides above 1, bias rows)
    #[arg(long)]
    pub(crate) strict: bool,

    /// How the multiply-accumulate array computes: m1 (as the silicon, as far as it is known), fast (single
    /// precision, faster) or exact (double precision). Each gives the same bytes on every machine
    #[arg(long, value_name = "HOW", default_value = "m1")]
    pub(crate) numerics: Numerics,

    /// Threads that a large pass may use; 0 is one for each processor. The results do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub(crate) threads: u16,

    /// Write what each engine does, and when, to FILE, as a Chrome trace that Perfetto opens. With several
    /// engines each has a file of its own: trace.json becomes trace.ane0.json and so on
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Make a fault: translation-fault:ADDRESS, translation-fault:after=N, slow-dma:MICROSECONDS, or
    /// lost-interrupt, stuck-queue or corrupted-completion, which may have a number behind a colon too: how
    /// many, or which queue. May be given several times; of one kind the last one counts
    #[arg(long, value_name = "KIND[:ARG]")]
    pub(crate) inject: Vec<Injection>,

    /// Listen here for lines that make faults and tell the state while the device runs, from root and the user
    /// that the device runs as; "help" is one
    #[arg(long, value_name = "PATH")]
    pub(crate) control: Option<PathBuf>,

    /// Keep what the system lets a program do. Otherwise the device shuts off, before it serves anybody, all files
    /// but its sockets and all system calls that serving does not need
    #[arg(long)]
    pub(crate) no_sandbox: bool,

    /// Look for requests this long before sleeping: answers come faster, for a busy processor meanwhile. The
    /// time adapts to how quickly requests follow each other, up to this
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub(crate) poll_us: u32,

    /// How much to log: off, error, warn, info, debug or trace. RUST_LOG says it by part, and is asked first
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = log_level)]
    pub(crate) log_level: log::LevelFilter,

    /// Print what this program can do, as JSON, and exit
    #[arg(long)]
    pub(crate) print_capabilities: bool,
}

fn log_level(text: &str) -> Result<log::LevelFilter, String> {
    text.parse()
        .map_err(|_| format!("log level {text:?} is not known; known: off, error, warn, info, debug, trace"))
}

impl Args {
    /// The options of the device, of the engine named or the first.
    pub(crate) fn options(&self) -> Options {
        Options {
            chip: self.chip,
            instance: self.instance.unwrap_or(0),
            pte_format: self.pte_format,
            fault_policy: self.fault_policy,
            hang: self.hang,
            check: self.check,
            strict: self.strict,
            inject: self.inject.clone(),
            numerics: self.numerics,
            threads: NonZero::new(usize::from(self.threads))
                .or_else(|| std::thread::available_parallelism().ok())
                .unwrap_or(NonZero::<usize>::MIN),
        }
    }
}
