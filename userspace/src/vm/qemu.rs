//! The QEMU that is installed, and the ways in which it can carry the device.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

/// The processor of a machine, and with it the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    X86_64,
    /// QEMU's `virt`. With the generic device it is composed only: nobody has run it so.
    Aarch64,
}

impl Arch {
    pub const fn program(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86_64",
            Self::Aarch64 => "qemu-system-aarch64",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Version {
    /// The way in which a QEMU of this version carries the device, if there is one.
    pub fn carrier(self) -> Option<Carrier> {
        if self >= GENERIC_SINCE {
            Some(Carrier::Generic)
        } else if self >= BLOCK_SINCE {
            Some(Carrier::Block)
        } else {
            None
        }
    }
}

/// The first version in which anybody may create the generic device.
pub const GENERIC_SINCE: Version = Version { major: 10, minor: 2 };

/// The first version in which the stopgap was tried.
pub const BLOCK_SINCE: Version = Version { major: 10, minor: 0 };

/// The QEMU device that the function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// `vhost-user-test-device-pci`: made for devices that QEMU does not know.
    Generic,
    /// `vhost-user-blk-pci`, for older versions: the guest sees a disk controller, until it reads the magic.
    Block,
    /// `vfio-user-pci`: a function with the engine's own registers, for drivers of the real one.
    Platform,
}

/// No QEMU that can carry the device.
#[derive(Debug, Error)]
pub enum NoQemu {
    #[error("{}; {}", missing(.program), install())]
    Missing { program: String },
    #[error("{} --version does not say which it is: {why}", path.display())]
    Strange { path: PathBuf, why: String },
    #[error(
        "{} is QEMU {version}, and no device of it can carry this one; {GENERIC_SINCE} or later is needed \
         ({BLOCK_SINCE} as a stopgap)", path.display()
    )]
    Old { path: PathBuf, version: Version },
}

impl NoQemu {
    /// The message without its advice.
    pub fn found(&self) -> String {
        match self {
            Self::Missing { program } => missing(program),
            other => other.to_string(),
        }
    }

    pub fn advice(&self) -> String {
        match self {
            Self::Missing { .. } => install(),
            Self::Strange { .. } | Self::Old { .. } => "install QEMU".to_owned(),
        }
    }
}

fn missing(program: &str) -> String {
    format!("there is no {program} on the path")
}

fn install() -> String {
    format!(
        "install QEMU {GENERIC_SINCE} or later (Debian 13: `apt-get install -t trixie-backports qemu-system-x86`; without \
         being root: tools/guest/fetch), or name one with --qemu"
    )
}

#[derive(Clone, Debug)]
pub struct Qemu {
    pub path: PathBuf,
    pub version: Version,
}

impl Qemu {
    /// The one at `path`, else the one that `ANE_QEMU` names, that is on the path, or that tools/guest/fetch fetched.
    pub fn find(path: Option<&Path>, arch: Arch) -> Result<Self, NoQemu> {
        let program = arch.program();
        let named = path.map(Path::to_owned).or_else(|| std::env::var_os("ANE_QEMU").map(PathBuf::from));
        if let Some(path) = named {
            return Self::at(path);
        }
        let on_path = std::env::var_os("PATH").and_then(|all| {
            std::env::split_paths(&all).map(|folder| folder.join(program)).find(|at| at.is_file())
        });
        let fetched = cache().map(|cache| cache.join("bin").join(program)).filter(|at| at.is_file());
        match (on_path.map(Self::at), fetched) {
            // One that is too old does not stand in the way of one that was fetched for that reason.
            (Some(Ok(found)), _) if found.carrier() == Ok(Carrier::Generic) => Ok(found),
            (_, Some(fetched)) => Self::at(fetched),
            (Some(found), None) => found,
            (None, None) => Err(NoQemu::Missing { program: program.to_owned() }),
        }
    }

    pub fn at(path: PathBuf) -> Result<Self, NoQemu> {
        match Command::new(&path).arg("--version").output() {
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                Err(NoQemu::Missing { program: path.display().to_string() })
            }
            Err(why) => Err(NoQemu::Strange { path, why: why.to_string() }),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                match version(&said) {
                    Some(version) => Ok(Self { path, version }),
                    None => {
                        let why = if said.is_empty() {
                            String::from_utf8_lossy(&output.stderr).into()
                        } else {
                            said
                        };
                        Err(NoQemu::Strange { path, why: why.lines().next().unwrap_or_default().to_owned() })
                    }
                }
            }
        }
    }

    /// The way in which it carries the device; the version if there is none.
    pub fn carrier(&self) -> Result<Carrier, Version> {
        self.version.carrier().ok_or(self.version)
    }
}

/// Where tools/guest keeps what it fetched and made.
pub fn cache() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("ANE_GUEST_CACHE") {
        return Some(folder.into());
    }
    let caches = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let caches = caches.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    Some(caches.join("ane/guest"))
}

/// The version in what `--version` prints: "QEMU emulator version 11.1.3 (Debian ...)".
fn version(text: &str) -> Option<Version> {
    let numbers = text.strip_prefix("QEMU emulator version ")?.split_whitespace().next()?;
    let mut numbers = numbers.split('.');
    let mut next = || numbers.next()?.parse().ok();
    Some(Version { major: next()?, minor: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(text: &str) -> Result<Carrier, Version> {
        Qemu { path: PathBuf::new(), version: version(text).unwrap() }.carrier()
    }

    #[test]
    fn advice_is_told_apart_from_what_is_missing() {
        let missing = Qemu::at("/nowhere; at/all".into()).unwrap_err();
        let (found, advice) = (missing.found(), missing.advice());
        assert_eq!(found, "there is no /nowhere; at/all on the path");
        assert!(advice.starts_with("install QEMU 10.2 or later (Debian 13: "), "{advice}");
        assert_eq!(missing.to_string(), format!("{found}; {advice}"));
    }

    #[test]
    fn carrier_follows_from_the_version() {
        let said =
            |numbers: &str| format!("QEMU emulator version {numbers} (Debian 1:{numbers}+ds)\nCopyright");
        assert_eq!(carried(&said("11.1.3")), Ok(Carrier::Generic));
        assert_eq!(carried(&said("10.2.0")), Ok(Carrier::Generic));
        assert_eq!(carried(&said("10.1.5")), Ok(Carrier::Block));
        assert_eq!(carried(&said("10.0.2")), Ok(Carrier::Block));
        assert_eq!(carried(&said("9.2.4")), Err(Version { major: 9, minor: 2 }));
        assert_eq!(carried(&said("7.2.0")), Err(Version { major: 7, minor: 2 }));
    }

    #[test]
    fn text_without_a_version_has_none() {
        for text in ["", "QEMU emulator version", "QEMU emulator version x.y", "sh: 1: not found"] {
            assert_eq!(version(text), None, "{text:?}");
        }
    }

    #[test]
    fn program_that_is_not_there_or_is_no_qemu_is_named() {
        let missing = Qemu::at("/nonexistent/qemu".into()).unwrap_err().to_string();
        assert!(missing.contains("/nonexistent/qemu") && missing.contains("install"), "{missing}");
        let strange = Qemu::at("/bin/true".into()).unwrap_err().to_string();
        assert!(strange.contains("/bin/true"), "{strange}");
    }
}
