//! The image that a guest boots: a kernel, and a root that tools/guest makes of programs and files.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::data;
use crate::workspace::root;

/// The folder that tools/guest/fetch filled; `None`, counted as not run, where it did not.
pub fn cache() -> Option<PathBuf> {
    let cache = ane::vm::qemu::cache().filter(|cache| cache.join("versions").is_file());
    if cache.is_none() {
        data::not_run("there is no QEMU that can carry the device: tools/guest/fetch fetches one");
    }
    cache
}

/// The kernel to boot: the fetched one, or the one that `ANE_GUEST_KERNEL` names (tools/guest/kernel makes one).
pub fn kernel() -> Option<PathBuf> {
    let cache = cache()?;
    Some(std::env::var_os("ANE_GUEST_KERNEL").map_or_else(|| cache.join("vmlinuz"), PathBuf::from))
}

/// A guest's root with programs of this tree and other files in it.
///
/// # Panics
///
/// If it cannot be made.
pub fn image(folder: &Path, programs: &[&str], files: &[PathBuf]) -> PathBuf {
    // Built where the tests are: TARGET/PROFILE/deps holds them.
    let test = std::env::current_exe().expect("a test knows its own path");
    let target = test.ancestors().nth(3).expect("tests lie in TARGET/PROFILE/deps").to_owned();
    let made = Command::new(root().join("tools/guest/programs"))
        .args(programs)
        .env("CARGO_TARGET_DIR", target)
        .stderr(Stdio::inherit())
        .output()
        .expect("tools/guest/programs runs");
    assert!(made.status.success(), "the guest's programs do not build");
    let built = String::from_utf8(made.stdout).expect("paths are text");
    let image = folder.join("guest.img");
    let status = Command::new(root().join("tools/guest/image"))
        .arg(&image)
        .args(built.lines())
        .args(files)
        .status()
        .expect("tools/guest/image runs");
    assert!(status.success(), "the guest's root cannot be made");
    image
}

/// The root of the machine that looks like an M1, with files in its /srv; `None`, counted as not run, where
/// tools/guest/fetch-apple has not been.
///
/// # Panics
///
/// If it cannot be made.
pub fn apple_like(folder: &Path, files: &[PathBuf]) -> Option<PathBuf> {
    if ane::vm::qemu::cache().is_none_or(|cache| !cache.join("apple/built").is_file()) {
        data::not_run("there is no machine that looks like an M1: tools/guest/fetch-apple fetches one");
        return None;
    }
    let image = folder.join("guest.img");
    let mut make = Command::new(root().join("tools/guest/image"));
    let status = make.arg("--apple-like").arg(&image).args(files).status().expect("tools/guest/image runs");
    assert!(status.success(), "the guest's root cannot be made");
    Some(image)
}

/// A guest that kernel modules are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestKind {
    /// The machine that looks like an M1.
    AppleLike,
    /// The same with a kernel of 4 KB pages.
    SmallPages,
    /// An amd64 guest whose kernel has DRM, with the virtio function.
    Accel,
}

/// The kernel of the guest with DRM; `None`, counted as not run, where tools/guest/fetch-accel has not been.
pub fn accel_kernel() -> Option<PathBuf> {
    let folder = cache()?.join("accel");
    if folder.join("versions").is_file() {
        return Some(folder.join("vmlinuz"));
    }
    data::not_run("there is no kernel with DRM: tools/guest/fetch-accel fetches one");
    None
}

/// The root of the guest with DRM, with files in its /srv, and programs in its /bin.
///
/// # Panics
///
/// If it cannot be made.
pub fn accel(folder: &Path, files: &[PathBuf]) -> PathBuf {
    let image = folder.join("guest.img");
    let mut make = Command::new(root().join("tools/guest/image"));
    let status = make.arg("--accel").arg(&image).args(files).status().expect("tools/guest/image runs");
    assert!(status.success(), "the guest's root cannot be made");
    image
}

/// Builds the kernel module `name` for a guest of the sources in `sources`.
///
/// # Panics
///
/// If it does not build.
pub fn module(kind: GuestKind, sources: &Path, folder: &Path, name: &str) -> PathBuf {
    let place = folder.join(name);
    std::fs::create_dir(&place).expect("a folder can be made");
    for file in std::fs::read_dir(sources).expect("sources are there").flatten() {
        std::fs::copy(file.path(), place.join(file.file_name())).expect("a file can be copied");
    }
    make(kind, &place, &["KCFLAGS=-Werror".to_owned()]);
    place.join(format!("{name}.ko"))
}

/// Runs tools/guest/module.
fn make(kind: GuestKind, place: &Path, arguments: &[String]) {
    try_make(kind, place, arguments).unwrap_or_else(|said| panic!("{said}"));
}

/// Runs tools/guest/module; the error is what it says.
pub(super) fn try_make(kind: GuestKind, place: &Path, arguments: &[String]) -> Result<(), String> {
    let mut make = Command::new(root().join("tools/guest/module"));
    match kind {
        GuestKind::AppleLike => &mut make,
        GuestKind::SmallPages => make.arg("--small-pages"),
        GuestKind::Accel => make.arg("--accel"),
    };
    let uapi = std::path::absolute(root().join("uapi/include")).expect("it has a path");
    let made = make.arg(place).arg(format!("ANE_UAPI={}", uapi.display())).args(arguments).output();
    let made = made.expect("tools/guest/module runs");
    if made.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&made.stderr).into_owned()) }
}

/// The driver of this tree, driver/kernel, for a guest.
///
/// # Panics
///
/// If it does not build.
pub fn driver(kind: GuestKind, folder: &Path) -> PathBuf {
    module(kind, &root().join("driver/kernel"), folder, "ane")
}

/// The kernel of 4 KB pages for the machine that looks like an M1, and its root; `None`, counted as not run, where
/// tools/guest/fetch-apple found none.
///
/// # Panics
///
/// If the root cannot be made.
pub fn small_pages(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let place = cache()?.join("apple/small");
    if !place.join("modules/ane-platform.ko").is_file() {
        data::not_run("there is no arm64 kernel of 4 KB pages: tools/guest/fetch-apple fetches one");
        return None;
    }
    let image = folder.join("guest.img");
    let mut make = Command::new(root().join("tools/guest/image"));
    let status = make.arg("--small-pages").arg(&image).status().expect("tools/guest/image runs");
    assert!(status.success(), "the guest's root cannot be made");
    Some((place.join("vmlinuz"), image))
}

/// Compiles a client of tests/clients for the machine that looks like an M1; `arguments` are the compiler's.
///
/// # Panics
///
/// If it does not compile.
pub fn client(source: &str, folder: &Path, arguments: &[String]) -> PathBuf {
    let program = folder.join(source.trim_end_matches(".c"));
    let source = root().join("tests/clients").join(source);
    let mut make = Command::new(root().join("tools/guest/client"));
    let made =
        make.arg(&program).arg(source).args(arguments).arg("-I").arg(root().join("uapi/include")).output();
    let made = made.expect("tools/guest/client runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    program
}

/// Prints the files of a Python's own library that a program with these imports reads.
const LIBRARY: &str = "import encodings.utf_8, fcntl, mmap, os, stat, struct, sys, sysconfig
home = sysconfig.get_path('stdlib') + '/'
files = {getattr(module, '__file__', None) or '' for module in sys.modules.values()}
print(home, *(file.removeprefix(home) for file in files if file.startswith(home)), sep='\\n')";

/// As much of the Python `program` as tests/clients/raw.py takes: the interpreter, and a folder `python` in `folder` for
/// `PYTHONPATH`.
///
/// # Panics
///
/// If it cannot be copied.
pub fn python(program: &str, folder: &Path) -> Vec<PathBuf> {
    let ask = |arguments: &[&str]| {
        let said = Command::new(program).args(arguments).output().expect("it runs");
        String::from_utf8(said.stdout).expect("paths are text")
    };
    let said = ask(&["-S", "-c", LIBRARY]);
    let (home, files) = said.split_once('\n').expect("it says where its library is");
    let library = folder.join("python");
    for file in files.lines() {
        let to = library.join(file.rsplit("lib-dynload/").next().unwrap_or(file));
        std::fs::create_dir_all(to.parent().expect("it is in a folder")).expect("a folder can be made");
        std::fs::copy(Path::new(home).join(file), to).expect("a file can be copied");
    }
    // By the name that it has here, whatever links lead to it.
    let interpreter = folder.join("python3");
    std::fs::copy(ask(&["-c", "import sys; print(sys.executable, end='')"]), &interpreter)
        .expect("it can be copied");
    vec![interpreter, library]
}
