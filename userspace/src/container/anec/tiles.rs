//! The unit in which a file counts its buffers.
//!
//! Each BAR has a number of tiles (td 2.2). A tile has 16 KiB, a page, in the files of the first converter and of this
//! project; a newer converter counts in 512 bytes (delta C12, derived). The header does not say which, and taken for
//! the other unit a buffer has 32 times its size: gigabytes for a network of middle size.
//!
//! The buffer of BAR 0 tells them apart: it holds the payload and nothing else, so in the right unit it is less than
//! one unit longer. The first unit with which that and every other number agrees is taken, pages first. Where none
//! does, pages are, as a buffer may be longer than it has to be, and the reader says what is wrong.

use std::mem::offset_of;

use super::super::limits::{BARS, BUFFER_BYTES_MAX, TILE_BYTES};
use super::super::program::Warning;
use super::{Header, ReadError, SURFACES_BAR, TASKS_BAR};

/// The smaller unit (derived, delta C12).
const SMALL_BYTES: u64 = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tiles {
    Page,
    Small,
}

impl Tiles {
    /// The unit with which the numbers of `header` agree.
    pub(super) fn of(header: &Header) -> Self {
        let mut units = [Self::Page, Self::Small].into_iter();
        units.find(|unit| unit.agrees(header)).unwrap_or(Self::Page)
    }

    /// Bytes of a tile.
    pub(super) const fn unit(self) -> u64 {
        match self {
            Self::Page => TILE_BYTES,
            Self::Small => SMALL_BYTES,
        }
    }

    /// Tiles of `bar`, as the file says.
    pub(super) fn count(self, header: &Header, bar: u8) -> u32 {
        header.tiles.get(usize::from(bar)).map_or(0, |tiles| tiles.get())
    }

    /// Length of the buffer behind `bar`, in whole pages.
    pub(super) fn buffer_bytes(self, header: &Header, bar: u8) -> Result<u64, ReadError> {
        let tiles = self.count(header, bar);
        let at = (offset_of!(Header, tiles) + 4 * usize::from(bar)) as u64;
        // 32 bits times 15: far below 2^64.
        let bytes = (u64::from(tiles) * self.unit()).next_multiple_of(TILE_BYTES);
        if bytes > BUFFER_BYTES_MAX {
            Err(ReadError::BufferTooLong { bar, at, tiles, unit: self.unit() })
        } else {
            Ok(bytes)
        }
    }

    /// Says that the unit is not the usual one.
    pub(super) fn warning(self, header: &Header) -> Vec<Warning> {
        let tiles = self.count(header, TASKS_BAR);
        match self {
            Self::Page => Vec::new(),
            Self::Small => {
                vec![Warning::TileUnit { unit: self.unit(), tiles, payload: header.payload_bytes.get() }]
            }
        }
    }

    /// True if BAR 0 is as long as the payload asks for, and every buffer can exist and holds its surface.
    fn agrees(self, header: &Header) -> bool {
        let exact = |bar| u64::from(self.count(header, bar)) * self.unit();
        let spare = exact(TASKS_BAR).checked_sub(commands_needed(header));
        let is_snug = spare.is_some_and(|spare| spare <= self.unit());
        is_snug
            && (0..BARS as u8).all(|bar| exact(bar) <= BUFFER_BYTES_MAX)
            && (SURFACES_BAR..BARS as u8).all(|bar| exact(bar) >= surface_bytes(header, bar))
    }
}

/// Bytes that the buffer of BAR 0 needs: the payload, and one more than the task stream (td 2.2).
pub(super) fn commands_needed(header: &Header) -> u64 {
    header.payload_bytes.get().max(header.stream_bytes.get().saturating_add(1))
}

/// Bytes that the shape of `bar` asks for at least; 0 where there is none. The header does not say whether elements are bytes or
/// halves, so the last row counts as one of bytes.
fn surface_bytes(header: &Header, bar: u8) -> u64 {
    let Some(shape) = header.shapes.get(usize::from(bar)) else { return 0 };
    let [n, c, h, w] = [shape.n, shape.c, shape.h, shape.w].map(|count| count.get());
    if [n, c, h, w].contains(&0) {
        return 0;
    }
    let planes = (n.saturating_mul(c) - 1).saturating_mul(shape.plane.get());
    let rows = (h - 1).saturating_mul(shape.row.get());
    planes.saturating_add(rows).saturating_add(w)
}

#[cfg(test)]
mod tests {
    use zerocopy::FromZeros;

    use super::*;

    /// A payload of 640 bytes, and in BARs 4 and 5 surfaces of 375 columns in one row of 768 bytes, whose buffers have so many tiles.
    fn header(commands: u32, surfaces: [u32; 2]) -> Header {
        let mut header = Header::new_zeroed();
        (header.payload_bytes, header.stream_bytes) = (640.into(), 628.into());
        header.tiles[0] = commands.into();
        for (bar, tiles) in (4..).zip(surfaces) {
            header.tiles[bar] = tiles.into();
            let shape = &mut header.shapes[bar];
            (shape.n, shape.c, shape.h, shape.w) = (1.into(), 1.into(), 1.into(), 375.into());
            (shape.plane, shape.row) = (768.into(), 768.into());
        }
        header
    }

    #[test]
    fn last_row_of_bytes_may_be_half_as_long_as_one_of_halves() {
        assert_eq!(Tiles::of(&header(2, [2, 2])), Tiles::Small, "halves");
        assert_eq!(Tiles::of(&header(2, [2, 1])), Tiles::Small, "bytes in the second");
        assert_eq!(Tiles::of(&header(1, [1, 1])), Tiles::Page);
    }

    #[test]
    fn unit_in_which_a_surface_has_no_room_is_not_taken() {
        let mut header = header(2, [1, 1]);
        header.shapes[4].w = 513.into();
        assert_eq!(Tiles::of(&header), Tiles::Page);
    }
}
