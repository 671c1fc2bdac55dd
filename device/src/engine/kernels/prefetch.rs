//! Lines that are asked for before they are needed: rows that lie a channel apart are none that a processor would guess.
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "an intrinsic"))]

/// Asks for the line of an address, which may be any.
#[inline(always)]
pub(super) fn read<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The same, for a line that will be written.
#[inline(always)]
pub(super) fn write<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // SAFETY: a hint, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
