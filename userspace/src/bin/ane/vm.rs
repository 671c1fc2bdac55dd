//! `ane vm`: `run` starts a machine; the short commands, about one that runs, are here.

mod run;

use std::path::{Path, PathBuf};

use ane::vm::hotplug;
use ane::vm::qmp::Monitor;
use ane::vm::setup::{self, Bdf};
use anyhow::Result;
use clap::{Args, Subcommand};

use crate::failure::{Advise, Exit, Failure};
use crate::files;
use run::VmRun;

/// Run a virtual machine that has the device, and set up the guest in it
///
/// The device is a separate process (vhost-device-ane). QEMU shows it to the guest as a PCI function, and a driver in the
/// guest takes the function over through VFIO.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane vm run --dry-run                                  print what would be run
  ane vm run --kernel vmlinuz --initrd guest.img        boot a kernel
  ane vm run -- -drive file=debian.qcow2,if=virtio      boot a disk
  ane vm recover /tmp/ane-vm-5f3a09c1/monitor.sock      after the device died
  ane vm setup                                          in the guest, as root")]
pub(crate) struct Vm {
    /// Command to run
    #[command(subcommand)]
    pub(crate) command: VmCommand,
}

/// Command to run
#[derive(Debug, Subcommand)]
pub(crate) enum VmCommand {
    Run(VmRun),
    Recover(VmRecover),
    Check(VmCheck),
    Setup(VmSetup),
}

/// Unplug a device that died, and plug in the new one
///
/// `ane vm run` starts another device when one dies, but the machine does not find it by itself. The guest has to let
/// go: a driver that has the function open closes it when it is asked to.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  ane vm recover /run/user/1000/ane-vm-5f3a09c1/monitor.sock")]
pub(crate) struct VmRecover {
    /// The machine's monitor: `ane vm run` prints where it is
    pub(crate) monitor: PathBuf,
    /// The device's socket; otherwise ane.sock beside the monitor
    #[arg(long, value_name = "SOCKET")]
    pub(crate) socket: Option<PathBuf>,
}

/// Check whether a running machine can have the device: its memory has to be shared
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
    /// The function's address, as 0000:01:00.0; without it, the only function that there is
    pub(crate) function: Option<Bdf>,
    /// Huge pages of 2 MiB to reserve: 8 for the driver, the others for buffers
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) pages: usize,
}

pub(crate) fn run(args: &Vm) -> Result<()> {
    match &args.command {
        VmCommand::Run(args) => run::run(args),
        VmCommand::Recover(args) => recover(args),
        VmCommand::Check(args) => check(args),
        VmCommand::Setup(args) => set_up(args),
    }
}

fn recover(args: &VmRecover) -> Result<()> {
    let advice = "is it the monitor that `ane vm run` printed, and has the guest let go of the function?";
    let mut monitor = Monitor::connect(&args.monitor).advise(Exit::NoDevice, advice)?;
    let beside = args.monitor.parent().unwrap_or(Path::new(".")).join("ane.sock");
    let socket = args.socket.clone().unwrap_or(beside);
    let socket = std::path::absolute(&socket).unwrap_or(socket);
    let name = hotplug::recover(&mut monitor, &socket).advise(Exit::NoDevice, advice)?;
    files::print(format!("{name} is plugged in\n").as_bytes())
}

fn check(args: &VmCheck) -> Result<()> {
    let advice = "it has to be a QMP socket that nobody else uses (-qmp unix:PATH,server=on,wait=off)";
    let mut monitor = Monitor::connect(&args.monitor).advise(Exit::NoDevice, advice)?;
    let unshared = hotplug::unshared(&mut monitor).advise(Exit::NoDevice, advice)?;
    if unshared.is_empty() {
        return files::print(b"the machine's memory is shared\n");
    }
    let what =
        format!("the machine's memory ({}) is not shared: no device can reach it", unshared.join(", "));
    let advice =
        "start it with -object memory-backend-memfd,id=ram,size=..,share=on -machine memory-backend=ram";
    Err(Failure::new(Exit::Differs, what, advice).into())
}

fn set_up(args: &VmSetup) -> Result<()> {
    let kernel = setup::GuestKernel::default();
    let advice = "it takes root, in the guest; `ane doctor` looks at everything";
    let bdf = match args.function {
        Some(bdf) => bdf,
        None => kernel.function_of_its_kind().advise(Exit::NoDevice, advice)?,
    };
    kernel.bind(bdf).advise(Exit::NoDevice, advice)?;
    let pages = kernel.reserve(args.pages).advise(Exit::NoDevice, advice)?;
    files::print(format!("{bdf} belongs to vfio-pci; {pages} huge pages of 2 MiB\n").as_bytes())
}
