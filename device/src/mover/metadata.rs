//! The reports of the packers: the lengths of their tiles, and which parts of a tile are zero.
//!
//! It has nothing to do with transfers and lies in the mover's block all the same. Packers do not exist in the
//! virtual engine; the program that plays their part reports tiles through a register ([`ane_uapi::hw::mover::model`]).

use std::collections::VecDeque;

use ane_uapi::hw::mover::model::{TILES, Tile};
use ane_uapi::hw::mover::regs::{InitialPack, PACKERS, PackedTotal, TileQueues};

/// Threads that have counts of their own.
const THREADS: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Finished {
    bytes: u16,
    zeros: u32,
}

#[derive(Clone, Debug, Default)]
struct Packer {
    tiles: VecDeque<Finished>,
    /// The last tile: its thread, and its bytes.
    last: Option<(usize, u16)>,
    /// The zero parts of the last tile.
    zeros: u32,
    /// Bytes since they were last cleared, by thread.
    totals: [u16; THREADS],
    /// Where the next output is to begin.
    offset: u16,
}

/// All packers, and the address of their register writes.
#[derive(Debug, Default)]
pub(super) struct Packers {
    packers: [Packer; PACKERS as usize],
    address: u32,
}

/// Why a tile was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    Full,
    Nobody,
}

impl Packers {
    fn packer(&self, index: u16) -> Option<&Packer> {
        self.packers.get(usize::from(index))
    }

    fn packer_mut(&mut self, index: u16) -> Option<&mut Packer> {
        self.packers.get_mut(usize::from(index))
    }

    pub(super) fn finish(&mut self, packer: u16, tile: Tile, zeros: u32) -> Result<(), Lost> {
        let packer = self.packer_mut(packer).ok_or(Lost::Nobody)?;
        let thread = usize::from(tile.thread());
        let total = packer.totals.get_mut(thread).ok_or(Lost::Nobody)?;
        if packer.tiles.len() >= TILES {
            return Err(Lost::Full);
        }
        *total = total.wrapping_add(tile.bytes());
        packer.tiles.push_back(Finished { bytes: tile.bytes(), zeros });
        packer.last = Some((thread, tile.bytes()));
        packer.zeros = zeros;
        Ok(())
    }

    /// Bytes of the last tile, if this thread packed it.
    pub(super) fn last(&self, packer: u16, thread: usize) -> u32 {
        let last = self.packer(packer).and_then(|packer| packer.last);
        last.filter(|&(packed_by, _)| packed_by == thread).map_or(0, |(_, bytes)| bytes.into())
    }

    pub(super) fn total(&self, packer: u16, thread: usize) -> u32 {
        let total = self.packer(packer).and_then(|packer| packer.totals.get(thread));
        // Unpackers, whose register writes the other half counts, do not exist.
        PackedTotal::new().with_size(total.copied().unwrap_or(0)).into_bits()
    }

    /// Clears the totals of the packers that the word selects, and sets where their output begins.
    pub(super) fn begin(&mut self, word: InitialPack) {
        for (index, packer) in self.packers.iter_mut().enumerate() {
            if word.packers() >> index & 1 == 1 {
                packer.totals = [0; THREADS];
                packer.offset = word.offset();
            }
        }
    }

    /// The zero parts of the last tile.
    pub(super) fn zeros(&self, packer: u16) -> u32 {
        self.packer(packer).map_or(0, |packer| packer.zeros)
    }

    /// Bytes of the oldest tile that was not taken.
    pub(super) fn peek(&self, packer: u16) -> Option<u32> {
        self.packer(packer)?.tiles.front().map(|tile| tile.bytes.into())
    }

    /// Takes the oldest tile; tells which of its parts are zero.
    pub(super) fn pop(&mut self, packer: u16) -> Option<u32> {
        self.packer_mut(packer)?.tiles.pop_front().map(|tile| tile.zeros)
    }

    /// How full the queues are, and the address of register writes.
    pub(super) fn queues(&self) -> u32 {
        let bits = self.packers.iter().zip([0u32, 2, 4, 6]).fold(0, |bits, (packer, shift)| {
            let queue = u32::from(packer.tiles.is_empty()) | u32::from(packer.tiles.len() >= TILES) << 1;
            bits | queue << shift
        });
        TileQueues::from_bits(bits).with_pack_address(self.address).into_bits()
    }

    /// Sets the address of register writes; 24 bits of it are kept.
    pub(super) const fn set_address(&mut self, address: u32) {
        self.address = address & 0xff_ffff;
    }
}
