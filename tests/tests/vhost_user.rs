//! The device over its socket: two processes, one memory, and the registers between them.

use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ane_driver::bus::ring::Features;
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_driver::bus::{Bus, BusError, Operation};
use ane_tests::daemon::{self, Daemon, LIMIT};
use ane_tests::guest::BareGuest;
use ane_tests::runner::event_lines;
use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::regs::{self, Window};
use ane_uapi::hw::space::{EngineOffset, Iova};
use ane_uapi::hw::td::header::{self, Identity};
use ane_uapi::hw::tm;
use ane_uapi::wire::config::{FEATURE_CHECK, FEATURE_GIVE_WAY, FEATURE_MOVER, FEATURE_TAKE_BACK};
use ane_uapi::wire::ctrl::Status;
use ane_uapi::wire::event::EventKind;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket};
use nix::unistd::Pid;

/// Where the tests' descriptor lies, and the page after it, which nothing is mapped to.
const DESCRIPTOR: Iova = Iova(0x10_0000);
const NOWHERE: Iova = Iova(0x20_0000);
const NID: u8 = 9;

const TTBR0: EngineOffset = EngineOffset(Window::Dart0.base().0 + regs::TTBR.offset());
const ERROR_STATUS: EngineOffset = EngineOffset(Window::Dart0.base().0 + regs::ERROR_STATUS.offset());
const ERRORS: EngineOffset = EngineOffset(tm::TASK_MANAGER.base.0 + tm::ERROR.offset());

/// The lowest byte of the error register: a task without a single register set hangs; a transfer faulted.
const WOULD_HANG: u32 = 0x22;
const DESCRIPTOR_FAULT: u32 = 0x11;

/// A task that would hang ends at once, so that no test waits for a deadline.
const REPORTING: &[&str] = &["--hang", "report"];

fn connect(path: &Path, settings: Settings) -> BareGuest<VhostUser> {
    BareGuest::new(
        VhostUser::connect(path, Settings { timeout: LIMIT, ..settings }).expect("device can be had"),
    )
}

fn guest(daemon: &Daemon) -> BareGuest<VhostUser> {
    connect(&daemon.socket(), Settings { memory_bytes: 4 << 20, ..Settings::default() })
}

/// A guest whose descriptor, a header of the smallest task, is mapped at [`DESCRIPTOR`].
fn with_descriptor(daemon: &Daemon) -> BareGuest<VhostUser> {
    let mut guest = guest(daemon);
    let page = guest.page();
    let identity = Identity::new().with_nid(NID).with_eon(true).into_bits();
    guest.bus.memory().write(page, &identity.to_le_bytes()).expect("page is memory");
    guest.map(DESCRIPTOR, page);
    guest.attach();
    guest
}

#[test]
fn config_space_tells_what_the_device_is() {
    let daemon = Daemon::start(&["--chip", "t6002", "--instance", "3", "--check", "--fault-policy", "panic"]);
    let guest = guest(&daemon);
    let config = guest.bus.config();
    assert_eq!((config.chip.get(), config.instance.get(), config.ane_type.get()), (0x6002, 3, 96));
    assert_eq!((config.queue_count.get(), config.context_count.get(), config.stream_count.get()), (8, 8, 16));
    assert_eq!((config.page_size.get(), config.aperture_size.get()), (0x4000, 0xe000_0000));
    // It checks, and every device has the mover.
    let features = FEATURE_CHECK | FEATURE_MOVER | FEATURE_TAKE_BACK | FEATURE_GIVE_WAY;
    assert_eq!((config.fault_policy, config.features.get(), config.batch_max.get()), (1, features, 1024));
}

#[test]
fn register_keeps_what_was_written_until_reset() {
    let daemon = Daemon::start(&[]);
    let mut guest = guest(&daemon);
    guest.bus.write(TTBR0, 0x9002_2320).unwrap();
    assert_eq!(guest.bus.read(TTBR0).unwrap(), 0x9002_2320);
    guest.bus.reset().unwrap();
    assert_eq!(guest.bus.read(TTBR0).unwrap(), 0);
}

#[test]
fn pushed_request_ends_in_an_event_that_says_why_it_did_not_run() {
    let daemon = Daemon::start(REPORTING);
    let mut guest = with_descriptor(&daemon);
    guest.submit(DESCRIPTOR, header::BYTES, NID);
    let event = guest.event();
    assert_eq!((event.kind(), event.sequence.get(), event.lost.get()), (Ok(EventKind::TaskManager), 0, 0));
    assert_eq!((event.words[1].get() >> 16) & 0xff, u32::from(NID), "the event names the request");
    assert_eq!(guest.bus.read(ERRORS).unwrap() & 0xff, WOULD_HANG);
    assert_eq!(event.words[2].get(), guest.bus.read(ERRORS).unwrap(), "event and register say the same");
    assert!(guest.is_quiet());
}

#[test]
fn events_that_find_no_buffer_are_counted_in_the_next_and_in_no_other() {
    let daemon = Daemon::start(REPORTING);
    let mut guest = with_descriptor(&daemon);
    let count = EngineOffset(tm::TASK_MANAGER.base.0 + tm::EVENT_COUNT.info.offset);
    let run = |guest: &mut BareGuest<VhostUser>| {
        guest.submit(DESCRIPTOR, header::BYTES, NID);
        let start = Instant::now();
        while guest.bus.read(count).unwrap() == 0 {
            assert!(start.elapsed() < LIMIT, "no event comes");
        }
        // What is not read fills the lines up.
        for line in event_lines() {
            guest.bus.read(line).unwrap();
        }
    };
    // The bus leaves 64 buffers, and leaves one again when its event is taken.
    for _ in 0..70 {
        run(&mut guest);
    }
    let seen = |guest: &mut BareGuest<VhostUser>| {
        let event = guest.event();
        (event.sequence.get(), event.lost.get())
    };
    for sequence in 0..64 {
        assert_eq!(seen(&mut guest), (sequence, 0));
    }
    assert!(guest.is_quiet());
    run(&mut guest);
    assert_eq!(seen(&mut guest), (70, 6));
    run(&mut guest);
    assert_eq!(seen(&mut guest), (71, 0));
}

#[test]
fn unmapped_descriptor_faults_until_it_is_mapped_and_the_fault_cleared() {
    let daemon = Daemon::start(REPORTING);
    let mut guest = with_descriptor(&daemon);
    guest.submit(NOWHERE, header::BYTES, NID);
    let events = [guest.event(), guest.event()];
    let fault = events.iter().find(|event| event.kind() == Ok(EventKind::Dart)).expect("the window reports");
    let task =
        events.iter().find(|event| event.kind() == Ok(EventKind::TaskManager)).expect("so does the manager");
    assert_eq!(task.words[2].get() & 0xff, DESCRIPTOR_FAULT);
    assert_eq!(fault.info.check(), Ok(()));
    assert_eq!(fault.info.address.get(), NOWHERE.0);
    assert_eq!((fault.info.error(), fault.info.is_write()), (Ok(HwError::NoL3Entry), Ok(false)));
    let status = guest.bus.read(ERROR_STATUS).unwrap();
    assert_eq!(status, fault.words[0].get(), "the register keeps what the event said");

    let page = guest.page();
    let identity = Identity::new().with_nid(NID).with_eon(true).into_bits();
    guest.bus.memory().write(page, &identity.to_le_bytes()).unwrap();
    guest.map(NOWHERE, page);
    guest.invalidate();
    guest.bus.write(ERROR_STATUS, status).unwrap();
    guest.submit(NOWHERE, header::BYTES, NID);
    let event = guest.event();
    assert_eq!(event.words[2].get() & 0xff, WOULD_HANG);
    assert_eq!(guest.bus.read(ERROR_STATUS).unwrap(), 0);
}

#[test]
fn translation_lasts_until_it_is_invalidated() {
    let daemon = Daemon::start(REPORTING);
    let mut guest = with_descriptor(&daemon);
    let submit = |guest: &mut BareGuest<VhostUser>| {
        guest.submit(DESCRIPTOR, header::BYTES, NID);
        guest.event().kind()
    };
    assert_eq!(submit(&mut guest), Ok(EventKind::TaskManager));
    guest.unmap(DESCRIPTOR);
    assert_eq!(submit(&mut guest), Ok(EventKind::TaskManager), "stale translation serves");
    guest.invalidate();
    let kinds = [submit(&mut guest), guest.event().kind()];
    assert!(kinds.contains(&Ok(EventKind::Dart)), "{kinds:?}");
}

#[test]
fn frontend_that_comes_back_finds_a_device_as_after_power_on() {
    let mut daemon = Daemon::start(REPORTING);
    for round in 0..3 {
        let mut guest = with_descriptor(&daemon);
        assert_eq!(guest.bus.read(ERRORS).unwrap(), 0, "round {round}");
        guest.submit(DESCRIPTOR, header::BYTES, NID);
        let event = guest.event();
        assert_eq!((event.sequence.get(), event.words[2].get() & 0xff), (0, WOULD_HANG));
        drop(guest);
    }
    assert!(daemon.is_running());
}

/// Otherwise a thread that waits for the bus would be woken without end until the device is back.
#[test]
fn device_that_hung_up_wakes_its_waiter_once_and_is_gone_for_all_calls() {
    let device = Daemon::start(&[]);
    let mut bus = guest(&device).bus;
    assert!(bus.arrived().unwrap().is_none());
    let _remains = device.killed();
    let is_readable = |bus: &VhostUser| {
        let mut wakeup = [PollFd::new(bus.wakeup().unwrap(), PollFlags::POLLIN)];
        poll(&mut wakeup, PollTimeout::from(200u8)).unwrap() == 1
    };
    assert!(is_readable(&bus));
    assert!(matches!(bus.arrived(), Err(BusError::HungUp)));
    assert!(!is_readable(&bus));
    assert!(matches!(bus.arrived(), Err(BusError::HungUp)));
    assert!(matches!(bus.reset(), Err(BusError::HungUp)));
}

#[test]
fn frontend_that_finds_another_one_served_gives_up_in_time_and_says_why() {
    let daemon = Daemon::start(&[]);
    let _first = guest(&daemon);
    let limit = Duration::from_millis(100);
    let settings = Settings { timeout: limit, ..Settings::default() };
    let second = VhostUser::connect(&daemon.socket(), settings).expect_err("it is not heard");
    assert!(second.to_string().contains("within 100ms: it serves one frontend at a time"), "{second}");
}

#[test]
fn hundred_connections_leave_no_descriptor_open() {
    let daemon = Daemon::start(&[]);
    let settings = Settings { memory_bytes: 1 << 20, ..Settings::default() };
    // Counted in the middle of a connection, where the daemon opens nothing more.
    let open = || {
        let mut guest = connect(&daemon.socket(), settings);
        guest.bus.read(TTBR0).unwrap();
        std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap().count()
    };
    let before = open();
    for _ in 0..98 {
        open();
    }
    assert_eq!(open(), before);
}

#[test]
fn every_combination_of_ring_features_and_polling_carries_thousands_of_batches() {
    for (event_index, indirect, poll) in
        [(false, false, 0), (false, true, 200), (true, false, 200), (true, true, 0)]
    {
        let daemon = Daemon::start(&["--poll-us", &poll.to_string()]);
        let settings = Settings {
            memory_bytes: 1 << 20,
            poll: Duration::from_micros(poll),
            features: Features { event_index, indirect },
            timeout: LIMIT,
            ..Settings::default()
        };
        let mut bus = VhostUser::connect(&daemon.socket(), settings).unwrap();
        let mut values = [0; 2];
        // With event index, more than the rings' indices can count: a wake-up is lost at the wrap, if anywhere.
        for n in 0..if event_index { 66_000 } else { 2_000 } {
            let operations = [Operation::Write(TTBR0, n), Operation::Read(TTBR0), Operation::Read(TTBR0)];
            bus.batch(&operations, &mut values).unwrap();
            assert_eq!(values, [n, n]);
        }
    }
}

#[test]
fn batch_beyond_the_limit_is_refused_on_this_side_and_one_at_the_limit_is_done() {
    let daemon = Daemon::start(&[]);
    let mut guest = guest(&daemon);
    let mut values = vec![0; 1025];
    let reads = vec![Operation::Read(TTBR0); 1025];
    assert!(matches!(
        guest.bus.batch(&reads, &mut values),
        Err(BusError::TooLong { len: 1025, limit: 1024 })
    ));
    assert_eq!(guest.bus.batch(&reads[..1024], &mut values).unwrap(), 1024);
}

#[test]
fn refused_operation_names_its_index_and_keeps_what_was_read_before() {
    let daemon = Daemon::start(&["--strict"]);
    let mut guest = guest(&daemon);
    let mut values = [7; 3];
    let cases = [
        (EngineOffset(0x187_4000), Status::Unmodelled),
        (EngineOffset(0x200_0000), Status::OutsideContainer),
        (EngineOffset(0xffff_fffc), Status::OutsideContainer),
        (EngineOffset(0x1c2_4002), Status::Misaligned),
    ];
    for (at, expected) in cases {
        let operations =
            [Operation::Write(TTBR0, 5), Operation::Read(TTBR0), Operation::Read(at), Operation::Read(TTBR0)];
        match guest.bus.batch(&operations, &mut values) {
            Err(BusError::Refused { status, done: 2, index: Some(2), detail }) => {
                assert_eq!((status, detail), (expected, at.0));
            }
            other => panic!("{at}: {other:?}"),
        }
        assert_eq!(values[0], 5);
    }
}

#[test]
fn unmodelled_register_reads_as_ones_unless_the_device_is_strict() {
    let daemon = Daemon::start(&[]);
    let mut guest = guest(&daemon);
    assert_eq!(guest.bus.read(EngineOffset(0x187_4000)).unwrap(), u32::MAX);
    daemon.wait_for("0x1874000");
}

#[test]
fn panic_policy_makes_the_device_dead_until_it_is_reset() {
    let daemon = Daemon::start(&["--fault-policy", "panic"]);
    let mut guest = with_descriptor(&daemon);
    guest.submit(NOWHERE, header::BYTES, NID);
    while guest.event().kind() != Ok(EventKind::Dead) {}
    let refused = guest.bus.read(ERRORS);
    assert!(matches!(refused, Err(BusError::Refused { status: Status::Dead, .. })), "{refused:?}");
    guest.bus.reset().unwrap();
    assert_eq!(guest.bus.read(ERRORS).unwrap(), 0);
}

#[test]
fn stuck_queue_is_aborted_when_its_time_is_over_although_nobody_kicks() {
    let daemon = Daemon::start(&["--inject", "stuck-queue"]);
    let mut guest = with_descriptor(&daemon);
    guest.submit(DESCRIPTOR, header::BYTES, NID);
    let kinds = [guest.event().kind(), guest.event().kind()];
    assert!(kinds.contains(&Ok(EventKind::QueueAborted)), "{kinds:?}");
}

#[test]
fn folder_as_socket_path_gets_one_socket_for_each_engine_and_they_share_nothing() {
    let daemon = Daemon::start_at(".", &["--chip", "t6002"]);
    for _ in 1..4 {
        daemon.wait_for("is ready");
    }
    let settings = Settings { memory_bytes: 1 << 20, ..Settings::default() };
    let mut guests: Vec<_> =
        (0..4).map(|n| connect(&daemon.folder().join(format!("ane{n}.sock")), settings)).collect();
    for (n, guest) in (0u32..).zip(&mut guests) {
        assert_eq!(u32::from(guest.bus.config().instance.get()), n);
        guest.bus.write(TTBR0, n + 1).unwrap();
    }
    for (n, guest) in (0u32..).zip(&mut guests) {
        assert_eq!(guest.bus.read(TTBR0).unwrap(), n + 1);
    }
}

#[test]
fn termination_removes_the_socket_and_succeeds_with_or_without_a_frontend() {
    for (signal, connected) in [(Signal::SIGTERM, false), (Signal::SIGINT, true), (Signal::SIGHUP, false)] {
        let mut daemon = Daemon::start(&[]);
        let _guest = connected.then(|| guest(&daemon));
        daemon.signal(signal);
        assert!(daemon.wait().success());
        assert!(!daemon.socket().exists() && !daemon.control().exists());
    }
}

#[test]
fn state_is_printed_on_request_and_the_device_goes_on() {
    let daemon = Daemon::start(&[]);
    let mut guest = guest(&daemon);
    guest.bus.write(TTBR0, 1).unwrap();
    daemon.signal(Signal::SIGUSR1);
    daemon.wait_for("--- ane");
    daemon.wait_for("front: sound, 1 memory regions");
    assert_eq!(guest.bus.read(TTBR0).unwrap(), 1);
}

#[test]
fn stale_socket_is_replaced_and_anything_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let start = |name: &str| {
        Command::new(daemon::path()).arg("--socket-path").arg(folder.path().join(name)).output().unwrap()
    };
    std::fs::write(folder.path().join("file"), "precious").unwrap();
    let refused = start("file");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is no socket"));
    assert_eq!(std::fs::read_to_string(folder.path().join("file")).unwrap(), "precious");

    let live = UnixListener::bind(folder.path().join("live")).unwrap();
    assert!(String::from_utf8_lossy(&start("live").stderr).contains("another process listens"));
    // One that holds the lock and does not listen yet, as when two are started at the same moment.
    let lock = std::fs::File::create(folder.path().join("soon.lock")).unwrap();
    lock.lock().unwrap();
    assert!(String::from_utf8_lossy(&start("soon").stderr).contains("another process listens"));
    assert!(!folder.path().join("soon").exists());
    drop(live);
    // A daemon of clients whose socket somebody passed has no lock, and its socket has another type.
    let flags = SockFlag::SOCK_CLOEXEC;
    let clients = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None).unwrap();
    bind(clients.as_raw_fd(), &UnixAddr::new(&folder.path().join("clients")).unwrap()).unwrap();
    listen(&clients, Backlog::new(1).unwrap()).unwrap();
    assert!(String::from_utf8_lossy(&start("clients").stderr).contains("another process listens"));
    assert!(folder.path().join("clients").exists());
    let mut second = Command::new(daemon::path())
        .arg("--socket-path")
        .arg(folder.path().join("live"))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let end = Instant::now() + LIMIT;
    let settings = Settings { memory_bytes: 1 << 20, timeout: LIMIT, ..Settings::default() };
    while VhostUser::connect(&folder.path().join("live"), settings).is_err() {
        assert!(Instant::now() < end, "stale socket is not replaced");
        std::thread::sleep(Duration::from_millis(2));
    }
    second.kill().unwrap();
    second.wait().unwrap();
}

#[test]
fn passed_socket_is_served_if_somebody_listens_on_it_and_refused_if_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("passed");
    let listener = UnixListener::bind(&path).unwrap();
    let (one, _other) = UnixStream::pair().unwrap();
    for fd in [listener.as_fd(), one.as_fd()] {
        fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
    }
    let command = |fd: RawFd| {
        let mut command = Command::new(daemon::path());
        command.args(["--fd", &fd.to_string()]).stderr(Stdio::piped());
        command
    };
    let refused = command(one.as_raw_fd()).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("nobody listens"));

    let mut served = command(listener.as_raw_fd()).spawn().unwrap();
    let mut guest = connect(&path, Settings { memory_bytes: 1 << 20, ..Settings::default() });
    guest.bus.write(TTBR0, 3).unwrap();
    assert_eq!(guest.bus.read(TTBR0).unwrap(), 3);
    kill(Pid::from_raw(served.id() as i32), Signal::SIGTERM).unwrap();
    assert!(served.wait().unwrap().success());
    assert!(path.exists(), "a passed socket is not the daemon's to remove");
}

#[test]
fn capabilities_are_json_and_arguments_that_contradict_are_refused() {
    let run = |arguments: &[&str]| Command::new(daemon::path()).args(arguments).output().unwrap();
    let printed = run(&["--print-capabilities"]);
    assert!(printed.status.success());
    let json: serde_json::Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(json["type"], "ane");
    // Nobody reads.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let unread = Command::new(daemon::path()).arg("--print-capabilities").stdout(writer).output().unwrap();
    assert!(unread.status.success() && unread.stderr.is_empty(), "{unread:?}");
    for wrong in [
        &[][..],
        &["--socket-path", "a", "--fd", "3"],
        &["--socket-path", "a", "--chip", "t9999"],
        &["--socket-path", "a", "--poll-us", "10001"],
        &["--socket-path", "a", "--inject", "gremlin"],
    ] {
        assert_eq!(run(wrong).status.code(), Some(2), "{wrong:?}");
    }
    for wrong in [&["--socket-path", "a", "--instance", "1"][..], &["--fd", "99"], &["--fd", "0"]] {
        let refused = run(wrong);
        assert_eq!(refused.status.code(), Some(1), "{wrong:?}");
        assert!(!refused.stderr.is_empty());
    }
}
