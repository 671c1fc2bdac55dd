//! Checked reading of a file's bytes.
//!
//! Every number in a container may lie. A [`Reader`] is a stretch of the file that knows where it lies and what
//! it is, so that whatever is asked of it beyond its end becomes an [`Outside`] that a person can act on.

use std::fmt;

use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    File,
    /// One load command of an HWX.
    LoadCommand {
        /// Place in the list, from 0.
        index: u32,
        at: u64,
    },
}

impl Place {
    const fn noun(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::LoadCommand { .. } => "load command",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::File => f.write_str(self.noun()),
            Self::LoadCommand { index, at } => write!(f, "{} {index} at {at:#x}", self.noun()),
        }
    }
}

/// A field that does not lie inside the stretch of the file that should hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{place}: {needs:#x} bytes of {field} at {at:#x} leave the {}, which ends at {end:#x}",
    place.noun()
)]
pub struct Outside {
    pub place: Place,
    pub field: &'static str,
    /// File offset at which it was to start.
    pub at: u64,
    /// How many bytes it was to have.
    pub needs: u64,
    pub end: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) place: Place,
    start: u64,
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn file(bytes: &'a [u8]) -> Self {
        Self { place: Place::File, start: 0, bytes }
    }

    pub(crate) const fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(crate) const fn offset(&self, at: u64) -> u64 {
        self.start.saturating_add(at)
    }

    /// The `len` bytes at `at` as a stretch of their own.
    pub(crate) fn part(&self, place: Place, at: u64, len: u64, field: &'static str) -> Result<Self, Outside> {
        Ok(Self { place, start: self.offset(at), bytes: self.slice(at, len, field)? })
    }

    pub(crate) fn slice(&self, at: u64, len: u64, field: &'static str) -> Result<&'a [u8], Outside> {
        let range = || {
            let start = usize::try_from(at).ok()?;
            let end = start.checked_add(usize::try_from(len).ok()?)?;
            self.bytes.get(start..end)
        };
        range().ok_or(Outside {
            place: self.place,
            field,
            at: self.offset(at),
            needs: len,
            end: self.offset(self.len()),
        })
    }

    pub(crate) fn rest(&self, at: u64, field: &'static str) -> Result<&'a [u8], Outside> {
        self.slice(at, self.len().saturating_sub(at), field)
    }

    pub(crate) fn u32(&self, at: u64, field: &'static str) -> Result<u32, Outside> {
        self.array(at, field).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&self, at: u64, field: &'static str) -> Result<u64, Outside> {
        self.array(at, field).map(u64::from_le_bytes)
    }

    pub(crate) fn array<const N: usize>(&self, at: u64, field: &'static str) -> Result<[u8; N], Outside> {
        let bytes = self.slice(at, N as u64, field)?;
        // The slice has N bytes, so the default is never taken.
        Ok(bytes.first_chunk().copied().unwrap_or([0; N]))
    }
}

/// The part of `bytes` in front of the first NUL.
pub(crate) fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// True if `inner` lies inside `outer`, as memory.
///
/// A reader that borrows from its input gives out nothing else; tests and the fuzz target hold it to that.
pub fn lies_inside(inner: &[u8], outer: &[u8]) -> bool {
    let (inner, outer) = (inner.as_ptr_range(), outer.as_ptr_range());
    outer.start <= inner.start && inner.end <= outer.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_inside_the_stretch_is_little_endian() {
        let file = Reader::file(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(file.u32(1, "word"), Ok(0x0504_0302));
        assert_eq!(file.u64(1, "word"), Ok(0x0908_0706_0504_0302));
    }

    #[test]
    fn read_beyond_the_end_names_place_field_and_offset() {
        let file = Reader::file(&[0; 16]);
        let command = Place::LoadCommand { index: 3, at: 4 };
        let part = file.part(command, 4, 8, "load command").expect("inside");
        let error = part.u64(1, "link address").expect_err("one byte too far");
        assert_eq!(
            error.to_string(),
            "load command 3 at 0x4: 0x8 bytes of link address at 0x5 leave the load command, which ends at 0xc"
        );
    }

    #[test]
    fn offset_or_length_near_the_top_of_64_bits_is_outside() {
        let file = Reader::file(&[0; 16]);
        for at in [u64::MAX, u64::MAX - 3, 17] {
            assert!(file.u32(at, "word").is_err());
            assert!(file.slice(at, u64::MAX, "bytes").is_err());
            assert!(file.rest(at, "bytes").is_err());
        }
        assert_eq!(file.rest(16, "bytes"), Ok(&[][..]));
    }

    #[test]
    fn text_ends_at_the_first_nul_or_at_the_end() {
        assert_eq!(until_nul(b"net\0image\0"), b"net");
        assert_eq!(until_nul(b"net"), b"net");
        assert_eq!(until_nul(b""), b"");
    }
}
