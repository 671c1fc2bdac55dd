//! The paths of the device, and the files that a program sees there.
//!
//! `/dev/accel` has one node and nothing else: a program that tries one node after the other finds this one (Chosen).
//! So far as names go; a program that lists `/dev` itself sees what is really there.

use std::ffi::CStr;

use libc::{c_int, mode_t};

use crate::config::{self, Config};

/// Where the kernel puts accelerators.
const DIRECTORY: &[u8] = b"/dev/accel";

/// The major number of accelerators (Linux, `drivers/accel`).
const MAJOR: u32 = 261;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Directory,
    Node,
    /// Nothing, though a real device might be there.
    Nothing,
}

/// The file at `path`; `None` if the path is not this library's.
pub(crate) fn find(config: &Config, path: &CStr) -> Option<Place> {
    let rest = path.to_bytes().strip_prefix(DIRECTORY)?;
    if rest.is_empty() {
        return Some(Place::Directory);
    }
    let name = within(rest.strip_prefix(b"/")?);
    Some(named(config, name))
}

/// The file `name` in the directory of the nodes.
pub(crate) fn named(config: &Config, name: &[u8]) -> Place {
    match within(name) {
        // The one above it is a directory too, and listings show it.
        b"" | b"." | b".." => Place::Directory,
        name if config::number(name) == Some(config.node) => Place::Node,
        _ => Place::Nothing,
    }
}

/// Without slashes and `./` in front, which mean nothing.
fn within(mut name: &[u8]) -> &[u8] {
    loop {
        name = match name {
            [b'/', rest @ ..] | [b'.', b'/', rest @ ..] => rest,
            _ => return name,
        };
    }
}

impl Place {
    /// Whether a program may have the access `mode`, in the numbers of `access`: every user may read and write
    /// the node.
    pub(crate) const fn access(self, mode: c_int) -> Result<(), c_int> {
        match self {
            Self::Nothing => Err(libc::ENOENT),
            Self::Node if mode & libc::X_OK != 0 => Err(libc::EACCES),
            Self::Directory if mode & libc::W_OK != 0 => Err(libc::EACCES),
            Self::Node | Self::Directory => Ok(()),
        }
    }
}

/// The result of `stat` for the node.
pub(crate) const fn mode() -> mode_t {
    libc::S_IFCHR | 0o666
}

/// Its inode, by its path and by each descriptor of it, on a device of number 0.
pub(crate) fn inode(config: &Config) -> u64 {
    u64::from(config.node) + 1
}

pub(crate) const fn numbers(config: &Config) -> (u32, u32) {
    (MAJOR, config.node as u32)
}

/// The result of `stat` for the directory.
pub(crate) const fn directory_mode() -> mode_t {
    libc::S_IFDIR | 0o755
}

/// The path of a place, with a zero at its end.
pub(crate) fn path(config: &Config, place: Place) -> [u8; PATH] {
    let mut path = [0; PATH];
    let tens = (config.node >= 10).then_some(b'0' + config.node / 10);
    let name = b"/accel".iter().copied().chain(tens).chain([b'0' + config.node % 10]);
    let name = name.take(if place == Place::Node { PATH } else { 0 });
    for (to, byte) in path.iter_mut().zip(DIRECTORY.iter().copied().chain(name)) {
        *to = byte;
    }
    path
}

/// Room for the longest path and a zero.
const PATH: usize = DIRECTORY.len() + b"/accel63".len() + 1;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const CONFIG: Config = Config { socket: b"", node: 3, listing: None, patience: Duration::ZERO };

    #[test]
    fn path_of_a_place_leads_to_it() {
        for (node, place) in [(0, Place::Node), (63, Place::Node), (5, Place::Directory)] {
            let config = Config { node, ..CONFIG };
            let path = path(&config, place);
            assert_eq!(find(&config, CStr::from_bytes_until_nul(&path).unwrap()), Some(place));
        }
    }

    #[test]
    fn only_the_configured_node_is_there() {
        for (path, place) in [
            (c"/dev/accel", Some(Place::Directory)),
            (c"/dev/accel/", Some(Place::Directory)),
            (c"/dev/accel/.", Some(Place::Directory)),
            (c"/dev/accel/..", Some(Place::Directory)),
            (c"/dev/accel/accel3", Some(Place::Node)),
            (c"/dev/accel//./accel3", Some(Place::Node)),
            (c"/dev/accel/accel0", Some(Place::Nothing)),
            (c"/dev/accel/accel3/x", Some(Place::Nothing)),
            (c"/dev/accelerator", None),
            (c"/dev/accel3", None),
            (c"/dev", None),
            (c"", None),
        ] {
            assert_eq!(find(&CONFIG, path), place, "{path:?}");
        }
    }
}
