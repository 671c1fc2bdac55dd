//! `ane vm`.

use std::ffi::OsString;
use std::path::PathBuf;

use ane::vm::setup::Bdf;
use clap::{Args, Subcommand, ValueEnum};

/// Run a virtual machine that has the device, and set up the guest in it
///
/// The device is a process of its own (vhost-device-ane), which QEMU shows the guest as a PCI function. In the guest
/// a driver takes the function over through VFIO.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane vm run --dry-run                                  print what would be run
  ane vm run --kernel vmlinuz --initrd guest.img        boot a kernel
  ane vm run -- -drive file=debian.qcow2,if=virtio      boot a disk
  ane vm recover /run/user/1000/ane-vm-42/monitor.sock  after the device died
  ane vm setup                                          in the guest, as root")]
pub(crate) struct Vm {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: VmCommand,
}

/// What to do
#[derive(Debug, Subcommand)]
pub(crate) enum VmCommand {
    Run(VmRun),
    Recover(VmRecover),
    Check(VmCheck),
    Setup(VmSetup),
}

/// What the machine is made for
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VmMachine {
    /// The virtio device, which a program in the guest drives
    Virtio,
    /// The engine, three DARTs and power domains as an M1 has them, for kernel drivers: aarch64, pages of 16 KB
    AppleLike,
}

/// The machine's processor
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum VmArch {
    /// QEMU's q35
    #[value(name = "x86_64")]
    X86_64,
    /// QEMU's virt: only with --dry-run, since nobody has run it with this device
    Aarch64,
}

/// What emulates the processor
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum VmAccelerator {
    /// The processor itself
    Kvm,
    /// QEMU: everywhere, and slowly
    Tcg,
}

/// Start the device and then QEMU, and stay until QEMU ends
///
/// The console of the machine is this terminal: Ctrl-A X ends it, Ctrl-A C leads to QEMU's monitor and back. Without a
/// kernel and without arguments of QEMU's it boots what tools/guest/fetch and tools/guest/image made.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane vm run
  ane vm run --dry-run
  ane vm run --machine apple-like --module ane.ko
  ane vm run --kernel vmlinuz --initrd guest.img --device-arg=--check
  ane vm run --memory 4096 -- -drive file=debian.qcow2,if=virtio -nic user,model=virtio")]
pub(crate) struct VmRun {
    /// Print the commands, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// What the machine is made for; docs/kernel-drivers.md has the second
    #[arg(long, value_enum, default_value = "virtio")]
    pub(crate) machine: VmMachine,
    /// A kernel module that the guest loads; may be given again, and they are loaded in this order
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) module: Vec<PathBuf>,
    /// The machine's processor; that of apple-like is aarch64
    #[arg(long, value_enum, default_value = "x86_64")]
    pub(crate) arch: VmArch,
    /// What emulates the processor; otherwise the processor itself where it can
    #[arg(long, value_enum)]
    pub(crate) accel: Option<VmAccelerator>,
    /// The machine's memory, in MiB; otherwise 1024, or 8704 for apple-like: today's driver looks for power words at the
    /// M1's own address, 0x2_3b70_c000, and there has to be something. What the guest does not touch takes no room
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(256..))]
    pub(crate) memory: Option<u32>,
    /// The machine's processors
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=255))]
    pub(crate) cpus: u32,
    /// Give the machine no IOMMU, for a guest whose own kernel drives the device
    #[arg(long)]
    pub(crate) no_iommu: bool,
    /// A kernel to boot; without one, and without arguments for QEMU, the one that tools/guest/fetch fetched
    #[arg(long, value_name = "FILE")]
    pub(crate) kernel: Option<PathBuf>,
    /// Its first root; without a kernel of your own, the one that tools/guest/image made
    #[arg(long, value_name = "FILE")]
    pub(crate) initrd: Option<PathBuf>,
    /// The kernel's command line; otherwise console=ttyS0 quiet no_timer_check hugepages=64 (an emulated timer may be
    /// late on a busy host), or for apple-like console=ttyAMA0 quiet
    #[arg(long, value_name = "TEXT")]
    pub(crate) append: Option<String>,
    /// The QEMU to run; otherwise the one that ANE_QEMU names, or that is on the path
    #[arg(long, value_name = "FILE")]
    pub(crate) qemu: Option<PathBuf>,
    /// The device's program; otherwise the one beside this program, or that is on the path
    #[arg(long, value_name = "FILE")]
    pub(crate) device_program: Option<PathBuf>,
    /// An argument for the device's program, as --device-arg=--check; may be given again
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) device_arg: Vec<OsString>,
    /// A folder for the sockets; otherwise a new one
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Arguments of QEMU's, behind --
    #[arg(last = true, value_name = "QEMU ARGUMENTS")]
    pub(crate) extra: Vec<OsString>,
}

/// Unplug a device that died, and plug the one that took its place
///
/// `ane vm run` starts another device when one dies, but the machine does not find it by itself. The guest has to let
/// go: a driver that has the function open closes it when it is asked to.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  ane vm recover /run/user/1000/ane-vm-42/monitor.sock")]
pub(crate) struct VmRecover {
    /// The machine's monitor: `ane vm run` prints where it is
    pub(crate) monitor: PathBuf,
    /// The device's socket; otherwise ane.sock beside the monitor
    #[arg(long, value_name = "SOCKET")]
    pub(crate) socket: Option<PathBuf>,
}

/// Look whether a running machine can have the device: its memory has to be shared
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  ane vm check monitor.sock    of a QEMU with -qmp unix:monitor.sock,server=on,wait=off")]
pub(crate) struct VmCheck {
    /// The machine's monitor (QMP)
    pub(crate) monitor: PathBuf,
}

/// In a guest: give the function to VFIO, and reserve huge pages
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane vm setup
  ane vm setup 0000:01:00.0 --pages 128")]
pub(crate) struct VmSetup {
    /// The function's address, as 0000:01:00.0; otherwise the only one that there is
    pub(crate) function: Option<Bdf>,
    /// Huge pages of 2 MiB to reserve: 8 for the driver, the others for buffers
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) pages: usize,
}
