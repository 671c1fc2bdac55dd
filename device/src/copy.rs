//! Copies of short rows.
//!
//! Rows of a tensor have a few bytes or some hundred, and there are many of them. To call the function that copies any number
//! of bytes takes longer than most of them need, so a short row is copied in place: its beginning and its end, which overlap.
#![expect(unsafe_code, reason = "guest memory is copied by its address")]

use std::ptr;

/// Copies bytes, as many as both slices have.
#[inline(always)]
pub(crate) fn row(from: &[u8], to: &mut [u8]) {
    let len = from.len().min(to.len());
    // SAFETY: both slices have so many bytes, and one that may be written overlaps no other.
    unsafe { bytes(from.as_ptr(), to.as_mut_ptr(), len) }
}

/// Copies so many bytes.
///
/// # Safety
///
/// They can be read and written, and the two stretches do not overlap.
#[inline(always)]
pub(crate) unsafe fn bytes(from: *const u8, to: *mut u8, len: usize) {
    match len {
        // SAFETY: there are at least so many bytes, as the caller says; the same holds below.
        2..=3 => unsafe { ends::<2>(from, to, len) },
        // SAFETY: as above.
        4..=7 => unsafe { ends::<4>(from, to, len) },
        // SAFETY: as above.
        8..=16 => unsafe { ends::<8>(from, to, len) },
        // SAFETY: as above.
        17..=32 => unsafe { ends::<16>(from, to, len) },
        // SAFETY: as above.
        33..=64 => unsafe { ends::<32>(from, to, len) },
        // SAFETY: as above.
        65..=128 => unsafe { ends::<64>(from, to, len) },
        // SAFETY: as the caller says.
        _ => unsafe { ptr::copy_nonoverlapping(from, to, len) },
    }
}

/// Copies the first and the last `N` of so many bytes.
///
/// # Safety
///
/// As for [`bytes`]; there are at least `N`, and not more than twice as many.
#[inline(always)]
unsafe fn ends<const N: usize>(from: *const u8, to: *mut u8, len: usize) {
    let last = len.wrapping_sub(N);
    // SAFETY: there are at least `N` bytes.
    unsafe { ptr::copy_nonoverlapping(from, to, N) };
    // SAFETY: so many end with the last of them.
    unsafe { ptr::copy_nonoverlapping(from.wrapping_add(last), to.wrapping_add(last), N) };
}

#[cfg(test)]
mod tests {
    #[test]
    fn row_of_any_length_is_copied_and_nothing_behind_it() {
        let from: Vec<u8> = (0..=u8::MAX).collect();
        for len in 0..from.len() {
            let mut to = vec![0xee; 300];
            super::row(&from[..len], &mut to);
            assert_eq!(to[..len], from[..len]);
            assert!(to[len..].iter().all(|&byte| byte == 0xee), "{len}");
        }
    }
}
