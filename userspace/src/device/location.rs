//! Where a device is: the words of `--device` and `ANE_DEVICE`.

use std::env;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

/// The variable that says which device is meant where no argument does.
pub const VARIABLE: &str = "ANE_DEVICE";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Location {
    /// In this process: driver and device are made here, and gone when it ends.
    #[default]
    Embedded,
    /// Behind the daemon `aned` or `ane daemon`, at its socket; `None` is the default one.
    Aned(Option<PathBuf>),
    /// Behind the socket of a `vhost-device-ane`, with the driver in this process.
    VhostUser(PathBuf),
    /// A PCI function that VFIO gives to this process, by its address, with the driver in this process.
    Vfio(String),
    Node(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{given:?} names no device; known are embedded, aned, aned:PATH, vhost-user:PATH, vfio:DOMAIN:BUS:DEVICE.FUNCTION \
     and /dev/accel/accelN"
)]
pub struct BadLocation {
    pub given: String,
}

impl Location {
    /// The location in [`VARIABLE`], or the device in this process.
    pub fn of_environment() -> Result<Self, BadLocation> {
        match env::var_os(VARIABLE) {
            Some(words) if !words.is_empty() => words.to_string_lossy().parse(),
            _ => Ok(Self::Embedded),
        }
    }
}

impl FromStr for Location {
    type Err = BadLocation;

    fn from_str(words: &str) -> Result<Self, BadLocation> {
        let bad = || BadLocation { given: words.to_owned() };
        let (kind, rest) = match words.split_once(':') {
            Some((_, "")) => return Err(bad()),
            Some((kind, rest)) => (kind, Some(rest)),
            None => (words, None),
        };
        match (kind, rest) {
            ("embedded", None) => Ok(Self::Embedded),
            ("aned", path) => Ok(Self::Aned(path.map(PathBuf::from))),
            ("vhost-user", Some(path)) => Ok(Self::VhostUser(path.into())),
            ("vfio", Some(function)) => Ok(Self::Vfio(function.to_owned())),
            _ if words.starts_with('/') => Ok(Self::Node(words.into())),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => f.write_str("embedded"),
            Self::Aned(None) => f.write_str("aned"),
            Self::Aned(Some(path)) => write!(f, "aned:{}", path.display()),
            Self::VhostUser(path) => write!(f, "vhost-user:{}", path.display()),
            Self::Vfio(function) => write!(f, "vfio:{function}"),
            Self::Node(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn location_reads_as_it_is_written() {
        for words in [
            "embedded",
            "aned",
            "aned:/run/ane/aned.sock",
            "vhost-user:ane.sock",
            "vfio:0000:01:00.0",
            "/dev/accel/accel3",
        ] {
            assert_eq!(words.parse::<Location>().unwrap().to_string(), words);
        }
    }

    #[test]
    fn words_that_name_no_device_are_answered_with_those_that_do() {
        for words in ["", "embeded", "aned:", "vhost-user", "vfio:", "accel0", "embedded:x"] {
            let message = words.parse::<Location>().unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("{words:?} names no device; known are embedded")),
                "{message}"
            );
        }
    }
}
