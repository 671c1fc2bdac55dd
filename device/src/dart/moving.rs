//! The move of a transfer, when all of it is translated: alone, or by several threads together.
//!
//! A large transfer is cut into stretches, and a thread that is free copies the next stretch. The order makes no
//! difference to a read. A write whose rows overlap, or that reaches one byte by two addresses, is copied from the
//! first stretch to the last, so that the last one stays.

use super::memory::Place;
use super::pieces::{Piece, Pieces};

/// Bytes of a transfer from which on help pays.
const LARGE: usize = 1 << 16;

/// Bytes of a stretch of a large transfer, but for a single row that is longer.
const STRETCH: usize = 1 << 14;

/// Stretches that a thread takes at a time at most, where they are short.
const LOT: usize = 64;

/// Threads that copy the bytes of a transfer together.
pub trait Helpers {
    /// Whether there is no other thread, so that a transfer is not cut.
    const IS_ALONE: bool = false;

    /// Does all jobs of a large transfer of so many bytes, each once and in any order.
    fn together<J: Send>(
        &mut self,
        bytes: usize,
        jobs: impl Iterator<Item = J> + Send,
        work: impl Fn(J) + Sync,
    );
}

/// Nobody but the caller's thread.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Helpers for Alone {
    const IS_ALONE: bool = true;

    fn together<J: Send>(&mut self, _: usize, jobs: impl Iterator<Item = J> + Send, work: impl Fn(J) + Sync) {
        jobs.for_each(work);
    }
}

/// Has each row of a read of so many bytes copied to where it belongs, as long as there is room. Parts follow each other
/// as their pieces do.
pub(super) fn read<'i, H: Helpers>(
    pieces: &Pieces,
    bytes: usize,
    parts: impl IntoIterator<Item = &'i mut [u8], IntoIter: Send>,
    helpers: &mut H,
    copy: impl Fn(Place, &mut [u8]) + Sync,
) {
    let (mut parts, mut into) = (parts.into_iter(), <&mut [u8]>::default());
    let with_room = |piece: Piece| {
        if into.is_empty() {
            into = parts.next()?;
        }
        let len = piece.bytes().min(into.len());
        let (rows, rest) = std::mem::take(&mut into).split_at_mut_checked(len)?;
        into = rest;
        Some((piece, rows))
    };
    let copy = |(piece, rows): (Piece, &mut [u8])| match piece.count {
        1 => copy(piece.place, rows),
        _ => {
            let rows = rows.chunks_mut(piece.len.max(1) as usize);
            piece.places().zip(rows).for_each(|(place, row)| copy(place, row));
        }
    };
    if H::IS_ALONE || bytes < LARGE {
        pieces.list().iter().copied().map_while(with_room).for_each(copy);
    } else {
        let jobs = lots(pieces.stretches(STRETCH).map_while(with_room), |(piece, _)| piece.bytes());
        helpers.together(bytes, jobs, |lot| lot.into_iter().for_each(copy));
    }
}

/// Has each row of a write of so many bytes copied from where it comes, as long as there are bytes; parts as for a read.
pub(super) fn write<'i, H: Helpers>(
    pieces: &Pieces,
    bytes: usize,
    parts: impl IntoIterator<Item = &'i [u8], IntoIter: Send>,
    helpers: &mut H,
    copy: impl Fn(Place, &[u8]) + Sync,
) {
    let (mut parts, mut from) = (parts.into_iter(), <&[u8]>::default());
    let with_bytes = |piece: Piece| {
        if from.is_empty() {
            from = parts.next()?;
        }
        let (rows, rest) = from.split_at_checked(piece.bytes()).unwrap_or((from, &[]));
        from = rest;
        Some((piece, rows))
    };
    let copy = |(piece, rows): (Piece, &[u8])| match piece.count {
        1 => copy(piece.place, rows),
        _ => {
            let rows = rows.chunks(piece.len.max(1) as usize);
            piece.places().zip(rows).for_each(|(place, row)| copy(place, row));
        }
    };
    if H::IS_ALONE || bytes < LARGE || !pieces.are_apart() {
        pieces.list().iter().copied().map_while(with_bytes).for_each(copy);
    } else {
        let jobs = lots(pieces.stretches(STRETCH).map_while(with_bytes), |(piece, _)| piece.bytes());
        helpers.together(bytes, jobs, |lot| lot.into_iter().for_each(copy));
    }
}

/// Jobs that follow each other in lots of some bytes, so that threads do not queue up for short rows.
fn lots<J>(
    mut jobs: impl Iterator<Item = J> + Send,
    bytes: impl Fn(&J) -> usize + Send,
) -> impl Iterator<Item = Vec<J>> + Send {
    std::iter::from_fn(move || {
        let (mut lot, mut sum) = (Vec::new(), 0_usize);
        while sum < STRETCH
            && lot.len() < LOT
            && let Some(job) = jobs.next()
        {
            sum = sum.saturating_add(bytes(&job));
            lot.push(job);
        }
        (!lot.is_empty()).then_some(lot)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Does the jobs from the last to the first, and notes how many there were.
    #[derive(Default)]
    struct Backwards(usize);

    impl Helpers for Backwards {
        fn together<J: Send>(
            &mut self,
            _: usize,
            jobs: impl Iterator<Item = J> + Send,
            work: impl Fn(J) + Sync,
        ) {
            let jobs: Vec<J> = jobs.collect();
            self.0 += jobs.len();
            jobs.into_iter().rev().for_each(work);
        }
    }

    fn rows(stride: u32, pieces: &[(usize, u32, u32)]) -> Pieces {
        let mut list = Pieces::default();
        list.start();
        list.start_part(stride);
        for &(host, len, count) in pieces {
            list.push_rows(Place::new(host, 0), len, count);
        }
        list
    }

    /// Memory after a write, and the number of jobs that were shared out.
    fn written(pieces: &Pieces, from: &[u8]) -> (Vec<u8>, usize) {
        let (memory, mut helpers) = (Mutex::new(vec![0; 1 << 19]), Backwards::default());
        write(pieces, from.len(), [from], &mut helpers, |place, row| {
            memory.lock().unwrap()[place.host()..][..row.len()].copy_from_slice(row);
        });
        (memory.into_inner().unwrap(), helpers.0)
    }

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    #[test]
    fn large_read_brings_each_row_to_its_place_in_any_order() {
        let memory = bytes(1 << 19);
        let pieces = rows(0x180, &[(0x40, 0x100, 700), (0x8_0000 - 0x10_000, 0x81, 1), (0, 0x100, 30)]);
        for room in [LARGE - 1, LARGE, LARGE + 77, 1 << 20] {
            let (mut one, mut other) = (vec![0; room], vec![0; room]);
            let copy =
                |place: Place, row: &mut [u8]| row.copy_from_slice(&memory[place.host()..][..row.len()]);
            read(&pieces, room, [&mut *one], &mut Alone, copy);
            let mut helpers = Backwards::default();
            read(&pieces, room, [&mut *other], &mut helpers, copy);
            assert!(one == other, "{room}");
            assert_eq!(helpers.0 >= 4, room >= LARGE, "{room}");
            assert_eq!(one[0x100..0x200], memory[0x1c0..0x2c0]);
        }
    }

    #[test]
    fn large_write_is_shared_out_only_if_no_byte_is_written_twice() {
        let from = bytes(0x100 * 700);
        let apart = rows(0x180, &[(0x40, 0x100, 350), (0x3_0000, 0x100, 350)]);
        let (memory, jobs) = written(&apart, &from);
        assert_eq!(jobs, 11);
        assert_eq!(memory[0x40 + 0x180..][..0x100], from[0x100..0x200]);
        assert_eq!(memory[0x3_0000..][..0x100], from[0x100 * 350..0x100 * 351]);

        let twice = rows(0x180, &[(0x40, 0x100, 350), (0x40, 0x100, 350)]);
        let (memory, jobs) = written(&twice, &from);
        assert_eq!((jobs, &memory[0x40..0x140]), (0, &from[0x100 * 350..0x100 * 351]));

        let overlapping = rows(0x80, &[(0x40, 0x100, 700)]);
        let (memory, jobs) = written(&overlapping, &from);
        assert_eq!((jobs, &memory[0x140..0x1c0]), (0, &from[0x200..0x280]));
    }

    #[test]
    fn parts_of_a_transfer_come_to_places_of_their_own() {
        let memory = bytes(1 << 18);
        let (mut pieces, mut helpers) = (rows(0, &[(0x10, 5, 1)]), Backwards::default());
        pieces.start_part(0x8000);
        pieces.push_rows(Place::new(0x15, 0), 0x7000, 4);
        pieces.start_part(0);
        pieces.push(Place::new(0x9000, 0), 0x6000);
        let (mut one, mut two, mut three) = ([0; 5], vec![0; 0x1_c000], vec![0; 0x6000]);
        let parts = [&mut one[..], &mut two, &mut three];
        read(&pieces, 0x2_2005, parts, &mut helpers, |place, row| {
            row.copy_from_slice(&memory[place.host()..][..row.len()]);
        });
        assert_eq!((helpers.0, &one[..]), (6, &memory[0x10..0x15]));
        assert_eq!((&two[..0x7000], &two[0x1_5000..]), (&memory[0x15..0x7015], &memory[0x1_8015..0x1_f015]));
        assert_eq!(three, memory[0x9000..0xf000]);
    }

    #[test]
    fn short_rows_that_lie_apart_are_moved_in_lots() {
        let (memory, mut helpers) = (bytes(1 << 18), Backwards::default());
        let places = |row: usize| row * 1300 + row % 7;
        let list: Vec<_> = (0..180).map(|row| (places(row), 1000, 1)).collect();
        let mut into = vec![0; 180 * 1000];
        read(&rows(0, &list), into.len(), [&mut *into], &mut helpers, |place, row| {
            row.copy_from_slice(&memory[place.host()..][..row.len()]);
        });
        // Seventeen rows are a stretch.
        assert_eq!(helpers.0, 11);
        for (row, bytes) in into.chunks(1000).enumerate() {
            assert_eq!(bytes, &memory[places(row)..][..1000], "{row}");
        }
    }

    #[test]
    fn write_ends_with_its_bytes() {
        let from = bytes(LARGE + 5);
        let pieces = rows(0, &[(0x10, 2 * LARGE as u32, 1)]);
        let (memory, jobs) = written(&pieces, &from);
        assert_eq!((jobs, &memory[0x10..][..from.len()]), (5, &*from));
        assert!(memory[0x10 + from.len()..].iter().all(|&byte| byte == 0));
    }
}
