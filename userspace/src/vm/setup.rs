//! The guest's side: the function is given to VFIO, and huge pages are reserved.
//!
//! Both need root, and so does the driver's process; nothing else does. How a function changes hands is the driver's
//! knowledge ([`ane_driver::bus::vfio::Functions`]), since it does it again when the function was plugged anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use ane_driver::bus::vfio::Bdf;
use ane_driver::bus::vfio::{BindError, Functions, Ids};
use thiserror::Error;

/// Huge pages that are enough for the driver and some buffers: 128 MiB.
pub const PAGES: usize = 64;

#[derive(Debug, Error)]
pub enum SetupError {
    #[error(
        "no PCI function of this machine is {}; one behind an older QEMU looks like a disk controller, 1af4:1042: name it",
        Ids::OWN
    )]
    NoFunction,
    #[error("there are several functions: {0}; name one")]
    Several(String),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(
        "the kernel gives {found} huge pages of 2 MiB of the {wanted} wanted; reserve them at boot: hugepages={wanted} on its \
         command line"
    )]
    FewPages { found: usize, wanted: usize },
}

/// Where the kernel shows itself; another folder in tests.
#[derive(Clone, Debug)]
pub struct GuestKernel {
    root: PathBuf,
}

impl Default for GuestKernel {
    fn default() -> Self {
        Self { root: "/".into() }
    }
}

impl GuestKernel {
    pub fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn functions(&self) -> Functions {
        Functions::below(&self.root)
    }

    /// The one function there is.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one.
    pub fn function_of_its_kind(&self) -> Result<Bdf, SetupError> {
        match self.functions().of(Ids::OWN)?.as_slice() {
            [] => Err(SetupError::NoFunction),
            [bdf] => Ok(*bdf),
            several => {
                let names: Vec<_> = several.iter().map(ToString::to_string).collect();
                Err(SetupError::Several(names.join(", ")))
            }
        }
    }

    /// Gives the function to vfio-pci, whose module is loaded if it is one.
    pub fn bind(&self, bdf: Bdf) -> Result<(), SetupError> {
        let functions = self.functions();
        if !functions.has_vfio() {
            // It loads what it needs; whether it did shows right away.
            let _ = Command::new("modprobe").arg("vfio-pci").output();
        }
        Ok(functions.bind(bdf)?)
    }

    /// Has the kernel keep at least `wanted` huge pages; gives how many it has.
    ///
    /// # Errors
    ///
    /// If it has fewer, as it does when memory is in pieces.
    pub fn reserve(&self, wanted: usize) -> Result<usize, SetupError> {
        let path = self.root.join("proc/sys/vm/nr_hugepages");
        let count = || -> Result<usize, SetupError> {
            let text = fs::read_to_string(&path).map_err(BindError::file(&path, "read"))?;
            Ok(text.trim().parse().unwrap_or(0))
        };
        if count()? < wanted {
            fs::write(&path, wanted.to_string()).map_err(BindError::file(&path, "written"))?;
        }
        match count()? {
            found if found < wanted => Err(SetupError::FewPages { found, wanted }),
            found => Ok(found),
        }
    }
}
