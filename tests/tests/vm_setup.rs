//! `ane vm` without a machine: `setup` on a kernel that is a folder, and what `run` would run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use ane::vm::setup::{GuestKernel, SetupError};
use ane_driver::bus::vfio::BindError;
use ane_tests::command::{path, printed, refused};
use tempfile::TempDir;

/// A kernel that shows one function for each pair of vendor and device.
fn kernel(functions: &[(&str, &str, &str)]) -> (TempDir, GuestKernel) {
    let root = tempfile::tempdir().unwrap();
    let devices = root.path().join("sys/bus/pci/devices");
    fs::create_dir_all(&devices).unwrap();
    for (bdf, vendor, device) in functions {
        let folder = devices.join(bdf);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("vendor"), format!("{vendor}\n")).unwrap();
        fs::write(folder.join("device"), format!("{device}\n")).unwrap();
    }
    let kernel = GuestKernel::below(root.path());
    (root, kernel)
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn function_is_found_by_its_number_among_others() {
    let (_root, kernel) = kernel(&[
        ("0000:00:00.0", "0x8086", "0x1055"),
        ("0000:01:00.0", "0x1af4", "0x1055"),
        ("0000:02:00.0", "0x1af4", "0x1042"),
        ("junk", "0x1af4", "0x1055"),
    ]);
    assert_eq!(kernel.function_of_its_kind().unwrap().to_string(), "0000:01:00.0");
}

#[test]
fn none_or_several_functions_are_told_and_none_is_guessed() {
    let (_root, none) = kernel(&[("0000:02:00.0", "0x1af4", "0x1042")]);
    assert!(none.function_of_its_kind().unwrap_err().to_string().contains("1af4:1055"));
    let (_root, two) = kernel(&[("0000:02:00.0", "0x1af4", "0x1055"), ("0000:01:00.0", "0x1af4", "0x1055")]);
    let several = two.function_of_its_kind().unwrap_err().to_string();
    assert!(several.contains("0000:01:00.0, 0000:02:00.0"), "{several}");
}

#[test]
fn function_is_overridden_before_it_is_offered() {
    let bdf = "0000:01:00.0";
    let (root, kernel) = kernel(&[(bdf, "0x1af4", "0x1055")]);
    write(root.path(), "sys/bus/pci/drivers/vfio-pci/bind", "");
    // No kernel acts on what is written, so the function does not change hands.
    let refused = kernel.bind(bdf.parse().unwrap()).unwrap_err();
    assert!(
        matches!(refused, SetupError::Bind(BindError::Refused { .. }))
            && refused.to_string().contains("intel-iommu")
    );
    let written = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
    assert_eq!(written(&format!("sys/bus/pci/devices/{bdf}/driver_override")), "vfio-pci");
    assert_eq!(written("sys/bus/pci/drivers_probe"), bdf);
}

#[test]
fn function_that_is_not_there_is_named() {
    let (_root, kernel) = kernel(&[]);
    let absent = kernel.bind("0000:05:00.0".parse().unwrap()).unwrap_err().to_string();
    assert!(absent.contains("0000:05:00.0"), "{absent}");
}

#[test]
fn huge_pages_are_never_made_fewer() {
    let (root, kernel) = kernel(&[]);
    write(root.path(), "proc/sys/vm/nr_hugepages", "100\n");
    assert_eq!(kernel.reserve(64).unwrap(), 100);
    assert_eq!(fs::read_to_string(root.path().join("proc/sys/vm/nr_hugepages")).unwrap(), "100\n");
    assert_eq!(kernel.reserve(128).unwrap(), 128);
}

/// A QEMU that only knows its version.
fn qemu(folder: &Path, version: &str) -> String {
    write(folder, "qemu", &format!("#!/bin/sh\necho QEMU emulator version {version}\n"));
    let qemu = folder.join("qemu");
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
    qemu.display().to_string()
}

#[test]
fn machine_of_aarch64_is_printed_whole_and_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let qemu = qemu(folder.path(), "11.1.3");
    let text = printed(&["vm", "run", "--arch", "aarch64", "--accel", "tcg", "--dry-run", "--qemu", &qemu]);
    for part in [
        "--socket-path",
        "-machine virt,gic-version=3,iommu=smmuv3,memory-backend=ram",
        "memory-backend-memfd,id=ram,size=1024M,share=on",
        "pcie-root-port,id=ane-port",
        "vhost-user-test-device-pci,id=ane,bus=ane-port",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // What tools/guest/fetch fetched is for amd64.
    write(folder.path(), "cache/vmlinuz", "a kernel");
    for (arch, has_kernel) in [("x86_64", true), ("aarch64", false)] {
        let mut run = Command::new(path());
        run.args(["vm", "run", "--arch", arch, "--dry-run", "--qemu", &qemu]);
        let output = run.env("ANE_GUEST_CACHE", folder.path().join("cache")).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.contains("-kernel"), has_kernel, "{arch}: {text}");
    }
    let its_own = ["vm", "run", "--arch", "aarch64", "--dry-run", "--qemu", &qemu, "--kernel", "Image"];
    let text = printed(&its_own);
    assert!(text.contains("-kernel Image") && text.contains("console=ttyAMA0 quiet"), "{text}");
    let why = refused(2, &["vm", "run", "--arch", "aarch64", "--qemu", &qemu]);
    assert!(why.contains("--dry-run"), "{why}");
}

#[test]
fn qemu_of_before_the_generic_device_gets_the_block_device_and_the_one_before_that_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let old = qemu(folder.path(), "10.0.2");
    assert!(printed(&["vm", "run", "--dry-run", "--qemu", &old]).contains("vhost-user-blk-pci,id=ane"));
    let older = qemu(folder.path(), "7.2.9");
    let why = refused(3, &["vm", "run", "--dry-run", "--qemu", &older]);
    assert!(why.contains("is QEMU 7.2") && why.contains("10.2 or later is needed"), "{why}");
}
