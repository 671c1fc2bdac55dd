//! The part of an output that one thread writes.
//!
//! The threads compute rectangles: some channels of an output, and some neighbouring pixels of each. No slice
//! is a rectangle, so a [`Window`] stands for it. It is made from the whole output and only ever divided, so
//! that no two of them share a number.
#![expect(unsafe_code, reason = "rectangles that do not overlap are written by threads of their own")]

use std::marker::PhantomData;
use std::ops::Range;
use std::slice;

use super::prefetch;

/// Some rows of an output, and some columns of each. Both are counted from those of the whole output.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    /// The first number of the whole output.
    whole: *mut u16,
    /// Numbers of a row of the whole output.
    pitch: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    borrowed: PhantomData<&'a mut [u16]>,
}

// SAFETY: no number of it belongs to another window, and the output is borrowed as long as there are windows of it.
unsafe impl Send for Window<'_> {}

impl<'a> Window<'a> {
    /// All of an output, in rows of so many columns; what is too little for a row is left out.
    pub(crate) fn new(whole: &'a mut [u16], columns: usize) -> Self {
        let rows = whole.len().checked_div(columns).unwrap_or_default();
        Self {
            whole: whole.as_mut_ptr(),
            pitch: columns,
            rows: 0..rows,
            columns: 0..columns,
            borrowed: PhantomData,
        }
    }

    /// Takes the first so many rows, or all that are left.
    pub(crate) fn take_rows(&mut self, count: usize) -> Self {
        let end = self.rows.start.saturating_add(count).min(self.rows.end);
        let rows = self.rows.start..end;
        self.rows.start = end;
        Self { rows, columns: self.columns.clone(), ..*self }
    }

    /// Takes the first so many columns, or all that are left.
    pub(crate) fn take_columns(&mut self, count: usize) -> Self {
        let end = self.columns.start.saturating_add(count).min(self.columns.end);
        let columns = self.columns.start..end;
        self.columns.start = end;
        Self { rows: self.rows.clone(), columns, ..*self }
    }

    /// Its rows and columns.
    pub(super) fn extents(&self) -> (usize, usize) {
        (self.rows.len(), self.columns.len())
    }

    /// Its first number, and how far behind the first of a row that of the next one is.
    pub(super) const fn place(&mut self) -> (*mut u16, usize) {
        let first = self.rows.start.wrapping_mul(self.pitch).wrapping_add(self.columns.start);
        (self.whole.wrapping_add(first), self.pitch)
    }

    /// All of its columns of each row.
    pub(crate) fn into_rows(self) -> impl Iterator<Item = &'a mut [u16]> {
        let Self { whole, pitch, rows, columns, .. } = self;
        rows.map(move |row| {
            let first = whole.wrapping_add(row.wrapping_mul(pitch).wrapping_add(columns.start));
            // SAFETY: the numbers are of the output that the window was made from, and no other window's; each row is
            // given once, and they do not overlap.
            unsafe { slice::from_raw_parts_mut(first, columns.len()) }
        })
    }

    /// Asks for the first and the last of some columns of some rows, which will soon be written.
    pub(crate) fn prefetch(&self, rows: Range<usize>, columns: &Range<usize>) {
        for row in rows {
            let row = self.whole.wrapping_add(row.wrapping_mul(self.pitch));
            prefetch::write(row.wrapping_add(columns.start));
            prefetch::write(row.wrapping_add(columns.end).wrapping_sub(1));
        }
    }

    /// Some columns of a row.
    ///
    /// # Panics
    ///
    /// Panics if they are not the window's, which is a mistake of this program and of no guest.
    pub(crate) fn get(&mut self, row: usize, columns: &Range<usize>) -> &mut [u16] {
        let have = &self.columns;
        assert!(
            self.rows.contains(&row)
                && have.start <= columns.start
                && columns.start <= columns.end
                && columns.end <= have.end,
            "row and columns are of this window"
        );
        let first = self.whole.wrapping_add(row.wrapping_mul(self.pitch).wrapping_add(columns.start));
        // SAFETY: rows and columns of a window are inside the output, and they are this window's alone, which is borrowed as long as the slice.
        unsafe { slice::from_raw_parts_mut(first, columns.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_an_output_are_each_of_its_numbers_once() {
        let mut output = [0; 5 * 7 + 3];
        let mut whole = Window::new(&mut output, 7);
        let mut upper = whole.take_rows(2);
        let mut windows = [upper.take_columns(3), upper, whole.take_columns(6), whole];
        for ((window, name), (rows, columns)) in
            windows.iter_mut().zip(1..).zip([(0..2, 0..3), (0..2, 3..7), (2..5, 0..6), (2..5, 6..7)])
        {
            for row in rows {
                window.get(row, &columns).iter_mut().for_each(|number| *number += name);
            }
        }
        let rows = |row: &[u16]| output.chunks(7).filter(|found| *found == row).count();
        assert_eq!(rows(&[1, 1, 1, 2, 2, 2, 2]), 2);
        assert_eq!(rows(&[3, 3, 3, 3, 3, 3, 4]), 3);
        assert_eq!(output[35..], [0; 3]);
    }

    #[test]
    fn more_than_is_left_is_all_of_it() {
        let mut output = [0; 6];
        let mut whole = Window::new(&mut output, 3);
        let mut all = whole.take_rows(usize::MAX).take_columns(usize::MAX);
        assert_eq!(all.get(1, &(0..3)), [0; 3]);
        assert!(whole.rows.is_empty());
    }

    #[test]
    #[should_panic(expected = "of this window")]
    fn columns_of_another_window_are_not_handed_out() {
        let mut output = [0; 6];
        let mut whole = Window::new(&mut output, 3);
        let mut first = whole.take_columns(2);
        first.get(0, &(1..3));
    }

    #[test]
    #[should_panic(expected = "of this window")]
    fn row_of_another_window_is_not_handed_out() {
        let mut output = [0; 6];
        let mut whole = Window::new(&mut output, 3);
        let _first = whole.take_rows(1);
        whole.get(0, &(0..1));
    }
}
