//! The layers of this machine, from the engine in this process outwards.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::count::count;
use ane_device::Options;
use ane_device::engine::Tier;
use ane_uapi::ioctl::drm::NODES;
use ane_uapi::ioctl::param::Param;
use aned_protocol::client::default_socket;
use half::f16;

use super::Check;
use crate::build::{Element, Graph, Shape};
use crate::container::Axes;
use crate::device::{Device, Location};
use crate::model::Model;
use crate::session::Session;
use crate::tensor::Tensor;
use crate::vm::machine::Accelerator;
use crate::vm::qemu::{Arch, Qemu};

pub(super) fn checks() -> Vec<Check> {
    let mut checks = vec![processor(), engine()];
    checks.extend([shim(), daemon()]);
    checks.extend(["aned", "vhost-device-ane"].map(program));
    checks.extend([node(), virtual_machines(), python()]);
    checks
}

fn processor() -> Check {
    let count = thread::available_parallelism().map_or(1, usize::from);
    let family = env::consts::ARCH;
    Check::fine("processor", format!("{count} of {family}, vector units: {}", Tier::best().name()))
}

/// A device in this process adds two numbers.
fn engine() -> Check {
    const LAYER: &str = "embedded device";
    match sum() {
        Ok(value) if value == f16::from_f32(5.0) => Check::fine(LAYER, "3 + 2 = 5 through driver and engine"),
        Ok(value) => Check::broken(
            LAYER,
            format!("3 + 2 = {value}"),
            "please tell us, with the output of `ane --version`",
        ),
        Err(why) => {
            let advice = "it needs memfd_create and some memory: see docs/host-contract.md";
            Check::broken(LAYER, why.to_string(), advice)
        }
    }
}

fn sum() -> Result<f16, Box<dyn std::error::Error>> {
    let mut graph = Graph::new();
    let (a, b) = (graph.input("a", Shape::new(4, 1, 1))?, graph.input("b", Shape::new(4, 1, 1))?);
    let sum = graph.binary(a, b, Element::ADD)?;
    graph.output("sum", sum)?;
    let device = Device::open(&Location::Embedded, &Options::default())?;
    let mut session = Session::load(&device, &Model::from(&graph.build()?))?;
    let shape = Axes { n: 1, c: 4, h: 1, w: 1 };
    session.set("a", &Tensor::from_fn(shape, |_| f16::from_f32(3.0)))?;
    session.set("b", &Tensor::from_fn(shape, |_| f16::from_f32(2.0)))?;
    session.run()?;
    Ok(session.get("sum")?.values()[3])
}

/// How a package or a program is built into the folder of this program.
pub fn cargo_build(what: &str) -> String {
    let release = if beside().ends_with("release") { " --release" } else { "" };
    format!("`cargo build{release} {what}`")
}

/// The folder of this program.
fn beside() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    program.parent().map(Path::to_owned).unwrap_or_default()
}

fn shim() -> Check {
    const LAYER: &str = "preload library";
    const FILE: &str = "libane_drm_shim.so";
    let named = env::var_os("ANE_SHIM").map(PathBuf::from);
    let places = named.into_iter().chain([beside().join(FILE), beside().join("../lib/ane").join(FILE)]);
    match places.into_iter().find(|place| place.is_file()) {
        Some(place) => Check::fine(LAYER, place.display().to_string()),
        None => Check::absent(
            LAYER,
            format!("{FILE} is not beside this program"),
            format!("for `ane exec`: {}, or `cargo xtask dist`", cargo_build("-p ane-drm-shim")),
        ),
    }
}

fn daemon() -> Check {
    const LAYER: &str = "daemon";
    let socket = default_socket();
    if !socket.exists() {
        let found = format!("nobody listens at {}", socket.display());
        return Check::absent(LAYER, found, "to share a device between processes: `ane daemon`");
    }
    match Device::open(&Location::Aned(None), &Options::default())
        .and_then(|device| device.parameter(Param::ContextsFree))
    {
        Ok(free) => Check::fine(LAYER, format!("{}, {}", socket.display(), count(free, "free context"))),
        Err(why) => Check::broken(LAYER, why.to_string(), "stop it and start it again, or remove the socket"),
    }
}

/// A program of ours: beside this one, or on the path.
fn program(name: &'static str) -> Check {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders = std::iter::once(beside()).chain(env::split_paths(&path));
    match folders.find(|folder| folder.join(name).is_file()) {
        Some(folder) => Check::fine(name, folder.join(name).display().to_string()),
        None => {
            let use_of = match name {
                "aned" => "to serve a device of another process",
                _ => "for virtual machines",
            };
            let advice = format!("{use_of}: {}", cargo_build(&format!("--bin {name}")));
            Check::absent(name, "it is neither beside this program nor on the path", advice)
        }
    }
}

/// A node of the system whose driver answers.
fn node() -> Check {
    const LAYER: &str = "device node";
    let nodes = (0..NODES).map(|number| PathBuf::from(format!("/dev/accel/accel{number}")));
    let Some(path) = nodes.into_iter().find(|path| path.exists()) else {
        let advice = "none is needed; `ane exec` makes clients see one";
        return Check::absent(LAYER, "there is no /dev/accel/accelN", advice);
    };
    let found = path.display().to_string();
    match Device::node(&path) {
        Err(why) => Check::broken(LAYER, why.to_string(), format!("check who may use {found}")),
        Ok(device) => match device.parameter(Param::AbiVersion) {
            Ok(version) => Check::fine(LAYER, format!("{found}, version {version} of the ioctls")),
            Err(why) => Check::absent(
                LAYER,
                format!("{found}: {why}"),
                "it is of another driver, or of one that knows the three ioctls of old only",
            ),
        },
    }
}

fn virtual_machines() -> Check {
    const LAYER: &str = "virtual machines";
    let arch = if cfg!(target_arch = "aarch64") { Arch::Aarch64 } else { Arch::X86_64 };
    let speed = match Accelerator::best(arch) {
        Accelerator::Kvm => "with /dev/kvm",
        Accelerator::Tcg => "without a /dev/kvm that is of use, so slowly",
    };
    match Qemu::find(None, arch) {
        Ok(qemu) => Check::fine(LAYER, format!("QEMU {} at {}, {speed}", qemu.version, qemu.path.display())),
        Err(why) => Check::absent(LAYER, why.found(), format!("for `ane vm`: {}", why.advice())),
    }
}

/// Python with NumPy, which most clients are written for.
fn python() -> Check {
    const LAYER: &str = "python";
    const ASK: &str = "import sys, numpy; print(sys.version.split()[0], 'with numpy', numpy.__version__)";
    let asked = Command::new("python3").args(["-c", ASK]).output();
    match asked {
        Ok(answer) if answer.status.success() => {
            Check::fine(LAYER, String::from_utf8_lossy(&answer.stdout).trim().to_owned())
        }
        Ok(_) => Check::absent(LAYER, "python3 has no numpy", "for clients that use it: install numpy"),
        Err(_) => Check::absent(LAYER, "there is no python3", "for clients in it: install python3 and numpy"),
    }
}
