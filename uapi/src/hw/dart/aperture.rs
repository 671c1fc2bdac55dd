//! The aperture: the IOVAs that the DART manages, and the three scales of alignment.

/// Lowest IOVA of the aperture (seed 000, table 28.1; measured).
pub const BASE: u64 = 0;

/// Bytes of the aperture, 3.5 GiB (seed 000, table 28.1; measured).
pub const SIZE: u64 = 0xe000_0000;

/// Bytes of a page (seed 000, table 28.1; measured). Every buffer maps at this granularity.
pub const PAGE_SIZE: u32 = 0x4000;

/// The logarithm of [`PAGE_SIZE`].
pub const PAGE_SHIFT: u32 = 14;

/// Bytes of the data-movement quantum (seed 000, table 28.9; HAL `0x1c0`).
pub const DMA_ALIGN: u32 = 16;

/// Bytes to which program text and segments are packed (seed 000, table 28.9; HAL `0x218`).
pub const SEGMENT_ALIGN: u32 = 256;

const _: () = {
    assert!(1 << PAGE_SHIFT == PAGE_SIZE);
    assert!(SIZE.is_multiple_of(PAGE_SIZE as u64));
    assert!(DMA_ALIGN < SEGMENT_ALIGN && SEGMENT_ALIGN < PAGE_SIZE);
};
