//! Begin and end of requests on the timeline: each has one of both, however it ends.

use ane_device::Options;
use ane_device::inject::Injection;
use ane_device::options::FaultPolicy;
use ane_device::time::Ticks;
use ane_device::timing::phases::Part;
use ane_device::tm::deadline::DEADLINE;
use ane_device::trace::{Clock, Event, Stamp, Task, Timeline, What};
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::tq::{self, QueueId};

use crate::failures::hang;
use crate::machine::*;

const BEGIN: What = What::RequestBegin { tasks: 2 };
const DONE: What = What::RequestEnd { succeeded: true };
const FAILED: What = What::RequestEnd { succeeded: false };

/// A machine that notes what happens, with a chain of two tasks that is pushed.
fn traced(policy: FaultPolicy, prepare: impl FnOnce(&mut Machine)) -> Machine {
    let mut machine = Machine::with_options(&Options { fault_policy: policy, ..Options::default() });
    machine.ane.set_timeline(Timeline::on(Clock::new(|| 0), 100));
    machine.ane.engine_mut().copies = 64;
    prepare(&mut machine);
    machine.submit_chain(2);
    machine
}

/// The begins and ends that were noted, each with the index of its task.
fn noted(machine: &mut Machine) -> Vec<(u16, What)> {
    let records =
        machine.ane.timeline_mut().drain().map(|record| (record.event.task.index, record.event.what));
    let is_bound = |what: &What| matches!(what, What::RequestBegin { .. } | What::RequestEnd { .. });
    records.filter(|(_, what)| is_bound(what)).collect()
}

#[test]
fn reset_takes_the_modelled_time_on_the_timeline_not_back() {
    let mut machine = traced(FaultPolicy::default(), |_| {});
    let task = Task { queue: QueueId::LINUX, nid: Nid::LINUX, index: 0 };
    let event = Event { task, what: What::Modelled { part: Part::Array, cycles: 1 } };
    for _ in 0..2 {
        machine.ane.timeline_mut().place(Stamp(0), Stamp(70), event);
        machine.ane.reset(machine.now);
    }
    let begins: Vec<_> = machine.ane.timeline_mut().drain().map(|record| record.start).collect();
    assert_eq!(begins, [Stamp(0), Stamp(70)]);
}

#[test]
fn request_that_is_aborted_at_its_deadline_ends_on_the_timeline() {
    let mut machine = traced(FaultPolicy::default(), |machine| {
        machine.ane.engine_mut().outcomes.push_back(Err(hang()));
    });
    machine.run();
    assert_eq!(noted(&mut machine), [(0, BEGIN)]);
    machine.now = Ticks(machine.now.0 + DEADLINE.0);
    machine.run();
    assert_eq!(noted(&mut machine), [(0, FAILED)]);
}

#[test]
fn request_that_is_taken_back_ends_on_the_timeline_with_the_task_that_was_begun_last() {
    let mut machine = traced(FaultPolicy::default(), |_| {});
    machine.ane.work(machine.now);
    machine.set(QueueId::ALL[2].base(), &tq::STATUS, 1);
    machine.set(QueueId::ALL[2].base(), &tq::STATUS, 0);
    assert_eq!(noted(&mut machine), [(0, BEGIN)], "another queue is none of its business");
    machine.set(QueueId::LINUX.base(), &tq::STATUS, 0);
    machine.run();
    assert_eq!(noted(&mut machine), [(0, FAILED)]);
}

#[test]
fn request_whose_transfer_waits_ends_on_the_timeline_when_it_is_taken_back() {
    let mut machine = traced(FaultPolicy::Stall, |machine| map(machine.ane.memory(), SOURCE.0 / PAGE, false));
    machine.run();
    machine.set(QueueId::LINUX.base(), &tq::STATUS, 0);
    machine.run();
    assert_eq!(noted(&mut machine), [(0, BEGIN), (0, FAILED)]);
}

#[test]
fn reset_ends_the_running_request_on_the_timeline() {
    let mut machine = traced(FaultPolicy::default(), |_| {});
    machine.ane.work(machine.now);
    machine.ane.reset(machine.now);
    machine.ane.reset(machine.now);
    assert_eq!(noted(&mut machine), [(0, BEGIN), (0, FAILED)]);
}

#[test]
fn request_that_did_not_begin_does_not_end_on_the_timeline() {
    let mut machine = traced(FaultPolicy::default(), |machine| {
        machine.ane.inject(Injection::StuckQueue(None));
    });
    machine.run();
    machine.now = Ticks(machine.now.0 + DEADLINE.0);
    machine.run();
    assert_eq!(machine.drain(), [failed(0x40, 0)]);
    assert_eq!(noted(&mut machine), []);
}

#[test]
fn request_whose_first_fetch_waits_begins_once_and_is_not_the_next_that_wedges() {
    let mut machine = traced(FaultPolicy::Stall, |machine| map(machine.ane.memory(), COPY.0 / PAGE, false));
    machine.run();
    machine.ane.inject(Injection::Wedge);
    map(machine.ane.memory(), COPY.0 / PAGE, true);
    machine.invalidate();
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 2)]);
    assert_eq!(noted(&mut machine), [(0, BEGIN), (1, DONE)]);
    assert_eq!(machine.ane.injections(), [Injection::Wedge]);
}

#[test]
fn request_whose_first_task_is_slow_is_not_the_next_that_wedges() {
    let mut machine = traced(FaultPolicy::default(), |machine| {
        machine.ane.inject("slow-dma:100".parse().unwrap());
    });
    machine.run();
    machine.ane.inject(Injection::Wedge);
    for _ in 0..2 {
        machine.now = Ticks(machine.now.0 + 3 * 2400);
        machine.run();
    }
    assert_eq!(machine.drain(), [done(0x40, 2)]);
    machine.submit(QueueId::LINUX, COPY, info(2), Nid::LINUX);
    machine.now = Ticks(machine.now.0 + DEADLINE.0);
    machine.run();
    assert!(machine.drain().is_empty(), "the next one does");
}
