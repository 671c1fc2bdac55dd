//! The arrays of a client that an argument points at.

use ane_uapi::ioctl::errno::Errno;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::Result;
use crate::front::Segments;

pub(crate) const fn unless(is_wrong: bool, errno: Errno) -> Result<()> {
    if is_wrong { Err(errno) } else { Ok(()) }
}

/// The bytes of an array of `count` elements at `at`, each of which the client says has `size` bytes. `E2BIG` above
/// `limit` elements, `EINVAL` if they have another size, `EFAULT` if they are not all there. No elements are nowhere,
/// and of any size.
pub(crate) fn elements<T>(memory: &Segments, at: u64, count: u32, size: u32, limit: u32) -> Result<&[u8]> {
    if count == 0 {
        return Ok(&[]);
    }
    unless(size as usize != size_of::<T>(), Errno::EINVAL)?;
    unless(count > limit, Errno::E2BIG)?;
    memory.read(at, bytes_of::<T>(count)).map_err(|_| Errno::EFAULT)
}

/// Bytes of so many elements; every array has a limit far below what would not fit.
pub(crate) const fn bytes_of<T>(count: u32) -> usize {
    (count as usize).saturating_mul(size_of::<T>())
}

/// The elements of such an array, one after the other: a client's address need not be aligned.
pub(crate) fn each<T: FromBytes + KnownLayout + Immutable>(
    bytes: &[u8],
) -> impl Iterator<Item = T> + use<'_, T> {
    bytes.chunks_exact(size_of::<T>()).filter_map(|element| T::read_from_bytes(element).ok())
}

/// Writes element `index` of an array at `at`.
pub(crate) fn put<T: IntoBytes + Immutable>(
    memory: &mut Segments,
    at: u64,
    index: usize,
    element: &T,
) -> Result<()> {
    let offset = u64::try_from(index.saturating_mul(size_of::<T>())).map_err(|_| Errno::EFAULT)?;
    let at = at.checked_add(offset).ok_or(Errno::EFAULT)?;
    memory.write(at, element.as_bytes()).map_err(|_| Errno::EFAULT)
}
