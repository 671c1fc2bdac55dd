//! Tests of who gets which context, and of what is left of one that was given back.

use ane_uapi::hw::space::EngineOffset;

use super::*;
use crate::bo::{Create, Use};
use crate::tests::fake::Fake;
use crate::tests::users::seeker;

const PAGE: u64 = 0x4000;

fn contexts() -> (Contexts, Fake) {
    let bus = Fake::new(64);
    (Contexts::new(&bus).unwrap(), bus)
}

fn context(number: u32) -> ContextId {
    ContextId::new(number).unwrap()
}

fn refuse(contexts: &mut Contexts, bus: &mut Fake, file: u64) -> Result<u8, Option<Errno>> {
    attach(contexts, bus, file, ContextPolicy::Refuse)
}

fn attach(
    contexts: &mut Contexts,
    bus: &mut Fake,
    file: u64,
    policy: ContextPolicy,
) -> Result<u8, Option<Errno>> {
    let attached = contexts.attach(bus, seeker(file), policy, None);
    attached.map(|attached| attached.context.number()).map_err(|why| Some(why.errno()))
}

/// Requirement: ISO-05
#[test]
fn ninth_file_is_refused_with_a_message_and_never_shares_silently() {
    let (mut contexts, mut bus) = contexts();
    let given: Vec<_> = (0..8).map(|file| refuse(&mut contexts, &mut bus, file).unwrap()).collect();
    assert_eq!(given, [0, 1, 2, 3, 4, 5, 6, 7], "the base first");
    for policy in [ContextPolicy::Refuse, ContextPolicy::Wait, ContextPolicy::Share] {
        let why = contexts.attach(&mut bus, seeker(8), policy, None).unwrap_err();
        assert_eq!(why.errno(), Errno::EBUSY, "{policy}");
        assert_eq!(
            why.to_string(),
            "all 8 contexts are in use: close another file, or ask to wait or to share"
        );
    }
    contexts.detach(&mut bus, FileId(5)).unwrap();
    assert_eq!(refuse(&mut contexts, &mut bus, 8), Ok(5));
    assert_eq!((contexts.free(), contexts.of(FileId(5))), (0, None));
}

#[test]
fn file_that_shares_joins_the_least_shared_of_those_that_all_share() {
    let (mut contexts, mut bus) = contexts();
    for file in 0..6 {
        refuse(&mut contexts, &mut bus, file).unwrap();
    }
    let mut share = |file| attach(&mut contexts, &mut bus, file, ContextPolicy::Share);
    let given: Vec<_> = (6..11).map(|file| share(file).unwrap()).collect();
    assert_eq!(given, [6, 7, 6, 7, 6], "a free one first");
    assert_eq!(contexts.sharers(context(6)), 3);
    for file in [6, 8] {
        contexts.detach(&mut bus, FileId(file)).unwrap();
    }
    assert!(contexts.space(context(6)).is_some(), "the third has it still");
    assert_eq!(refuse(&mut contexts, &mut bus, 11), Err(Some(Errno::EBUSY)));
    contexts.detach(&mut bus, FileId(10)).unwrap();
    assert_eq!(refuse(&mut contexts, &mut bus, 11), Ok(6));
    assert_eq!(attach(&mut contexts, &mut bus, 12, ContextPolicy::Share), Ok(7), "not the one that refuses");
}

/// A file of a user who may not do as he likes.
fn stranger(file: u64, id: u32) -> Seeker {
    Seeker { file: FileId(file), user: User { id, is_privileged: false } }
}

#[test]
fn user_without_privilege_leaves_as_many_contexts_as_he_has_and_the_owner_gets_all() {
    let (mut contexts, mut bus) = contexts();
    let mut ask = |seeker| {
        let attached = contexts.attach(&mut bus, seeker, ContextPolicy::Refuse, None);
        attached.map(|attached| attached.context.number()).map_err(|why| (why.errno(), why.to_string()))
    };
    let taken: Vec<_> = (0..8).map_while(|file| ask(stranger(file, 1001)).ok()).collect();
    assert_eq!(taken, [0, 1, 2, 3]);
    let text = "user 1001 has 4 contexts, and so many have to be left for all other users: close another file, or ask to \
                share a context";
    assert_eq!(ask(stranger(8, 1001)), Err((Errno::EBUSY, text.to_owned())));
    let taken: Vec<_> = (10..18).map_while(|file| ask(stranger(file, 1002)).ok()).collect();
    assert_eq!(taken, [4, 5], "half of the rest");
    assert_eq!(ask(stranger(20, 1003)), Ok(6));
    assert_eq!(ask(seeker(30)), Ok(7));
    contexts.detach(&mut bus, FileId(0)).unwrap();
    contexts.detach(&mut bus, FileId(1)).unwrap();
    contexts.detach(&mut bus, FileId(20)).unwrap();
    let mut ask = |file| contexts.attach(&mut bus, stranger(file, 1001), ContextPolicy::Refuse, None).is_ok();
    assert_eq!((ask(40), ask(41)), (true, false), "3 of his and 2 that are free");
}

#[test]
fn contexts_of_another_user_are_not_shared() {
    let (mut contexts, mut bus) = contexts();
    let mut share = |seeker| {
        let attached = contexts.attach(&mut bus, seeker, ContextPolicy::Share, None);
        attached.map(|attached| (attached.context.number(), attached.sharers)).map_err(|why| why.errno())
    };
    let given: Vec<_> = (0..5).map(|file| share(stranger(file, 1001)).unwrap()).collect();
    assert_eq!(given, [(0, 1), (1, 1), (2, 1), (3, 1), (0, 2)], "his own, once he has his share");
    let given: Vec<_> = (10..14).map(|file| share(seeker(file)).unwrap().0).collect();
    assert_eq!(given, [4, 5, 6, 7]);
    assert_eq!(share(stranger(20, 1002)), Err(Errno::EBUSY), "all are others'");
}

#[test]
fn context_that_is_asked_for_by_number_is_given_or_refused_by_name() {
    let (mut contexts, mut bus) = contexts();
    bus.config.context_count.set(4);
    let mut contexts_of_four = Contexts::new(&bus).unwrap();
    let mut ask = |file, policy, wanted| {
        let attached = contexts.attach(&mut bus, seeker(file), policy, Some(context(wanted)));
        attached.map(|attached| attached.sharers).map_err(|why| why.errno())
    };
    assert_eq!(ask(1, ContextPolicy::Share, 5), Ok(1));
    assert_eq!(ask(1, ContextPolicy::Share, 5), Err(Errno::EALREADY));
    assert_eq!(ask(2, ContextPolicy::Refuse, 5), Err(Errno::EBUSY));
    assert_eq!(ask(2, ContextPolicy::Share, 5), Ok(2));
    let beyond = contexts_of_four.attach(&mut bus, seeker(1), ContextPolicy::Refuse, Some(context(4)));
    assert_eq!(beyond.map_err(|why| why.errno()), Err(Errno::EINVAL));
    assert_eq!(contexts_of_four.detach(&mut bus, FileId(1)).map_err(|why| why.errno()), Err(Errno::ENOENT));
}

#[test]
fn next_client_of_a_context_gets_another_file_empty_tables_and_the_first_address() {
    let (mut contexts, mut bus) = contexts();
    let used = |contexts: &mut Contexts, bus: &mut Fake| {
        let space = contexts.space_mut(ContextId::BASE).unwrap();
        let buffer = space.create(bus, &Create { size: 3 * PAGE, usage: 1, ..Create::default() }).unwrap();
        let mut places = Vec::new();
        space.begin(bus, &[Use { buffer, mapping: 0 }], &mut places).unwrap();
        space.finish(&[Use { buffer, mapping: 0 }]);
        (buffer, places[0].base().0, space.arena(StoreId::FIRST).unwrap().clone())
    };
    refuse(&mut contexts, &mut bus, 1).unwrap();
    let (buffer, _, before) = used(&mut contexts, &mut bus);
    contexts.space(ContextId::BASE).unwrap().write(buffer, 0, b"the first client's").unwrap();
    contexts.detach(&mut bus, FileId(1)).unwrap();
    assert!(bus.arenas.is_empty(), "the device does not reach it any more");
    refuse(&mut contexts, &mut bus, 2).unwrap();
    let tables = contexts.space(ContextId::BASE).unwrap().mapper().tables().base();
    assert_eq!(bus.memory().load_u64(tables).unwrap(), 0);
    let (buffer, address, after) = used(&mut contexts, &mut bus);
    assert_eq!(address, 0x4000);
    contexts.space(ContextId::BASE).unwrap().write(buffer, 0, b"the next client's!").unwrap();
    let mut seen = [0; 18];
    before.read(0, &mut seen).unwrap();
    assert_eq!(&seen, b"the first client's", "whoever has the old file mapped sees what it was");
    after.read(0, &mut seen).unwrap();
    assert_eq!(&seen, b"the next client's!");
}

#[test]
fn windows_know_the_contexts_in_use_and_no_others() {
    let (mut contexts, mut bus) = contexts();
    for file in 0..3 {
        refuse(&mut contexts, &mut bus, file).unwrap();
    }
    contexts.detach(&mut bus, FileId(1)).unwrap();
    let register = |bus: &Fake, offset: u32| {
        [0x180_0000u32, 0x181_0000, 0x182_0000].map(|window| bus.registers.get(&(window + offset)).copied())
    };
    assert_eq!(register(&bus, 0xfc), [Some(0xa005); 3]);
    assert_eq!(register(&bus, 0x104), [Some(0); 3], "stream 1 is blocked");
    assert_eq!(register(&bus, 0x210), [Some(0); 3], "and has no tables");
    let base = contexts.space(context(2)).unwrap().mapper().tables().base();
    let word = u32::try_from(base.0 >> 12).unwrap() | 1 << 31;
    assert_eq!((register(&bus, 0x108), register(&bus, 0x220)), ([Some(0x80); 3], [Some(word); 3]));
    let before = bus.registers.clone();
    bus.reset().unwrap();
    let mut operations = Vec::new();
    contexts.restore(&mut operations);
    bus.batch(&operations, &mut []).unwrap();
    let is_same = |at: &u32| bus.registers.get(at) == before.get(at);
    assert!([0xfc, 0x100, 0x108, 0x200, 0x220].iter().all(|offset| is_same(&(0x181_0000 + offset))));
    operations.clear();
    contexts.withdraw(&mut operations);
    bus.batch(&operations, &mut []).unwrap();
    assert_eq!((register(&bus, 0xfc), register(&bus, 0x108)), ([Some(0xa000); 3], [Some(0); 3]));
    assert!(operations.iter().all(|operation| matches!(operation, Operation::Write(EngineOffset(_), _))));
}

#[test]
fn device_that_does_not_answer_gives_no_context_and_keeps_none() {
    let (mut contexts, mut bus) = contexts();
    refuse(&mut contexts, &mut bus, 1).unwrap();
    bus.is_gone = true;
    assert_eq!(refuse(&mut contexts, &mut bus, 2), Err(Some(Errno::ENODEV)));
    contexts.detach(&mut bus, FileId(1)).unwrap();
    bus.is_gone = false;
    assert_eq!((contexts.free(), refuse(&mut contexts, &mut bus, 2)), (8, Ok(0)));
}

#[test]
fn device_with_page_tables_that_are_not_known_is_refused() {
    let mut bus = Fake::new(4);
    bus.config.pte_format = 3;
    assert!(matches!(Contexts::new(&bus), Err(Error::Format(3))));
}
