//! The functions of a machine in sysfs: their drivers, and the steps that give one to VFIO.
//!
//! The kernel's own virtio driver takes every virtio function first, also one of a kind that it has no driver for.
//! `driver_override` says whom the function is for; it is taken from who has it, and offered again. All of this
//! needs root.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use ane_uapi::wire::VIRTIO_ID;
use thiserror::Error;

use super::address::Bdf;

/// The first number of modern virtio functions.
const MODERN: u16 = 0x1040;

/// The identity of a function: its vendor's number and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    pub vendor: u16,
    pub device: u16,
}

impl Ids {
    /// The identifiers of this device; no other device has them.
    pub const OWN: Self = Self { vendor: 0x1af4, device: MODERN + VIRTIO_ID as u16 };
}

impl fmt::Display for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:04x}", self.vendor, self.device)
    }
}

#[derive(Debug, Error)]
pub enum BindError {
    #[error("there is no PCI function {0}")]
    Absent(Bdf),
    #[error("{} cannot be {action}: {why}", path.display())]
    File { path: PathBuf, action: &'static str, why: std::io::Error },
    #[error("the kernel has no vfio-pci: it needs CONFIG_VFIO_PCI, or the module (modprobe vfio-pci)")]
    NoVfio,
    #[error("vfio-pci does not take {bdf}: {why}")]
    Refused { bdf: Bdf, why: &'static str },
}

impl BindError {
    pub fn file(path: &Path, action: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |why| Self::File { path: path.to_owned(), action, why }
    }
}

/// The machine's PCI functions as the kernel shows them; another folder's in tests.
#[derive(Clone, Debug)]
pub struct Functions {
    root: PathBuf,
}

impl Default for Functions {
    fn default() -> Self {
        Self { root: "/".into() }
    }
}

impl Functions {
    /// The functions of a kernel whose sysfs is below `root`.
    pub fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn folder(&self, bdf: Bdf) -> PathBuf {
        self.root.join("sys/bus/pci/devices").join(bdf.to_string())
    }

    /// The functions with these numbers, in the order of their addresses.
    pub fn of(&self, ids: Ids) -> Result<Vec<Bdf>, BindError> {
        let folder = self.root.join("sys/bus/pci/devices");
        let entries = fs::read_dir(&folder).map_err(BindError::file(&folder, "listed"))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut found: Vec<Bdf> = names.filter_map(|name| name.parse().ok()).collect();
        found.retain(|&bdf| self.ids(bdf) == Some(ids));
        found.sort_by_key(ToString::to_string);
        Ok(found)
    }

    /// The numbers of a function, if it is there.
    pub fn ids(&self, bdf: Bdf) -> Option<Ids> {
        let number = |name: &str| {
            let text = fs::read_to_string(self.folder(bdf).join(name)).ok()?;
            u16::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
        };
        Some(Ids { vendor: number("vendor")?, device: number("device")? })
    }

    pub fn owner(&self, bdf: Bdf) -> Option<String> {
        let link = fs::read_link(self.folder(bdf).join("driver")).ok()?;
        Some(link.file_name()?.to_string_lossy().into_owned())
    }

    pub fn is_bound(&self, bdf: Bdf) -> bool {
        self.owner(bdf).as_deref() == Some("vfio-pci")
    }

    pub fn has_vfio(&self) -> bool {
        self.root.join("sys/bus/pci/drivers/vfio-pci").exists()
    }

    pub fn bind(&self, bdf: Bdf) -> Result<(), BindError> {
        let folder = self.folder(bdf);
        if !folder.exists() {
            return Err(BindError::Absent(bdf));
        }
        if self.is_bound(bdf) {
            return Ok(());
        }
        if !self.has_vfio() {
            return Err(BindError::NoVfio);
        }
        write(&folder.join("driver_override"), "vfio-pci")?;
        if self.owner(bdf).is_some() {
            write(&folder.join("driver/unbind"), &bdf.to_string())?;
        }
        write(&self.root.join("sys/bus/pci/drivers_probe"), &bdf.to_string())?;
        if self.is_bound(bdf) {
            return Ok(());
        }
        let why = if folder.join("iommu_group").exists() {
            "the kernel's log (dmesg) says why"
        } else {
            "the machine has no IOMMU, or the kernel does not use it: QEMU's is -device intel-iommu,intremap=on, before the \
             device, and some kernels want intel_iommu=on"
        };
        Err(BindError::Refused { bdf, why })
    }

    /// Where the function is that was at `was` and is another one now: at its place again, or the only one of its kind
    /// wherever it is. It is given to VFIO, as the kernel gives a new one to its own driver; but one that could be
    /// anybody's, since the number is not this device's own, only counts once somebody else has done that.
    pub(super) fn again(&self, was: Bdf, ids: Ids) -> Result<Bdf, NotFound> {
        let all = self.of(ids)?;
        let bdf = match all.as_slice() {
            all if all.contains(&was) => was,
            [] => return Err(NotFound::None(ids)),
            [one] => *one,
            _ => return Err(NotFound::Several { was, ids }),
        };
        if ids == Ids::OWN {
            self.bind(bdf)?;
        } else if !self.is_bound(bdf) {
            return Err(NotFound::Foreign { bdf, ids });
        }
        Ok(bdf)
    }
}

/// Why a function that was lost is not found again.
#[derive(Debug, Error)]
pub(super) enum NotFound {
    #[error("no function {0} is plugged in")]
    None(Ids),
    #[error("none is at {was} any more, and several elsewhere are {ids}")]
    Several { was: Bdf, ids: Ids },
    #[error("{bdf} is {ids}, which may be a disk: if it is the device, `ane vm setup {bdf}`")]
    Foreign { bdf: Bdf, ids: Ids },
    #[error(transparent)]
    Bind(#[from] BindError),
}

fn write(path: &Path, text: &str) -> Result<(), BindError> {
    fs::write(path, text).map_err(BindError::file(path, "written"))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const DISK: Ids = Ids { vendor: 0x1af4, device: 0x1042 };
    const VFIO: &str = "vfio-pci";
    const VIRTIO: &str = "virtio-pci";

    fn bdf(text: &str) -> Bdf {
        text.parse().unwrap()
    }

    /// A kernel that shows these functions, each with its owner.
    fn functions(all: &[(&str, Ids, &str)]) -> (TempDir, Functions) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("sys/bus/pci/drivers").join(VFIO)).unwrap();
        for (bdf, ids, owner) in all {
            let folder = root.path().join("sys/bus/pci/devices").join(bdf);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("vendor"), format!("{:#06x}\n", ids.vendor)).unwrap();
            fs::write(folder.join("device"), format!("{:#06x}\n", ids.device)).unwrap();
            std::os::unix::fs::symlink(format!("../../drivers/{owner}"), folder.join("driver")).unwrap();
        }
        let functions = Functions::below(root.path());
        (root, functions)
    }

    #[test]
    fn function_at_its_old_place_is_found_among_others() {
        let (_root, all) = functions(&[("0000:01:00.0", Ids::OWN, VFIO), ("0000:02:00.0", Ids::OWN, VFIO)]);
        assert_eq!(all.again(bdf("0000:02:00.0"), Ids::OWN).unwrap(), bdf("0000:02:00.0"));
    }

    #[test]
    fn only_function_of_its_kind_is_found_wherever_it_is() {
        let (_root, all) = functions(&[("0000:05:00.0", Ids::OWN, VFIO), ("0000:01:00.0", DISK, VIRTIO)]);
        assert_eq!(all.again(bdf("0000:01:00.0"), Ids::OWN).unwrap(), bdf("0000:05:00.0"));
    }

    #[test]
    fn none_and_several_elsewhere_are_not_guessed_at() {
        let (_root, none) = functions(&[("0000:01:00.0", DISK, VIRTIO)]);
        let why = none.again(bdf("0000:01:00.0"), Ids::OWN).unwrap_err().to_string();
        assert_eq!(why, "no function 1af4:1055 is plugged in");
        let (_root, two) = functions(&[("0000:02:00.0", Ids::OWN, VFIO), ("0000:03:00.0", Ids::OWN, VFIO)]);
        let why = two.again(bdf("0000:01:00.0"), Ids::OWN).unwrap_err().to_string();
        assert!(why.contains("0000:01:00.0") && why.contains("several"), "{why}");
    }

    #[test]
    fn function_that_may_be_a_disk_is_left_to_its_driver() {
        let (root, all) = functions(&[("0000:01:00.0", DISK, VIRTIO)]);
        let why = all.again(bdf("0000:01:00.0"), DISK).unwrap_err().to_string();
        assert!(why.contains("may be a disk"), "{why}");
        assert!(!root.path().join("sys/bus/pci/devices/0000:01:00.0/driver_override").exists());
    }
}
