//! A made-up root folder: the names by which tools look for the driver of a real engine.
//!
//! Tools that check a machine do not open the device; they look at what the kernel shows: the device tree, the driver's link in
//! sysfs, the node's number. A virtual engine has none of that, and nothing of the kind can be put into the real `/sys`. Such tools
//! take a root to look under, for machines that are mounted somewhere, and this makes one with what an M1 that runs the
//! driver shows of its engine, and nothing else.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use thiserror::Error;

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

/// The names at the top of a made-up root.
pub const NAMES: [&str; 4] = ["sys", "proc", "run", "dev"];

/// Lines of a driver that has not run a request yet.
const UNUSED: &str = "busy_ns 0\njobs 0\n";

/// A folder with the names in it. It is known by its descriptor: another folder may take its name meanwhile, and the names of that one
/// are not ours to remove.
#[derive(Debug)]
pub struct Root(File);

/// Why a folder cannot be a root.
#[derive(Debug, Error)]
pub enum Error {
    #[error("it holds something already")]
    NotEmpty,
    #[error("it belongs to user {owner}, who could exchange what is made there")]
    Foreign { owner: u32 },
    #[error("every user may write there, and could exchange what is made")]
    Open,
    #[error(transparent)]
    System(#[from] io::Error),
}

impl Root {
    /// Makes the names in `folder`, which has to be an empty folder of this user or none yet; all of them or none.
    ///
    /// # Errors
    ///
    /// [`enum@Error`] of the folder.
    pub fn make(folder: &Path) -> Result<Self, Error> {
        let is_new = !folder.exists();
        DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOCTTY;
        let root = Self(OpenOptions::new().read(true).custom_flags(flags.bits()).open(folder)?);
        let found = root.0.metadata()?;
        if found.uid() != geteuid().as_raw() {
            return Err(Error::Foreign { owner: found.uid() });
        }
        if found.mode() & 0o002 != 0 {
            return Err(Error::Open);
        }
        if fs::read_dir(root.path())?.next().is_some() {
            return Err(Error::NotEmpty);
        }
        fill(&root.path()).inspect_err(|_| {
            // Best effort: the error that matters is the one already at hand.
            let _ = root.remove();
            if is_new {
                let _ = fs::remove_dir(folder);
            }
        })?;
        Ok(root)
    }

    /// The folder, for this process.
    pub fn path(&self) -> PathBuf {
        Path::new("/proc/self/fd").join(self.0.as_raw_fd().to_string())
    }

    /// The file of the driver's counters, for the one who keeps them up to date.
    pub fn stats(&self) -> PathBuf {
        self.path().join(format!("sys/devices/platform/soc/{UNIT}.ane/ane_stats"))
    }

    /// Takes the names away again; what else lies there stays.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn remove(&self) -> io::Result<()> {
        NAMES.into_iter().try_for_each(|name| match fs::remove_dir_all(self.path().join(name)) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_that_a_tool_goes_leads_to_the_engine() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let made = Root::make(&root).unwrap();
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
        assert_eq!(real("sys/class/accel/accel0/device/ane_stats"), made.stats().canonicalize().unwrap());
        assert_eq!(fs::read(made.stats()).unwrap(), b"busy_ns 0\njobs 0\n");
        assert_eq!(real("sys/class/accel/accel0/device/of_node"), real("proc/device-tree/soc/ane@26bc04000"));
        fs::write(root.join("note"), "").unwrap();
        made.remove().unwrap();
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
    }

    #[test]
    fn folder_that_holds_something_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("precious"), "").unwrap();
        assert!(matches!(Root::make(folder.path()), Err(Error::NotEmpty)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn folder_that_others_may_change_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(Root::make(folder.path()), Err(Error::Open)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn folder_that_takes_the_name_of_the_root_keeps_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let [root, other, precious] = ["root", "other", "home"].map(|name| folder.path().join(name));
        let made = Root::make(&root).unwrap();
        fs::create_dir_all(precious.join("dev")).unwrap();
        fs::rename(&root, &other).unwrap();
        symlink(&precious, &root).unwrap();
        made.remove().unwrap();
        assert!(precious.join("dev").is_dir());
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
    }
}
