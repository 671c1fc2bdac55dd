//! `ane vm run`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, iter};

use ane::vm::initrd::{self, Added};
use ane::vm::machine::{Accelerator, Kernel, Machine, shell};
use ane::vm::qemu::{self, Arch, Carrier, NoQemu, Qemu};
use ane::vm::run::{Folder, Invocation, Launch};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::failure::{Advise, Exit, Failure};
use crate::files;

/// Purpose of the machine
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

/// Emulator of the processor
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
    /// Purpose of the machine; docs/kernel-drivers.md describes apple-like
    #[arg(long, value_enum, default_value = "virtio")]
    pub(crate) machine: VmMachine,
    /// A kernel module that the guest loads; may be given several times. The order is kept, but for those that others need
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) module: Vec<PathBuf>,
    /// The machine's processor; that of apple-like is aarch64
    #[arg(long, value_enum, default_value = "x86_64")]
    pub(crate) arch: VmArch,
    /// Runs the guest's code; by default KVM if there is one
    #[arg(long, value_enum)]
    pub(crate) accel: Option<VmAccelerator>,
    /// The machine's memory, in MiB; otherwise 1024, or 8704 for apple-like: today's driver looks for power words at
    /// the M1's own address, 0x2_3b70_c000, and there has to be memory. Memory that the guest does not touch takes no
    /// room
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(256..))]
    pub(crate) memory: Option<u32>,
    /// The machine's processors
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=255))]
    pub(crate) cpus: u32,
    /// Give the machine no IOMMU, for a guest whose own kernel drives the device; not with apple-like, which has none
    #[arg(long)]
    pub(crate) no_iommu: bool,
    /// A kernel to boot; without one, and without arguments for QEMU, the one that tools/guest/fetch fetched
    #[arg(long, value_name = "FILE")]
    pub(crate) kernel: Option<PathBuf>,
    /// Its initial root file system; without a kernel of your own, the one that tools/guest/image made. With arguments for
    /// QEMU this and --append take a --kernel
    #[arg(long, value_name = "FILE")]
    pub(crate) initrd: Option<PathBuf>,
    /// The kernel's command line; otherwise console=ttyS0 quiet no_timer_check hugepages=64 (an emulated timer may be
    /// late on a busy host), or on aarch64 console=ttyAMA0 quiet
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
    /// A folder for the sockets; by default a new one
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Arguments of QEMU's, behind --
    #[arg(last = true, value_name = "QEMU ARGUMENTS")]
    pub(crate) extra: Vec<OsString>,
}

const DEVICE: &str = "vhost-device-ane";

/// The command line of the kernel, for each architecture.
const APPEND: &str = "console=ttyS0 quiet no_timer_check hugepages=64";
const APPEND_AARCH64: &str = "console=ttyAMA0 quiet";

/// MiB of memory, for each machine. That of apple-like reaches beyond 0x2_3b70_c000, where the M1 has its power words: today's
/// driver asks for them by that address, goes on without them where it finds memory, and stops where nothing answers.
const MEMORY: u32 = 1024;
const MEMORY_APPLE: u32 = 8704;

/// Refuses options that would change nothing.
fn check_options(args: &VmRun) -> Result<()> {
    let is_apple = args.machine == VmMachine::AppleLike;
    if is_apple && args.no_iommu {
        let advice = "leave --no-iommu out";
        return Err(
            Failure::new(Exit::CommandLine, "apple-like has no IOMMU beside its DARTs", advice).into()
        );
    }
    if is_apple || args.kernel.is_some() || args.extra.is_empty() {
        return Ok(());
    }
    let options = [("--initrd", args.initrd.is_some()), ("--append", args.append.is_some())];
    match options.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => {
            let what =
                format!("{option} belongs to a kernel, and with arguments for QEMU none is booted by itself");
            Err(Failure::new(Exit::CommandLine, what, "name the kernel with --kernel").into())
        }
        None => Ok(()),
    }
}

/// The machine's processor, and what the function is.
fn kind(args: &VmRun) -> Result<(Arch, Qemu, Carrier)> {
    let is_apple = args.machine == VmMachine::AppleLike;
    let arch = match args.arch {
        _ if is_apple => Arch::Aarch64,
        VmArch::X86_64 => Arch::X86_64,
        VmArch::Aarch64 => Arch::Aarch64,
    };
    if arch == Arch::Aarch64 && !args.dry_run && !is_apple {
        let what = "a machine of aarch64 has never been run with the virtio device";
        return Err(
            Failure::new(Exit::CommandLine, what, "print its command with --dry-run, and run that").into()
        );
    }
    let qemu = match Qemu::find(args.qemu.as_deref(), arch) {
        // The printed command line may be for another machine.
        Err(NoQemu::Missing { .. }) if args.dry_run && args.qemu.is_none() => {
            files::tell(format_args!(
                "there is no {} here; this is for version {}",
                arch.program(),
                qemu::GENERIC_SINCE
            ));
            Qemu { path: arch.program().into(), version: qemu::GENERIC_SINCE }
        }
        other => {
            let advice = if is_apple {
                "tools/guest/fetch-apple fetches one, without being root"
            } else {
                "docs/qemu.md says which distributions have one"
            };
            other.advise(Exit::NoDevice, advice)?
        }
    };
    let carrier = qemu.carrier().map_err(|version| NoQemu::Old { path: qemu.path.clone(), version });
    let carrier = carrier.advise(Exit::NoDevice, "tools/guest/fetch fetches one, without being root")?;
    if is_apple {
        return Ok((arch, qemu, Carrier::Platform));
    }
    if carrier == Carrier::Block {
        files::tell(format_args!(
            "QEMU {} cannot create the generic device, so the guest sees a disk controller (1af4:1042): keep \
             virtio_blk away from it",
            qemu.version
        ));
    }
    Ok((arch, qemu, carrier))
}

pub(crate) fn run(args: &VmRun) -> Result<()> {
    check_options(args)?;
    let (arch, qemu, carrier) = kind(args)?;
    let is_apple = carrier == Carrier::Platform;
    let mut kernel = kernel(args, arch)?;
    let made = match args.dry_run {
        true => None,
        false => {
            Some(Folder::new(args.folder.as_deref()).advise(Exit::Refused, "name another with --folder")?)
        }
    };
    let folder = match &made {
        Some(made) => made.path().to_owned(),
        None => args.folder.clone().unwrap_or_else(|| std::env::temp_dir().join("ane-vm")),
    };
    let (socket, monitor) = (folder.join("ane.sock"), folder.join("monitor.sock"));
    if !args.module.is_empty() {
        add_modules(kernel.as_mut(), &args.module, &folder)?;
    }
    let machine = Machine {
        arch,
        accelerator: match args.accel {
            Some(VmAccelerator::Kvm) => Accelerator::Kvm,
            Some(VmAccelerator::Tcg) => Accelerator::Tcg,
            None => Accelerator::best(arch),
        },
        carrier,
        memory_mib: args.memory.unwrap_or(if is_apple { MEMORY_APPLE } else { MEMORY }),
        cpus: args.cpus,
        has_iommu: !args.no_iommu && !is_apple,
        socket: socket.clone(),
        monitor: monitor.clone(),
        kernel,
        extra: args.extra.clone(),
    };
    let front = if is_apple { "--vfio-user" } else { "--socket-path" };
    let mut arguments = vec![OsString::from(front), socket.clone().into()];
    arguments.extend(args.device_arg.iter().cloned());
    let device = Invocation { program: device_program(args.device_program.as_deref()), arguments };
    let qemu = Invocation { program: qemu.path, arguments: machine.arguments() };
    if args.dry_run {
        let page = format!(
            "{} &\n{}\n",
            shell(&device.program, &device.arguments),
            shell(&qemu.program, &qemu.arguments)
        );
        return files::print(page.as_bytes());
    }
    let ran = Launch { device, socket, qemu, monitor, can_recover: !is_apple }.run(|text| files::tell(text));
    let status = ran.advise(Exit::NoDevice, "its own message stands above")?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(Exit::NoDevice, format!("QEMU ended: {status}"), "its own message stands above").into())
}

/// The kernel to boot, if there is one that is not in QEMU's own arguments.
fn kernel(args: &VmRun, arch: Arch) -> Result<Option<Kernel>> {
    let is_apple = args.machine == VmMachine::AppleLike;
    let fetched = |name: &str| {
        let place = match arch {
            Arch::X86_64 => "",
            Arch::Aarch64 if is_apple => "apple/",
            // None of the tools fetches one for the virtio device.
            Arch::Aarch64 => return None,
        };
        qemu::cache().map(|cache| cache.join(format!("{place}{name}"))).filter(|file| file.is_file())
    };
    let append = args.append.as_deref().unwrap_or(match arch {
        Arch::X86_64 => APPEND,
        Arch::Aarch64 => APPEND_AARCH64,
    });
    let (image, initrd) = match &args.kernel {
        Some(kernel) => (Some(kernel.clone()), args.initrd.clone()),
        None if !args.extra.is_empty() && !is_apple => return Ok(None),
        None => (fetched("vmlinuz"), args.initrd.clone().or_else(|| fetched("guest.img"))),
    };
    match image {
        Some(image) => {
            // QEMU would say so as well, behind what the device says and a monitor that breaks off.
            for file in iter::once(&image).chain(&initrd).filter(|_| !args.dry_run) {
                fs::File::open(file).with_context(|| files::name(file))?;
            }
            if initrd.is_none() && args.kernel.is_none() && args.extra.is_empty() && !args.dry_run {
                let advice = "have tools/guest/image make one (docs/qemu.md), or name an --initrd";
                return Err(Failure::new(Exit::CommandLine, "there is no root for the guest", advice).into());
            }
            Ok(Some(Kernel { image, initrd, append: append.to_owned() }))
        }
        None if args.dry_run => Ok(None),
        None => {
            let advice = if is_apple {
                "have tools/guest/fetch-apple fetch and build one, or name a --kernel"
            } else {
                "name a --kernel, or a disk behind --, or have tools/guest/fetch fetch a kernel"
            };
            Err(Failure::new(Exit::CommandLine, "there is nothing to boot", advice).into())
        }
    }
}

/// Puts modules into the root, where its first process looks for them.
fn add_modules(kernel: Option<&mut Kernel>, modules: &[PathBuf], folder: &Path) -> Result<()> {
    let Some(root) = kernel.and_then(|kernel| kernel.initrd.as_mut()) else {
        let advice = "name one with --initrd; tools/guest/fetch-apple makes one";
        return Err(Failure::new(Exit::CommandLine, "there is no root to put modules into", advice).into());
    };
    let mut added = Vec::new();
    for (number, module) in modules.iter().enumerate() {
        let bytes = fs::read(module).with_context(|| files::name(module))?;
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        // The guest goes by the alphabet.
        added.push(Added { name: format!("{number:03}-{name}"), bytes });
    }
    let bytes = fs::read(&*root).with_context(|| files::name(root))?;
    let whole = folder.join("guest.img");
    fs::write(&whole, initrd::with_files(bytes, "modules/user", &added))
        .with_context(|| files::name(&whole))?;
    *root = whole;
    Ok(())
}

/// Beside this program, as it is built and as it is installed, else wherever the system finds it.
fn device_program(named: Option<&Path>) -> PathBuf {
    if let Some(program) = named {
        return program.to_owned();
    }
    let beside = std::env::current_exe().ok().and_then(|this| Some(this.parent()?.join(DEVICE)));
    beside.filter(|program| program.is_file()).unwrap_or_else(|| DEVICE.into())
}
