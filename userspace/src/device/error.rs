//! The errors between a client and its device.

use std::io;

use ane_uapi::ioctl;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::number::Ioctl;
use thiserror::Error;

use super::location::{BadLocation, Location};
use super::mapping::Outside;
use crate::tensor::tile;

#[derive(Debug, Error)]
pub enum Error {
    #[error("device {location} cannot be opened: {why}")]
    Open { location: Location, why: Box<dyn std::error::Error + Send + Sync> },
    #[error(transparent)]
    Location(#[from] BadLocation),
    #[error("{} fails with {}: {}", call.c_name, Name(*code), reason(call, *code))]
    Refused { call: &'static Ioctl, code: i32 },
    #[error("device is gone: {why}")]
    Gone { why: String },
    /// Something besides a call was refused, by the driver or by the system: the device is there all the same.
    #[error("{what} cannot be had: {}", Reason(*code))]
    Failed { what: String, code: i32 },
    /// The daemon is there, and does not tell or give that to this user.
    #[error("permission denied: {what}")]
    Forbidden { what: &'static str },
    #[error("{bytes:#x} bytes of a buffer cannot be mapped: {why}")]
    Map { bytes: u64, why: io::Error },
    #[error(transparent)]
    Outside(#[from] Outside),
    #[error(transparent)]
    Tile(#[from] tile::Error),
    #[error("device {location} cannot {what}")]
    Unable { location: Location, what: &'static str },
}

impl Error {
    /// The error number, if the driver gave one that is known.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Refused { code, .. } | Self::Failed { code, .. } => known(*code),
            Self::Gone { .. } => Some(Errno::ENODEV),
            Self::Forbidden { .. } => Some(Errno::EACCES),
            _ => None,
        }
    }

    /// True if there is no device, or no longer.
    pub fn is_device_missing(&self) -> bool {
        matches!(self, Self::Open { .. } | Self::Location(_) | Self::Gone { .. })
            || self.errno() == Some(Errno::ENODEV)
    }
}

/// The error number of a code, if the contract has it.
fn known(code: i32) -> Option<Errno> {
    u32::try_from(code).ok().and_then(|code| code.try_into().ok())
}

/// The name of an error number of the contract; of another, what the system says of it.
struct Reason(i32);

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match known(self.0) {
            Some(errno) => errno.fmt(f),
            None => io::Error::from_raw_os_error(self.0).fmt(f),
        }
    }
}

/// The name of an error number, or the number.
struct Name(i32);

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match known(self.0) {
            Some(errno) => errno.fmt(f),
            None => write!(f, "error {}", self.0),
        }
    }
}

/// Why a call fails with this number, by the contract.
fn reason(call: &Ioctl, code: i32) -> &'static str {
    let refusals = call.refusals.iter().chain(ioctl::ALWAYS);
    let found = refusals.into_iter().find(|refusal| i64::from(refusal.errno as u32) == i64::from(code));
    found.map_or("which the contract does not mention", |refusal| refusal.when.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use ane_uapi::ioctl::context::CONTEXT_ATTACH;

    use super::*;

    #[test]
    fn refusal_says_what_the_contract_says_of_it() {
        for (code, message) in [
            (114, "DRM_IOCTL_ANE_CONTEXT_ATTACH fails with EALREADY: the file has a context"),
            (
                25,
                "DRM_IOCTL_ANE_CONTEXT_ATTACH fails with ENOTTY: the number, which includes the argument's size, is none of these",
            ),
            (95, "DRM_IOCTL_ANE_CONTEXT_ATTACH fails with EOPNOTSUPP: which the contract does not mention"),
            (133, "DRM_IOCTL_ANE_CONTEXT_ATTACH fails with error 133: which the contract does not mention"),
        ] {
            assert_eq!(Error::Refused { call: &CONTEXT_ATTACH, code }.to_string(), message);
        }
    }

    #[test]
    fn device_is_there_where_something_of_it_cannot_be_had() {
        for (code, errno, message) in [
            (2, Some(Errno::ENOENT), "another file cannot be had: ENOENT"),
            // The system's own, out of descriptors.
            (23, None, "another file cannot be had: Too many open files in system (os error 23)"),
        ] {
            let failed = Error::Failed { what: "another file".to_owned(), code };
            assert_eq!((failed.errno(), failed.to_string().as_str()), (errno, message));
            assert!(!failed.is_device_missing(), "{failed}");
        }
    }

    #[test]
    fn device_that_says_itself_that_it_is_gone_is_missing() {
        let failed = Error::Failed { what: "another file".to_owned(), code: Errno::ENODEV as i32 };
        assert!(failed.is_device_missing());
    }
}
