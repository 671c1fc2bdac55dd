//! The settings in the environment, read once.
//!
//! `ane exec` sets it for the program that it starts:
//!
//! * `ANE_SHIM_SOCKET`: where the daemon listens; without it this library does nothing;
//! * `ANE_SHIM_NODE`: the node's name, `accel0` if it is not said;
//! * `ANE_SHIM_DEV`: a directory with an empty file of that name, to be listed in the place of `/dev/accel`;
//! * `ANE_SHIM_PATIENCE_MS`: how long the daemon may be silent, ten seconds if it is not said, without an end if it is 0.

use std::ffi::CStr;
use std::sync::OnceLock;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) socket: &'static [u8],
    pub(crate) node: u8,
    pub(crate) listing: Option<&'static CStr>,
    /// How long the daemon may be silent; zero is without an end.
    pub(crate) patience: Duration,
}

/// How long the daemon may be silent if nothing is said: as long as for clients of the library.
const TIMEOUT: Duration = Duration::from_secs(10);

static CONFIG: OnceLock<Option<Config>> = OnceLock::new();

/// The value of a variable; `None` if it is not set.
pub(crate) fn get() -> Option<&'static Config> {
    CONFIG.get_or_init(read).as_ref()
}

fn read() -> Option<Config> {
    let socket = variable(c"ANE_SHIM_SOCKET")?;
    let node = variable(c"ANE_SHIM_NODE").and_then(|name| number(name.to_bytes())).unwrap_or(0);
    let patience = variable(c"ANE_SHIM_PATIENCE_MS").and_then(|value| value.to_str().ok()?.parse().ok());
    let patience = patience.map_or(TIMEOUT, Duration::from_millis);
    Some(Config { socket: socket.to_bytes(), node, listing: variable(c"ANE_SHIM_DEV"), patience })
}

/// The number in the name of a node that clients try.
pub(crate) fn number(name: &[u8]) -> Option<u8> {
    let digits = name.strip_prefix(b"accel")?;
    let is_plain = digits == b"0" || digits.first().is_some_and(|first| (b'1'..=b'9').contains(first));
    let number: u8 = str::from_utf8(digits).ok().filter(|_| is_plain)?.parse().ok()?;
    (number < ane_uapi::ioctl::drm::NODES).then_some(number)
}

/// A variable that is set and not empty.
fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends with its zero. The environment is read before `main` as a rule, and nobody changes it then.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: the value ends with a zero and stays where it is unless the program sets the very same variable.
    let value = unsafe { CStr::from_ptr(value) };
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_node_has_a_number_below_64_in_plain_digits() {
        assert_eq!(number(b"accel0"), Some(0));
        assert_eq!(number(b"accel63"), Some(63));
        for name in ["accel", "accel64", "accel00", "accel+1", "accel1x", "card0", "accel999999999999"] {
            assert_eq!(number(name.as_bytes()), None, "{name}");
        }
    }
}
