//! Tests of files that cannot say what they want: which context they get, and what they share in it.

use super::*;
use crate::bo::{BufferError, Create, Holder, StoreId, Use};
use crate::front::FileId;
use crate::tests::fake::Fake;
use crate::tests::users::{STRANGER, seeker};

const PAGE: u64 = 0x4000;
/// Arenas that the contexts leave.
const BESIDE: usize = 248;

struct Rig {
    bus: Fake,
    contexts: Contexts,
}

impl Rig {
    fn new() -> Self {
        let bus = Fake::new(64);
        Self { contexts: Contexts::new(&bus).unwrap(), bus }
    }

    /// With files 0 to `files` open, of one user.
    fn with(files: u64) -> Self {
        let mut rig = Self::new();
        assert!((0..files).all(|file| rig.open(file).is_ok()));
        rig
    }

    fn attach(&mut self, seeker: Seeker) -> Result<(u8, u32), Errno> {
        let attached = self.contexts.attach_silent(&mut self.bus, seeker);
        attached.map(|attached| (attached.context.number(), attached.sharers)).map_err(|why| why.errno())
    }

    fn open(&mut self, file: u64) -> Result<(u8, u32), Errno> {
        self.attach(seeker(file))
    }

    fn ask(&mut self, file: u64, policy: ContextPolicy) -> Result<u8, Errno> {
        let attached = self.contexts.attach(&mut self.bus, seeker(file), policy, None);
        attached.map(|attached| attached.context.number()).map_err(|why| why.errno())
    }

    fn close(&mut self, file: u64) {
        self.contexts.detach(&mut self.bus, FileId(file)).unwrap();
    }

    fn store(&self, file: u64) -> StoreId {
        self.contexts.store(FileId(file)).unwrap()
    }

    fn space(&mut self, file: u64) -> (&mut crate::bo::Space, &mut Fake) {
        let context = self.contexts.of(FileId(file)).unwrap();
        (self.contexts.space_mut(context).unwrap(), &mut self.bus)
    }

    /// A buffer of a file with bytes in it, and where it lies for the engine.
    fn buffer(&mut self, file: u64, bytes: &[u8]) -> Result<(Use, u32), BufferError> {
        let store = self.store(file);
        let (space, bus) = self.space(file);
        let create = Create { size: 2 * PAGE, usage: 1, store, ..Create::default() };
        let used = Use { buffer: space.create(bus, &create)?, mapping: 0 };
        space.write(used.buffer, 0, bytes)?;
        let mut places = Vec::new();
        space.begin(bus, &[used], &mut places)?;
        space.finish(&[used]);
        Ok((used, places[0].base().0))
    }
}

/// A file of a user who may not do as he likes.
fn stranger(file: u64, id: u32) -> Seeker {
    Seeker { file: FileId(file), user: User { id, ..STRANGER } }
}

#[test]
fn file_beyond_the_eighth_joins_the_context_that_the_fewest_share() {
    let mut rig = Rig::new();
    let given: Vec<_> = (0..20).map(|file| rig.open(file).unwrap()).collect();
    let of_round = |sharers| (0..8).map(move |context| (context, sharers));
    let expected: Vec<_> = of_round(1).chain(of_round(2)).chain(of_round(3)).take(20).collect();
    assert_eq!(given, expected);
    rig.close(5);
    rig.close(13);
    assert_eq!(rig.open(30), Ok((5, 1)), "a context of its own as soon as one is free");
}

#[test]
fn files_of_another_user_are_refused_when_all_contexts_are_taken() {
    let mut rig = Rig::with(20);
    assert_eq!(rig.attach(stranger(100, 1001)), Err(Errno::EBUSY));
    (0..20).filter(|file| file % 8 == 3).for_each(|file| rig.close(file));
    assert_eq!(rig.attach(stranger(100, 1001)), Ok((3, 1)));
    assert_eq!(rig.attach(stranger(101, 1002)), Err(Errno::EBUSY), "that one is the other's");
    assert_eq!(rig.attach(stranger(102, 1001)), Ok((3, 2)));
}

#[test]
fn user_who_has_his_share_of_contexts_shares_those_and_leaves_the_free_ones() {
    let mut rig = Rig::new();
    let given: Vec<_> = (0..9).map(|file| rig.attach(stranger(file, 1001)).unwrap().0).collect();
    assert_eq!(given, [0, 1, 2, 3, 0, 1, 2, 3, 0]);
    assert_eq!(rig.contexts.free(), 4);
}

#[test]
fn context_of_a_file_that_said_what_it_wants_is_not_joined() {
    for policy in [ContextPolicy::Refuse, ContextPolicy::Share] {
        let mut rig = Rig::new();
        for file in 0..8 {
            rig.ask(file, policy).unwrap();
        }
        assert_eq!(rig.open(8), Err(Errno::EBUSY), "{policy}");
    }
    let mut rig = Rig::with(8);
    assert_eq!(rig.ask(8, ContextPolicy::Share), Err(Errno::EBUSY), "nor do those who ask join the others");
    assert_eq!(rig.ask(9, ContextPolicy::Refuse), Err(Errno::EBUSY));
}

#[test]
fn files_that_share_a_context_share_addresses_and_no_bytes() {
    let mut rig = Rig::with(9);
    let (first, at_first) = rig.buffer(0, b"the first's").unwrap();
    let (second, at_second) = rig.buffer(8, b"the ninth's").unwrap();
    assert_eq!((at_first, at_second), (0x4000, 0xc000), "one address space");
    let (of_first, of_second) = (rig.store(0), rig.store(8));
    let (space, _) = rig.space(0);
    let offsets = [first, second].map(|used| space.info(used.buffer).unwrap().map_offset);
    assert_eq!(offsets, [0, 0], "each is the first of its own arena");
    let seen = [of_first, of_second].map(|store| {
        let mut seen = [0; 11];
        space.arena(store).unwrap().read(0, &mut seen).unwrap();
        seen
    });
    assert_eq!(seen, [*b"the first's", *b"the ninth's"]);
    assert!(space.extents(of_second, 2 * PAGE, PAGE).is_err(), "there is no other buffer in it");
}

#[test]
fn files_that_share_a_context_have_no_more_memory_than_one_alone() {
    let mut rig = Rig::with(9);
    let create = |pages, store| Create { size: pages * PAGE, usage: 1, store, ..Create::default() };
    let (first, ninth) = (rig.store(0), rig.store(8));
    let (space, bus) = rig.space(0);
    let large = space.create(bus, &create(60, first)).unwrap();
    let refused = space.create(bus, &create(5, ninth)).map_err(|why| why.errno());
    assert_eq!(refused, Err(Errno::ENOMEM), "of 64 pages 60 are taken");
    space.create(bus, &create(4, ninth)).unwrap();
    space.release(large, Holder::Handle);
    space.create(bus, &create(60, ninth)).unwrap();
}

#[test]
fn file_that_closes_takes_its_buffers_along_and_leaves_the_others_theirs() {
    for (gone, stays) in [(0, 8), (8, 0)] {
        let mut rig = Rig::with(9);
        let (kept, at) = rig.buffer(stays, b"kept").unwrap();
        let (lost, _) = rig.buffer(gone, b"lost").unwrap();
        let store = rig.store(gone);
        let (space, _) = rig.space(gone);
        space.hold(lost.buffer, Holder::Program);
        space.extents(store, 0, PAGE).unwrap();
        let arena = space.arena(store).unwrap().clone();
        let count = rig.bus.arenas.len();
        rig.close(gone);
        assert_eq!(rig.bus.arenas.len(), count - 1, "the device reaches it no more");
        let (space, bus) = rig.space(stays);
        assert!(space.info(lost.buffer).is_none() && space.arena(store).is_none());
        assert_eq!(space.counters().buffers, 1);
        assert!(!space.mapper().is_stale(), "the translation buffer has been told");
        let mut places = Vec::new();
        space.begin(bus, &[kept], &mut places).unwrap();
        assert_eq!(places[0].base().0, at);
        space.finish(&[kept]);
        let mut seen = [0; 4];
        space.read(kept.buffer, 0, &mut seen).unwrap();
        assert_eq!(&seen, b"kept");
        arena.read(0, &mut seen).unwrap();
        assert_eq!(&seen, b"lost", "whoever has it mapped sees what it was");
        rig.open(30).unwrap();
        let (_, address) = rig.buffer(30, b"next").unwrap();
        assert_ne!(address, at);
        arena.read(0, &mut seen).unwrap();
        assert_eq!(&seen, b"lost");
    }
}

#[test]
fn last_file_of_a_context_gives_it_back_in_whatever_order_they_close() {
    for order in [[0, 8, 16], [16, 8, 0], [8, 0, 16]] {
        let mut rig = Rig::with(17);
        order.into_iter().for_each(|file| rig.close(file));
        assert_eq!((rig.contexts.free(), rig.bus.arenas.len()), (1, 14), "{order:?}");
        assert_eq!(rig.open(20), Ok((0, 1)));
        assert_eq!(rig.buffer(20, b"new").unwrap().1, 0x4000);
    }
}

#[test]
fn device_that_takes_no_more_memory_refuses_the_file_and_goes_on() {
    let mut rig = Rig::new();
    rig.bus.arenas_max = 10;
    assert!((0..10).all(|file| rig.open(file).is_ok()));
    assert_eq!(rig.open(10), Err(Errno::EBUSY));
    rig.close(9);
    assert_eq!(rig.open(10), Ok((1, 2)));
    rig.bus.is_gone = true;
    assert_eq!(rig.open(11), Err(Errno::ENODEV));
    rig.close(10);
    rig.bus.is_gone = false;
    assert_eq!(rig.open(12), Ok((1, 2)), "under the number that could not be taken back");
}

#[test]
fn arena_that_the_device_was_not_told_of_is_nobody_s_until_its_context_is_given_back() {
    let arena = |rig: &Rig, file| rig.contexts.of[&FileId(file)].arena;
    let mut rig = Rig::with(9);
    let left = arena(&rig, 8);
    rig.buffer(8, b"mapped").unwrap();
    rig.bus.is_gone = true;
    rig.close(8);
    rig.bus.is_gone = false;
    rig.open(9).unwrap();
    assert_eq!(rig.contexts.of(FileId(9)), Some(ContextId::BASE));
    assert_ne!(arena(&rig, 9), left);
    [9, 0].into_iter().for_each(|file| rig.close(file));
    rig.open(10).unwrap();
    rig.open(11).unwrap();
    assert_eq!((rig.contexts.of(FileId(10)), arena(&rig, 11)), (Some(ContextId::BASE), left));
}

#[test]
fn arenas_beside_end_and_a_user_without_privilege_gets_half_of_them() {
    let mut rig = Rig::new();
    let taken = (0..1000).take_while(|&file| rig.attach(stranger(file, 1001)).is_ok()).count();
    assert_eq!(taken, 4 + BESIDE / 2);
    let taken = (1000..2000).take_while(|&file| rig.open(file).is_ok()).count();
    assert_eq!(taken, 4 + BESIDE / 2);
    assert_eq!(rig.open(2000), Err(Errno::EBUSY));
    rig.close(1999 - 1000 + taken as u64);
    assert!(rig.open(2000).is_ok());
}
