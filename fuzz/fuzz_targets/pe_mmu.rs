//! Any bytes as what clients send to a PE_MMU and what its circuits ask it: the answers are those of a table of bytes.
//!
//! The first byte is the size of a page. A step is a message to map or to unmap, which the fabric brings; what it
//! brought is then asked for at each end of each entry. Entries are small enough for the reference to follow, but for those
//! that nobody follows: they have to be answered, and that is all.

#![no_main]

use ane_device::dart::Circuit;
use ane_device::pe_mmu::node::TransactionRequest;
use ane_device::pe_mmu::{
    Attributes, Mapping, Message, Node, PeMmu, Range, Received, Rejected, Transaction, Why,
};
use ane_tests::reference::pe_mmu::ByteMap;
use ane_uapi::hw::pe_mmu::{MAX_REGIONS, PageSize, RegisterId};
use steps::Steps;

#[path = "../src/steps.rs"]
mod steps;

/// Parts of pages that the reference has: it asks all of them for each byte.
const PARTS: usize = 2048;

/// Pages of one entry that the reference follows.
const PAGES: u64 = 80;

/// Pages of one entry that the table holds, at most: more would take nearly all of the time. Entries that it has to refuse are larger.
const HELD: u64 = 4096;

/// Bytes of one entry: an address that is near one of four places, and a size of some pages or of some bytes.
fn range(steps: &mut Steps<'_>, page: u64) -> (u64, u64) {
    let how = steps.number(1);
    let base = [0, 63 * page, page.wrapping_mul(1 << 26).wrapping_sub(page), 0u64.wrapping_sub(70 * page)];
    let va =
        base[how as usize % 4].wrapping_add(steps.number(1) % 8 * page).wrapping_add(match how >> 2 & 1 {
            0 => 0,
            _ => steps.number(2) % page,
        });
    let size = match how >> 3 & 3 {
        0 => page,
        1 => steps.number(1) % PAGES * page,
        2 => steps.number(2) % (2 * page),
        // Nobody follows this one, if it is large.
        _ => match steps.number(8) >> (how >> 5) * 8 {
            size if size / page <= MAX_REGIONS as u64 => size % (HELD * page),
            size => size,
        },
    };
    (va, size)
}

/// An address that many of its kind share.
fn physical(steps: &mut Steps<'_>) -> u64 {
    steps.number(2) << steps.number(1) % 56
}

/// Sends a message as a client does.
fn tell(mmu: &mut PeMmu, message: Message) -> Result<(), Rejected> {
    let mut node = Node::<()>::new(40);
    let before = mmu.mmu().regions();
    node.send(100, Transaction { request: Some(TransactionRequest::Sideband(message)), done: 7 })
        .expect("there is room");
    assert_eq!((node.receive(139, mmu), mmu.mmu().regions()), (None, before));
    match node.receive(140, mmu) {
        Some(Received::Done { done: 7, at: 140, outcome }) => outcome,
        other => panic!("{other:?} is no answer"),
    }
}

/// Asks for an address in each way there is.
fn ask(mmu: &mut PeMmu, reference: &ByteMap, va: u64) {
    let expected = reference.translate(va);
    assert_eq!(mmu.mmu().translate(va).ok(), expected, "{va:#x}");
    let stretch = mmu.mmu().stretch(va, 1 << 40);
    assert_eq!(stretch.to.ok(), expected, "{va:#x}");
    let last = stretch.len - 1;
    assert_eq!(reference.translate(va + last), expected.map(|pa| pa + last), "{va:#x} and {last:#x}");
    let found = mmu.ask(Circuit::TileSend, va, 64);
    assert_eq!((found.pa, found.len), (expected.unwrap_or(va), stretch.len.min(64)));
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let mut steps = Steps(input);
    let page = 1 << steps.number(1) % 32;
    let page_size = PageSize::new(page).expect("a power of two");
    let mut mmu = PeMmu::new(Attributes { page_size, overhead_ps: 5, ..Attributes::default() });
    let mut reference = ByteMap::new(page);
    while let Some(what) = steps.next() {
        let ranges: Vec<_> = (0..1 + what / 4 % 8).map(|_| range(&mut steps, page)).collect();
        let wraps = |va: u64, size: u64| size != 0 && va.checked_add(size - 1).is_none();
        let follows = |size: u64| size / page < PAGES;
        match what % 4 {
            0..=1 => {
                let entries: Vec<_> =
                    ranges.iter().map(|&(va, size)| Mapping { va, pa: physical(&mut steps), size }).collect();
                let bad = entries
                    .iter()
                    .position(|entry| wraps(entry.va, entry.size) || wraps(entry.pa, entry.size));
                let answer = tell(&mut mmu, Message::Map(entries.clone()));
                if !entries.iter().all(|entry| follows(entry.size)) {
                    return;
                }
                assert_eq!(answer.err(), bad.map(|entry| Rejected { entry, why: Why::Wraps }));
                if bad.is_none() {
                    entries.iter().for_each(|entry| reference.map(entry.va, entry.pa, entry.size));
                }
            }
            2 => {
                let message = ranges.iter().map(|&(va, size)| Range { va, size }).collect();
                let bad = ranges.iter().position(|&(va, size)| wraps(va, size));
                let answer = tell(&mut mmu, Message::Unmap(message));
                assert_eq!(answer.err(), bad.map(|entry| Rejected { entry, why: Why::Wraps }));
                if bad.is_none() {
                    ranges.iter().for_each(|&(va, size)| reference.unmap(va, size));
                }
            }
            _ => {
                let offset = steps.number(1) as u32 * 4 % 0x48;
                let Some((register, index)) = RegisterId::find(offset) else { continue };
                mmu.write(register, steps.number(4) as u32);
                mmu.read(register, index);
            }
        }
        assert_eq!(mmu.mmu().regions(), reference.parts());
        for (va, size) in ranges {
            for va in [va, va.wrapping_sub(1), va.wrapping_add(size), va.wrapping_add(size).wrapping_sub(1)] {
                ask(&mut mmu, &reference, va);
            }
        }
        if reference.parts() > PARTS {
            return;
        }
    }
});
