//! A made-up root folder: the names by which tools look for the driver of a real engine.
//!
//! Tools that check a machine do not open the device; they look at what the kernel shows: the device tree, the driver's link in
//! sysfs, the node's number. A virtual engine has none of that, and nothing of the kind can be put into the real `/sys`. Such tools
//! take a root to look under, for machines that are mounted somewhere, and this makes one with what an M1 that runs the
//! driver shows of its engine, and nothing else.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The engine's address on the chip, as the device tree names its node.
const UNIT: &str = "26bc04000";

/// Number of the accelerators' nodes.
const MAJOR: u32 = 261;

/// Files of the device tree: a name and what it holds, strings that end with a zero.
const TREE: [(&str, &str); 6] = [
    ("compatible", "apple,j274\0apple,t8103\0apple,arm-platform\0"),
    ("model", "Apple Mac mini (M1, 2020)\0"),
    ("soc/compatible", "simple-bus\0"),
    ("soc/ane@26bc04000/compatible", "apple,t8103-ane\0"),
    ("soc/ane@26bc04000/name", "ane\0"),
    ("soc/ane@26bc04000/status", "okay\0"),
];

/// Lines of a driver that has not run a request yet.
const UNUSED: &str = "busy_ns 0\njobs 0\n";

/// The file of the driver's counters, for the one who keeps them up to date.
pub fn stats(root: &Path) -> PathBuf {
    root.join(format!("sys/devices/platform/soc/{UNIT}.ane/ane_stats"))
}

/// Makes the names below `root`, which has to be an empty folder or none yet; all of them or none.
///
/// # Errors
///
/// The system's, and `DirectoryNotEmpty` for a folder that holds something.
pub fn make(root: &Path) -> io::Result<()> {
    let is_new = !root.exists();
    fs::create_dir_all(root)?;
    if fs::read_dir(root)?.next().is_some() {
        return Err(io::ErrorKind::DirectoryNotEmpty.into());
    }
    fill(root).inspect_err(|_| {
        // Best effort: the error that matters is the one already at hand.
        let _ = remove(root);
        if is_new {
            let _ = fs::remove_dir(root);
        }
    })
}

fn fill(root: &Path) -> io::Result<()> {
    let file = |name: &str, text: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, text)
    };
    let link = |name: &str, to: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        symlink(to, path)
    };
    for (name, text) in TREE {
        file(&format!("sys/firmware/devicetree/base/{name}"), text)?;
    }
    link("proc/device-tree", "../sys/firmware/devicetree/base")?;

    let device = format!("sys/devices/platform/soc/{UNIT}.ane");
    file(
        &format!("{device}/uevent"),
        "DRIVER=ane\nOF_NAME=ane\nOF_FULLNAME=/soc/ane@26bc04000\nOF_COMPATIBLE_0=apple,t8103-ane\n\
         OF_COMPATIBLE_N=1\nMODALIAS=of:NaneT(null)Capple,t8103-ane\n",
    )?;
    // The driver has them beside the device: it works, a recovery can be asked for, and it counts. Our driver recovers by
    // itself, so it is never wedged, and there is nothing for `reset` to do.
    let attribute = |name: &str, text: &str, mode: u32| {
        let name = format!("{device}/{name}");
        file(&name, text)?;
        fs::set_permissions(root.join(name), Permissions::from_mode(mode))
    };
    attribute("wedged", "0\n", 0o444)?;
    attribute("reset", "", 0o200)?;
    attribute("ane_stats", UNUSED, 0o644)?;
    link(&format!("{device}/driver"), "../../../../bus/platform/drivers/ane")?;
    link(&format!("{device}/subsystem"), "../../../../bus/platform")?;
    link(&format!("{device}/of_node"), "../../../../firmware/devicetree/base/soc/ane@26bc04000")?;
    let node = format!("{device}/accel/accel0");
    file(&format!("{node}/dev"), &format!("{MAJOR}:0\n"))?;
    file(
        &format!("{node}/uevent"),
        &format!("MAJOR={MAJOR}\nMINOR=0\nDEVNAME=accel/accel0\nDEVTYPE=accel_minor\n"),
    )?;
    link(&format!("{node}/device"), "../..")?;
    link(&format!("{node}/subsystem"), "../../../../../../class/accel")?;

    let from_class = format!("../../devices/platform/soc/{UNIT}.ane/accel/accel0");
    link("sys/class/accel/accel0", &from_class)?;
    let from_driver = format!("../../../../devices/platform/soc/{UNIT}.ane");
    link(&format!("sys/bus/platform/drivers/ane/{UNIT}.ane"), &from_driver)?;
    link("sys/bus/platform/drivers/ane/module", "../../../../module/ane")?;
    link(
        &format!("sys/bus/platform/devices/{UNIT}.ane"),
        &format!("../../../devices/platform/soc/{UNIT}.ane"),
    )?;
    link(&format!("sys/dev/char/{MAJOR}:0"), &format!("../../devices/platform/soc/{UNIT}.ane/accel/accel0"))?;
    file("sys/module/ane/initstate", "live\n")?;
    link("sys/module/ane/drivers/platform:ane", "../../../bus/platform/drivers/ane")?;
    file(&format!("run/udev/data/c{MAJOR}:0"), "G:uaccess\nQ:uaccess\nV:1\n")?;
    file("dev/accel/accel0", "")
}

/// Takes the names away again; what else lies in `root` stays.
pub fn remove(root: &Path) -> io::Result<()> {
    ["sys", "proc", "run", "dev"].into_iter().try_for_each(|name| match fs::remove_dir_all(root.join(name)) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_that_a_tool_goes_leads_to_the_engine() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        make(&root).unwrap();
        let device = root.join(format!("sys/devices/platform/soc/{UNIT}.ane")).canonicalize().unwrap();
        let real = |name: &str| root.join(name).canonicalize().unwrap_or_else(|why| panic!("{name}: {why}"));
        for name in [
            "sys/class/accel/accel0/device",
            "sys/bus/platform/drivers/ane/26bc04000.ane",
            "sys/bus/platform/devices/26bc04000.ane",
            "sys/dev/char/261:0/device",
        ] {
            assert_eq!(real(name), device, "{name}");
        }
        let driver = real("sys/class/accel/accel0/device/driver");
        assert_eq!(driver.file_name().unwrap(), "ane");
        assert_eq!(driver, real("sys/module/ane/drivers/platform:ane"));
        assert_eq!(real("sys/bus/platform/drivers/ane/module"), real("sys/module/ane"));
        assert_eq!(real("sys/class/accel/accel0/subsystem"), real("sys/class/accel"));
        let compatible = fs::read(real("proc/device-tree/soc/ane@26bc04000/compatible")).unwrap();
        assert_eq!(compatible, b"apple,t8103-ane\0");
        assert_eq!(fs::read(device.join("wedged")).unwrap(), b"0\n");
        assert!(device.join("reset").is_file());
        assert_eq!(real("sys/class/accel/accel0/device/ane_stats"), stats(&root).canonicalize().unwrap());
        assert_eq!(fs::read(stats(&root)).unwrap(), b"busy_ns 0\njobs 0\n");
        assert_eq!(real("sys/class/accel/accel0/device/of_node"), real("proc/device-tree/soc/ane@26bc04000"));
        fs::write(root.join("note"), "").unwrap();
        remove(&root).unwrap();
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
    }

    #[test]
    fn folder_that_holds_something_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("precious"), "").unwrap();
        assert_eq!(make(folder.path()).unwrap_err().kind(), io::ErrorKind::DirectoryNotEmpty);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
