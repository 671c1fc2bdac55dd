//! Drivers of the real engine from a folder that need not be in this tree, in the guest that takes our device for one.
//!
//! `ANE_KO_SOURCE` names the folder, `ANE_KO_ARGUMENTS` what make is given beside; without them it is driver/kernel.

use std::path::{Path, PathBuf};

use ane_tests::machine::{self, Kind, Machine};

use super::kernel_module::Files;

fn tree() -> PathBuf {
    std::path::absolute(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap()
}

/// A libane in C in the folder or beside it.
fn libane(source: &Path) -> Option<PathBuf> {
    ["libane", "../libane"]
        .map(|name| source.join(name))
        .into_iter()
        .find(|folder| folder.join("ane.c").is_file())
}

/// The client of that libane's calls alone.
fn linked(libane: &Path, source: &Path, folder: &Path) -> PathBuf {
    let mut arguments: Vec<_> = std::fs::read_dir(libane)
        .unwrap()
        .flatten()
        .map(|file| file.path().display().to_string())
        .filter(|name| name.ends_with(".c"))
        .collect();
    for include in [libane.to_owned(), source.join("include"), source.join("include/uapi"), source.to_owned()]
    {
        arguments.push(format!("-I{}", include.display()));
    }
    machine::client("tiles.c", folder, &arguments)
}

#[test]
fn driver_from_a_folder_has_the_bits_of_this_process() {
    let Some(files) = Files::make() else { return };
    let scratch = files.folder.path();
    if machine::apple_like(scratch, &[]).is_none() {
        return;
    }
    let source =
        std::env::var_os("ANE_KO_SOURCE").map_or_else(|| tree().join("driver/kernel"), PathBuf::from);
    let arguments = std::env::var("ANE_KO_ARGUMENTS").unwrap_or_default();
    let arguments: Vec<_> = arguments.split_whitespace().map(str::to_owned).collect();
    let modules = machine::modules_of(&source, scratch, &arguments);
    let there = scratch.join("arm64");
    std::fs::create_dir(&there).unwrap();
    let mut clients = vec![machine::client("raw.c", &there, &[])];
    let libane = libane(&source);
    clients.extend(libane.as_ref().map(|libane| linked(libane, &source, &there)));
    let image = machine::apple_like(scratch, &files.with(clients)).unwrap();
    let mut machine = Machine::start_apple_like(&image, &modules, &[]);
    println!("{}: {}", source.display(), machine.ok("ls -l /sys/bus/platform/devices/*.ane/driver"));
    machine.ok("[ -e /dev/accel/accel0 ]");
    // Twice: what the first leaves must not be in the way of the second.
    for _ in 0..2 {
        files.all_run(&mut machine);
    }
    println!("every program has the sums of this process, by calls");
    if libane.is_some() {
        files.all_run_by(&mut machine, "tiles");
        println!("and by its libane");
    }
    machine.power_off();
}

#[test]
fn kernel_of_small_pages_is_refused_by_the_driver_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let Some((kernel, image)) = machine::small_pages(folder.path()) else { return };
    let ours = machine::module(Kind::SmallPages, &tree().join("driver/kernel"), folder.path(), "ane");
    let contract =
        machine::module(Kind::SmallPages, &tree().join("tests/kernel"), folder.path(), "ane-contract");
    let arguments = ["--kernel".to_owned(), kernel.display().to_string()];
    let mut machine = Machine::start_apple_like(&image, &[ours, contract], &arguments);
    // apple-dart takes the DARTs, and lets everything through: a page of theirs is four of the kernel's.
    let darts = machine.ok("dmesg | grep 'apple-dart .*pagesize 4000.* bypass forced: 1'");
    assert_eq!(darts.lines().count(), 3, "{darts}");
    let said = machine.ok("dmesg | grep 'ane.*10000000.ane: error'");
    assert!(
        said.contains("ane 10000000.ane: error -EINVAL: DARTs do not translate; their pages have 16 KiB"),
        "{said}"
    );
    assert!(
        said.contains("ane-contract 10000000.ane: error -EINVAL: DART has no pages of the kernel's size"),
        "{said}"
    );
    machine.ok("[ ! -e /dev/accel/accel0 ] && [ ! -e /dev/ane-contract ] && [ ! -e /sys/bus/platform/devices/10000000.ane/driver ]");
    machine.power_off();
}
