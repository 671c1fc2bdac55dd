//! Requests that give way between two tasks, and go on later.

use ane_device::engine::Done;
use ane_device::refusal::Why;
use ane_device::time::Ticks;
use ane_device::tm::deadline::DEADLINE;
use ane_device::tm::error::ErrorCode;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm::{self, EventCode};
use ane_uapi::hw::tq::{self, QueueId, RequestNid, RequestStream};

use super::machine::{COPY, Machine, done, failed, info};

const OTHER: QueueId = QueueId::ALL[2];

/// The event of a request that was put aside after so many tasks.
fn aside(nid: u8, tasks: u16) -> (u8, u8, u16) {
    (EventCode::Aside as u8, nid, tasks)
}

/// Asks a request to give way; true if it is going to.
fn ask(machine: &mut Machine, queue: QueueId, nid: Nid) -> bool {
    let (at, word) = (queue.base(), RequestNid::of(nid));
    machine.set(at, &tq::GIVE_WAY, word.into_bits());
    machine.get(at, &tq::GIVE_WAY) == word
}

/// Has a request go on.
fn go_on(machine: &mut Machine, queue: QueueId, stream: u8) {
    let word = RequestStream::new().with_stream(stream).with_goes_on(true);
    machine.set(queue.base(), &tq::STREAM, word.into_bits());
    machine.set(queue.base(), &tq::REQ_NID1, RequestNid::of(Nid::LINUX).into_bits());
    machine.push(queue);
    machine.set(queue.base(), &tq::STREAM, 0);
}

/// A chain of three tasks that was put aside after its second.
fn put_aside() -> Machine {
    let mut machine = Machine::new();
    machine.submit_chain(3);
    machine.ane.work(machine.now);
    assert!(ask(&mut machine, QueueId::LINUX, Nid::LINUX));
    machine.ane.work(machine.now);
    assert_eq!(machine.drain(), [aside(0x40, 2)]);
    machine
}

fn ran(machine: &mut Machine) -> Vec<(u8, u16)> {
    machine.ane.engine_mut().ran.iter().map(|ran| (ran.queue, ran.index)).collect()
}

#[test]
fn request_that_gives_way_goes_on_behind_another_with_the_task_it_was_at() {
    let mut machine = put_aside();
    assert!(machine.manager(&tm::STATUS).idle());
    assert_eq!(machine.get(QueueId::LINUX.base(), &tq::FREE_SPACE).slots(), 2);
    machine.store_chain(1);
    machine.submit(OTHER, COPY, info(1), Nid::LINUX);
    machine.run();
    machine.store_chain(3);
    go_on(&mut machine, QueueId::LINUX, 0);
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 1), done(0x40, 3)]);
    assert_eq!(ran(&mut machine), [(4, 0), (4, 1), (2, 0), (4, 2)]);
    assert_eq!(machine.errors(), [0; 3]);
}

#[test]
fn time_of_others_is_none_of_a_request_that_gave_way() {
    let mut machine = Machine::new();
    machine.ane.engine_mut().cost = Ticks(7);
    machine.submit_chain(3);
    machine.ane.work(machine.now);
    assert!(ask(&mut machine, QueueId::LINUX, Nid::LINUX));
    machine.ane.work(machine.now);
    machine.store_chain(1);
    machine.ane.engine_mut().outcomes.push_back(Ok(Done { cost: Ticks(DEADLINE.0 - 1), ..Done::default() }));
    machine.submit(OTHER, COPY, info(1), Nid::LINUX);
    machine.run();
    // It stays aside for longer than a request may get nowhere.
    machine.now = Ticks(machine.now.0 + 2 * DEADLINE.0);
    machine.run();
    machine.store_chain(3);
    go_on(&mut machine, QueueId::LINUX, 0);
    machine.run();
    assert_eq!(machine.errors(), [0; 3], "neither deadline has passed for it");
    let line = |register: u32| EngineOffset(tm::TASK_MANAGER.base.0 + register);
    let events: Vec<_> = (0..machine.read(line(tm::EVENT_COUNT.offset())))
        .map(|_| [tm::EVENT_INFO.offset(), tm::EVENT_WORD_1.offset()].map(|at| machine.read(line(at))))
        .map(|[info, ticks]| (tm::EventInfo::from_bits(info).code(), ticks))
        .collect();
    let (aside, done) = (EventCode::Aside as u8, EventCode::Done as u8);
    let others = Ticks(DEADLINE.0 - 1).low();
    assert_eq!(events, [(aside, 14), (done, others), (done, 21)], "each has its own time");
}

#[test]
fn what_waits_behind_a_request_that_gives_way_comes_back_before_it() {
    let mut machine = Machine::new();
    machine.submit_chain(3);
    let queue = QueueId::LINUX;
    let second = tq::Slot::Second.registers(tq::Pairing::ByPlace);
    let nid = EngineOffset(queue.base().0 + second.nid);
    machine.write(nid, RequestNid::of(Nid::new(0x41).unwrap()).into_bits());
    machine.push(queue);
    machine.ane.work(machine.now);
    assert!(ask(&mut machine, queue, Nid::LINUX));
    machine.ane.work(machine.now);
    assert_eq!(machine.drain(), [aside(0x41, 0), aside(0x40, 2)]);
    assert_eq!(machine.get(queue.base(), &tq::FREE_SPACE).slots(), 2);
    machine.run();
    assert_eq!(ran(&mut machine).len(), 2, "nothing of the second ran");
}

#[test]
fn only_a_running_request_with_a_place_for_its_stream_gives_way_and_not_after_its_last_task() {
    let mut machine = put_aside();
    assert!(!ask(&mut machine, QueueId::LINUX, Nid::LINUX), "it is aside already");
    machine.submit(OTHER, COPY, info(3), Nid::LINUX);
    assert!(!ask(&mut machine, OTHER, Nid::LINUX), "it waits");
    machine.ane.work(machine.now);
    assert!(!ask(&mut machine, OTHER, Nid::new(0x41).unwrap()), "it is another");
    assert!(!ask(&mut machine, OTHER, Nid::LINUX), "its stream has one aside");
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 3)]);
    let mut machine = Machine::new();
    machine.submit_chain(2);
    machine.ane.work(machine.now);
    assert!(ask(&mut machine, QueueId::LINUX, Nid::LINUX));
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 2)]);
}

#[test]
fn request_that_is_not_aside_does_not_go_on() {
    let mut machine = put_aside();
    for (queue, stream) in [(OTHER, 0), (QueueId::LINUX, 1)] {
        machine.set(queue.base(), &tq::STATUS, 1);
        go_on(&mut machine, queue, stream);
        assert_eq!(machine.error_code(), ErrorCode::NothingAside as u32, "{queue} {stream}");
        assert_eq!(machine.drain(), [failed(0x40, 0)]);
    }
    go_on(&mut machine, QueueId::LINUX, 0);
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 3)]);
    go_on(&mut machine, QueueId::LINUX, 0);
    assert_eq!(machine.drain(), [failed(0x40, 0)], "it has gone on, once");
}

#[test]
fn request_taken_back_while_it_waits_to_go_on_stays_aside_until_it_is_dropped() {
    let mut machine = put_aside();
    machine.submit(OTHER, COPY, info(3), Nid::LINUX);
    machine.ane.work(machine.now);
    go_on(&mut machine, QueueId::LINUX, 0);
    machine.set(QueueId::LINUX.base(), &tq::STATUS, 0);
    assert_eq!(machine.drain(), [failed(0x40, 0)]);
    machine.set(OTHER.base(), &tq::STATUS, 0);
    assert_eq!(machine.drain(), [failed(0x40, 1)]);
    machine.set(QueueId::LINUX.base(), &tq::STATUS, 1);
    go_on(&mut machine, QueueId::LINUX, 0);
    machine.ane.work(machine.now);
    assert_eq!(ran(&mut machine), [(4, 0), (4, 1), (2, 0), (4, 2)]);
    let mut machine = put_aside();
    let take_back = EngineOffset(QueueId::LINUX.base().0 + tq::TAKE_BACK.offset());
    machine.write(take_back, RequestNid::of(Nid::LINUX).into_bits());
    assert!(machine.drain().is_empty(), "it was not with the device");
    assert!(machine.get(QueueId::LINUX.base(), &tq::STATUS).in_use());
    go_on(&mut machine, QueueId::LINUX, 0);
    assert_eq!(machine.drain(), [failed(0x40, 0)]);
    assert_eq!(machine.error_code(), ErrorCode::NothingAside as u32);
}

#[test]
fn reset_forgets_what_was_aside() {
    let mut machine = put_aside();
    machine.ane.reset(machine.now);
    machine.probe();
    machine.set(QueueId::LINUX.base(), &tq::STATUS, 1);
    go_on(&mut machine, QueueId::LINUX, 0);
    assert_eq!(machine.error_code(), ErrorCode::NothingAside as u32);
    machine.submit_chain(3);
    machine.ane.work(machine.now);
    assert!(ask(&mut machine, QueueId::LINUX, Nid::LINUX), "its stream has a place again");
}

#[test]
fn on_chip_memory_and_registers_of_a_request_that_gave_way_are_in_nobodys_reach() {
    use ane_uapi::hw::mmio_map::Region;
    let place = |region: Region| region.range().start;
    let mut machine = Machine::new();
    machine.submit_chain(3);
    machine.ane.work(machine.now);
    let places = [place(Region::TileL2), place(Region::KernelMemory)];
    for at in places {
        machine.write(at, 0x5ec2_e700);
    }
    let registers = machine.ane.registers().clone();
    assert!(ask(&mut machine, QueueId::LINUX, Nid::LINUX));
    machine.ane.work(machine.now);
    assert_eq!(places.map(|at| machine.read(at)), [0; 2]);
    assert_ne!(*machine.ane.registers(), registers);
    go_on(&mut machine, QueueId::LINUX, 0);
    machine.run();
    assert_eq!(places.map(|at| machine.read(at)), [0x5ec2_e700; 2]);
}

#[test]
fn give_way_reads_as_zero_where_nobody_was_asked() {
    let mut machine = Machine::new();
    let at = EngineOffset(QueueId::LINUX.base().0 + tq::GIVE_WAY.offset());
    assert_eq!(machine.read(at), 0);
    let refused = machine.try_read(EngineOffset(QueueId::LINUX.base().0 + tq::TAKE_BACK.offset()));
    assert!(matches!(refused.unwrap_err().why, Why::WriteOnly { .. }));
}
