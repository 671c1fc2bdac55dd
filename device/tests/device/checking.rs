//! Checking mode: what silicon lets pass, said with the task that did it.

use ane_device::Options;
use ane_device::dart::Misuse;
use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{EngineOffset, Iova, IovaRange};
use ane_uapi::hw::tq::{self, QueueId};
use ane_uapi::hw::usage::Usage;

use crate::machine::*;

#[test]
fn checking_mode_names_the_task_that_used_a_stale_translation() {
    let options = Options { check: true, ..Options::default() };
    let mut machine = Machine::with_options(&options);
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.ane.take_reports(), [], "the translations are fresh");

    // The driver takes the page of the first descriptor away, and forgets to invalidate.
    map(machine.ane.memory(), COPY.0 / PAGE, false);
    machine.submit(QueueId::LINUX, COPY, info(1), Nid::LINUX);
    machine.run();
    let reports = machine.ane.take_reports();
    assert!(matches!(reports[0].misuse, Misuse::StaleTranslation { now: Err(HwError::NoL3Entry), .. }));
    assert_eq!(reports[0].origin.task, Some(0));
    assert_eq!(machine.ane.take_reports(), [], "a finding is handed out once");
}

/// A machine in checking mode whose driver said what its mappings are for: descriptors, and two surfaces.
fn declared(source: Usage, result: Usage) -> Machine {
    let mut machine = Machine::with_options(&Options { check: true, ..Options::default() });
    machine.ane.engine_mut().copies = 16;
    let page = |at: Iova| IovaRange::new(at.0.into(), PAGE.into()).unwrap();
    for (at, usage) in [(TASKS, Usage::Program), (SOURCE, source), (RESULT, result)] {
        assert!(machine.ane.dart_mut().declare(StreamId::BASE, page(at), usage));
    }
    machine
}

/// The findings of one task, whose descriptor is at the start of BAR 0.
fn findings(mut machine: Machine) -> Vec<(Misuse, Iova, Option<u32>)> {
    machine.store_chain(1);
    machine.submit(QueueId::LINUX, TASKS, info(1), Nid::LINUX);
    machine.run();
    let reports = machine.ane.take_reports().into_iter();
    reports.map(|report| (report.misuse, report.address, report.origin.task)).collect()
}

#[test]
fn transfers_that_keep_to_what_was_declared_are_silent() {
    assert_eq!(findings(declared(Usage::Input, Usage::Output)), []);
}

#[test]
fn write_into_an_input_and_read_of_what_was_never_written_are_reported() {
    let found = findings(declared(Usage::Intermediate, Usage::Input));
    let mapping = |at: Iova| IovaRange::new(at.0.into(), PAGE.into()).unwrap();
    assert_eq!(
        found,
        [
            (Misuse::NeverWritten { mapping: mapping(SOURCE) }, SOURCE, Some(0)),
            (Misuse::InputWritten { mapping: mapping(RESULT) }, RESULT, Some(0)),
        ]
    );
}

#[test]
fn transfer_that_leaves_the_mapping_of_its_bar_is_reported_at_the_first_byte_outside() {
    let mut machine = declared(Usage::Input, Usage::Output);
    machine.ane.engine_mut().copies = PAGE as usize + 16;
    let found = findings(machine);
    let outside = |at: Iova| {
        let mapping = IovaRange::new(at.0.into(), PAGE.into()).ok();
        (Misuse::OutsideMapping { mapping }, Iova(at.0 + PAGE), Some(0))
    };
    assert_eq!(found, [outside(SOURCE), outside(RESULT)]);
}

/// Requirement: TM-14
#[test]
fn swapped_bars_show_as_a_descriptor_outside_the_mapping_of_its_bar() {
    let mut machine = declared(Usage::Input, Usage::Output);
    machine.ane.engine_mut().copies = 0;
    machine.store_chain(1);
    machine.stage(QueueId::LINUX, TASKS, info(1), Nid::LINUX);
    // The program's and the result's are exchanged.
    for (number, at) in [(0, RESULT), (4, TASKS)] {
        let bar = tq::Slot::First.registers(tq::Pairing::ByName).bar(BarIndex::new(number).unwrap());
        machine.write(EngineOffset(QueueId::LINUX.base().0 + bar), at.0);
    }
    machine.push(QueueId::LINUX);
    machine.run();
    let reports = machine.ane.take_reports();
    let mapping = IovaRange::new(RESULT.0.into(), PAGE.into()).ok();
    assert_eq!(reports[0].misuse, Misuse::OutsideMapping { mapping });
    assert_eq!((reports[0].address, reports[0].origin.bar), (TASKS, Some(RESULT)));
}
