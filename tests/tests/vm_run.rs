//! `ane vm run` with a device and a QEMU that only keep up appearances: how the two are started and ended.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ane_tests::command::{built, refused};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// How long something may take that only a failure uses up.
const LIMIT: Duration = Duration::from_secs(60);

/// A device: it listens, as far as can be seen, and stays.
const DEVICE: &str = "\
while read -r name value; do [ $name != SigBlk: ] || echo $value; done </proc/self/status >blocked-in-device
: >\"$2\"; exec sleep 600";

/// A QEMU that has a monitor and ends well when it is asked to.
const QEMU: &str = "\
if [ \"$1\" = --version ]; then echo QEMU emulator version 11.1.3; exit; fi
while read -r name value; do [ $name != SigBlk: ] || echo $value; done </proc/self/status >blocked-in-qemu
trap 'echo bye >bye; exit 0' TERM
for option; do case $option in unix:*) path=${option#unix:}; : >\"${path%%,*}\" ;; esac; done
while :; do sleep 0.1; done";

/// A folder with the two programs, and a kernel.
fn stage() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("device", DEVICE), ("qemu", QEMU)] {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(folder.path().join("kernel"), "a kernel").unwrap();
    fs::create_dir(folder.path().join("runtime")).unwrap();
    folder
}

/// `ane vm run` in that folder, with these arguments.
fn command(stage: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(built("ane"));
    command
        .current_dir(stage)
        .env("XDG_RUNTIME_DIR", stage.join("runtime"))
        .args(["vm", "run", "--qemu", "./qemu", "--device-program", "./device", "--kernel", "kernel"])
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LIMIT, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The folders for sockets that are there.
fn folders(stage: &Path) -> Vec<PathBuf> {
    fs::read_dir(stage.join("runtime")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn end(mut child: Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
    wait_until("it does not end", || child.try_wait().unwrap().is_some());
}

#[test]
fn signal_that_ends_the_run_is_one_that_qemu_hears() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let stage = stage();
        let child = command(stage.path(), &[]).spawn().unwrap();
        let has_monitor = || folders(stage.path()).iter().any(|folder| folder.join("monitor.sock").exists());
        wait_until("there is no monitor", has_monitor);
        end(child, signal);
        let read = |name: &str| fs::read_to_string(stage.path().join(name)).unwrap();
        assert_eq!(read("bye"), "bye\n", "{signal}");
        // A shell blocks nothing once it has started another program; QEMU and the device leave their signals as they are.
        let here = fs::read_to_string("/proc/thread-self/status").unwrap();
        let here = here.lines().find_map(|line| line.strip_prefix("SigBlk:\t")).unwrap();
        assert_eq!(
            [read("blocked-in-device"), read("blocked-in-qemu")].map(|text| text.trim().to_owned()),
            [here; 2]
        );
    }
}

#[test]
fn folder_for_sockets_is_gone_behind_a_run_that_ended_or_never_began() {
    let stage = stage();
    let child = command(stage.path(), &[]).spawn().unwrap();
    wait_until("there is no folder", || !folders(stage.path()).is_empty());
    end(child, Signal::SIGTERM);
    assert_eq!(folders(stage.path()), Vec::<PathBuf>::new());
    fs::write(stage.path().join("root"), "a root").unwrap();
    let arguments = ["--initrd", "root", "--module", "missing.ko"];
    assert!(!command(stage.path(), &arguments).status().unwrap().success());
    assert_eq!(folders(stage.path()), Vec::<PathBuf>::new());
    // A folder that somebody named is theirs.
    let arguments = ["--folder", "runtime/named", "--initrd", "root", "--module", "missing.ko"];
    assert!(!command(stage.path(), &arguments).status().unwrap().success());
    assert_eq!(folders(stage.path()), [stage.path().join("runtime/named")]);
}

#[test]
fn options_that_would_change_nothing_are_refused() {
    for option in [["--initrd", "root"], ["--append", "quiet"]] {
        let why = refused(2, &["vm", "run", "--dry-run", option[0], option[1], "--", "-snapshot"]);
        assert!(why.contains(option[0]) && why.contains("--kernel"), "{why}");
    }
    let why = refused(2, &["vm", "run", "--dry-run", "--machine", "apple-like", "--no-iommu"]);
    assert!(why.contains("has no IOMMU"), "{why}");
}
