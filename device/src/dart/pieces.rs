//! What a transfer consists of, once every address of it is translated.
//!
//! A transfer moves nothing before all of it is known to be permitted. What the translation found is noted as
//! pieces of host memory, and neighbours become one: a buffer that lies in one stretch is one piece however
//! many pages it has, and the rows of a tensor are a few pieces of many rows each.

use super::memory::Place;

/// Pieces for which room is kept between transfers; a larger transfer makes room and gives it back.
const ROOM: usize = 4096;

/// Rows of equal length and distance; a stretch without gaps is one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The first byte.
    pub(super) place: Place,
    /// Bytes of a row.
    pub(super) len: u32,
    /// Rows.
    pub(super) count: u32,
}

/// The pieces of one transfer, in the order of its bytes.
///
/// There are at most three for each page that the transfer touches: the rows inside it, and the two parts of
/// a row that crosses into the next. The aperture has 229,376 pages.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    list: Vec<Piece>,
    /// Bytes from one row of a piece to the next.
    stride: usize,
}

impl Pieces {
    /// Forgets the last transfer and starts one whose rows are `stride` apart.
    pub(super) fn start(&mut self, stride: usize) {
        self.list.clear();
        self.list.shrink_to(ROOM);
        self.stride = stride;
    }

    /// Adds `len` bytes without a gap.
    #[inline]
    pub(super) fn push(&mut self, place: Place, len: u32) {
        if let Some(last) = self.list.last_mut()
            && last.count == 1
            && last.place.further(last.len as usize) == place
            && let Some(sum) = last.len.checked_add(len)
        {
            last.len = sum;
            return;
        }
        self.list.push(Piece { place, len, count: 1 });
    }

    /// Adds `count` rows of `len` bytes.
    #[inline]
    pub(super) fn push_rows(&mut self, place: Place, len: u32, count: u32) {
        if let Some(last) = self.list.last_mut()
            && last.len == len
            && last.place.further((last.count as usize).wrapping_mul(self.stride)) == place
            && let Some(sum) = last.count.checked_add(count)
        {
            last.count = sum;
            return;
        }
        self.list.push(Piece { place, len, count });
    }

    pub(super) fn list(&self) -> &[Piece] {
        &self.list
    }

    /// Bytes from one row of a piece to the next.
    pub(super) const fn stride(&self) -> usize {
        self.stride
    }

    /// Every row of every piece, with its length.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Place, usize)> {
        let stride = self.stride;
        self.list.iter().flat_map(move |piece| {
            let row = move |n: u32| piece.place.further((n as usize).wrapping_mul(stride));
            (0..piece.count).map(move |n| (row(n), piece.len as usize))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn piece(host: usize, region: u16, len: u32, count: u32) -> Piece {
        Piece { place: Place::new(host, region), len, count }
    }

    #[test]
    fn neighbours_of_one_region_are_joined_and_others_are_not() {
        let mut pieces = Pieces::default();
        pieces.start(0);
        for (host, region) in [(0x1000, 0), (0x1100, 0), (0x1200, 1), (0x1300, 1), (0x1000, 1)] {
            pieces.push(Place::new(host, region), 0x100);
        }
        let joined = [piece(0x1000, 0, 0x200, 1), piece(0x1200, 1, 0x200, 1), piece(0x1000, 1, 0x100, 1)];
        assert_eq!(pieces.list(), joined);
    }

    #[test]
    fn rows_that_go_on_in_the_next_page_are_joined() {
        let mut pieces = Pieces::default();
        pieces.start(0x40);
        pieces.push_rows(Place::new(0x1000, 0), 0x10, 4);
        pieces.push_rows(Place::new(0x1100, 0), 0x10, 4);
        pieces.push_rows(Place::new(0x1200, 1), 0x10, 4);
        pieces.push_rows(Place::new(0x1300, 1), 0x20, 1);
        let joined = [piece(0x1000, 0, 0x10, 8), piece(0x1200, 1, 0x10, 4), piece(0x1300, 1, 0x20, 1)];
        assert_eq!(pieces.list(), joined);
    }

    #[test]
    fn part_of_a_row_never_goes_on_behind_many_rows() {
        let mut pieces = Pieces::default();
        pieces.start(0x40);
        pieces.push_rows(Place::new(0x1000, 0), 0x10, 4);
        pieces.push(Place::new(0x1010, 0), 0x10);
        assert_eq!(pieces.list(), [piece(0x1000, 0, 0x10, 4), piece(0x1010, 0, 0x10, 1)]);
    }

    #[test]
    fn rows_are_counted_out_at_their_distance() {
        let mut pieces = Pieces::default();
        pieces.start(0x40);
        pieces.push_rows(Place::new(0x1000, 0), 0x10, 3);
        let hosts: Vec<_> = pieces.rows().map(|(place, len)| (place.host(), len)).collect();
        assert_eq!(hosts, [(0x1000, 0x10), (0x1040, 0x10), (0x1080, 0x10)]);
    }
}
