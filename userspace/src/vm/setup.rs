//! The guest's side: the function is given to VFIO, and huge pages are reserved.
//!
//! The kernel's own virtio driver takes every virtio function first, also one of a kind that it has no driver for.
//! `driver_override` says whom the function is for; it is taken from who has it, and offered again. All of this
//! needs root, and so does the driver's process; nothing else does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use ane_driver::bus::vfio::Bdf;
use ane_uapi::wire::VIRTIO_ID;
use thiserror::Error;

/// The PCI vendor of virtio functions, and the first number of modern ones.
const VENDOR: u32 = 0x1af4;
const MODERN: u32 = 0x1040;

/// Huge pages that are enough for the driver and some buffers: 128 MiB.
pub const PAGES: usize = 64;

/// What stands in the way.
#[derive(Debug, Error)]
pub enum SetupError {
    /// There is no function.
    #[error(
        "no PCI function of this machine is 1af4:{:04x}; one behind an older QEMU looks like a disk controller, 1af4:1042: \
         name it", MODERN + VIRTIO_ID
    )]
    NoFunction,
    /// There are several.
    #[error("there are several functions: {0}; name one")]
    Several(String),
    /// There is no such function.
    #[error("there is no PCI function {0}")]
    Absent(Bdf),
    /// A file of the kernel's cannot be read or written.
    #[error("{} cannot be {action}: {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system says.
        why: std::io::Error,
    },
    /// VFIO is not there.
    #[error("the kernel has no vfio-pci: it needs CONFIG_VFIO_PCI, or the module (modprobe vfio-pci)")]
    NoVfio,
    /// VFIO did not take the function.
    #[error("vfio-pci does not take {bdf}: {why}")]
    Refused {
        /// The function.
        bdf: Bdf,
        /// Why, as far as can be told.
        why: &'static str,
    },
    /// There is not enough memory that follows each other.
    #[error(
        "the kernel gives {found} huge pages of 2 MiB of the {wanted} wanted; reserve them at boot: hugepages={wanted} on its \
         command line"
    )]
    FewPages {
        /// What there are.
        found: usize,
        /// What was wanted.
        wanted: usize,
    },
}

/// Where the kernel shows itself; another folder in tests.
#[derive(Clone, Debug)]
pub struct Kernel {
    root: PathBuf,
}

impl Default for Kernel {
    fn default() -> Self {
        Self { root: "/".into() }
    }
}

impl Kernel {
    /// A kernel that shows itself below `root`.
    pub fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn function(&self, bdf: Bdf) -> PathBuf {
        self.path("sys/bus/pci/devices").join(bdf.to_string())
    }

    /// The functions that are devices of this kind by their number.
    ///
    /// # Errors
    ///
    /// If the kernel does not show its PCI functions.
    pub fn functions(&self) -> Result<Vec<Bdf>, SetupError> {
        let folder = self.path("sys/bus/pci/devices");
        let entries = fs::read_dir(&folder).map_err(file(&folder, "listed"))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut found: Vec<Bdf> = names.filter_map(|name| name.parse().ok()).collect();
        found.retain(|&bdf| {
            let number = |name: &str| {
                let text = fs::read_to_string(self.function(bdf).join(name)).ok()?;
                u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
            };
            number("vendor") == Some(VENDOR) && number("device") == Some(MODERN + VIRTIO_ID)
        });
        found.sort_by_key(ToString::to_string);
        Ok(found)
    }

    /// The one function there is.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one.
    pub fn function_of_its_kind(&self) -> Result<Bdf, SetupError> {
        match self.functions()?.as_slice() {
            [] => Err(SetupError::NoFunction),
            [bdf] => Ok(*bdf),
            several => {
                let names: Vec<_> = several.iter().map(ToString::to_string).collect();
                Err(SetupError::Several(names.join(", ")))
            }
        }
    }

    /// Who has the function.
    pub fn driver(&self, bdf: Bdf) -> Option<String> {
        let link = fs::read_link(self.function(bdf).join("driver")).ok()?;
        Some(link.file_name()?.to_string_lossy().into_owned())
    }

    /// Gives the function to vfio-pci.
    ///
    /// # Errors
    ///
    /// What stands in the way.
    pub fn bind(&self, bdf: Bdf) -> Result<(), SetupError> {
        let function = self.function(bdf);
        if !function.exists() {
            return Err(SetupError::Absent(bdf));
        }
        if self.driver(bdf).as_deref() == Some("vfio-pci") {
            return Ok(());
        }
        if !self.path("sys/bus/pci/drivers/vfio-pci").exists() {
            // It loads what it needs; whether it did shows right away.
            let _ = Command::new("modprobe").arg("vfio-pci").output();
            if !self.path("sys/bus/pci/drivers/vfio-pci").exists() {
                return Err(SetupError::NoVfio);
            }
        }
        write(&function.join("driver_override"), "vfio-pci")?;
        if self.driver(bdf).is_some() {
            write(&function.join("driver/unbind"), &bdf.to_string())?;
        }
        write(&self.path("sys/bus/pci/drivers_probe"), &bdf.to_string())?;
        if self.driver(bdf).as_deref() == Some("vfio-pci") {
            return Ok(());
        }
        let why = if function.join("iommu_group").exists() {
            "the kernel's log (dmesg) says why"
        } else {
            "the machine has no IOMMU, or the kernel does not use it: QEMU's is -device intel-iommu,intremap=on, before the \
             device, and some kernels want intel_iommu=on"
        };
        Err(SetupError::Refused { bdf, why })
    }

    /// Has the kernel keep at least `wanted` huge pages; gives how many it has.
    ///
    /// # Errors
    ///
    /// If it has fewer, as it does when memory is in pieces.
    pub fn reserve(&self, wanted: usize) -> Result<usize, SetupError> {
        let path = self.path("proc/sys/vm/nr_hugepages");
        let count = || -> Result<usize, SetupError> {
            let text = fs::read_to_string(&path).map_err(file(&path, "read"))?;
            Ok(text.trim().parse().unwrap_or(0))
        };
        if count()? < wanted {
            write(&path, &wanted.to_string())?;
        }
        match count()? {
            found if found < wanted => Err(SetupError::FewPages { found, wanted }),
            found => Ok(found),
        }
    }
}

fn file(path: &Path, action: &'static str) -> impl Fn(std::io::Error) -> SetupError {
    move |why| SetupError::File { path: path.to_owned(), action, why }
}

fn write(path: &Path, text: &str) -> Result<(), SetupError> {
    fs::write(path, text).map_err(file(path, "written"))
}
