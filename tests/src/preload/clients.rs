//! The clients in `tests/clients`: compiled when a test needs them, with whatever compiler is there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use ane::container::{self, convert};

use crate::data;

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// Where the C library's header is.
pub fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../userspace/capi/libane/include")
}

/// Compiles a client into `into`; `None`, and said so, where there is no compiler.
///
/// # Panics
///
/// If it does not compile.
pub fn compiled(source: &str, into: &Path, arguments: &[&str]) -> Option<PathBuf> {
    let (compiler, standard) =
        if source.ends_with(".cpp") { ("c++", "-std=c++17") } else { ("cc", "-std=gnu11") };
    if Command::new(compiler).arg("--version").output().is_err() {
        data::not_run(&format!("{compiler} is missing"));
        return None;
    }
    let program = into.join(Path::new(source).file_stem().expect("a source has a name"));
    let uapi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../uapi/include");
    let output = Command::new(compiler)
        .args([standard, "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-format-truncation", "-pthread", "-o"])
        .arg(&program)
        .arg(folder().join(source))
        .arg("-I")
        .arg(uapi)
        .args(arguments)
        .output()
        .expect("the compiler runs");
    assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

/// A Python; `None`, and said so, where there is none.
pub fn python() -> Option<&'static str> {
    static FOUND: OnceLock<Option<&str>> = OnceLock::new();
    let works =
        |program: &&str| Command::new(program).args(["-c", ""]).status().is_ok_and(|status| status.success());
    let found = *FOUND.get_or_init(|| ["/usr/bin/python3", "python3"].into_iter().find(works));
    if found.is_none() {
        data::not_run("python3 is missing");
    }
    found
}

/// A Python with numpy; `None`, and said so, where there is none.
pub fn numpy() -> Option<&'static str> {
    let python = python()?;
    let has_numpy = Command::new(python)
        .args(["-c", "import numpy"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !has_numpy {
        data::not_run("numpy is missing: install python3-numpy");
        return None;
    }
    Some(python)
}

/// Writes a compiled program as an ANEC into `into`, as `ane convert` does.
///
/// # Panics
///
/// If it cannot be converted.
pub fn anec(sample: &data::Sample, into: &Path) -> PathBuf {
    let program = container::open(&sample.bytes).expect("the sample is sound");
    let converted =
        convert::to_anec(&program, container::anec::Form::Long).expect("the sample can be converted");
    let path = into.join(&sample.name).with_extension("anec");
    std::fs::write(&path, converted).expect("a file can be written");
    path
}
