//! A device node of the system: a driver in the kernel, or whatever stands in for one.
#![expect(unsafe_code, reason = "calls into the kernel with pointers")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::libc;

use super::connection::{Connection, Failed};
use super::error::Error;
use super::location::Location;
use super::mapping::Mapping;

pub(super) struct DeviceNode {
    path: PathBuf,
    file: File,
}

impl DeviceNode {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Self { path: path.to_owned(), file })
    }
}

impl Connection for DeviceNode {
    fn ioctl(&self, number: u32, argument: &mut [u8], memory: &mut [&mut [u8]]) -> Result<(), Failed> {
        // The kernel follows the pointers in the argument. They lead to these slices, which nobody else uses meanwhile.
        for slice in memory {
            slice.as_mut_ptr().expose_provenance();
        }
        loop {
            // SAFETY: the argument has the bytes that the number says, as the caller made both from one type; what it
            // points to is borrowed for the time of the call.
            let outcome = unsafe { libc::ioctl(self.file.as_raw_fd(), number.into(), argument.as_mut_ptr()) };
            if outcome >= 0 {
                return Ok(());
            }
            let why = io::Error::last_os_error();
            match why.raw_os_error().unwrap_or_default() {
                libc::EINTR => {}
                libc::ENODEV => return Err(Failed::Gone(why.to_string())),
                code => return Err(Failed::Code(code)),
            }
        }
    }

    fn map(&self, offset: u64, bytes: u64) -> Result<Mapping, Error> {
        Mapping::of_file(&self.file, offset, bytes).map_err(|why| Error::Map { bytes, why })
    }

    fn unmap(&self, _: u64, _: u64) {
        // The kernel has noticed.
    }

    fn signal(&self, _: u64) -> Result<OwnedFd, Error> {
        Err(Error::Unable {
            location: Location::Node(self.path.clone()),
            what: "give a descriptor for a fence",
        })
    }

    fn again(&self) -> Result<Box<dyn Connection>, Error> {
        let opened = Self::open(&self.path);
        let open =
            |why: io::Error| Error::Open { location: Location::Node(self.path.clone()), why: why.into() };
        Ok(Box::new(opened.map_err(open)?))
    }
}
