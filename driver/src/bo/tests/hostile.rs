//! Clients that say anything: no number in any place does more than fail.

use proptest::prelude::*;

use super::*;

/// Numbers at which something might wrap, be cut off, or be taken for another.
const EDGES: [u64; 24] = [
    0,
    1,
    0xfff,
    0x1000,
    0x3fff,
    0x4000,
    0x4001,
    0x8000,
    0x10_0000,
    0xdfff_4000,
    0xdfff_8000,
    0xdfff_c000,
    0xe000_0000,
    0xffff_c000,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_0000_4000,
    0x1_c000_0000,
    0x10_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_8000,
    0xffff_ffff_ffff_c000,
    u64::MAX,
];

fn edge() -> impl Strategy<Value = u64> {
    prop_oneof![4 => proptest::sample::select(&EDGES[..]), 1 => any::<u64>()]
}

fn word() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0..16u32, 1 => Just(0x1019), 1 => any::<u32>()]
}

#[derive(Clone, Copy, Debug)]
struct Call {
    what: u8,
    which: usize,
    numbers: [u64; 3],
    words: [u32; 2],
}

fn call() -> impl Strategy<Value = Call> {
    (0..9u8, 0..8usize, [edge(), edge(), edge()], [word(), word()])
        .prop_map(|(what, which, numbers, words)| Call { what, which, numbers, words })
}

/// Makes one call; whatever comes back is as good as anything else.
fn make(rig: &mut Rig, buffers: &mut Vec<BufferId>, call: Call) {
    let Call { what, which, numbers: [size, address, offset], words: [usage, flags] } = call;
    let buffer = buffers.get(which).copied();
    let (space, bus) = rig.both();
    match (what, buffer) {
        (0..2, _) | (_, None) => {
            buffers.extend(space.create(bus, &Create { size, flags, usage, address, store: StoreId::FIRST }));
        }
        (2, Some(buffer)) => {
            let _ = space.map(bus, buffer, &Map { usage, flags, offset, size, address });
        }
        (3, Some(buffer)) => {
            let _ = space.premap(bus, buffer, &Premap { usage, address, size });
        }
        (4, Some(buffer)) => {
            let _ = space.unmap(buffer, flags, usage);
        }
        (5, _) => {
            let _ = space.extents(StoreId::FIRST, offset, size);
        }
        (6, _) => {
            let _ = space.unmapped(StoreId::FIRST, offset, size);
        }
        (7, Some(buffer)) => {
            let _ = space.read(buffer, offset, &mut [0; 7]);
            let _ = space.write(buffer, offset, &[1; 7]);
            let _ = space.begin(bus, &[Use { buffer, mapping: flags }], &mut Vec::new());
        }
        (_, Some(buffer)) => {
            // More often than it was held, and after it is gone.
            space.release(buffer, Holder::Handle);
            space.finish(&[Use { buffer, mapping: flags }]);
            space.keep(&[Use { buffer, mapping: usage }]);
            space.unkeep(&[Use { buffer, mapping: usage }]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn no_numbers_of_a_client_do_more_than_fail(calls in proptest::collection::vec(call(), 1..60)) {
        let mut rig = Rig::new(0x1_0000);
        let mut buffers = Vec::new();
        for call in calls {
            make(&mut rig, &mut buffers, call);
            let mapped: u64 = rig.space().mappings().map(|(.., range, _)| u64::from(range.len())).sum();
            prop_assert_eq!(rig.space().counters().mapped_bytes, mapped);
            let mut ranges: Vec<_> = rig.space().mappings().map(|(.., range, _)| range).collect();
            ranges.sort();
            prop_assert!(ranges.windows(2).all(|pair| !pair[0].overlaps(pair[1])));
        }
        rig.contexts.detach(&mut rig.bus, FileId(1)).unwrap();
        rig.contexts.attach(&mut rig.bus, seeker(1), ContextPolicy::Refuse, None).unwrap();
        rig.create(Create { size: 0x4000_0000, usage: 1, ..Create::default() }).unwrap();
    }
}
