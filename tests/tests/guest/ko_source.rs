//! Drivers of the real engine from a folder that need not be in this tree, in the guest that takes our device for one.
//!
//! `ANE_KO_SOURCE` names the folder, `ANE_KO_ARGUMENTS` what make is given beside; without them it is driver/kernel, laid out as
//! a driver is in Linux.

use std::path::{Path, PathBuf};

use ane_tests::machine::{self, GuestKind, Layout, Machine};
use ane_tests::workspace;

use super::kernel_module::Files;

fn copied(from: &[PathBuf], to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in from {
        std::fs::copy(file, to.join(file.file_name().unwrap())).unwrap();
    }
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.is_file())
        .collect()
}

/// A libane in C with a Makefile, of the sources of this tree's clients.
fn make_libane(at: &Path) {
    copied(&files_of(&workspace::root().join("tests/clients/libane")), at);
    copied(
        &[
            workspace::root().join("tests/clients/client.h"),
            workspace::root().join("uapi/include/ane_accel.h"),
        ],
        at,
    );
}

/// The driver of this tree as a part of Linux: its option in the Makefile, its ioctls among DRM's.
fn make_linux(at: &Path) -> PathBuf {
    let (module, headers) = (at.join("drivers/accel/ane"), at.join("include/uapi/drm"));
    copied(&files_of(&workspace::root().join("driver/kernel")), &module);
    copied(
        &["ane_regs.h", "virtio_ane.h"].map(|name| workspace::root().join("uapi/include").join(name)),
        &module,
    );
    let rules = std::fs::read_to_string(module.join("Kbuild")).unwrap();
    let rules: Vec<_> = rules.lines().filter(|line| !line.contains("ANE_UAPI")).collect();
    let mut rules = rules.join("\n").replace("obj-m :=", "obj-$(CONFIG_DRM_ACCEL_ANE) +=");
    // The same option makes the module of another engine, which Debian's kernel has not all for.
    rules += "\nobj-$(CONFIG_DRM_ACCEL_ANE) += \\\n\tane_other.o\n";
    let other = "#include <linux/module.h>\nextern int not_in_this_kernel(void);\nint ane_other(void);\n\
                 int ane_other(void)\n{\n\treturn not_in_this_kernel();\n}\nMODULE_LICENSE(\"GPL\");\n";
    std::fs::write(module.join("ane_other.c"), other).unwrap();
    std::fs::remove_file(module.join("Kbuild")).unwrap();
    std::fs::write(module.join("Makefile"), format!("{rules}\n")).unwrap();
    std::fs::write(at.join("Makefile"), "obj-y += drivers/\n").unwrap();
    let own = std::fs::read_to_string(module.join("ane.h")).unwrap();
    let own = own.replace("\"ane_accel.h\"", "<drm/ane_accel.h>");
    assert!(own.contains("<drm/ane_accel.h>"));
    std::fs::write(module.join("ane.h"), own).unwrap();
    std::fs::create_dir_all(&headers).unwrap();
    let calls = std::fs::read_to_string(workspace::root().join("uapi/include/ane_accel.h")).unwrap();
    std::fs::write(headers.join("ane_accel.h"), calls.replace("<linux/ioctl.h>", "\"drm.h\"")).unwrap();
    // This header must not be taken for that of the kernel that the module is built for.
    std::fs::create_dir_all(at.join("include/linux")).unwrap();
    std::fs::write(at.join("include/linux/mm.h"), "#error of another kernel\n").unwrap();
    make_libane(&at.join("libane"));
    at.to_owned()
}

#[test]
fn driver_from_a_folder_has_the_bits_of_this_process() {
    let Some(files) = Files::make() else { return };
    let scratch = files.folder.path();
    if machine::apple_like(scratch, &[]).is_none() {
        return;
    }
    let source =
        std::env::var_os("ANE_KO_SOURCE").map_or_else(|| make_linux(&scratch.join("linux")), PathBuf::from);
    let arguments = std::env::var("ANE_KO_ARGUMENTS").unwrap_or_default();
    let arguments: Vec<_> = arguments.split_whitespace().map(str::to_owned).collect();
    let layout = Layout::of(&source);
    println!("{layout:?}");
    let modules = layout.modules(scratch, &arguments);
    let there = scratch.join("arm64");
    std::fs::create_dir(&there).unwrap();
    let mut clients = vec![machine::client("raw.c", &there, &[])];
    let library = layout.library(scratch);
    clients.extend(library.as_ref().map(|parts| machine::client("tiles.c", &there, parts)));
    let image = machine::apple_like(scratch, &files.with(clients)).unwrap();
    let mut machine = Machine::start_apple_like(&image, &modules, &[]);
    // A probe may be put off until the DARTs or the power are there.
    machine.ok("n=0; until [ -e /dev/accel/accel0 ]; do n=$((n + 1)); [ $n -lt 20 ] || { dmesg | tail -n 40; false; break; }; sleep 1; done");
    println!("{}: {}", source.display(), machine.ok("ls -l /sys/bus/platform/devices/*.ane/driver"));
    // Twice: what the first leaves must not be in the way of the second.
    for _ in 0..2 {
        files.all_run(&mut machine);
    }
    println!("every program has the sums of this process, by calls");
    if library.is_some() {
        files.all_run_by(&mut machine, "tiles");
        println!("and by its libane");
    }
    machine.power_off();
}

/// The other layout: the module's own folder, with a libane inside whose Makefile makes nothing that can be linked with.
#[test]
fn flat_folder_with_a_libane_inside_is_built_by_its_sources() {
    let scratch = tempfile::tempdir().unwrap();
    if machine::apple_like(scratch.path(), &[]).is_none() {
        return;
    }
    let flat = scratch.path().join("flat");
    copied(&files_of(&workspace::root().join("tests/kernel")), &flat);
    make_libane(&flat.join("libane"));
    std::fs::write(flat.join("libane/Makefile"), "all:\n\tfalse\n").unwrap();
    std::fs::write(flat.join("libane/tool.c"), "int main(void) { return 0; }\n").unwrap();
    let layout = Layout::of(&flat);
    assert_eq!((&layout.module, &layout.libane), (&flat, &Some(flat.join("libane"))));
    let modules = layout.modules(scratch.path(), &[]);
    assert_eq!(modules, [scratch.path().join("driver/flat/ane-contract.ko")]);
    let program = machine::client("tiles.c", scratch.path(), &layout.library(scratch.path()).unwrap());
    assert!(program.is_file());
}

/// A repository of driver and library: several modules, and rules that reach beside their folder and call the compiler by name.
#[test]
fn repository_of_driver_and_library_is_built_by_its_rules() {
    let scratch = tempfile::tempdir().unwrap();
    if machine::apple_like(scratch.path(), &[]).is_none() {
        return;
    }
    let top = scratch.path().join("repository");
    let write = |name: &str, text: &str| {
        let path = top.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("Makefile", "all:\n\tmake -C libane\n");
    copied(&files_of(&workspace::root().join("tests/kernel")), &top.join("ane/src"));
    std::fs::remove_file(top.join("ane/src/Kbuild")).unwrap();
    let objects = "src/contract_engine.o src/contract_file.o src/contract_probe.o";
    write(
        "ane/Makefile",
        &format!(
            "ifneq ($(KERNELRELEASE),)\n\tobj-m := ane.o\n\tane-objs := {objects}\nelse\nall:\n\tfalse\nendif\n"
        ),
    );
    write("ane/h13/Makefile", "obj-m := probe.o\n");
    write("ane/h13/probe.c", "#error \"apple,t8103-ane\"\n");
    make_libane(&top.join("libane"));
    std::fs::create_dir_all(top.join("ane/src/uapi/drm")).unwrap();
    std::fs::rename(top.join("libane/ane_accel.h"), top.join("ane/src/uapi/drm/ane_accel.h")).unwrap();
    write(
        "libane/Makefile",
        "CC = gcc\nlibane: ane.o\n\tld -r ane.o -o libane.o\n\tar rcs libane.a libane.o\n\
         ane.o: ane.c ../ane/src/uapi/drm/ane_accel.h\n\t$(CC) -I../ane/src/uapi/drm -c $< -o $@\n",
    );
    let layout = Layout::of(&top);
    assert_eq!(layout.module, top.join("ane"));
    assert_eq!(layout.modules(scratch.path(), &[]), [scratch.path().join("driver/ane/ane.ko")]);
    let library = layout.library(scratch.path()).unwrap();
    assert_eq!(library[0], scratch.path().join("library/libane/libane.a").display().to_string());
    assert!(machine::client("tiles.c", scratch.path(), &library).is_file());
}

#[test]
fn kernel_of_small_pages_is_refused_by_the_driver_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let Some((kernel, image)) = machine::small_pages(folder.path()) else { return };
    let ours = machine::module(
        GuestKind::SmallPages,
        &workspace::root().join("driver/kernel"),
        folder.path(),
        "ane",
    );
    let contract = machine::module(
        GuestKind::SmallPages,
        &workspace::root().join("tests/kernel"),
        folder.path(),
        "ane-contract",
    );
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
