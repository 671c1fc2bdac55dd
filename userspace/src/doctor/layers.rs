//! The layers of this machine, from the engine in this process outwards.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::count::count;
use ane_device::Options;
use ane_device::engine::Tier;
use ane_uapi::ioctl::drm::{self, DRIVER_NAME, NODES, Version};
use ane_uapi::ioctl::param::Param;
use aned_protocol::client::found_socket;
use half::f16;
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use thiserror::Error;
use zerocopy::FromZeros;

use super::Check;
use crate::build::{Element, Graph, Shape};
use crate::container::Axes;
use crate::device::{Device, Location, address};
use crate::model::Model;
use crate::session::Session;
use crate::tensor::Tensor;
use crate::vm::machine::Accelerator;
use crate::vm::qemu::{Arch, Qemu};

pub(super) fn checks() -> Vec<Check> {
    let mut checks = vec![processor(), engine()];
    checks.extend([shim(find_shim()), daemon()]);
    checks.extend(["aned", "vhost-device-ane"].map(program));
    checks.extend([node(nodes(), Node::of), virtual_machines(), python()]);
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

/// The preload library's file.
const SHIM: &str = "libane_drm_shim.so";

/// Why there is no preload library, as `ane exec` and `ane doctor` say it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoShim {
    #[error("ANE_SHIM: there is no file {}", .0.display())]
    Named(PathBuf),
    #[error("{SHIM} is neither in {} nor in ../lib/ane", .0.display())]
    Beside(PathBuf),
}

impl NoShim {
    pub fn advice(&self) -> String {
        match self {
            Self::Named(_) => format!("let it name {SHIM}, or unset it"),
            Self::Beside(_) => {
                format!("build it with {}, or name it with ANE_SHIM", cargo_build("-p ane-drm-shim"))
            }
        }
    }
}

/// The preload library: the file that is named, or else one beside this program or in ../lib/ane.
///
/// # Errors
///
/// [`NoShim`]: a name that leads nowhere is no reason to take another library.
pub fn find_shim() -> Result<PathBuf, NoShim> {
    shim_of(env::var_os("ANE_SHIM"), &beside())
}

fn shim_of(named: Option<OsString>, beside: &Path) -> Result<PathBuf, NoShim> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        let path = PathBuf::from(named);
        return if path.is_file() { Ok(path) } else { Err(NoShim::Named(path)) };
    }
    let places = [beside.join(SHIM), beside.join("../lib/ane").join(SHIM)];
    places.into_iter().find(|place| place.is_file()).ok_or_else(|| NoShim::Beside(beside.to_owned()))
}

fn shim(found: Result<PathBuf, NoShim>) -> Check {
    const LAYER: &str = "preload library";
    match found {
        Ok(place) => Check::fine(LAYER, place.display().to_string()),
        Err(why @ NoShim::Named(_)) => Check::broken(LAYER, why.to_string(), why.advice()),
        Err(NoShim::Beside(_)) => Check::absent(
            LAYER,
            format!("{SHIM} is not beside this program"),
            format!("for `ane exec`: {}, or `cargo xtask dist`", cargo_build("-p ane-drm-shim")),
        ),
    }
}

fn daemon() -> Check {
    const LAYER: &str = "daemon";
    let socket = found_socket();
    if !socket.exists() {
        let found = format!("nobody listens at {}", socket.display());
        return Check::absent(LAYER, found, "to share a device between processes: `ane daemon`");
    }
    // The socket of all users is there for those who cannot use it, too.
    if access(&socket, AccessFlags::W_OK) == Err(Errno::EACCES) {
        let found = format!("{} is not for this user", socket.display());
        return Check::absent(
            LAYER,
            found,
            "join the group that it belongs to, or run one for yourself: `ane daemon`",
        );
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

/// What a node of the system turns out to be.
enum Node {
    /// Of this driver; with the version of the ioctls, or why it does not tell.
    Ours(Result<u64, String>),
    Foreign,
    /// Its driver is not known.
    Closed(String),
}

impl Node {
    fn of(path: &Path) -> Self {
        let device = match Device::node(path) {
            Ok(device) => device,
            Err(why) => return Self::Closed(why.to_string()),
        };
        if is_ours(&device) {
            Self::Ours(device.parameter(Param::AbiVersion).map_err(|why| why.to_string()))
        } else {
            Self::Foreign
        }
    }
}

/// Whether the driver's name is ours, as clients ask.
fn is_ours(device: &Device) -> bool {
    let mut name = [0_u8; DRIVER_NAME.len()];
    let mut version = Version::new_zeroed();
    (version.name_len, version.name) = (name.len() as u64, address(&name));
    let asked = device.call(&drm::VERSION, &mut version, &mut [&mut name]);
    asked.is_ok() && version.name_len == name.len() as u64 && name == DRIVER_NAME.as_bytes()
}

/// The first node whose driver is ours: clients try one after the other.
fn node(nodes: impl Iterator<Item = PathBuf>, ask: impl Fn(&Path) -> Node) -> Check {
    const LAYER: &str = "device node";
    let (mut foreign, mut closed) = (None, None);
    for path in nodes {
        let found = path.display().to_string();
        match ask(&path) {
            Node::Ours(Ok(version)) => {
                return Check::fine(LAYER, format!("{found}, version {version} of the ioctls"));
            }
            Node::Ours(Err(why)) => {
                let advice = "its driver knows the three ioctls of old only";
                return Check::absent(LAYER, format!("{found}: {why}"), advice);
            }
            Node::Foreign => drop(foreign.get_or_insert(found)),
            Node::Closed(why) => drop(closed.get_or_insert((found, why))),
        }
    }
    let needless = "none is needed; `ane exec` makes clients see one";
    match (closed, foreign) {
        (Some((found, why)), _) => {
            let advice =
                format!("whose driver it is is not known; check who may use {found}, or see `ane exec`");
            Check::absent(LAYER, why, advice)
        }
        (None, Some(found)) => Check::absent(LAYER, format!("{found} is of another driver"), needless),
        (None, None) => Check::absent(LAYER, "there is no /dev/accel/accelN", needless),
    }
}

/// The nodes of the system that are there.
fn nodes() -> impl Iterator<Item = PathBuf> {
    let named = (0..NODES).map(|number| PathBuf::from(format!("/dev/accel/accel{number}")));
    named.filter(|path| path.exists())
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

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn library_is_the_one_that_is_named_or_one_beside_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let (beside, other) = (folder.path().join("bin"), folder.path().join("other.so"));
        std::fs::create_dir_all(&beside).unwrap();
        let found = |named: &str| shim_of(Some(named.into()), &beside);
        assert_eq!(shim_of(None, &beside), Err(NoShim::Beside(beside.clone())));
        std::fs::write(beside.join(SHIM), b"").unwrap();
        std::fs::write(&other, b"").unwrap();
        assert_eq!((found(""), shim_of(None, &beside)), (Ok(beside.join(SHIM)), Ok(beside.join(SHIM))));
        assert_eq!(found(other.to_str().unwrap()), Ok(other));
        // As `ane exec`, which takes no other.
        assert_eq!(found("/nowhere"), Err(NoShim::Named("/nowhere".into())));
        assert_eq!(shim(found("/nowhere")).verdict, Verdict::Broken);
        assert_eq!(shim(found("")).verdict, Verdict::Fine);
    }

    #[test]
    fn node_is_the_first_whose_driver_is_ours() {
        let paths = || ["closed", "foreign", "ours", "old"].into_iter().map(PathBuf::from);
        let ask = |path: &Path| match path.to_str().unwrap() {
            "closed" => Node::Closed("device closed cannot be opened".to_owned()),
            "ours" => Node::Ours(Ok(3)),
            "old" => Node::Ours(Err("ENOTTY".to_owned())),
            _ => Node::Foreign,
        };
        let told = |skipped: usize| {
            let check = node(paths().skip(skipped), ask);
            (check.verdict, check.found)
        };
        assert_eq!(told(0), (Verdict::Fine, "ours, version 3 of the ioctls".to_owned()));
        assert_eq!(told(3), (Verdict::Absent, "old: ENOTTY".to_owned()));
        assert_eq!(told(4), (Verdict::Absent, "there is no /dev/accel/accelN".to_owned()));
        let check = node(paths().take(2), ask);
        assert_eq!(
            (check.verdict, check.found.as_str()),
            (Verdict::Absent, "device closed cannot be opened")
        );
        let check = node(paths().skip(1).take(1), ask);
        assert_eq!((check.verdict, check.found.as_str()), (Verdict::Absent, "foreign is of another driver"));
    }

    #[test]
    fn what_is_no_node_of_ours_is_foreign_or_closed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(Node::of(file.path()), Node::Foreign));
        assert!(matches!(Node::of(Path::new("/nowhere")), Node::Closed(_)));
    }
}
