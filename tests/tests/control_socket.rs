//! The control socket of the daemon: faults made while a guest runs, and what a bad client can do.

use std::time::{Duration, Instant};

use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_driver::bus::{Bus, Operation};
use ane_tests::control::Control;
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::guest::BareGuest;
use ane_tests::stranger;
use ane_uapi::hw::dart::regs::{self, Window};
use ane_uapi::hw::space::{EngineOffset, Iova};
use ane_uapi::hw::td::header;
use ane_uapi::wire::event::EventKind;

const NOWHERE: Iova = Iova(0x20_0000);
const TTBR0: EngineOffset = EngineOffset(Window::Dart0.base().0 + regs::TTBR.offset());

fn guest(daemon: &Daemon) -> BareGuest<VhostUser> {
    let settings = Settings { memory_bytes: 1 << 20, timeout: LIMIT, ..Settings::default() };
    let mut guest =
        BareGuest::new(VhostUser::connect(&daemon.socket(), settings).expect("device can be had"));
    guest.attach();
    guest
}

/// Asks until `line` is answered; a client that has just left may still be counted.
fn patient(daemon: &Daemon, line: &str) -> Vec<String> {
    let end = Instant::now() + LIMIT;
    loop {
        let mut control = Control::connect(&daemon.control());
        // One that is refused may be hung up on before it asked.
        let sent = control.try_send(format!("{line}\n").as_bytes()).map_err(|why| why.to_string());
        match sent.and_then(|()| control.answer()) {
            Ok(told) => return told,
            Err(why) => assert!(Instant::now() < end, "{why}"),
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn fault_armed_while_a_guest_runs_goes_off_once() {
    let daemon = Daemon::start(&[]);
    let mut guest = guest(&daemon);
    let mut control = Control::connect(&daemon.control());
    assert_eq!(control.ask("inject lost-interrupt:1"), Ok(vec![]));
    assert_eq!(control.ask("armed"), Ok(vec!["lost-interrupt:1".to_owned()]));
    // The descriptor is mapped nowhere: the window reports that, and the manager's interrupt is lost.
    guest.submit(NOWHERE, header::BYTES, 9);
    assert_eq!(guest.event().kind(), Ok(EventKind::Dart));
    assert!(guest.is_quiet());
    assert_eq!(control.ask("armed"), Ok(vec![]));
    guest.submit(NOWHERE, header::BYTES, 9);
    assert_eq!(guest.event().kind(), Ok(EventKind::TaskManager));
}

#[test]
fn faults_of_the_command_line_are_disarmed_too() {
    let daemon = Daemon::start(&["--inject", "stuck-queue:4"]);
    let mut control = Control::connect(&daemon.control());
    assert_eq!(control.ask("armed"), Ok(vec!["stuck-queue:4".to_owned()]));
    assert_eq!(control.ask("clear"), Ok(vec![]));
    assert_eq!(control.ask("armed"), Ok(vec![]));
}

#[test]
fn counters_and_state_are_told_as_they_are_at_the_moment() {
    let daemon = Daemon::start(&[]);
    let mut guest = guest(&daemon);
    let mut control = Control::connect(&daemon.control());
    guest.submit(NOWHERE, header::BYTES, 9);
    assert_eq!(guest.event().kind(), Ok(EventKind::Dart));
    let counters = control.ask("counters").unwrap();
    assert!(counters.contains(&"requests-failed 1".to_owned()), "{counters:?}");
    assert!(counters.contains(&"refused-would-hang 0".to_owned()), "{counters:?}");
    let dump = control.ask("dump").unwrap();
    assert!(dump.iter().any(|line| line.contains("0 done, 1 failed")), "{dump:?}");
    assert!(dump.iter().any(|line| line.contains("front: sound, 1 memory regions")), "{dump:?}");
}

#[test]
fn finding_outlasts_the_guest_that_caused_it_and_is_told_once() {
    let daemon = Daemon::start(&["--check"]);
    let mut guest = guest(&daemon);
    // Window 1 goes by other tables than window 0.
    let ttbr1 = EngineOffset(Window::Dart1.base().0 + regs::TTBR.offset());
    guest.bus.write(ttbr1, 0).unwrap();
    guest.submit(NOWHERE, header::BYTES, 9);
    assert_eq!(guest.event().kind(), Ok(EventKind::Dart));
    drop(guest);
    daemon.wait_for("frontend is gone");
    let mut control = Control::connect(&daemon.control());
    let findings = control.ask("findings").unwrap();
    assert!(findings[0].contains("window dart1 is programmed differently from dart0"), "{findings:?}");
    assert_eq!(control.ask("findings"), Ok(vec![]));
}

#[test]
fn line_that_asks_for_nothing_is_answered_with_the_reason_and_the_next_one_is_served() {
    let daemon = Daemon::start(&[]);
    let mut control = Control::connect(&daemon.control());
    let cases = [
        (&b"\n"[..], "line is empty"),
        (b"stop\n", "command \"stop\" is not known"),
        (b"dump all\n", "command dump takes nothing behind it"),
        (b"trace\n", "command trace takes on or off behind it"),
        (b"registers all\n", "command registers takes nothing behind it"),
        (b"timeline\n", "no timeline is kept; the line \"trace on\" begins one"),
        (b"inject\n", "fault \"\" is not known"),
        (b"inject translation-fault:0x100000000\n", "cannot take"),
        (b"@ane7 dump\n", "engine \"ane7\" is not known; known: @ane"),
        (b"\xff\xfe\n", "line is no text"),
        (b"\0\n", "is not known"),
    ];
    for (bytes, expected) in cases {
        control.send(bytes);
        let refusal = control.answer().unwrap_err();
        assert!(refusal.contains(expected), "{refusal}");
        assert_eq!(control.ask("engines"), Ok(vec!["ane".to_owned()]));
    }
    assert!(control.ask("help").unwrap().len() > 8);
}

#[test]
fn several_engines_have_to_be_named() {
    let daemon = Daemon::start_at(".", &["--chip", "t6002"]);
    let mut control = Control::connect(&daemon.control());
    assert_eq!(control.ask("engines").unwrap(), ["ane0", "ane1", "ane2", "ane3"]);
    let refusal = control.ask("clear").unwrap_err();
    assert!(refusal.contains("@ane0 @ane1 @ane2 @ane3"), "{refusal}");
    assert_eq!(control.ask("@ane2 inject stuck-queue"), Ok(vec![]));
    assert_eq!(control.ask("@ane1 armed"), Ok(vec![]));
    assert_eq!(control.ask("@ane2 armed"), Ok(vec!["stuck-queue".to_owned()]));
}

#[test]
fn line_without_an_end_is_cut_off() {
    let daemon = Daemon::start(&[]);
    let mut control = Control::connect(&daemon.control());
    control.send(&[b'a'; 256]);
    assert_eq!(control.answer(), Err("line does not end within 256 bytes".to_owned()));
    assert!(control.is_closed());
    assert_eq!(patient(&daemon, "engines"), ["ane"]);
}

#[test]
fn fifth_client_is_refused_until_one_of_four_leaves() {
    let daemon = Daemon::start(&[]);
    let mut clients: Vec<_> = (0..4).map(|_| Control::connect(&daemon.control())).collect();
    for client in &mut clients {
        assert_eq!(client.ask("engines").unwrap(), ["ane"]);
    }
    let mut fifth = Control::connect(&daemon.control());
    assert_eq!(fifth.answer(), Err("there are 4 clients already".to_owned()));
    assert!(fifth.is_closed());
    clients.pop();
    assert_eq!(patient(&daemon, "engines"), ["ane"]);
}

#[test]
fn client_that_reads_no_answers_delays_no_guest() {
    let daemon = Daemon::start(&[]);
    let mut guest = guest(&daemon);
    let mut deaf = Control::connect(&daemon.control());
    let flood = std::thread::spawn(move || {
        // It is hung up on at last, and then its lines are not taken any more.
        while deaf.try_send(&b"dump\n".repeat(100)).is_ok() {}
    });
    let start = Instant::now();
    let mut value = [0];
    for n in 0..500 {
        guest.bus.batch(&[Operation::Write(TTBR0, n), Operation::Read(TTBR0)], &mut value).unwrap();
        assert_eq!(value, [n]);
    }
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
    flood.join().unwrap();
}

#[test]
fn stranger_is_told_so_and_gets_no_answer_whatever_the_permissions_of_the_socket() {
    let daemon = Daemon::start(&[]);
    let Some(heard) = stranger::answer_to(&daemon.control(), "SOCK_STREAM", "counters\n") else { return };
    assert_eq!(heard, format!("error user {} may not control this device\n", stranger::USER));
}

#[test]
fn faults_that_are_armed_without_end_write_less_than_a_hundred_lines() {
    let daemon = Daemon::start(&[]);
    let mut control = Control::connect(&daemon.control());
    for _ in 0..200 {
        assert_eq!(control.ask("inject stuck-queue"), Ok(vec![]));
        assert_eq!(control.ask("clear"), Ok(vec![]));
    }
    let lines = daemon.log().lines().count();
    assert!((5..100).contains(&lines), "{lines} lines");
}
