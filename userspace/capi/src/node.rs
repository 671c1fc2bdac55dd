//! The device node: finding it, and the three ioctls of existing clients.
//!
//! Nodes are tried from `/dev/accel/accel0` up; one is the right one if its driver's name is `ane` (client-abi).

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;

use ane_uapi::ioctl::drm::{DRIVER_NAME, GemClose, NODES, VERSION, Version};
use ane_uapi::ioctl::drm_ane::{BO_FREE, BO_INIT, BoFree, BoInit, SUBMIT, Submit};
use zerocopy::FromZeros;

/// Nodes of this driver that clients tell apart.
const DEVICES: usize = 2;

/// Opens the device: the one with that number among those of this driver, of which clients know two.
///
/// # Errors
///
/// `ENODEV` if there is none. The driver of a node that cannot be opened is not known. If there is such a node, the error is
/// the system's error for the first of them, such as `EBUSY` or `EACCES`.
pub fn open(number: usize) -> io::Result<File> {
    let mut why = io::Error::from_raw_os_error(libc::ENODEV);
    if number >= DEVICES {
        return Err(why);
    }
    let mut found = 0;
    for node in 0..NODES {
        match open_node(&format!("/dev/accel/accel{node}")) {
            Ok(Some(file)) if found == number => return Ok(file),
            Ok(Some(_)) => found += 1,
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if why.raw_os_error() == Some(libc::ENODEV) => why = error,
            Err(_) => {}
        }
    }
    Err(why)
}

/// A node; `None` if it is of another driver.
fn open_node(path: &str) -> io::Result<Option<File>> {
    let node = OpenOptions::new().read(true).write(true).open(path)?;
    Ok(is_ours(node.as_raw_fd()).then_some(node))
}

/// Asks for the name's length first and then for the name, as DRM clients do.
fn is_ours(fd: RawFd) -> bool {
    let mut version = Version::new_zeroed();
    let mut name = [0_u8; DRIVER_NAME.len()];
    if call(fd, VERSION.number, &mut version).is_err() || version.name_len != name.len() as u64 {
        return false;
    }
    version = Version::new_zeroed();
    (version.name_len, version.name) = (name.len() as u64, name.as_mut_ptr() as u64);
    call(fd, VERSION.number, &mut version).is_ok() && name == DRIVER_NAME.as_bytes()
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Buffer {
    /// Where it is mapped; null if there is none.
    pub map: *mut c_void,
    pub size: u64,
    /// The driver's name of it.
    pub handle: u32,
    /// Where the node maps it.
    pub offset: u64,
}

impl Buffer {
    pub const NONE: Self = Self { map: ptr::null_mut(), size: 0, handle: 0, offset: 0 };

    pub fn new(fd: RawFd, size: u64) -> io::Result<Self> {
        let mut init = BoInit { size, ..BoInit::new_zeroed() };
        call(fd, BO_INIT.number, &mut init)?;
        let buffer = Self { map: ptr::null_mut(), size, handle: init.handle, offset: init.offset };
        map(fd, size, init.offset).map(|map| Self { map, ..buffer }).inspect_err(|_| buffer.free(fd))
    }

    pub fn free(&self, fd: RawFd) {
        if !self.map.is_null() {
            // SAFETY: the mapping was made with this address and length, and its owner gives it up.
            unsafe { libc::munmap(self.map, self.size as usize) };
        }
        if self.handle != 0 {
            // A driver that does not know it has nothing to give back.
            let _ = call(fd, BO_FREE.number, &mut BoFree { handle: self.handle, pad: 0 });
        }
    }
}

const _: () = assert!(size_of::<GemClose>() == size_of::<BoFree>());

fn map(fd: RawFd, size: u64, offset: u64) -> io::Result<*mut c_void> {
    let too_large = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let size = usize::try_from(size).map_err(too_large)?;
    let offset = libc::off_t::try_from(offset).map_err(too_large)?;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the system chooses an address where nothing is.
    let map = unsafe { libc::mmap(ptr::null_mut(), size, prot, libc::MAP_SHARED, fd, offset) };
    if map == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(map) }
}

/// Runs a program and waits for it.
///
/// # Errors
///
/// Submits a request. The error is the driver's: [`io::ErrorKind::TimedOut`] if the engine does not come to an end.
pub fn submit(fd: RawFd, submit: &mut Submit) -> io::Result<()> {
    call(fd, SUBMIT.number, submit)
}

fn call<T>(fd: RawFd, number: u32, argument: &mut T) -> io::Result<()> {
    // SAFETY: the number holds the length of the argument, which is borrowed for the call; what it points at is as well.
    let result = unsafe { libc::ioctl(fd, libc::Ioctl::from(number), ptr::from_mut(argument)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
