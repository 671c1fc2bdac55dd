//! DMA and translation against known pointers and against vm-memory's IOMMU layer: goals D1 to D4.
//!
//! `cargo bench -p ane-device --bench dart [-- D1 ..]`. Both sides of each ratio run in turn in this process, on one
//! thread, warm, with the same pages in the same scattered order; the figure is the median of the rounds' ratios.
//! The bytes of each transfer were compared with the expected ones first.
#![expect(unsafe_code, reason = "the peer copies by pointer")]

mod report;

use std::hint::black_box;
use std::time::Instant;

use ane_device::dart::{Access, Alone, Circuit, Dart, Rows};
use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::dart::pte::{LeafFormat, PteFormat, Seed};
use ane_uapi::hw::dart::regs::{self, Tcr};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::space::{IovaRange, PhysAddr};
use ane_uapi::hw::usage::{Protection, ProtectionClass};
use report::median;
use vm_memory::iommu::{Error, Iommu, Iotlb, IotlbIterator};
use vm_memory::{Bytes, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, IommuMemory, Permissions};

type Memory = GuestMemoryMmap<()>;

const PAGE: usize = PAGE_SIZE as usize;
/// Many short rounds rather than few long ones: on a busy machine some are interrupted, and the median is of those
/// that were not.
const ROUNDS: usize = 41;
/// Pages mapped from IOVA 0 on: four times what the translation buffer holds.
const PAGES: usize = 2048;
const L2: u64 = 0x4000_0000;
const L3: u64 = L2 + PAGE as u64;
const FIRST_PAGE: u64 = L3 + PAGE as u64;
const ROW: usize = 128;

/// The DART, the memory behind it, and where each page lies.
struct Rig {
    dart: Dart,
    memory: Memory,
    frames: Vec<u64>,
}

impl Rig {
    fn new() -> Self {
        let memory =
            Memory::from_ranges(&[(GuestAddress(0), 1 << 20), (GuestAddress(L2), (PAGES + 2) * PAGE)])
                .expect("host memory");
        // An odd multiplier visits every page of a power of two once, far from its neighbours.
        let frames: Vec<_> =
            (0..PAGES).map(|i| FIRST_PAGE + (((i * 1021 + 7) % PAGES) * PAGE) as u64).collect();
        let store = |at: u64, word: u64| memory.write_obj(word, GuestAddress(at)).expect("inside");
        store(L2, Seed::encode_table(PhysAddr(L3)).expect("aligned"));
        let protection = Protection::of(ProtectionClass::ReadWrite);
        for (i, &frame) in frames.iter().enumerate() {
            store(L3 + 8 * i as u64, Seed::encode(PhysAddr(frame), protection).expect("aligned"));
            let bytes: Vec<_> = (0..PAGE).map(|byte| (byte * 31 + i * 7 + byte / 251) as u8).collect();
            memory.write_slice(&bytes, GuestAddress(frame)).expect("inside");
        }
        let mut dart = Dart::new(PteFormat::Seed);
        for window in regs::Window::CARRYING_DMA {
            let tcr = Tcr::new().with_translate(true).into_bits();
            dart.write(window, regs::TCR.offset(), tcr).expect("known bits");
            let base = Ttbr::of(PhysAddr(L2)).expect("aligned").into_bits();
            dart.write(window, regs::TTBR.offset(), base).expect("known bits");
        }
        Self { dart, memory, frames }
    }

    fn pointers(&self) -> Vec<*mut u8> {
        let pointer = |&frame| self.memory.get_host_address(GuestAddress(frame)).expect("inside");
        self.frames.iter().map(pointer).collect()
    }
}

/// All mappings in vm-memory's own buffer, so that it never has to ask.
#[derive(Debug)]
struct Known(Iotlb);

impl Iommu for Known {
    type IotlbGuard<'a> = &'a Iotlb;

    fn translate(
        &self,
        iova: GuestAddress,
        length: usize,
        access: Permissions,
    ) -> Result<IotlbIterator<&Iotlb>, Error> {
        Iotlb::lookup(&self.0, iova, length, access)
            .map_err(|_| Error::IommuMisconfigured { reason: "unmapped".to_owned() })
    }
}

fn peer(rig: &Rig) -> IommuMemory<Memory, Known> {
    let mut iotlb = Iotlb::new();
    for (i, &frame) in rig.frames.iter().enumerate() {
        let iova = GuestAddress((i * PAGE) as u64);
        iotlb.set_mapping(iova, GuestAddress(frame), PAGE, Permissions::ReadWrite).expect("valid");
    }
    IommuMemory::new(rig.memory.clone(), Known(iotlb), true, ())
}

/// Nanoseconds of one run of `work`, over enough of them to take some milliseconds.
fn time(times: usize, work: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..times {
        work();
    }
    start.elapsed().as_nanos() as f64 / times as f64
}

/// Something that moves bytes from or to a buffer.
type Mover<'a> = &'a mut dyn FnMut(&mut [u8]);

/// Median nanoseconds of either, and the median of how much faster `ours` is than `theirs`.
///
/// Both use one buffer, so that neither has the luckier addresses.
fn compare(times: usize, buffer: &mut [u8], ours: Mover<'_>, theirs: Mover<'_>) -> (f64, f64, f64) {
    let (mut a, mut b, mut ratio) = (Vec::new(), Vec::new(), Vec::new());
    let mut run = |mover: Mover<'_>| {
        mover(buffer);
        time(times, &mut || {
            mover(buffer);
            black_box(&buffer);
        })
    };
    for _ in 0..ROUNDS {
        let (x, y) = (run(ours), run(theirs));
        a.push(x);
        b.push(y);
        ratio.push(y / x);
    }
    (median(a), median(b), median(ratio))
}

/// Fails unless both movers fill the buffer with the same bytes.
fn check(buffer: &mut [u8], ours: Mover<'_>, theirs: Mover<'_>) {
    buffer.fill(1);
    ours(buffer);
    let expected = buffer.to_vec();
    buffer.fill(2);
    theirs(buffer);
    assert!(expected == buffer, "both read the same bytes");
}

/// Prints nanoseconds of both, and the ratio.
fn line(id: &str, what: &str, (ours, theirs, ratio): (f64, f64, f64)) {
    report::line(id, what, &format!("{ours:.0} ns / {theirs:.0} ns"), ratio);
}

fn range(base: usize, len: usize) -> IovaRange {
    IovaRange::new(base as u64, len as u64).expect("inside the aperture")
}

fn whole_pages(rig: &mut Rig, pages: usize) {
    let pointers = rig.pointers();
    let iotlb = peer(rig);
    let Rig { dart, memory, .. } = rig;
    let all = range(0, pages * PAGE);
    let mut buffer = vec![0; pages * PAGE];
    let mut by_pointer = |buffer: &mut [u8]| {
        for (chunk, &page) in buffer.chunks_exact_mut(PAGE).zip(&pointers) {
            // SAFETY: the page lies in memory that outlives this function, and nobody else uses it.
            unsafe { page.copy_to_nonoverlapping(chunk.as_mut_ptr(), PAGE) };
        }
    };
    let mut to_pointer = |buffer: &mut [u8]| {
        for (chunk, &page) in buffer.chunks_exact(PAGE).zip(&pointers) {
            // SAFETY: as above.
            unsafe { page.copy_from_nonoverlapping(chunk.as_ptr(), PAGE) };
        }
    };
    let mut by_peer = |buffer: &mut [u8]| iotlb.read_slice(buffer, GuestAddress(0)).expect("mapped");
    let mut by_peers_page = |buffer: &mut [u8]| {
        for (i, chunk) in buffer.chunks_exact_mut(PAGE).enumerate() {
            iotlb.read_slice(chunk, GuestAddress((i * PAGE) as u64)).expect("mapped");
        }
    };
    let times = (512 / pages).max(1);
    let size = (pages * PAGE) >> 10;

    let mut dma = dart.dma(memory, StreamId::BASE, Circuit::TileFetch1);
    let mut by_dma = |buffer: &mut [u8]| dma.read(all, buffer).expect("mapped");
    check(&mut buffer, &mut by_dma, &mut by_pointer);
    check(&mut buffer, &mut by_dma, &mut by_peer);
    let figures = compare(times, &mut buffer, &mut by_dma, &mut by_pointer);
    line("D1", &format!("read {size} KiB of pages / memcpy"), figures);
    let figures = compare(times, &mut buffer, &mut by_dma, &mut by_peer);
    line("D4 pages", &format!("read {size} KiB of pages / IommuMemory"), figures);
    let mut by_page = |buffer: &mut [u8]| {
        for (i, chunk) in buffer.chunks_exact_mut(PAGE).enumerate() {
            dma.read(range(i * PAGE, PAGE), chunk).expect("mapped");
        }
    };
    check(&mut buffer, &mut by_page, &mut by_peers_page);
    let figures = compare(times, &mut buffer, &mut by_page, &mut by_peers_page);
    line("D4 pages", &format!("read {size} KiB, page by page / IommuMemory"), figures);

    // The buffer holds what the pages hold, so writing it changes nothing.
    let mut dma = dart.dma(memory, StreamId::BASE, Circuit::TileSend);
    let mut to_dma = |buffer: &mut [u8]| dma.write(all, buffer).expect("mapped");
    let figures = compare(times, &mut buffer, &mut to_dma, &mut to_pointer);
    line("D1", &format!("write {size} KiB of pages / memcpy"), figures);
}

fn rows(rig: &mut Rig, what: &str, stride: usize, count: usize, is_goal: bool) {
    let pointers = rig.pointers();
    let iotlb = peer(rig);
    let Rig { dart, memory, .. } = rig;
    let mut dma = dart.dma(memory, StreamId::BASE, Circuit::TileFetch1);
    let all = Rows::new(0, ROW as u32, stride as u32, count as u32).expect("inside the aperture");
    let mut buffer = vec![0; count * ROW];
    let mut by_pointer = |buffer: &mut [u8]| {
        for (i, row) in buffer.chunks_exact_mut(ROW).enumerate() {
            let at = i * stride;
            let from = pointers[at / PAGE].wrapping_add(at % PAGE);
            // SAFETY: rows lie inside their pages, and the pages in memory that outlives this function.
            unsafe { from.copy_to_nonoverlapping(row.as_mut_ptr(), black_box(ROW)) };
        }
    };
    let mut by_peer = |buffer: &mut [u8]| {
        for (i, row) in buffer.chunks_exact_mut(ROW).enumerate() {
            iotlb.read_slice(row, GuestAddress((i * stride) as u64)).expect("mapped");
        }
    };
    let times = 100_000 / count;

    let mut by_dma = |buffer: &mut [u8]| dma.read_rows(all, buffer, &mut Alone).expect("mapped");
    check(&mut buffer, &mut by_dma, &mut by_pointer);
    check(&mut buffer, &mut by_dma, &mut by_peer);
    let figures = compare(times, &mut buffer, &mut by_dma, &mut by_pointer);
    let title = format!("read {count} rows {what} / known pointer");
    line(if is_goal { "D2" } else { "(D2)" }, &title, figures);
    let figures = compare(times / 8 + 1, &mut buffer, &mut by_dma, &mut by_peer);
    line("D4 rows", &format!("read {count} rows {what} / IommuMemory"), figures);
    let mut row_by_row = |buffer: &mut [u8]| {
        for (i, row) in buffer.chunks_exact_mut(ROW).enumerate() {
            dma.read(range(i * stride, ROW), row).expect("mapped");
        }
    };
    check(&mut buffer, &mut row_by_row, &mut by_pointer);
    let figures = compare(times, &mut buffer, &mut row_by_row, &mut by_pointer);
    line("(D2)", "the same, a transfer for each row / known pointer", figures);
}

/// Times the translation of pages that are asked for one by one, all over the place.
fn translation(rig: &mut Rig, id: &str, what: &str, pages: usize) {
    let Rig { dart, memory, .. } = rig;
    let mut dma = dart.dma(memory, StreamId::BASE, Circuit::TileFetch1);
    // An odd multiplier visits every page of a power of two once.
    let ranges: Vec<_> =
        (0..pages).map(|i| range(((i * 77 + 5) % pages) * PAGE + 64 * (i % 128), 16)).collect();
    let mut work = || {
        for &range in &ranges {
            dma.check(black_box(range), Access::Read).expect("mapped");
        }
    };
    work();
    let per_round = (0..ROUNDS).map(|_| time(200_000 / pages, &mut work) / pages as f64);
    let figure = median(per_round.collect());
    report::line(id, what, &format!("{figure:.2} ns"), figure);
}

fn main() {
    // Cargo adds options of its own; a goal's id is none.
    let wanted: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wants = |ids: &[&str]| wanted.is_empty() || wanted.iter().any(|id| ids.contains(&id.as_str()));
    let mut rig = Rig::new();
    println!("{ROUNDS} rounds, one thread, pages of {PAGE} bytes in scattered order; ours, then the peer");
    if wants(&["D1", "D4"]) {
        for pages in [16, 64, 512] {
            whole_pages(&mut rig, pages);
        }
    }
    if wants(&["D2", "D4"]) {
        rows(&mut rig, "256 bytes apart", 256, 4096, true);
        rows(&mut rig, "one to a page", PAGE + ROW, 127, false);
    }
    if wants(&["D3"]) {
        translation(&mut rig, "D3 hit", "translation that is kept (256 pages, shuffled)", 256);
        translation(&mut rig, "D3 miss", "translation that was displaced (1,024 pages, shuffled)", 1024);
    }
}
