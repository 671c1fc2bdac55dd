//! The ring against a device written from the specification, in every interleaving that chance finds.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;

const SIZE: usize = 8;
const BASE: u64 = 0x4000_0000;

/// An area that the test's device shares.
#[derive(Clone, Debug)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Shared {
    fn new() -> Self {
        Self(Rc::new(RefCell::new(vec![0xa5; Layout::of(SIZE as u16).bytes])))
    }

    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        self.0.borrow()[at..at + N].try_into().unwrap()
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        self.0.borrow_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

impl Area for Shared {
    fn bytes(&self) -> usize {
        self.0.borrow().len()
    }
    fn load_u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.get(at))
    }
    fn load_u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.get(at))
    }
    fn store_u16(&self, at: usize, value: u16) {
        self.put(at, &value.to_le_bytes());
    }
    fn store_u32(&self, at: usize, value: u32) {
        self.put(at, &value.to_le_bytes());
    }
    fn store_u64(&self, at: usize, value: u64) {
        self.put(at, &value.to_le_bytes());
    }
}

/// A device that sleeps until it is kicked.
struct Device {
    area: Shared,
    features: Features,
    seen: u16,
    used: u16,
    awake: bool,
    /// Chains that it has, oldest first.
    has: VecDeque<(u16, Vec<Part>)>,
}

impl Device {
    const AVAILABLE: usize = 16 * SIZE;
    const USED: usize = (Self::AVAILABLE + 6 + 2 * SIZE).next_multiple_of(4);

    fn new(area: Shared, features: Features, start: u16) -> Self {
        Self { area, features, seen: start, used: start, awake: true, has: VecDeque::new() }
    }

    fn chain(&self, head: u16) -> Vec<Part> {
        let mut parts = Vec::new();
        let (mut table, mut index) = (0usize, usize::from(head));
        loop {
            let at = table + 16 * index;
            let address = u64::from_le_bytes(self.area.get(at));
            let bytes = self.area.load_u32(at + 8);
            let flags = self.area.load_u16(at + 12);
            if flags & 4 != 0 {
                assert!(self.features.indirect && table == 0 && parts.is_empty() && flags & 3 == 0);
                table = (address - BASE) as usize;
                index = 0;
                continue;
            }
            parts.push(Part { address, bytes, writable: flags & 2 != 0 });
            assert!(parts.len() <= SIZE, "chain has a loop");
            if flags & 1 == 0 {
                return parts;
            }
            index = usize::from(self.area.load_u16(at + 14));
        }
    }

    /// Takes every available chain, then sleeps.
    fn run(&mut self) {
        assert!(self.awake);
        let available = self.area.load_u16(Self::AVAILABLE + 2);
        while self.seen != available {
            let slot = usize::from(self.seen) % SIZE;
            let head = self.area.load_u16(Self::AVAILABLE + 4 + 2 * slot);
            self.has.push_back((head, self.chain(head)));
            self.seen = self.seen.wrapping_add(1);
        }
        if self.features.event_index {
            self.area.store_u16(Self::USED + 4 + 8 * SIZE, self.seen);
        }
        self.awake = false;
    }

    /// Is done with its `n`th chain; true if the driver wants to be woken.
    fn finish(&mut self, n: usize, written: u32) -> (u16, bool) {
        let (head, _) = self.has.remove(n).unwrap();
        let entry = Self::USED + 4 + 8 * (usize::from(self.used) % SIZE);
        self.area.store_u32(entry, head.into());
        self.area.store_u32(entry + 4, written);
        let old = self.used;
        self.used = old.wrapping_add(1);
        self.area.store_u16(Self::USED + 2, self.used);
        let wake = if self.features.event_index {
            // One entry at a time: the driver is woken when the entry it asked for is announced.
            self.area.load_u16(Self::AVAILABLE + 4 + 2 * SIZE) == old
        } else {
            self.area.load_u16(Self::AVAILABLE) & 1 == 0
        };
        (head, wake)
    }
}

fn part(bytes: u32, writable: bool) -> Part {
    Part { address: 0x1234_0000, bytes, writable }
}

fn ring(features: Features) -> Ring<Shared, SIZE> {
    Ring::new(Shared::new(), BASE, features).unwrap()
}

#[test]
fn passed_agrees_with_counting_at_every_wrap() {
    // Counting: some entry between old (included) and new (excluded) has the event's number.
    for old in [0u16, 1, 0x7fff, 0x8000, 0xfff0, 0xffff] {
        for span in 0u16..40 {
            let new = old.wrapping_add(span);
            for offset in 0u16..80 {
                let event = old.wrapping_sub(20).wrapping_add(offset);
                let counted = (0..span).any(|n| old.wrapping_add(n) == event);
                assert_eq!(passed(event, new, old), counted, "event {event} old {old} new {new}");
            }
        }
    }
}

#[test]
fn area_that_is_too_short_misaligned_or_wrapping_is_refused() {
    let needed = Layout::of(SIZE as u16).bytes;
    let short = Shared(Rc::new(RefCell::new(vec![0; needed - 1])));
    let refused = |area: Shared, base| Ring::<_, SIZE>::new(area, base, Features::default()).unwrap_err();
    assert_eq!(refused(short, BASE), BadArea::Short { bytes: needed - 1, needed });
    assert_eq!(refused(Shared::new(), 8), BadArea::Misaligned { base: 8 });
    assert_eq!(refused(Shared::new(), u64::MAX - 15), BadArea::Wraps { base: u64::MAX - 15 });
}

#[test]
fn chain_that_no_device_would_take_is_refused_and_takes_no_place() {
    let mut ring = ring(Features::default());
    let cases: [(&[Part], AddError); 5] = [
        (&[], AddError::Empty),
        (&[part(1, false); PARTS_MAX + 1], AddError::TooLong { parts: PARTS_MAX + 1 }),
        (&[part(4, false), part(0, true)], AddError::EmptyPart { index: 1 }),
        (&[part(4, true), part(4, false)], AddError::Order { index: 1 }),
        (&[part(u32::MAX, false), part(1, true)], AddError::TooBig),
    ];
    for (parts, error) in cases {
        assert_eq!(ring.add(parts), Err(error));
    }
    assert_eq!(ring.outstanding(), 0);
    for _ in 0..SIZE {
        ring.add(&[part(1, false)]).unwrap();
    }
    assert_eq!(ring.add(&[part(1, false)]), Err(AddError::Full));
}

#[test]
fn device_that_is_done_with_what_it_does_not_have_breaks_the_ring() {
    let area = Shared::new();
    let mut ring = Ring::<_, SIZE>::new(area.clone(), BASE, Features::default()).unwrap();
    let Token(head) = ring.add(&[part(8, false), part(16, true)]).unwrap();
    area.store_u16(Device::USED + 2, 1);
    assert_eq!(ring.take(), Err(Broken::Index { found: 1, seen: 0, outstanding: 0 }), "not published yet");
    ring.publish();
    area.store_u16(Device::USED + 2, 2);
    assert_eq!(ring.take(), Err(Broken::Index { found: 2, seen: 0, outstanding: 1 }));
    area.store_u16(Device::USED + 2, 1);
    for id in [u32::from(head) + 1, SIZE as u32, 0x1_0000, u32::MAX] {
        area.store_u32(Device::USED + 4, id);
        assert_eq!(ring.take(), Err(Broken::Token { id }));
    }
    area.store_u32(Device::USED + 4, head.into());
    area.store_u32(Device::USED + 8, 17);
    assert_eq!(ring.take(), Err(Broken::Written { claimed: 17, given: 16 }));
    area.store_u32(Device::USED + 8, 16);
    assert_eq!(ring.take(), Ok(Some(Done { token: Token(head), written: 16 })));
    assert_eq!(ring.take(), Ok(None));
}

#[test]
fn descriptor_changed_by_the_device_does_not_lead_the_driver_astray() {
    let area = Shared::new();
    let mut ring = Ring::<_, SIZE>::new(area.clone(), BASE, Features::default()).unwrap();
    for round in 0..100u32 {
        let Token(head) = ring.add(&[part(8, false), part(16, true), part(16, true)]).unwrap();
        ring.publish();
        for at in (0..Device::AVAILABLE).step_by(2) {
            area.store_u16(at, 0xffff);
        }
        let entry = Device::USED + 4 + 8 * (round as usize % SIZE);
        area.store_u32(entry, head.into());
        area.store_u32(entry + 4, 0);
        area.store_u16(Device::USED + 2, (round + 1) as u16);
        assert!(ring.take().unwrap().is_some());
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Adds a chain of so many read and written parts.
    Add(usize, usize),
    Publish,
    /// The device is done with one of its chains.
    Finish(usize),
    /// The driver takes everything back and arms.
    Drain,
    Disarm,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0usize..4, 0usize..4).prop_map(|(read, written)| Step::Add(read, written)),
        3 => Just(Step::Publish),
        4 => (0usize..SIZE).prop_map(Step::Finish),
        2 => Just(Step::Drain),
        1 => Just(Step::Disarm),
    ];
    prop::collection::vec(step, 1..200)
}

proptest! {
    #[test]
    fn every_chain_comes_back_once_and_no_wake_up_is_lost(
        event_index: bool,
        indirect: bool,
        start in prop_oneof![Just(0u16), 0xff80u16..=0xffff, 0x7ff0u16..0x8010],
        steps in steps(),
    ) {
        let features = Features { event_index, indirect };
        let area = Shared::new();
        let mut ring = Ring::<_, SIZE>::starting_at(area.clone(), BASE, features, start).unwrap();
        let mut device = Device::new(area, features, start);
        device.run();
        // The buffers that the driver has given away, by token; and whether it sleeps after the answers so far.
        let mut given: Vec<(Token, Vec<Part>)> = Vec::new();
        let mut unpublished = 0usize;
        let mut expected: VecDeque<(u16, u32)> = VecDeque::new();
        let mut asleep = false;
        let mut fresh = 0u32;
        for step in steps {
            match step {
                Step::Add(read, written) => {
                    let parts: Vec<Part> = (0..read + written).map(|n| {
                        fresh += 1;
                        Part { address: u64::from(fresh) << 12, bytes: fresh, writable: n >= read }
                    }).collect();
                    let places = if indirect { 1 } else { parts.len() };
                    let room = SIZE - given.iter()
                        .map(|(_, parts)| if indirect { 1 } else { parts.len() }).sum::<usize>();
                    match ring.add(&parts) {
                        Ok(token) => {
                            prop_assert!(!parts.is_empty() && places <= room);
                            prop_assert!(given.iter().all(|(other, _)| *other != token));
                            given.push((token, parts));
                            unpublished += 1;
                        }
                        Err(AddError::Empty) => prop_assert!(parts.is_empty()),
                        Err(AddError::Full) => prop_assert!(places > room),
                        Err(other) => prop_assert!(false, "{other}"),
                    }
                }
                Step::Publish => {
                    let kick = ring.publish();
                    // The device sleeps with everything before taken: it has to be kicked for anything new.
                    prop_assert_eq!(kick, unpublished > 0);
                    unpublished = 0;
                    if kick {
                        device.awake = true;
                        device.run();
                    }
                    let published = given.len() - unpublished;
                    prop_assert_eq!(device.has.len() + expected.len(), published);
                    for (head, parts) in &device.has {
                        let same = given.iter().find(|(token, _)| token.0 == *head);
                        prop_assert_eq!(same.map(|(_, parts)| parts), Some(parts));
                    }
                }
                Step::Finish(n) => {
                    if device.has.is_empty() {
                        continue;
                    }
                    let n = n % device.has.len();
                    let written =
                        device.has[n].1.iter().filter(|part| part.writable).map(|part| part.bytes).sum();
                    let (head, wake) = device.finish(n, written);
                    expected.push_back((head, written));
                    if asleep {
                        prop_assert!(wake, "driver sleeps on");
                        asleep = false;
                    }
                }
                Step::Drain => {
                    loop {
                        while let Some(done) = ring.take().unwrap() {
                            prop_assert_eq!(Some((done.token.0, done.written)), expected.pop_front());
                            given.retain(|(token, _)| *token != done.token);
                        }
                        if !ring.arm() {
                            break;
                        }
                    }
                    prop_assert!(expected.is_empty());
                    asleep = true;
                }
                Step::Disarm => {
                    ring.disarm();
                    asleep = false;
                }
            }
            prop_assert_eq!(usize::from(ring.outstanding()), given.len());
        }
    }

    #[test]
    fn no_bytes_of_a_device_make_the_driver_panic(
        event_index: bool,
        indirect: bool,
        noise in prop::collection::vec((0usize..Layout::of(SIZE as u16).bytes, any::<u8>()), 0..400),
    ) {
        let area = Shared::new();
        let mut ring = Ring::<_, SIZE>::new(area.clone(), BASE, Features { event_index, indirect }).unwrap();
        for (at, byte) in noise {
            area.put(at, &[byte]);
            let _ = ring.add(&[part(4, false), part(4, true)]);
            let _ = ring.publish();
            for _ in 0..SIZE {
                if !matches!(ring.take(), Ok(Some(_))) {
                    break;
                }
            }
            ring.arm();
            prop_assert!(usize::from(ring.outstanding()) <= SIZE);
        }
    }
}
