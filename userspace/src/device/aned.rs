//! A driver behind a daemon's socket.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use ane_driver::front::Segments;
use ane_uapi::ioctl::errno::Errno;
use aned_protocol::client::{Client, ClientError, File, Settings, found_socket};

use super::connection::{ANOTHER_FILE, Connection, Failed, signal_of};
use super::error::Error;
use super::in_process::copy_back;
use super::mapping::Mapping;

pub(super) struct Aned {
    client: Arc<Client>,
    file: File,
}

impl Aned {
    /// Connects to the daemon at `path`, or where daemons listen, and opens a file.
    pub(super) fn connect(path: Option<&Path>) -> Result<Self, ClientError> {
        let default = found_socket();
        let client = Client::connect(path.unwrap_or(&default), Settings::default())?;
        Self::open(Arc::new(client))
    }

    fn open(client: Arc<Client>) -> Result<Self, ClientError> {
        let file = client.open()?.file;
        Ok(Self { client, file })
    }

    /// The error of a daemon that was asked for `what`.
    fn failed(what: impl Into<String>, why: ClientError) -> Error {
        match why {
            ClientError::Errno(Errno::EACCES | Errno::EPERM) => {
                Error::Forbidden { what: "only root and the user that the daemon runs as may have that" }
            }
            ClientError::Errno(errno) => Error::Failed { what: what.into(), code: errno as i32 },
            ClientError::Unknown(code) => Error::Failed { what: what.into(), code: code.saturating_abs() },
            ClientError::Gone(why) => Error::Gone { why },
        }
    }
}

impl Connection for Aned {
    fn ioctl(&self, number: u32, argument: &mut [u8], memory: &mut [&mut [u8]]) -> Result<(), Failed> {
        let mut segments = Segments::new();
        for slice in memory.iter() {
            segments.push(slice.as_ptr().addr() as u64, slice.to_vec());
        }
        loop {
            let outcome = self.client.ioctl(self.file, number, argument, &mut segments);
            copy_back(&segments, memory);
            return match outcome {
                Ok(()) => Ok(()),
                // Nothing was interrupted that the caller could know of.
                Err(ClientError::Errno(Errno::EINTR)) => continue,
                Err(ClientError::Errno(errno)) => Err(errno.into()),
                Err(ClientError::Unknown(code)) => Err(Failed::Code(code.saturating_abs())),
                Err(ClientError::Gone(why)) => Err(Failed::Gone(why)),
            };
        }
    }

    fn map(&self, offset: u64, bytes: u64) -> Result<Mapping, Error> {
        let extents = self.client.map(self.file, offset, bytes).map_err(|why| match why {
            ClientError::Errno(errno) => {
                Error::Map { bytes, why: std::io::Error::from_raw_os_error(errno as i32) }
            }
            other => Self::failed(format!("a mapping of {bytes:#x} bytes"), other),
        })?;
        // The daemon has counted a mapping that is none.
        let mapped = Mapping::of(&extents).inspect_err(|_| self.unmap(offset, bytes));
        mapped.map_err(|why| Error::Map { bytes, why })
    }

    fn unmap(&self, offset: u64, bytes: u64) {
        // Told out of politeness: the daemon lets go of it with the file at the latest.
        let _ = self.client.unmap(self.file, offset, bytes);
    }

    fn signal(&self, fence: u64) -> Result<OwnedFd, Error> {
        self.client.signal(self.file, fence).map_err(|why| Self::failed(signal_of(fence), why))
    }

    fn failure(&self, fence: u64) -> Option<String> {
        self.client.failure(self.file, fence).ok().flatten()
    }

    fn again(&self) -> Result<Box<dyn Connection>, Error> {
        let opened = Self::open(Arc::clone(&self.client));
        Ok(Box::new(opened.map_err(|why| Self::failed(ANOTHER_FILE, why))?))
    }

    fn report(&self, what: &str) -> Result<Option<String>, Error> {
        match self.client.report(what) {
            Ok(text) => Ok(Some(text)),
            Err(ClientError::Errno(Errno::EINVAL)) => Ok(None),
            Err(why) => Err(Self::failed(format!("the report of {what}"), why)),
        }
    }
}

impl Drop for Aned {
    fn drop(&mut self) {
        // A daemon that is gone has closed it.
        let _ = self.client.close(self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_daemon_without_a_connection_is_missing() {
        for (why, is_missing, message) in [
            (ClientError::Errno(Errno::EBUSY), false, "another file of the device cannot be had: EBUSY"),
            (
                ClientError::Unknown(-23),
                false,
                "another file of the device cannot be had: Too many open files in system (os error 23)",
            ),
            (
                ClientError::Errno(Errno::EACCES),
                false,
                "permission denied: only root and the user that the daemon runs as may have that",
            ),
            (ClientError::Gone("it hung up".to_owned()), true, "device is gone: it hung up"),
        ] {
            let error = Aned::failed(ANOTHER_FILE, why);
            assert_eq!((error.is_device_missing(), error.to_string().as_str()), (is_missing, message));
        }
    }
}
