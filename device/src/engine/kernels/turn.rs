//! Eight rows of eight halves turned, in registers.
//!
//! To interleave row `i` with row `i + 4` moves one bit of an element's row number into its column number, and after three
//! times rows are columns. Every x86-64 processor has the two instructions that this takes; compilers do not find them.

/// Halves of a row, and rows.
pub(in crate::engine) const BLOCK: usize = 8;

pub(in crate::engine) type Block = [[u16; BLOCK]; BLOCK];

/// Rows become columns.
#[inline]
pub(in crate::engine) fn turned(block: Block) -> Block {
    let rows = block.map(Row::new);
    interleaved(interleaved(interleaved(rows))).map(Row::halves)
}

/// Row `i` and row `i + 4`, element by element, in two rows.
#[inline]
fn interleaved([a, b, c, d, e, f, g, h]: [Row; BLOCK]) -> [Row; BLOCK] {
    let ([a, b], [c, d], [e, f], [g, h]) = (a.zipped(e), b.zipped(f), c.zipped(g), d.zipped(h));
    [a, b, c, d, e, f, g, h]
}

#[cfg(target_arch = "x86_64")]
use self::sse2::Row;

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions that are part of the architecture")]
mod sse2 {
    use core::arch::x86_64::*;

    use super::BLOCK;

    /// A row in a register.
    #[derive(Clone, Copy)]
    pub(super) struct Row(__m128i);

    impl Row {
        #[inline]
        pub(super) fn new(halves: [u16; BLOCK]) -> Self {
            // SAFETY: the array has the sixteen bytes that are read, at any alignment.
            Self(unsafe { _mm_loadu_si128(halves.as_ptr().cast()) })
        }

        #[inline]
        pub(super) fn halves(self) -> [u16; BLOCK] {
            let mut halves = [0; BLOCK];
            // SAFETY: the array has the sixteen bytes that are written, at any alignment.
            unsafe { _mm_storeu_si128(halves.as_mut_ptr().cast(), self.0) };
            halves
        }

        /// Both rows, element by element.
        #[inline]
        pub(super) fn zipped(self, other: Self) -> [Self; 2] {
            // SAFETY: every processor of this architecture has SSE2.
            let low = unsafe { _mm_unpacklo_epi16(self.0, other.0) };
            // SAFETY: as above.
            let high = unsafe { _mm_unpackhi_epi16(self.0, other.0) };
            [Self(low), Self(high)]
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy)]
struct Row([u16; BLOCK]);

#[cfg(not(target_arch = "x86_64"))]
impl Row {
    const fn new(halves: [u16; BLOCK]) -> Self {
        Self(halves)
    }

    const fn halves(self) -> [u16; BLOCK] {
        self.0
    }

    /// Both rows, element by element.
    const fn zipped(self, other: Self) -> [Self; 2] {
        let (Self([a0, a1, a2, a3, a4, a5, a6, a7]), Self([b0, b1, b2, b3, b4, b5, b6, b7])) = (self, other);
        [Self([a0, b0, a1, b1, a2, b2, a3, b3]), Self([a4, b4, a5, b5, a6, b6, a7, b7])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_and_column_of_every_element_have_changed_places() {
        let block: Block =
            std::array::from_fn(|row| std::array::from_fn(|column| (10 * row + column) as u16));
        let expected: Block =
            std::array::from_fn(|row| std::array::from_fn(|column| (10 * column + row) as u16));
        assert_eq!(turned(block), expected);
    }
}
