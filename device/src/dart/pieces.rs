//! The pieces of a transfer, once every address of it is translated.
//!
//! A transfer moves nothing before all of it is known to be permitted. The translated addresses are noted as
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
    /// Bytes from one row to the next.
    pub(super) stride: u32,
}

impl Piece {
    /// Bytes of all rows.
    pub(super) const fn bytes(self) -> usize {
        (self.len as usize).saturating_mul(self.count as usize)
    }

    /// Where each row begins.
    #[inline]
    pub(super) fn places(self) -> impl Iterator<Item = Place> {
        (0..self.count).map(move |n| self.row(n))
    }

    const fn row(self, n: u32) -> Place {
        self.place.further((n as usize).wrapping_mul(self.stride as usize))
    }

    /// True if its rows do not overlap.
    const fn is_apart(self) -> bool {
        self.count <= 1 || self.len <= self.stride
    }

    /// From its first byte to the one behind its last.
    const fn span(self) -> (usize, usize) {
        let last = self.row(self.count.saturating_sub(1));
        (self.place.host(), last.host().saturating_add(self.len as usize))
    }
}

/// The pieces of one transfer, in the order of its bytes.
///
/// Of rows that do not overlap there are at most three for each page that the transfer touches: the rows inside it, and the two
/// parts of a row that crosses into the next. The aperture has 229,376 pages. Of rows that do there are two for each, and the
/// tile DMA moves 2^16 rows together at most.
///
/// A transfer may have several parts, whose rows have distances of their own. No piece belongs to two of them.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    list: Vec<Piece>,
    /// Bytes from one row of the last part to the next.
    stride: u32,
    /// The first piece of the last part.
    first: usize,
}

impl Pieces {
    /// Forgets the last transfer and starts one.
    pub(super) fn start(&mut self) {
        self.list.clear();
        self.list.shrink_to(ROOM);
    }

    /// Starts a part whose rows are `stride` apart.
    pub(super) fn start_part(&mut self, stride: u32) {
        self.stride = stride;
        self.first = self.list.len();
    }

    /// The last piece of the last part.
    #[inline]
    fn last(&mut self) -> Option<&mut Piece> {
        self.list.get_mut(self.first..)?.last_mut()
    }

    /// Adds `len` bytes without a gap.
    #[inline]
    pub(super) fn push(&mut self, place: Place, len: u32) {
        if let Some(last) = self.last()
            && last.count == 1
            && last.place.further(last.len as usize) == place
            && let Some(sum) = last.len.checked_add(len)
        {
            last.len = sum;
            return;
        }
        self.list.push(Piece { place, len, count: 1, stride: self.stride });
    }

    /// Adds `count` rows of `len` bytes.
    #[inline]
    pub(super) fn push_rows(&mut self, place: Place, len: u32, count: u32) {
        if let Some(last) = self.last()
            && last.len == len
            && last.row(last.count) == place
            && let Some(sum) = last.count.checked_add(count)
        {
            last.count = sum;
            return;
        }
        self.list.push(Piece { place, len, count, stride: self.stride });
    }

    pub(super) fn list(&self) -> &[Piece] {
        &self.list
    }

    /// Every row of every piece, with its length.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Place, usize)> {
        self.list.iter().flat_map(|piece| piece.places().map(|place| (place, piece.len as usize)))
    }

    /// The pieces, cut into some of so many bytes at most; a single row of several may have more.
    pub(super) fn stretches(&self, most: usize) -> impl Iterator<Item = Piece> {
        let most = u32::try_from(most).unwrap_or(u32::MAX).max(1);
        self.list.iter().flat_map(move |&piece| {
            let (all, step) = match piece.count {
                1 => (piece.len, most),
                count => (count, most.checked_div(piece.len).unwrap_or(1).max(1)),
            };
            (0..all).step_by(step as usize).map(move |first| {
                let part = all.saturating_sub(first).min(step);
                match piece.count {
                    1 => Piece { place: piece.place.further(first as usize), len: part, ..piece },
                    _ => Piece { place: piece.row(first), count: part, ..piece },
                }
            })
        })
    }

    /// True if no byte belongs to two rows.
    pub(super) fn are_apart(&self) -> bool {
        let mut spans: Vec<_> = self.list.iter().map(|piece| piece.span()).collect();
        spans.sort_unstable();
        self.list.iter().all(|piece| piece.is_apart())
            && spans.is_sorted_by(|(_, end), (start, _)| end <= start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transfer of one part.
    fn one_part(stride: u32) -> Pieces {
        let mut pieces = Pieces::default();
        pieces.start();
        pieces.start_part(stride);
        pieces
    }

    const fn piece(host: usize, region: u16, len: u32, count: u32) -> Piece {
        rows(host, region, len, count, 0x40)
    }

    const fn rows(host: usize, region: u16, len: u32, count: u32, stride: u32) -> Piece {
        Piece { place: Place::new(host, region), len, count, stride }
    }

    #[test]
    fn neighbours_of_one_region_are_joined_and_others_are_not() {
        let mut pieces = one_part(0x40);
        for (host, region) in [(0x1000, 0), (0x1100, 0), (0x1200, 1), (0x1300, 1), (0x1000, 1)] {
            pieces.push(Place::new(host, region), 0x100);
        }
        let joined = [piece(0x1000, 0, 0x200, 1), piece(0x1200, 1, 0x200, 1), piece(0x1000, 1, 0x100, 1)];
        assert_eq!(pieces.list(), joined);
    }

    #[test]
    fn rows_that_go_on_in_the_next_page_are_joined() {
        let mut pieces = one_part(0x40);
        pieces.push_rows(Place::new(0x1000, 0), 0x10, 4);
        pieces.push_rows(Place::new(0x1100, 0), 0x10, 4);
        pieces.push_rows(Place::new(0x1200, 1), 0x10, 4);
        pieces.push_rows(Place::new(0x1300, 1), 0x20, 1);
        let joined = [piece(0x1000, 0, 0x10, 8), piece(0x1200, 1, 0x10, 4), piece(0x1300, 1, 0x20, 1)];
        assert_eq!(pieces.list(), joined);
    }

    #[test]
    fn part_of_a_row_never_goes_on_behind_many_rows() {
        let mut pieces = one_part(0x40);
        pieces.push_rows(Place::new(0x1000, 0), 0x10, 4);
        pieces.push(Place::new(0x1010, 0), 0x10);
        assert_eq!(pieces.list(), [piece(0x1000, 0, 0x10, 4), piece(0x1010, 0, 0x10, 1)]);
    }

    #[test]
    fn stretches_have_the_rows_of_their_pieces_in_their_order() {
        let mut pieces = one_part(0x40);
        pieces.push_rows(Place::new(0x1000, 0), 0x10, 5);
        pieces.push(Place::new(0x2000, 1), 0x48);
        pieces.push_rows(Place::new(0x3000, 0), 0x30, 2);
        let stretches: Vec<_> = pieces.stretches(0x20).collect();
        let rows = [piece(0x1000, 0, 0x10, 2), piece(0x1080, 0, 0x10, 2), piece(0x1100, 0, 0x10, 1)];
        let parts = [piece(0x2000, 1, 0x20, 1), piece(0x2020, 1, 0x20, 1), piece(0x2040, 1, 8, 1)];
        let long = [piece(0x3000, 0, 0x30, 1), piece(0x3040, 0, 0x30, 1)];
        assert_eq!(stretches, [&rows[..], &parts, &long].concat());
    }

    #[test]
    fn pieces_are_apart_if_neither_they_nor_their_rows_overlap() {
        let are_apart = |stride: u32, list: &[(usize, u32, u32)]| {
            let mut pieces = one_part(stride);
            list.iter().for_each(|&(host, len, count)| pieces.push_rows(Place::new(host, 0), len, count));
            pieces.are_apart()
        };
        assert!(are_apart(0x40, &[(0x2000, 0x40, 2), (0x1000, 0x40, 8), (0x1200, 8, 1)]));
        assert!(!are_apart(0x40, &[(0x2000, 0x40, 2), (0x1000, 0x40, 8), (0x11ff, 8, 1)]));
        assert!(!are_apart(0x3f, &[(0x1000, 0x40, 2)]));
        assert!(!are_apart(0, &[(0x1000, 0x40, 1), (0x1000, 0x40, 1)]));
    }

    #[test]
    fn no_piece_belongs_to_two_parts_and_each_part_has_its_distance() {
        let mut pieces = one_part(0);
        pieces.push(Place::new(0x1000, 0), 0x10);
        pieces.start_part(0);
        pieces.push(Place::new(0x1010, 0), 0x10);
        pieces.start_part(0x20);
        pieces.push_rows(Place::new(0x1020, 0), 0x10, 2);
        pieces.push_rows(Place::new(0x1060, 0), 0x10, 2);
        let parts =
            [rows(0x1000, 0, 0x10, 1, 0), rows(0x1010, 0, 0x10, 1, 0), rows(0x1020, 0, 0x10, 4, 0x20)];
        assert_eq!(pieces.list(), parts);
    }

    #[test]
    fn rows_are_counted_out_at_their_distance() {
        let mut pieces = one_part(0x40);
        pieces.push_rows(Place::new(0x1000, 0), 0x10, 3);
        let hosts: Vec<_> = pieces.rows().map(|(place, len)| (place.host(), len)).collect();
        assert_eq!(hosts, [(0x1000, 0x10), (0x1040, 0x10), (0x1080, 0x10)]);
    }
}
