//! The limit of a daemon's descriptors.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Lets this process have as many descriptors as it may: peers pass some, and the usual limit of 1024 is soon reached.
///
/// # Errors
///
/// The system's; the limit is what it was then.
pub fn raise_limit() -> io::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, most, most)?)
}
