//! Checking mode from a driver's declarations, over the wire, to what the control socket tells.

use ane::build::{Graph, Shape};
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_driver::bus::{Bus, BusError};
use ane_tests::control::Control;
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::guest::BareGuest;
use ane_tests::runner::{Outcome, Runner};
use ane_uapi::hw::dart::regs::{self, Window};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::{EngineOffset, Iova, IovaRange};
use ane_uapi::hw::td::header::{self, Identity};
use ane_uapi::hw::usage::Usage;
use ane_uapi::wire::ctrl::Status;
use ane_uapi::wire::sideband::Declaration;

/// Where the tests' descriptor lies.
const DESCRIPTOR: Iova = Iova(0x10_0000);
const NID: u8 = 9;

/// A guest whose descriptor, a header of the smallest task, is mapped at [`DESCRIPTOR`].
fn guest(daemon: &Daemon) -> BareGuest<VhostUser> {
    let settings = Settings { memory_bytes: 2 << 20, timeout: LIMIT, ..Settings::default() };
    let mut guest =
        BareGuest::new(VhostUser::connect(&daemon.socket(), settings).expect("device can be had"));
    let page = guest.page();
    let identity = Identity::new().with_nid(NID).with_eon(true).into_bits();
    guest.bus.memory().write(page, &identity.to_le_bytes()).expect("page is memory");
    guest.map(DESCRIPTOR, page);
    guest.attach();
    guest
}

/// The findings of a request, of a driver that declared this many bytes from the descriptor on.
fn findings(bytes: u64, usage: Option<Usage>) -> Vec<String> {
    let daemon = Daemon::start(&["--check"]);
    let mut guest = guest(&daemon);
    let declaration = |at: Iova, bytes, usage| {
        Declaration::new(StreamId::BASE, IovaRange::new(at.0.into(), bytes).unwrap(), usage)
    };
    // Something is declared in any case: where nothing is, nothing is looked at.
    let elsewhere = declaration(Iova(0x400_0000), 0x4000, Some(Usage::Weights));
    let program = declaration(DESCRIPTOR, bytes, Some(Usage::Program));
    guest.bus.declare(&[elsewhere, program, declaration(DESCRIPTOR, bytes, usage)]).unwrap();
    guest.submit(DESCRIPTOR, header::BYTES, NID);
    guest.event();
    Control::connect(&daemon.control()).ask("findings").unwrap()
}

#[test]
fn transfer_inside_a_declared_mapping_is_silent() {
    assert_eq!(findings(0x4000, Some(Usage::Program)), Vec::<String>::new());
}

#[test]
fn transfer_beyond_a_declared_mapping_is_reported() {
    let found = findings(16, Some(Usage::Program));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("transfer leaves mapping of 0x10 bytes at iova 0x100000;"), "{found:?}");
    assert!(found[0].contains("iova 0x100010") && found[0].contains("task 0"), "{found:?}");
}

#[test]
fn transfer_where_a_mapping_was_taken_back_is_reported() {
    let found = findings(0x4000, None);
    assert!(found[0].starts_with("transfer where nothing is mapped;"), "{found:?}");
}

#[test]
fn read_of_an_intermediate_that_was_never_written_is_reported() {
    let found = findings(0x4000, Some(Usage::Intermediate));
    assert!(found[0].starts_with("read of memory that was never written"), "{found:?}");
}

/// Runs ReLU of one input with every mapping declared, the result's for `usage`; gives what is found.
fn findings_of_relu(usage: Usage) -> Vec<String> {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(4, 2, 9)).unwrap();
    let relu = graph.relu(x).unwrap();
    graph.output("relu", relu).unwrap();
    let built = graph.build().unwrap();
    let program = built.program();
    let daemon = Daemon::start(&["--check"]);
    let settings = Settings { memory_bytes: 2 << 20, timeout: LIMIT, ..Settings::default() };
    let mut runner = Runner::new(VhostUser::connect(&daemon.socket(), settings).expect("device can be had"));
    runner.load(&program);
    let result = built.surface("relu").unwrap();
    let range = IovaRange::new(runner.bar(result.bar).0.into(), result.buffer_bytes).unwrap();
    let mut declarations = runner.declarations(&program);
    declarations.push(Declaration::new(StreamId::BASE, range, Some(usage)));
    runner.guest.bus.declare(&declarations).unwrap();
    assert_eq!(runner.run(), Outcome::Done);
    Control::connect(&daemon.control()).ask("findings").unwrap()
}

#[test]
fn result_written_into_an_output_is_silent() {
    assert_eq!(findings_of_relu(Usage::Output), Vec::<String>::new());
}

#[test]
fn result_written_into_an_input_is_reported_once_by_task_and_register() {
    let found = findings_of_relu(Usage::Input);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("write into the input mapping of 0x4000 bytes"), "{found:?}");
    assert!(found[0].contains("task 0") && found[0].contains("register at engine 0x1c17804"), "{found:?}");
}

#[test]
fn stale_translation_is_reported_without_any_declaration() {
    let daemon = Daemon::start(&["--check"]);
    let mut guest = guest(&daemon);
    let mut control = Control::connect(&daemon.control());
    guest.submit(DESCRIPTOR, header::BYTES, NID);
    guest.event();
    assert_eq!(control.ask("findings"), Ok(vec![]));
    guest.unmap(DESCRIPTOR);
    guest.submit(DESCRIPTOR, header::BYTES, NID);
    guest.event();
    let found = control.ask("findings").unwrap();
    assert!(found[0].starts_with("stale translation used"), "{found:?}");
}

#[test]
fn window_with_another_table_is_reported_without_any_declaration() {
    let daemon = Daemon::start(&["--check"]);
    let mut guest = guest(&daemon);
    let ttbr = EngineOffset(Window::Dart2.base().0 + regs::TTBR.offset());
    guest.bus.write(ttbr, 0).unwrap();
    guest.submit(DESCRIPTOR, header::BYTES, NID);
    guest.event();
    let found = Control::connect(&daemon.control()).ask("findings").unwrap();
    assert!(found[0].starts_with("window dart2 is programmed differently"), "{found:?}");
}

#[test]
fn thousands_of_declarations_are_taken_and_a_reset_forgets_them() {
    let daemon = Daemon::start(&["--check"]);
    let mut guest = guest(&daemon);
    let declarations: Vec<_> = (0..2_000)
        .map(|n| IovaRange::new(0x1000_0000 + n * 0x4000, 0x4000).unwrap())
        .map(|range| Declaration::new(StreamId::BASE, range, Some(Usage::Input)))
        .collect();
    guest.bus.declare(&declarations).unwrap();
    guest.bus.reset().unwrap();
    guest.attach();
    guest.submit(DESCRIPTOR, header::BYTES, NID);
    guest.event();
    assert_eq!(Control::connect(&daemon.control()).ask("findings"), Ok(vec![]));
}

#[test]
fn device_that_does_not_check_has_no_use_for_declarations() {
    let daemon = Daemon::start(&[]);
    let mut guest = guest(&daemon);
    let range = IovaRange::new(0, 0x4000).unwrap();
    let refused = guest.bus.declare(&[Declaration::new(StreamId::BASE, range, None)]);
    assert!(matches!(refused, Err(BusError::Refused { status: Status::Absent, .. })), "{refused:?}");
}
