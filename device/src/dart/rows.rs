//! Rows: equally long stretches at equal distances, as tensors lie in memory.

use ane_uapi::hw::space::{BadRange, Iova, IovaRange};

/// Rows that lie in the aperture, all of them.
///
/// Rows may touch or overlap, and a distance of zero reads one row again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rows {
    span: IovaRange,
    len: u32,
    stride: u32,
    count: u32,
}

impl Rows {
    /// `count` rows of `len` bytes, the first at `base` and each `stride` bytes behind the one before.
    ///
    /// # Errors
    ///
    /// Refuses no rows, empty rows, and rows of which one does not lie in the aperture.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane_device::dart::Rows;
    /// use ane_uapi::hw::space::Iova;
    ///
    /// let rows = Rows::new(0x4000, 128, 256, 3).unwrap();
    /// assert_eq!(rows.span().end(), Iova(0x4000 + 2 * 256 + 128));
    /// assert!(Rows::new(0xe000_0000 - 256, 128, 256, 2).is_err());
    /// ```
    pub fn new(base: u64, len: u32, stride: u32, count: u32) -> Result<Self, BadRange> {
        let Some(gaps) = count.checked_sub(1).filter(|_| len != 0) else {
            return Err(BadRange::Empty { base });
        };
        let before_last = u64::from(stride).saturating_mul(u64::from(gaps));
        let span = IovaRange::new(base, before_last.saturating_add(u64::from(len)))?;
        Ok(Self { span, len, stride, count })
    }

    /// From the first byte of the first row to the last of the last.
    pub const fn span(&self) -> IovaRange {
        self.span
    }

    /// Bytes of a row; never zero.
    #[expect(clippy::len_without_is_empty, reason = "a row is never empty")]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Bytes from one row to the next.
    pub const fn stride(&self) -> u32 {
        self.stride
    }

    /// Rows; never zero.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Bytes of all rows together.
    pub const fn bytes(&self) -> u64 {
        (self.len as u64).saturating_mul(self.count as u64)
    }

    /// True if the rows are one stretch.
    pub const fn are_packed(&self) -> bool {
        self.count == 1 || self.len == self.stride
    }

    /// True if `iova` is a byte of a row, and not of a gap between two.
    pub(super) fn contain(&self, iova: Iova) -> bool {
        let inside = iova.0.wrapping_sub(self.span.base().0);
        self.span.contains(iova) && inside.checked_rem(self.stride).unwrap_or(inside) < self.len
    }

    /// Where row `n` begins; rows behind the last are where they would be.
    pub(super) const fn start(&self, n: u32) -> Iova {
        Iova(self.span.base().0.wrapping_add(self.stride.wrapping_mul(n)))
    }
}

/// One row.
impl From<IovaRange> for Rows {
    fn from(range: IovaRange) -> Self {
        Self { span: range, len: range.len(), stride: 0, count: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_contain_their_own_bytes_and_not_those_of_the_gaps() {
        let apart = Rows::new(0x4000, 16, 64, 3).unwrap();
        let bytes = [0x3fff, 0x4000, 0x400f, 0x4010, 0x403f, 0x4040, 0x408f, 0x4090];
        let inside = [false, true, true, false, false, true, true, false];
        assert_eq!(bytes.map(|at| apart.contain(Iova(at))), inside);
        let overlapping = Rows::new(0x4000, 64, 16, 2).unwrap();
        assert_eq!([0x404f, 0x4050].map(|at| overlapping.contain(Iova(at))), [true, false]);
        let one = Rows::from(IovaRange::new(0x4000, 64).unwrap());
        assert_eq!([0x403f, 0x4040].map(|at| one.contain(Iova(at))), [true, false]);
    }

    #[test]
    fn rows_that_are_none_or_leave_the_aperture_are_refused() {
        assert_eq!(Rows::new(0x4000, 0, 16, 1), Err(BadRange::Empty { base: 0x4000 }));
        assert_eq!(Rows::new(0x4000, 16, 16, 0), Err(BadRange::Empty { base: 0x4000 }));
        assert!(matches!(Rows::new(1 << 32, 16, 16, 1), Err(BadRange::Above32Bits { .. })));
        for (base, len, stride, count) in [
            (0xdfff_fff0, 17, 0, 1),
            (0, 1, u32::MAX, 2),
            (0, u32::MAX, u32::MAX, u32::MAX),
            (u64::MAX >> 32, 1, 0, 1),
        ] {
            assert!(matches!(Rows::new(base, len, stride, count), Err(BadRange::BeyondAperture { .. })));
        }
    }

    #[test]
    fn rows_up_to_the_last_byte_are_accepted() {
        let rows = Rows::new(0, 1, 0xdfff_ffff, 2).unwrap();
        assert_eq!(rows.start(1), Iova(0xdfff_ffff));
        assert_eq!(rows.span().end(), Iova(0xe000_0000));
    }

    #[test]
    fn same_row_many_times_spans_one_row() {
        let rows = Rows::new(0x4000, 64, 0, u32::MAX).unwrap();
        assert_eq!(rows.span().len(), 64);
        assert_eq!(rows.bytes(), 64 * u64::from(u32::MAX));
    }
}
