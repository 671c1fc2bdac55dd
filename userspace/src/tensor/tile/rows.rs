//! Rows on their way between a dense array and a surface's memory.
//!
//! Rows are often short: a vector of channels is rows of one half, 64 bytes apart. A call to copy two bytes takes ten times as
//! long as copying them. So rows of up to 128 bytes are copied without one: the greatest power of two of bytes that a
//! row has from its front, and as many from its end, which meet or overlap in between. The length is the same for all rows of a group,
//! so which of the loops runs is decided once.

/// Memory that a surface lies in.
///
/// Offsets were checked against its length before.
pub(crate) trait Memory {
    /// How many bytes there are.
    fn bytes(&self) -> usize;
    /// Copies bytes in.
    fn put(&mut self, at: usize, from: &[u8]);
    /// Copies bytes out.
    fn get(&self, at: usize, into: &mut [u8]);

    /// Copies a few bytes in.
    #[inline]
    fn put_few<const K: usize>(&mut self, at: usize, from: &[u8; K]) {
        self.put(at, from);
    }

    /// Copies a few bytes out.
    #[inline]
    fn get_few<const K: usize>(&self, at: usize, into: &mut [u8; K]) {
        self.get(at, into);
    }
}

impl Memory for [u8] {
    fn bytes(&self) -> usize {
        self.len()
    }

    #[inline]
    fn put(&mut self, at: usize, from: &[u8]) {
        self[at..at + from.len()].copy_from_slice(from);
    }

    #[inline]
    fn get(&self, at: usize, into: &mut [u8]) {
        into.copy_from_slice(&self[at..at + into.len()]);
    }
}

/// Rows of one length, evenly apart in memory and one behind the other in the dense array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// First byte of the first row in memory.
    pub(super) at: usize,
    /// Bytes from row to row in memory.
    pub(super) pitch: usize,
    /// Bytes of a row.
    pub(super) row: usize,
}

impl Group {
    /// Copies dense rows in.
    pub(super) fn put<M: Memory + ?Sized>(self, dense: &[u8], memory: &mut M) {
        match self.row {
            2..4 => self.put_short::<2, M>(dense, memory),
            4..8 => self.put_short::<4, M>(dense, memory),
            8..16 => self.put_short::<8, M>(dense, memory),
            16..32 => self.put_short::<16, M>(dense, memory),
            32..64 => self.put_short::<32, M>(dense, memory),
            64..=128 => self.put_short::<64, M>(dense, memory),
            row => self.places().zip(dense.chunks_exact(row)).for_each(|(at, from)| memory.put(at, from)),
        }
    }

    /// Copies rows out, to a dense array.
    pub(super) fn get<M: Memory + ?Sized>(self, memory: &M, dense: &mut [u8]) {
        match self.row {
            2..4 => self.get_short::<2, M>(memory, dense),
            4..8 => self.get_short::<4, M>(memory, dense),
            8..16 => self.get_short::<8, M>(memory, dense),
            16..32 => self.get_short::<16, M>(memory, dense),
            32..64 => self.get_short::<32, M>(memory, dense),
            64..=128 => self.get_short::<64, M>(memory, dense),
            row => self.places().zip(dense.chunks_exact_mut(row)).for_each(|(at, into)| memory.get(at, into)),
        }
    }

    /// Where the rows begin.
    fn places(self) -> impl Iterator<Item = usize> {
        let Self { at, pitch, .. } = self;
        (0_usize..).map(move |row| at + row * pitch)
    }

    /// Rows of `K` to `2 * K` bytes.
    fn put_short<const K: usize, M: Memory + ?Sized>(self, dense: &[u8], memory: &mut M) {
        for (at, row) in self.places().zip(dense.chunks_exact(self.row)) {
            if let (Some(front), Some(end)) = (row.first_chunk(), row.last_chunk()) {
                memory.put_few::<K>(at, front);
                if self.row > K {
                    memory.put_few::<K>(at + self.row - K, end);
                }
            }
        }
    }

    fn get_short<const K: usize, M: Memory + ?Sized>(self, memory: &M, dense: &mut [u8]) {
        for (at, row) in self.places().zip(dense.chunks_exact_mut(self.row)) {
            if let Some(front) = row.first_chunk_mut() {
                memory.get_few::<K>(at, front);
            }
            if self.row > K
                && let Some(end) = row.last_chunk_mut()
            {
                memory.get_few::<K>(at + self.row - K, end);
            }
        }
    }
}
