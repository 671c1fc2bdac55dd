use virtio_queue::desc::RawDescriptor;
use virtio_queue::desc::split::Descriptor;
use virtio_queue::mock::MockSplitQueue;
use virtio_queue::{QueueOwnedT, QueueT};

use super::*;

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;
const SIZE: u16 = 16;

fn memory() -> GuestMemoryMmap {
    GuestMemoryMmap::from_ranges(&[(GuestAddress(0), 0x10000), (GuestAddress(0x20000), 0x10000)]).unwrap()
}

/// The outcome of the chain that starts at descriptor 0 of `table`.
fn gathered(memory: &GuestMemoryMmap, table: &[Descriptor], head: u16) -> (Result<(), BadChain>, Chain) {
    let mock = MockSplitQueue::new(memory, SIZE);
    for (n, descriptor) in (0u16..).zip(table) {
        mock.desc_table().store(n, RawDescriptor::from(*descriptor)).unwrap();
    }
    mock.avail().ring().ref_at(0).unwrap().store(head);
    mock.avail().idx().store(1);
    let mut queue: virtio_queue::Queue = mock.create_queue().unwrap();
    queue.set_event_idx(true);
    let found = queue.iter(memory).unwrap().next().unwrap();
    let mut chain = Chain::default();
    (chain.gather(found, memory), chain)
}

#[test]
fn chain_of_both_parts_is_copied_in_and_out_in_order() {
    let memory = memory();
    memory.write_slice(b"virtual engine", GuestAddress(0x5000)).unwrap();
    let table = [
        Descriptor::new(0x5000, 7, NEXT, 3),
        Descriptor::new(0x2f000, 3, NEXT | WRITE, 2),
        Descriptor::new(0x2f100, 100, WRITE, 0),
        Descriptor::new(0x5007, 7, NEXT, 1),
    ];
    let (outcome, chain) = gathered(&memory, &table, 0);
    assert_eq!(outcome, Ok(()));
    assert_eq!((chain.readable_bytes(), chain.writable_bytes()), (14, 103));
    let mut bytes = Vec::new();
    assert!(chain.read(&memory, 100, &mut bytes));
    assert_eq!(bytes, b"virtual engine");
    assert!(chain.read(&memory, 9, &mut bytes));
    assert_eq!(bytes, b"virtual e", "no more than the limit is copied");
    assert_eq!(chain.write(&memory, b"answer"), 6);
    let mut split = [0; 3];
    memory.read_slice(&mut split, GuestAddress(0x2f100)).unwrap();
    assert_eq!(&split, b"wer");
}

#[test]
fn bad_chain_is_named_for_what_is_wrong() {
    let outside = |address, bytes| BadChain::NoMemory { head: 0, address, bytes };
    let cases: [(&str, Vec<Descriptor>, BadChain); 11] = [
        (
            "self-reference",
            vec![Descriptor::new(0x5000, 8, NEXT, 0)],
            BadChain::CutOff { head: 0, descriptors: 16 },
        ),
        (
            "loop of two",
            vec![Descriptor::new(0x5000, 8, NEXT, 1), Descriptor::new(0x5000, 8, NEXT, 0)],
            BadChain::CutOff { head: 0, descriptors: 16 },
        ),
        (
            "next outside the table",
            vec![Descriptor::new(0x5000, 8, NEXT, SIZE)],
            BadChain::CutOff { head: 0, descriptors: 1 },
        ),
        (
            "reads after writing",
            vec![Descriptor::new(0x5000, 8, NEXT | WRITE, 1), Descriptor::new(0x5000, 8, 0, 0)],
            BadChain::Order { head: 0 },
        ),
        ("outside memory", vec![Descriptor::new(0x18000, 8, 0, 0)], outside(0x18000, 8)),
        ("across a hole", vec![Descriptor::new(0xfffc, 8, 0, 0)], outside(0xfffc, 8)),
        ("wraps", vec![Descriptor::new(u64::MAX - 3, 8, WRITE, 0)], outside(u64::MAX - 3, 8)),
        ("four gigabytes", vec![Descriptor::new(0, u32::MAX, 0, 0)], outside(0, u32::MAX)),
        (
            "indirect table outside memory",
            vec![Descriptor::new(0x18000, 16, INDIRECT, 0)],
            BadChain::Empty { head: 0 },
        ),
        (
            "indirect table of half a descriptor",
            vec![Descriptor::new(0x5000, 8, INDIRECT, 0)],
            BadChain::Empty { head: 0 },
        ),
        ("empty indirect table", vec![Descriptor::new(0x5000, 0, INDIRECT, 0)], BadChain::Empty { head: 0 }),
    ];
    for (name, table, bad) in cases {
        assert_eq!(gathered(&memory(), &table, 0).0, Err(bad), "{name}");
    }
}

#[test]
fn head_outside_the_table_is_an_empty_chain() {
    assert_eq!(gathered(&memory(), &[], SIZE).0, Err(BadChain::Empty { head: SIZE }));
    assert_eq!(gathered(&memory(), &[], u16::MAX).0, Err(BadChain::Empty { head: u16::MAX }));
}

#[test]
fn indirect_table_inside_an_indirect_table_is_refused() {
    let memory = memory();
    let inner = Descriptor::new(0x6000, 16, INDIRECT, 0);
    memory.write_obj(RawDescriptor::from(inner), GuestAddress(0x6000)).unwrap();
    let table = [Descriptor::new(0x6000, 16, INDIRECT, 0)];
    assert_eq!(gathered(&memory, &table, 0).0, Err(BadChain::Empty { head: 0 }));
}

#[test]
fn indirect_chain_is_bounded_although_its_table_is_not() {
    let memory = memory();
    // 2048 descriptors, each leading to the next; the queue has 16.
    for n in 0..2048u16 {
        let descriptor = Descriptor::new(0x20000, 1, NEXT, n + 1);
        memory.write_obj(RawDescriptor::from(descriptor), GuestAddress(u64::from(n) * 16 + 0x28000)).unwrap();
    }
    let table = [Descriptor::new(0x28000, 0x8000, INDIRECT, 0)];
    assert_eq!(gathered(&memory, &table, 0).0, Err(BadChain::TooLong { head: 0 }));
}

#[test]
fn descriptor_of_no_bytes_is_harmless_wherever_it_points() {
    let table = [Descriptor::new(u64::MAX, 0, NEXT, 1), Descriptor::new(0x18000, 0, WRITE, 0)];
    let (outcome, chain) = gathered(&memory(), &table, 0);
    assert_eq!(outcome, Ok(()));
    assert_eq!(chain.write(&memory(), b"x"), 0);
}
