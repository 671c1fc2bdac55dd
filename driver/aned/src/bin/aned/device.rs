//! The choice of a device, and of the way to reach it.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ane_driver::Driver;
use ane_driver::bus::vfio::{self, Bdf, Vfio};
use ane_driver::bus::vhost_user::{self, VhostUser};
use anyhow::{Context, bail};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    /// Behind the socket of another process.
    VhostUser(PathBuf),
    /// A PCI function of this machine.
    Vfio(Bdf),
}

impl FromStr for Device {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text.split_once(':') {
            Some(("vhost-user", path)) if !path.is_empty() => Ok(Self::VhostUser(path.into())),
            Some(("vfio", address)) => Ok(Self::Vfio(address.parse()?)),
            _ => bail!(
                "device {text:?} is not known; known: vhost-user:PATH, vfio:ADDRESS; `ane daemon` has one of its own"
            ),
        }
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::VhostUser(path) => write!(f, "vhost-user:{}", path.display()),
            Self::Vfio(address) => write!(f, "vfio:{address}"),
        }
    }
}

/// A driver of the device at the other end of a socket.
pub(crate) fn over_socket(path: &std::path::Path, poll: Duration) -> anyhow::Result<Driver<VhostUser>> {
    let settings = vhost_user::Settings { poll, ..Default::default() };
    let bus = VhostUser::connect(path, settings).with_context(|| {
        format!("no device at {}; start vhost-device-ane --socket-path {0}", path.display())
    })?;
    Ok(Driver::probe(bus)?)
}

pub(crate) fn function(address: Bdf, poll: Duration) -> anyhow::Result<Driver<Vfio>> {
    let settings = vfio::Settings { poll, ..Default::default() };
    let bus = Vfio::open(address, settings).with_context(|| format!("no device at {address}"))?;
    Ok(Driver::probe(bus)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_is_named_by_bus_and_place() {
        for text in ["vhost-user:/run/ane.sock", "vfio:0000:01:00.0"] {
            assert_eq!(text.parse::<Device>().unwrap().to_string(), text);
        }
        for text in ["vhost-user:", "vfio:here", "usb:1", "/run/ane.sock", ""] {
            assert!(text.parse::<Device>().is_err(), "{text}");
        }
    }
}
