//! PE_MMU against a table that asks byte by byte, on random mappings.

use ane_device::pe_mmu::{Attributes, Mapping, PeMmu, Range};
use ane_tests::random::Random;
use ane_tests::reference::pe_mmu::ByteMap;
use ane_uapi::hw::pe_mmu::PageSize;

/// Addresses that are in play: a few pages, so that everything meets everything.
const PAGES: u32 = 6;

/// A number below `bound` that is often one of its ends, or on a quarter of a page.
fn address(random: &mut Random, page: u32) -> u64 {
    let bound = page * PAGES;
    let quarter = (page / 4).max(1);
    u64::from(match random.below(4) {
        0 => random.below(PAGES) * page,
        1 => random.below(bound / quarter) * quarter,
        _ => random.below(bound),
    })
}

/// One random life of a table.
fn life(seed: u64) {
    let mut random = Random::new(seed);
    let page = 1 << (2 + random.below(8));
    let page_size = PageSize::new(page.into()).expect("a power of two");
    let mut mmu = PeMmu::new(Attributes { page_size, ..Attributes::default() });
    let mut reference = ByteMap::new(page.into());
    for step in 0..60 {
        let (va, size) = (address(&mut random, page), address(&mut random, page));
        if random.below(3) < 2 {
            // Below the page's own offset as well as far away.
            let pa = u64::from(random.below(page)) << (8 * random.below(6));
            mmu.map(&[Mapping { va, pa, size }]).expect("nothing wraps and there is room");
            reference.map(va, pa, size);
        } else {
            // One range or several in a message.
            let more = (0..random.below(3)).map(|_| [address(&mut random, page), address(&mut random, page)]);
            let ranges: Vec<_> =
                [[va, size]].into_iter().chain(more).map(|[va, size]| Range { va, size }).collect();
            mmu.unmap(&ranges).expect("nothing wraps");
            ranges.iter().for_each(|range| reference.unmap(range.va, range.size));
        }
        let context = format!("seed {seed}, step {step}, page {page:#x}");
        assert_eq!(mmu.mmu().regions(), reference.parts(), "{context}");
        let mut stretch_end = 0;
        let mut stretch = None;
        for va in 0..u64::from(2 * PAGES * page) {
            let expected = reference.translate(va);
            assert_eq!(mmu.mmu().translate(va).ok(), expected, "{context}, address {va:#x}");
            if va >= stretch_end {
                let found = mmu.mmu().stretch(va, 1 << 40);
                assert!(found.len > 0, "{context}, address {va:#x}");
                stretch_end = va + found.len;
                stretch = found.to.ok().map(|pa| pa.wrapping_sub(va));
            }
            assert_eq!(stretch.map(|base| base.wrapping_add(va)), expected, "{context}, stretch at {va:#x}");
        }
    }
}

/// Pages where the table changes from one way of keeping them to another: the ends of a leaf of 64, the end of
/// the window of low leaves, the end of the address space.
const CORNERS: [u64; 16] = [
    0,
    1,
    31,
    62,
    63,
    64,
    65,
    127,
    128,
    (1 << 26) - 65,
    (1 << 26) - 1,
    1 << 26,
    (1 << 26) + 64,
    (1 << 52) - 65,
    (1 << 52) - 2,
    (1 << 52) - 1,
];

/// One random life of a table whose pages lie far apart.
fn scattered_life(seed: u64) {
    const PAGE: u64 = 0x1000;
    let mut random = Random::new(seed);
    let page_size = PageSize::new(PAGE).expect("a power of two");
    let mut mmu = PeMmu::new(Attributes { page_size, ..Attributes::default() });
    let mut reference = ByteMap::new(PAGE);
    for step in 0..200 {
        let page = CORNERS[random.below(CORNERS.len() as u32) as usize];
        // Whole pages most often, from one to three leaves of them; now and then a part of one.
        let (start, size) = match random.below(4) {
            0 => (u64::from(random.below(PAGE as u32)), u64::from(random.below(PAGE as u32))),
            1 => (0, PAGE * u64::from(random.below(150))),
            _ => (0, PAGE * u64::from(1 + random.below(3))),
        };
        let va = page * PAGE + start;
        let size = size.min(u64::MAX - va);
        match random.below(8) {
            0..5 => {
                // Low, high, and with the highest bit, which no run of pages has.
                let pa = u64::from(random.below(1 << 16)) << (8 * random.below(7));
                let size = size.min(u64::MAX - pa);
                mmu.map(&[Mapping { va, pa, size }]).expect("nothing wraps and there is room");
                reference.map(va, pa, size);
            }
            5 => {
                mmu.unmap(&[Range { va: 0, size: va }]).expect("nothing wraps");
                reference.unmap(0, va);
            }
            _ => {
                mmu.unmap(&[Range { va, size }]).expect("nothing wraps");
                reference.unmap(va, size);
            }
        }
        let context = format!("seed {seed}, step {step}");
        assert_eq!(mmu.mmu().regions(), reference.parts(), "{context}");
        for page in CORNERS {
            for va in [0, 1, 0x7ff, 0x800, 0xfff].map(|offset| page * PAGE + offset) {
                assert_eq!(
                    mmu.mmu().translate(va).ok(),
                    reference.translate(va),
                    "{context}, address {va:#x}"
                );
            }
        }
    }
}

/// One random life of a table with many leaves, which grow and shrink beside each other.
fn crowded_life(seed: u64) {
    const PAGE: u64 = 0x1000;
    const PAGES: u32 = 1 << 11;
    let mut random = Random::new(seed);
    let page_size = PageSize::new(PAGE).expect("a power of two");
    let mut mmu = PeMmu::new(Attributes { page_size, ..Attributes::default() });
    let mut reference = ByteMap::new(PAGE);
    for step in 0..400 {
        let va = u64::from(random.below(PAGES)) * PAGE;
        let most = [2, 90][random.below(2) as usize];
        let pages = u64::from(1 + random.below(most));
        let pa = u64::from(random.below(4)) << 62 | u64::from(random.below(1 << 20)) << 4;
        match random.below(5) {
            // Pages that do not follow each other, so that they are in blocks.
            0 => {
                for (page, apart) in (0..pages).zip((0..).step_by(0x3000)) {
                    mmu.map(&[Mapping { va: va + page * PAGE, pa: pa + apart, size: PAGE }])
                        .expect("there is room");
                    reference.map(va + page * PAGE, pa + apart, PAGE);
                }
            }
            1..3 => {
                let (start, less) = (u64::from(random.below(2)) * 0x80, u64::from(random.below(2)) * 0x10);
                let size = pages * PAGE - start - less;
                mmu.map(&[Mapping { va: va + start, pa, size }]).expect("nothing wraps and there is room");
                reference.map(va + start, pa, size);
            }
            _ => {
                mmu.unmap(&[Range { va, size: 3 * pages * PAGE }]).expect("nothing wraps");
                reference.unmap(va, 3 * pages * PAGE);
            }
        }
        let context = format!("seed {seed}, step {step}");
        assert_eq!(mmu.mmu().regions(), reference.parts(), "{context}");
        for _ in 0..40 {
            let va = u64::from(random.below(PAGES + 90)) * PAGE + u64::from(random.below(0x100));
            assert_eq!(mmu.mmu().translate(va).ok(), reference.translate(va), "{context}, address {va:#x}");
        }
    }
}

#[test]
fn table_agrees_with_a_byte_map_when_many_leaves_grow_and_shrink() {
    for seed in 0..40 {
        crowded_life(seed);
    }
}

#[test]
fn table_agrees_with_a_byte_map_where_leaves_begin_and_end() {
    for seed in 0..60 {
        scattered_life(seed);
    }
}

#[test]
fn table_agrees_with_a_byte_map_on_random_mappings() {
    for seed in 0..40 {
        life(seed);
    }
}
