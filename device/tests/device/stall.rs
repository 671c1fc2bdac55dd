//! Transfers that wait at their fault, and what ends the wait.

use ane_device::Options;
use ane_device::options::FaultPolicy;
use ane_device::pe_mmu::{Mapping, Message};
use ane_device::time::Ticks;
use ane_device::trace::{Clock, Timeline, What};
use ane_uapi::hw::dart::regs::{self, Window};
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm;
use ane_uapi::hw::tm::error::ErrorCode;
use ane_uapi::hw::tq::{self, QueueId};

use crate::machine::*;

/// A machine that has pushed a request whose source is not mapped.
fn stalled() -> Machine {
    stalled_with(&Options { fault_policy: FaultPolicy::Stall, ..Options::default() })
}

/// The same with a PE_MMU whose translations cost half a microsecond each.
fn stalled_behind_pe_mmu() -> Machine {
    let pe_mmu = Some("overhead-ns=500".parse().unwrap());
    stalled_with(&Options { fault_policy: FaultPolicy::Stall, pe_mmu, ..Options::default() })
}

fn stalled_with(options: &Options) -> Machine {
    let mut machine = Machine::with_options(options);
    machine.ane.set_timeline(Timeline::on(Clock::new(|| 0), 100));
    machine.ane.engine_mut().copies = 64;
    map(machine.ane.memory(), SOURCE.0 / PAGE, false);
    machine.submit_chain(1);
    machine.run();
    assert!(held(&mut machine) && machine.drain().is_empty());
    machine
}

fn held(machine: &mut Machine) -> bool {
    let status = EngineOffset(Window::Dart1.base().0 + regs::ERROR_STATUS.offset());
    machine.read(status) >> 31 == 1
}

/// The queue is taken back from a request that waits, its page comes, and another request runs.
fn take_back_and_run_the_next(machine: &mut Machine) {
    machine.set(QueueId::LINUX.base(), &tq::STATUS, 0);
    machine.run();
    assert_eq!(machine.drain(), [failed(0x40, 0)]);
    map(machine.ane.memory(), SOURCE.0 / PAGE, true);
    machine.invalidate();
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 1)]);
}

/// What tasks have waited for PE_MMU since this was last asked, in picoseconds.
fn waits(machine: &mut Machine) -> Vec<u64> {
    let waits = machine.ane.timeline_mut().drain().filter_map(|record| match record.event.what {
        What::TranslationWait { picoseconds } => Some(picoseconds),
        _ => None,
    });
    waits.collect()
}

#[test]
fn task_is_charged_for_what_it_translated_before_it_waited_too() {
    let mut machine = stalled_behind_pe_mmu();
    // The descriptor: the source is charged for once it is moved.
    assert_eq!(machine.ane.dart().translation_wait(), 500_000);
    assert!(waits(&mut machine).is_empty());
    map(machine.ane.memory(), SOURCE.0 / PAGE, true);
    machine.invalidate();
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 1)]);
    // The descriptor, the source and the result, though the source was tried three times.
    assert_eq!(waits(&mut machine), [1_500_000]);
}

/// A machine with a PE_MMU of such regions, each a page that is led to another, whose window has no page `hole`.
fn led(regions: &[(u32, u32)], hole: u32) -> Machine {
    let pe_mmu = Some("page=0x4000".parse().unwrap());
    let options = Options { fault_policy: FaultPolicy::Stall, pe_mmu, ..Options::default() };
    let mut machine = Machine::with_options(&options);
    machine.ane.engine_mut().copies = 64;
    let mapping = |&(from, to): &(u32, u32)| Mapping {
        va: (from * PAGE).into(),
        pa: (to * PAGE).into(),
        size: PAGE.into(),
    };
    machine.ane.install(Message::Map(regions.iter().map(mapping).collect())).unwrap();
    map(machine.ane.memory(), hole, false);
    machine
}

/// The transfer that waits goes on by an invalidation, and the task ends.
fn goes_on(machine: &mut Machine) {
    machine.invalidate();
    assert!(!held(machine));
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 1)]);
}

#[test]
fn address_that_reached_the_window_is_led_nowhere_else_when_it_is_tried_again() {
    let (hole, other) = (20, 21);
    let mut machine = led(&[(SOURCE.0 / PAGE, hole), (hole, other)], hole);
    machine.submit_chain(1);
    machine.run();
    machine.invalidate();
    assert!(held(&mut machine), "the window has no page there");
    map(machine.ane.memory(), hole, true);
    goes_on(&mut machine);
}

#[test]
fn fault_on_demand_before_pe_mmu_is_asked_is_tried_again_where_its_address_leads() {
    let (source, other) = (SOURCE.0 / PAGE, 21);
    // The window has the page where the source leads, and not the source's own.
    let mut machine = led(&[(source, other)], source);
    map(machine.ane.memory(), other, true);
    machine.ane.inject(format!("translation-fault:{:#x}", SOURCE.0).parse().unwrap());
    machine.submit_chain(1);
    machine.run();
    assert!(held(&mut machine));
    goes_on(&mut machine);
}

#[test]
fn task_that_is_taken_back_leaves_nothing_for_the_next_one_to_be_charged_for() {
    let mut machine = stalled_behind_pe_mmu();
    take_back_and_run_the_next(&mut machine);
    // Its descriptor, source and result.
    assert_eq!(waits(&mut machine), [1_500_000]);
    assert_eq!(machine.ane.dart().translation_wait(), 0);
}

#[test]
fn transfer_waits_until_its_page_is_there_and_its_stream_invalidated() {
    let mut machine = stalled();
    machine.invalidate();
    assert!(held(&mut machine), "nothing has changed");
    map(machine.ane.memory(), SOURCE.0 / PAGE, true);
    machine.run();
    assert!(held(&mut machine), "nobody has said so");
    machine.invalidate();
    assert!(!held(&mut machine), "it is clear before anything else happens");
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 1)]);
}

#[test]
fn invalidation_of_another_stream_or_window_moves_nothing() {
    let mut machine = stalled();
    map(machine.ane.memory(), SOURCE.0 / PAGE, true);
    for (window, streams) in [(Window::Dart1, 2), (Window::Dart0, 1), (Window::Dart2, 1)] {
        let word = |register: u32| EngineOffset(window.base().0 + register);
        machine.write(word(regs::STREAM_SELECT.offset()), streams);
        machine.write(word(regs::STREAM_COMMAND.offset()), 1 << 20);
        assert!(held(&mut machine), "{window:?}");
    }
}

#[test]
fn status_word_that_is_cleared_by_hand_leaves_the_transfer_waiting() {
    let mut machine = stalled();
    let status = EngineOffset(Window::Dart1.base().0 + regs::ERROR_STATUS.offset());
    machine.write(status, u32::MAX);
    machine.run();
    assert!(!held(&mut machine) && !machine.manager(&tm::STATUS).idle());
    map(machine.ane.memory(), SOURCE.0 / PAGE, true);
    machine.invalidate();
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 1)]);
}

#[test]
fn queue_that_is_taken_back_ends_the_wait_and_the_next_request_runs() {
    take_back_and_run_the_next(&mut stalled());
}

#[test]
fn reset_drops_the_transfer_and_what_its_window_holds() {
    let mut machine = stalled();
    machine.ane.reset(machine.now);
    assert!(!held(&mut machine) && machine.manager(&tm::STATUS).idle());
}

#[test]
fn transfer_that_nobody_helps_ends_at_the_deadline() {
    let mut machine = stalled();
    machine.now = Ticks(machine.now.0 + 48_000_000);
    machine.run();
    assert_eq!(machine.error_code(), ErrorCode::Deadline as u32);
    assert_eq!(machine.drain(), [failed(0x40, 0)]);
}

#[test]
fn time_that_the_task_took_before_its_fault_is_none_that_the_driver_had() {
    let options = Options { fault_policy: FaultPolicy::Stall, ..Options::default() };
    let mut machine = Machine::with_options(&options);
    machine.ane.engine_mut().copies = 64;
    map(machine.ane.memory(), SOURCE.0 / PAGE, false);
    machine.submit_chain(1);
    machine.ane.work(machine.now);
    assert!(held(&mut machine));
    // The step took so long.
    machine.now = Ticks(machine.now.0 + 72_000_000);
    machine.run();
    assert!(machine.drain().is_empty());
    map(machine.ane.memory(), SOURCE.0 / PAGE, true);
    machine.invalidate();
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 1)]);
}

#[test]
fn time_in_which_the_guest_rested_is_none_that_the_driver_had() {
    let mut machine = stalled();
    machine.now = Ticks(machine.now.0 + 72_000_000);
    machine.ane.has_rested(machine.now);
    machine.run();
    assert!(machine.drain().is_empty());
    machine.now = Ticks(machine.now.0 + 48_000_000);
    machine.run();
    assert_eq!(machine.drain(), [failed(0x40, 0)]);
}

#[test]
fn descriptor_that_is_not_mapped_waits_as_well() {
    let options = Options { fault_policy: FaultPolicy::Stall, ..Options::default() };
    let mut machine = Machine::with_options(&options);
    machine.store_chain(1);
    map(machine.ane.memory(), COPY.0 / PAGE, false);
    machine.submit(QueueId::LINUX, COPY, info(1), Nid::LINUX);
    machine.run();
    assert!(machine.drain().is_empty());
    map(machine.ane.memory(), COPY.0 / PAGE, true);
    machine.invalidate();
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 1)]);
}
