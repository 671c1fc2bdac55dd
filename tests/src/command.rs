//! The `ane` command as its users run it: the built program, not a function call.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};

/// The built program `bin` of `package`.
///
/// Cargo tells only the tests of a program's own package where it is, so this asks cargo for it: with the
/// profile and into the folder of the running test, where it is fresh already as a rule.
///
/// # Panics
///
/// If it cannot be built.
pub fn built(package: &str, bin: &str) -> PathBuf {
    build(package, &["--bin", bin]).join(bin)
}

/// The built library `file` of `package`.
///
/// # Panics
///
/// If it cannot be built.
pub fn library(package: &str, file: &str) -> PathBuf {
    build(package, &["--lib"]).join(file)
}

/// Builds a part of `package`; gives the folder that it is in.
fn build(package: &str, part: &[&str]) -> PathBuf {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = BUILDING.lock();
    let test = std::env::current_exe().expect("a test knows its own path");
    let profile = test.ancestors().nth(2).expect("tests lie in TARGET/PROFILE/deps");
    let target = profile.parent().expect("tests lie in TARGET/PROFILE/deps");
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--quiet", "--locked", "--package", package]).args(part);
    build.arg("--target-dir").arg(target);
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo runs");
    assert!(built.success(), "{package} {part:?} does not build");
    profile.to_owned()
}

fn path() -> &'static PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| built("ane", "ane"))
}

/// Runs `ane` with `arguments`.
///
/// # Panics
///
/// If it cannot be built or started.
pub fn ane(arguments: &[&str]) -> Output {
    Command::new(path()).args(arguments).output().expect("the command starts")
}
