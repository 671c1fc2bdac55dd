//! `ane vm`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, iter};

use ane::vm::hotplug;
use ane::vm::initrd::{self, Added};
use ane::vm::machine::{Accelerator, Kernel, Machine, shell};
use ane::vm::qemu::{self, Arch, Carrier, NoQemu, Qemu};
use ane::vm::qmp::Monitor;
use ane::vm::run::{self, Invocation, Run};
use ane::vm::setup;
use anyhow::{Context, Result};

use crate::args;
use crate::failure::{Advise, Exit, Failure};
use crate::files;

/// The device's program.
const DEVICE: &str = "vhost-device-ane";

pub(crate) fn run(args: &args::Vm) -> Result<()> {
    match &args.command {
        args::VmCommand::Run(args) => start(args),
        args::VmCommand::Recover(args) => recover(args),
        args::VmCommand::Check(args) => check(args),
        args::VmCommand::Setup(args) => set_up(args),
    }
}

/// The command line of the kernel, for each machine.
const APPEND: &str = "console=ttyS0 quiet no_timer_check hugepages=64";
const APPEND_APPLE: &str = "console=ttyAMA0 quiet";

/// MiB of memory, for each machine. That of apple-like reaches beyond 0x2_3b70_c000, where the M1 has its power words: today's
/// driver asks for them by that address, goes on without them where it finds memory, and stops where nothing answers.
const MEMORY: u32 = 1024;
const MEMORY_APPLE: u32 = 8704;

/// The machine's processor, and what the function is.
fn kind(args: &args::VmRun) -> Result<(Arch, Qemu, Carrier)> {
    let is_apple = args.machine == args::VmMachine::AppleLike;
    let arch = match args.arch {
        _ if is_apple => Arch::Aarch64,
        args::VmArch::X86_64 => Arch::X86_64,
        args::VmArch::Aarch64 => Arch::Aarch64,
    };
    if arch == Arch::Aarch64 && !args.dry_run && !is_apple {
        let what = "a machine of aarch64 has never been run with the virtio device";
        return Err(
            Failure::new(Exit::CommandLine, what, "print its command with --dry-run, and run that").into()
        );
    }
    let qemu = match Qemu::find(args.qemu.as_deref(), arch) {
        // What is printed may be for another machine.
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

fn start(args: &args::VmRun) -> Result<()> {
    let (arch, qemu, carrier) = kind(args)?;
    let is_apple = carrier == Carrier::Platform;
    let mut kernel = kernel(args)?;
    let folder = match (&args.folder, args.dry_run) {
        (Some(folder), true) => folder.clone(),
        (None, true) => std::env::temp_dir().join("ane-vm"),
        (folder, false) => {
            run::folder(folder.as_deref()).advise(Exit::Refused, "name another with --folder")?
        }
    };
    let (socket, monitor) = (folder.join("ane.sock"), folder.join("monitor.sock"));
    if !args.module.is_empty() {
        add_modules(kernel.as_mut(), &args.module, &folder)?;
    }
    let machine = Machine {
        arch,
        accelerator: match args.accel {
            Some(args::VmAccelerator::Kvm) => Accelerator::Kvm,
            Some(args::VmAccelerator::Tcg) => Accelerator::Tcg,
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
    let ran = Run { device, socket, qemu, monitor, can_recover: !is_apple }.run(|text| files::tell(text));
    if args.folder.is_none() {
        // What is in it is of no use any more.
        let _ = fs::remove_dir_all(&folder);
    }
    let status = ran.advise(Exit::NoDevice, "its own message stands above")?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(Exit::NoDevice, format!("QEMU ended: {status}"), "its own message stands above").into())
}

/// What to boot, if anything is to be booted that is not in QEMU's own arguments.
fn kernel(args: &args::VmRun) -> Result<Option<Kernel>> {
    let is_apple = args.machine == args::VmMachine::AppleLike;
    let place = if is_apple { "apple/" } else { "" };
    let fetched = |name: &str| {
        qemu::cache().map(|cache| cache.join(format!("{place}{name}"))).filter(|file| file.is_file())
    };
    let append = args.append.as_deref().unwrap_or(if is_apple { APPEND_APPLE } else { APPEND });
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

fn recover(args: &args::VmRecover) -> Result<()> {
    let advice = "is it the monitor that `ane vm run` printed, and has the guest let go of the function?";
    let mut monitor = Monitor::connect(&args.monitor).advise(Exit::NoDevice, advice)?;
    let beside = args.monitor.parent().unwrap_or(Path::new(".")).join("ane.sock");
    let socket = args.socket.clone().unwrap_or(beside);
    let socket = std::path::absolute(&socket).unwrap_or(socket);
    let name = hotplug::recover(&mut monitor, Carrier::Generic, &socket).advise(Exit::NoDevice, advice)?;
    files::print(format!("{name} is plugged in\n").as_bytes())
}

fn check(args: &args::VmCheck) -> Result<()> {
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

fn set_up(args: &args::VmSetup) -> Result<()> {
    let kernel = setup::Kernel::default();
    let advice = "it takes root, in the guest; `ane doctor` looks at everything";
    let bdf = match args.function {
        Some(bdf) => bdf,
        None => kernel.function_of_its_kind().advise(Exit::NoDevice, advice)?,
    };
    kernel.bind(bdf).advise(Exit::NoDevice, advice)?;
    let pages = kernel.reserve(args.pages).advise(Exit::NoDevice, advice)?;
    files::print(format!("{bdf} belongs to vfio-pci; {pages} huge pages of 2 MiB\n").as_bytes())
}
