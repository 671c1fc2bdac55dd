//! The mappings of the process, by the calling thread's list of them: that of the process is empty once its main thread has
//! ended.
//!
//! A line has addresses, rights, an offset, the file's device as two hexadecimal numbers and its inode in decimal.

use crate::sys::file::{self, Identity};

/// Bytes that are read at a time; paths are longer than that only where nobody looks.
const ROOM: usize = 4096;

/// Shows the file of each mapping that has one. False if they cannot be listed: a process without any does not run.
pub(super) fn each(show: &mut impl FnMut(Identity)) -> bool {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    let Ok(maps) = file::open(libc::AT_FDCWD, c"/proc/thread-self/maps", flags, 0) else { return false };
    let mut room = [0; ROOM];
    let mut line = Line::default();
    let mut is_any = false;
    let is_told = loop {
        match file::read(maps, &mut room) {
            Ok(0) => break is_any,
            Ok(bytes) => {
                is_any = true;
                for &byte in room.get(..bytes).unwrap_or_default() {
                    if let Some(identity) = line.push(byte) {
                        show(identity);
                    }
                }
            }
            Err(_) => break false,
        }
    };
    file::close(maps);
    is_told
}

/// A line as it comes, byte by byte: nothing of it has to be kept but the numbers of the field that it is in.
#[derive(Debug, Default)]
struct Line {
    field: u8,
    major: u64,
    minor: u64,
    inode: u64,
    is_minor: bool,
}

const DEVICE: u8 = 3;
const INODE: u8 = 4;

impl Line {
    /// The next byte; the file, once its inode is whole.
    fn push(&mut self, byte: u8) -> Option<Identity> {
        match byte {
            b'\n' => *self = Self::default(),
            // The path may have blanks: what comes behind the inode is of no interest.
            b' ' if self.field <= INODE => {
                self.field += 1;
                let is_file = self.field == INODE + 1 && self.inode != 0;
                return is_file.then(|| self.identity());
            }
            b':' if self.field == DEVICE => self.is_minor = true,
            _ => self.digit(byte),
        }
        None
    }

    fn digit(&mut self, byte: u8) {
        let Some(digit) = char::from(byte).to_digit(16).map(u64::from) else { return };
        let (number, base) = match (self.field, self.is_minor) {
            (DEVICE, false) => (&mut self.major, 16),
            (DEVICE, true) => (&mut self.minor, 16),
            (INODE, _) => (&mut self.inode, 10),
            _ => return,
        };
        *number = number.wrapping_mul(base).wrapping_add(digit);
    }

    fn identity(&self) -> Identity {
        // Both fit: the system prints its own numbers.
        let device = libc::makedev(self.major as u32, self.minor as u32);
        Identity { device, inode: self.inode }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_names_device_and_inode_whatever_the_path() {
        let text = b"7f00-7f01 rw-s 00000000 00:01 1034 /memfd:a b 00:02 77 (deleted)\n\
                     7f02-7f03 rw-p 00000000 00:00 0 \n\
                     7f04-7f05 r--p 0001f000 fe:1a 9 /x\n";
        let mut line = Line::default();
        let found: Vec<_> = text.iter().filter_map(|&byte| line.push(byte)).collect();
        let file = |major, minor, inode| Identity { device: libc::makedev(major, minor), inode };
        assert_eq!(found, [file(0, 1, 1034), file(0xfe, 0x1a, 9)]);
    }
}
