//! A DART, guest memory behind it, and page tables that tests write by hand.

use ane_device::dart::{Circuit, Dart, Dma};
use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::pte::{LeafFormat, PteFormat, Seed};
use ane_uapi::hw::dart::regs::{self, StreamCommand, Streams, Tcr, Window};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::hw::space::{Iova, IovaRange, PhysAddr};
use ane_uapi::hw::usage::{Protection, ProtectionClass};
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

pub(crate) type Memory = GuestMemoryMmap<()>;

pub(crate) const PAGE: u64 = PAGE_SIZE as u64;

/// Memory low in the address space, which streams that bypass can reach.
pub(crate) const LOW: u64 = 0x10_0000;
pub(crate) const LOW_PAGES: u64 = 16;
/// The memory that tables and pages lie in.
pub(crate) const BASE: u64 = 0x8_0000_0000;
pub(crate) const PAGES: u64 = 256;
/// The first page that is data, behind room for tables.
const DATA: u64 = 128;

pub(crate) struct Rig {
    pub(crate) dart: Dart,
    pub(crate) memory: Memory,
    tables_used: u64,
}

pub(crate) fn range(base: u64, len: u64) -> IovaRange {
    IovaRange::new(base, len).unwrap()
}

pub(crate) fn stream(number: u32) -> StreamId {
    StreamId::new(number).unwrap()
}

/// Page `n` of those for data.
pub(crate) fn page(n: u64) -> PhysAddr {
    PhysAddr(BASE + (DATA + n) * PAGE)
}

pub(crate) fn read_write() -> Protection {
    Protection::of(ProtectionClass::ReadWrite)
}

/// The cause that a descriptor names.
pub(crate) fn cause<T>(result: Result<T, IoDartErrorInfo>) -> Result<T, HwError> {
    result.map_err(|info| info.error().unwrap())
}

/// Cause and address that a descriptor names.
pub(crate) fn fault<T>(result: Result<T, IoDartErrorInfo>) -> Result<T, (HwError, u32)> {
    result.map_err(|info| (info.error().unwrap(), info.address.get()))
}

pub(crate) fn memory() -> Memory {
    let low = (GuestAddress(LOW), (LOW_PAGES * PAGE) as usize);
    Memory::from_ranges(&[low, (GuestAddress(BASE), (PAGES * PAGE) as usize)]).unwrap()
}

impl Rig {
    /// Stream 0 is translated in all windows, by empty tables.
    pub(crate) fn new() -> Self {
        let mut rig = Self::bare();
        rig.open(StreamId::BASE);
        rig
    }

    /// Everything as after a reset.
    pub(crate) fn bare() -> Self {
        Self { dart: Dart::new(PteFormat::Seed), memory: memory(), tables_used: 0 }
    }

    pub(crate) fn set(&mut self, window: Window, offset: u32, value: u32) {
        self.dart.write(window, offset, value).unwrap();
    }

    pub(crate) fn get(&mut self, window: Window, offset: u32) -> u32 {
        self.dart.read(window, offset).unwrap()
    }

    pub(crate) fn store(&self, at: PhysAddr, word: u64) {
        self.memory.write_obj(word, GuestAddress(at.0)).unwrap();
    }

    pub(crate) fn load(&self, at: PhysAddr) -> u64 {
        self.memory.read_obj(GuestAddress(at.0)).unwrap()
    }

    pub(crate) fn table(&mut self) -> PhysAddr {
        assert!(self.tables_used < DATA, "no room for another table");
        let table = PhysAddr(BASE + self.tables_used * PAGE);
        self.tables_used += 1;
        table
    }

    /// Enables a stream and gives it empty tables, in the windows that carry DMA.
    pub(crate) fn open(&mut self, stream: StreamId) -> PhysAddr {
        let table = self.table();
        for window in Window::CARRYING_DMA {
            self.open_in(window, stream, table);
        }
        table
    }

    pub(crate) fn open_in(&mut self, window: Window, stream: StreamId, table: PhysAddr) {
        let enabled = self.get(window, regs::ENABLED_STREAMS.offset());
        self.set(window, regs::ENABLED_STREAMS.offset(), enabled | u32::from(stream.bit()));
        self.set_tcr(window, stream, Tcr::new().with_translate(true));
        self.set_base(window, stream, Ttbr::of(table).unwrap());
    }

    pub(crate) fn set_tcr(&mut self, window: Window, stream: StreamId, tcr: Tcr) {
        let offset = regs::TCR.info.at(stream.number().into()).unwrap();
        self.set(window, offset, tcr.into_bits());
    }

    pub(crate) fn set_base(&mut self, window: Window, stream: StreamId, base: Ttbr) {
        let offset = regs::TTBR.info.at(stream.table_base(0).unwrap()).unwrap();
        self.set(window, offset, base.into_bits());
    }

    /// Where the leaf of `iova` lies, with a table made for it if there is none.
    pub(crate) fn leaf_at(&mut self, l2: PhysAddr, iova: u64) -> PhysAddr {
        let entry = PhysAddr(l2.0 + (iova >> 25) * 8);
        if self.load(entry) == 0 {
            let table = self.table();
            self.store(entry, Seed::encode_table(table).unwrap());
        }
        PhysAddr((self.load(entry) & Seed::FRAME) + ((iova >> 14) & 0x7ff) * 8)
    }

    pub(crate) fn map_in(&mut self, l2: PhysAddr, iova: u64, page: PhysAddr) {
        let leaf = self.leaf_at(l2, iova);
        self.store(leaf, Seed::encode(page, read_write()).unwrap());
    }

    /// The table base of stream 0.
    pub(crate) fn l2(&self) -> PhysAddr {
        PhysAddr(BASE)
    }

    /// Maps a page for stream 0.
    pub(crate) fn map(&mut self, iova: u64, page: PhysAddr) {
        self.map_in(self.l2(), iova, page);
    }

    pub(crate) fn unmap(&mut self, iova: u64) {
        let leaf = self.leaf_at(self.l2(), iova);
        self.store(leaf, 0);
    }

    /// Invalidates streams in all windows that carry DMA.
    pub(crate) fn invalidate(&mut self, mask: u16) {
        for window in Window::CARRYING_DMA {
            let select = Streams::new().with_mask(mask).into_bits();
            self.set(window, regs::STREAM_SELECT.offset(), select);
            let command = StreamCommand::new().with_invalidate(true).into_bits();
            self.set(window, regs::STREAM_COMMAND.offset(), command);
            assert_eq!(self.get(window, regs::STREAM_COMMAND.offset()), 0, "commands end at once");
        }
    }

    pub(crate) fn fill(&self, at: PhysAddr, byte: u8, len: u64) {
        self.memory.write_slice(&vec![byte; len as usize], GuestAddress(at.0)).unwrap();
    }

    pub(crate) fn bytes(&self, at: PhysAddr, len: u64) -> Vec<u8> {
        let mut bytes = vec![0; len as usize];
        self.memory.read_slice(&mut bytes, GuestAddress(at.0)).unwrap();
        bytes
    }

    pub(crate) fn dma(&mut self, stream: StreamId, circuit: Circuit) -> Dma<'_, Memory> {
        self.dart.dma(&self.memory, stream, circuit)
    }

    /// Reads through the first tile fetcher, for stream 0.
    pub(crate) fn read(&mut self, base: u64, len: u64) -> Result<Vec<u8>, IoDartErrorInfo> {
        self.read_as(StreamId::BASE, Circuit::TileFetch1, base, len)
    }

    pub(crate) fn read_as(
        &mut self,
        stream: StreamId,
        circuit: Circuit,
        base: u64,
        len: u64,
    ) -> Result<Vec<u8>, IoDartErrorInfo> {
        let mut into = vec![0; len as usize];
        self.dma(stream, circuit).read(range(base, len), &mut into).map(|()| into)
    }

    /// Writes through the tile sender, for stream 0.
    pub(crate) fn write(&mut self, base: u64, from: &[u8]) -> Result<(), IoDartErrorInfo> {
        self.dma(StreamId::BASE, Circuit::TileSend).write(range(base, from.len() as u64), from)
    }
}

/// A fixed pseudo-random sequence (SplitMix64).
pub(crate) fn random(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    })
}

/// The number of the table entry that an IOVA leads to, for messages.
pub(crate) fn indices(iova: Iova) -> (u32, u32) {
    (iova.0 >> 25, (iova.0 >> 14) & 0x7ff)
}
