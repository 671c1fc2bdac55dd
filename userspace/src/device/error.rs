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
            Self::Refused { code, .. } => u32::try_from(*code).ok().and_then(|code| code.try_into().ok()),
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

/// The name of an error number, or the number.
struct Name(i32);

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match u32::try_from(self.0).ok().and_then(|code| Errno::try_from(code).ok()) {
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
}
