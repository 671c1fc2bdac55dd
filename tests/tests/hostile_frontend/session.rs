//! Messages, memory and descriptors that a frontend should not send: its own session may end, the daemon and its device go on.
#![expect(unsafe_code, reason = "a number becomes a descriptor")]

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::Command;
use std::time::{Duration, Instant};

use ane_tests::daemon::{self, Daemon, LIMIT};
use ane_tests::hostile::{ANSWER, BASE, DESCRIPTORS, Hostile, MEMORY, NEXT, REQUEST, SIZE, USED, WRITE};
use ane_tests::random::Random;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use rustix::event::{EventfdFlags, eventfd};
use vhost::vhost_user::message::{VhostUserConfigFlags, VhostUserHeaderFlag};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

use super::{SHORT, empty_batch};

#[test]
fn queue_set_up_wrongly_is_refused_by_message() {
    let mut daemon = Daemon::start(&[]);
    let wrong_places = |frontend: &Hostile| {
        let good = frontend.addresses(0);
        [
            ("descriptors outside", VringConfigData { desc_table_addr: 0x1000, ..good }),
            ("descriptors misaligned", VringConfigData { desc_table_addr: good.desc_table_addr + 8, ..good }),
            ("available misaligned", VringConfigData { avail_ring_addr: good.avail_ring_addr + 1, ..good }),
            ("used misaligned", VringConfigData { used_ring_addr: good.used_ring_addr + 2, ..good }),
            ("used at the end of addresses", VringConfigData { used_ring_addr: u64::MAX - 7, ..good }),
        ]
    };
    let count = wrong_places(&Hostile::new(&daemon.socket())).len();
    for n in 0..count {
        // A failing message may end the connection: each has its own.
        let frontend = Hostile::new(&daemon.socket());
        let (name, addresses) = wrong_places(&frontend)[n];
        assert!(frontend.frontend.set_vring_addr(0, &addresses).is_err(), "{name}");
    }
    // A size is a power of two.
    for size in [0, 3, 255, 257, u16::MAX] {
        let frontend = Hostile::new(&daemon.socket());
        assert!(frontend.frontend.set_vring_num(0, size).is_err(), "{size}");
    }
    let mut frontend = Hostile::new(&daemon.socket());
    assert!(frontend.is_served());
    assert!(daemon.is_running());
}

#[test]
fn rings_that_reach_beyond_memory_are_never_read_and_the_daemon_goes_on() {
    let mut daemon = Daemon::start(&[]);
    let mut frontend = Hostile::new(&daemon.socket());
    let start = frontend.memory.region().as_ptr() as u64;
    // The last 16 bytes of memory: the table would reach beyond them.
    let end = start + MEMORY as u64 - 16;
    let places = VringConfigData { desc_table_addr: end, ..frontend.addresses(0) };
    let _ = frontend.frontend.set_vring_addr(0, &places);
    frontend.announce(1);
    frontend.kick(0);
    let _ = frontend.used(SHORT);
    drop(frontend);
    assert!(Hostile::new(&daemon.socket()).is_served());
    assert!(daemon.is_running());
}

#[test]
fn memory_table_that_lies_is_survived() {
    let mut daemon = Daemon::start(&[]);
    let lies = |good: VhostUserMemoryRegionInfo| {
        [
            ("longer than its file", VhostUserMemoryRegionInfo { memory_size: 1 << 40, ..good }),
            ("file offset beyond", VhostUserMemoryRegionInfo { mmap_offset: 1 << 40, ..good }),
            ("wraps in the guest", VhostUserMemoryRegionInfo { guest_phys_addr: u64::MAX - 0xfff, ..good }),
            ("wraps in the frontend", VhostUserMemoryRegionInfo { userspace_addr: u64::MAX - 0xfff, ..good }),
            ("odd size", VhostUserMemoryRegionInfo { memory_size: 4097, ..good }),
        ]
    };
    for n in 0..5 {
        let (frontend, memory) = Hostile::introduce(&daemon.socket());
        let (name, region) = lies(Hostile::region(&memory))[n];
        let refused = frontend.set_mem_table(&[region]).is_err();
        assert!(refused || !name.contains("file"), "{name}");
        // The transport refuses other places; using them has to be harmless.
        let places = VringConfigData {
            queue_max_size: SIZE,
            queue_size: SIZE,
            flags: 0,
            desc_table_addr: region.userspace_addr,
            used_ring_addr: region.userspace_addr.wrapping_add(0x2000),
            avail_ring_addr: region.userspace_addr.wrapping_add(0x1000),
            log_addr: None,
        };
        let _ = frontend.set_vring_addr(0, &places);
        drop(frontend);
        assert!(Hostile::new(&daemon.socket()).is_served());
    }
    let (frontend, memory) = Hostile::introduce(&daemon.socket());
    let region = Hostile::region(&memory);
    assert!(frontend.set_mem_table(&[region, region]).is_err(), "regions overlap");
    drop(frontend);
    assert!(Hostile::new(&daemon.socket()).is_served());
    assert!(daemon.is_running());
}

#[test]
fn memory_of_what_is_no_file_is_refused() {
    let mut daemon = Daemon::start(&[]);
    let zero = std::fs::File::options().read(true).write(true).open("/dev/zero").unwrap();
    let (frontend, memory) = Hostile::introduce(&daemon.socket());
    let good = Hostile::region(&memory);
    // It is as long as the mapping, so what lies behind that is not there: a bus error.
    let beyond = VhostUserMemoryRegionInfo { mmap_handle: zero.as_raw_fd(), mmap_offset: 1 << 30, ..good };
    assert!(frontend.set_mem_table(&[beyond]).is_err());
    drop(frontend);
    assert!(Hostile::new(&daemon.socket()).is_served());
    assert!(daemon.is_running());
}

#[test]
fn frontend_that_cuts_its_rings_short_ends_its_own_session_and_no_device() {
    let mut daemon = Daemon::start(&[]);
    for _ in 0..20 {
        let mut frontend = Hostile::new(&daemon.socket());
        assert!(frontend.is_served());
        frontend.memory.region().file_offset().unwrap().file().set_len(0).unwrap();
        frontend.kick(0);
        let told = daemon.wait_for("was cut short");
        assert!(told.contains("memory at 0x80000000, 0x100000 bytes"), "{told}");
        // It stays connected; the device has ended that.
        assert!(Hostile::new(&daemon.socket()).is_served());
        assert!(frontend.frontend.get_features().is_err());
    }
    assert!(daemon.is_running());
}

#[test]
fn memory_that_is_taken_away_is_not_touched_and_memory_that_comes_is() {
    let daemon = Daemon::start(&[]);
    let mut frontend = Hostile::new(&daemon.socket());
    let more =
        ane_driver::bus::DmaMemory::new(ane_uapi::hw::space::PhysAddr(BASE + 0x1000_0000), 0x10000).unwrap();
    frontend.put(REQUEST, &empty_batch());
    let table = [(REQUEST, 16, NEXT, 1), (0x1000_0000, 24, WRITE, 0)];
    assert_eq!(frontend.submit(&table), 0, "it is not there yet");
    let region = Hostile::region(&more);
    frontend.frontend.add_mem_region(&region).unwrap();
    assert_eq!(frontend.submit(&table), 24);
    let mut answer = [0; 24];
    more.read(more.base(), &mut answer).unwrap();
    assert_eq!(answer[16..], 1u64.to_le_bytes(), "the cookie is in the new memory");
    more.write(more.base(), &[0; 24]).unwrap();
    frontend.frontend.remove_mem_region(&region).unwrap();
    assert_eq!(frontend.submit(&table), 0);
    more.read(more.base(), &mut answer).unwrap();
    assert_eq!(answer, [0; 24]);
    assert!(frontend.is_served());
}

#[test]
fn request_that_came_while_its_ring_was_away_is_served_when_the_memory_is_back() {
    let daemon = Daemon::start(&[]);
    let backs: [fn(&mut Frontend, VhostUserMemoryRegionInfo); 2] = [
        |frontend, region| _ = frontend.add_mem_region(&region).unwrap(),
        |frontend, region| _ = frontend.set_mem_table(&[region]).unwrap(),
    ];
    for back in backs {
        let mut frontend = Hostile::new(&daemon.socket());
        assert!(frontend.is_served());
        let region = Hostile::region(&frontend.memory);
        frontend.frontend.remove_mem_region(&region).unwrap();
        frontend.announce(0);
        frontend.kick(0);
        // The device takes the kick, and does not get another.
        std::thread::sleep(SHORT);
        back(&mut frontend.frontend, region);
        assert_eq!(frontend.used(LIMIT), Some((0, 24)));
    }
}

#[test]
fn ring_of_a_stopped_queue_is_not_written_to() {
    let daemon = Daemon::start(&["--poll-us", "50"]);
    let mut frontend = Hostile::new(&daemon.socket());
    assert!(frontend.is_served());
    frontend.frontend.get_vring_base(0).unwrap();
    frontend.put(USED, &[0xaa, 0x55]);
    // The device looks at its queues whatever this changes.
    frontend.frontend.set_vring_enable(1, true).unwrap();
    std::thread::sleep(SHORT);
    assert_eq!(frontend.get(USED), [0xaa, 0x55]);
}

#[test]
fn stopped_queue_is_silent_and_goes_on_where_it_was_stopped() {
    let daemon = Daemon::start(&[]);
    let mut frontend = Hostile::new(&daemon.socket());
    for _ in 0..5 {
        assert!(frontend.is_served());
    }
    frontend.frontend.set_vring_enable(0, false).unwrap();
    frontend.put_table(DESCRIPTORS, &[(REQUEST, 16, NEXT, 1), (ANSWER, 24, WRITE, 0)]);
    frontend.announce(0);
    frontend.kick(0);
    assert_eq!(frontend.used(SHORT), None);
    frontend.frontend.set_vring_enable(0, true).unwrap();
    assert_eq!(frontend.used(LIMIT), Some((0, 24)));
    assert_eq!(frontend.frontend.get_vring_base(0).unwrap(), 6);
    assert!(frontend.frontend.reset_device().is_ok());
}

/// Hundredths of a second that a daemon has had of processors.
fn processor_time(daemon: &Daemon) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", daemon.pid())).expect("it runs");
    // The name, in brackets, may have spaces. Behind it come eleven fields and the two times, the user's and the system's.
    let (_, behind) = stat.rsplit_once(')').expect("it has a name");
    let times = behind.split_whitespace().skip(11).take(2);
    times.map(|time| time.parse::<u64>().expect("a time")).sum()
}

/// Requires that a daemon that has nothing to do has less than half of a processor.
fn assert_that_it_rests(daemon: &Daemon, how: &str) {
    const WHILE: Duration = Duration::from_secs(1);
    let before = processor_time(daemon);
    std::thread::sleep(WHILE);
    let spent = processor_time(daemon) - before;
    assert!(spent < 50, "{how}: {spent} hundredths of a second in one second");
}

#[test]
fn stopped_queue_with_requests_costs_no_processor_time() {
    let daemon = Daemon::start(&[]);
    let stops: [fn(&mut Hostile); 2] = [
        |frontend| frontend.frontend.set_vring_enable(0, false).unwrap(),
        |frontend| _ = frontend.frontend.get_vring_base(0).unwrap(),
    ];
    for (stop, how) in stops.iter().zip(["disabled", "stopped"]) {
        let mut frontend = Hostile::new(&daemon.socket());
        assert!(frontend.is_served());
        stop(&mut frontend);
        frontend.put_table(DESCRIPTORS, &[(REQUEST, 16, NEXT, 1), (ANSWER, 24, WRITE, 0)]);
        frontend.announce(0);
        // Said twice, so that the device looks at the queue once more.
        stop(&mut frontend);
        assert_that_it_rests(&daemon, how);
    }
}

#[test]
fn queue_whose_entries_lie_behind_the_end_of_memory_costs_no_processor_time() {
    let daemon = Daemon::start(&[]);
    let frontend = Hostile::new(&daemon.socket());
    frontend.frontend.get_vring_base(0).unwrap();
    // Flags and index are there, and say that a request waits.
    let end = MEMORY as u64 - 4;
    frontend.put(end, &[0, 0, 1, 0]);
    let start = frontend.memory.region().as_ptr() as u64;
    let places = VringConfigData { avail_ring_addr: start + end, ..frontend.addresses(0) };
    frontend.frontend.set_vring_base(0, 0).unwrap();
    frontend.frontend.set_vring_addr(0, &places).unwrap();
    frontend.frontend.set_vring_kick(0, &frontend.kicks[0]).unwrap();
    frontend.kick(0);
    daemon.wait_for("cannot be read");
    assert_that_it_rests(&daemon, "unreadable");
}

#[test]
fn bytes_that_are_no_message_end_the_connection_and_not_the_daemon() {
    let mut daemon = Daemon::start(&[]);
    let header = |request: u32, flags: u32, size: u32| {
        [request.to_le_bytes(), flags.to_le_bytes(), size.to_le_bytes()].concat()
    };
    let mut random = Random::new(7);
    let noise: Vec<u8> = (0..512).flat_map(|_| random.next().to_le_bytes()).collect();
    let cases = [
        ("unknown request", header(0xffff, 1, 0)),
        ("request zero", header(0, 1, 0)),
        ("unknown version", header(1, 3, 0)),
        ("a reply", header(1, 5, 0)),
        ("a size of everything", header(1, 1, u32::MAX)),
        ("a body too short", [header(8, 1, 8), vec![0; 3]].concat()),
        ("half a header", header(1, 1, 0)[..5].to_vec()),
        ("config space of everything", [header(24, 1, 12), vec![0xff; 12]].concat()),
        ("memory table without descriptors", [header(5, 1, 40), vec![1; 40]].concat()),
        ("queue number out of range", [header(8, 9, 8), vec![0xff; 8]].concat()),
        ("noise", noise),
        ("nothing", Vec::new()),
    ];
    for (name, bytes) in cases {
        let mut socket = UnixStream::connect(daemon.socket()).unwrap();
        socket.set_read_timeout(Some(SHORT)).unwrap();
        // The daemon may close in the middle of it.
        let _ = socket.write_all(&bytes);
        let _ = socket.read(&mut [0; 64]);
        drop(socket);
        assert!(Hostile::new(&daemon.socket()).is_served(), "{name}");
        assert!(daemon.is_running(), "{name}");
    }
}

#[test]
fn config_space_is_padded_with_zeroes_and_cannot_be_written() {
    let daemon = Daemon::start(&[]);
    let mut frontend = Hostile::new(&daemon.socket());
    frontend.frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
    let read = |frontend: &mut Hostile, offset, size: u32| {
        let buffer = vec![0; size as usize];
        frontend
            .frontend
            .get_config(offset, size, VhostUserConfigFlags::empty(), &buffer)
            .map(|(_, bytes)| bytes)
    };
    let before = read(&mut frontend, 0, 56).unwrap();
    frontend.frontend.set_config(0, VhostUserConfigFlags::WRITABLE, &[0xff; 56]).unwrap();
    let long = read(&mut frontend, 0, 128).unwrap();
    assert_eq!(long[..56], before);
    assert!(long[56..].iter().all(|byte| *byte == 0));
    assert_eq!(read(&mut frontend, 50, 6).unwrap(), before[50..]);
    assert!(frontend.is_served());
}

#[test]
fn memory_that_is_refused_is_not_touched_while_the_guest_kicks() {
    let mut daemon = Daemon::start(&[]);
    for _ in 0..10 {
        let Hostile { frontend, memory, kicks, .. } = Hostile::new(&daemon.socket());
        // The rings would lie behind the end of the file, where touching them ends a process.
        let missing = VhostUserMemoryRegionInfo { mmap_offset: MEMORY as u64, ..Hostile::region(&memory) };
        let kicker = std::thread::spawn(move || (0..2_000).try_for_each(|_| kicks[0].write(1)));
        assert!(frontend.set_mem_table(&[missing]).is_err());
        kicker.join().unwrap().unwrap();
    }
    assert!(daemon.is_running());
}

/// The daemon's description of its engine; it has to take the engine for that.
fn dump(daemon: &Daemon) -> String {
    let mut control = UnixStream::connect(daemon.control()).expect("it listens");
    control.set_read_timeout(Some(LIMIT)).expect("a time-out can be set");
    control.write_all(b"dump\n").expect("it is heard");
    let mut text = String::new();
    let mut bytes = [0; 4096];
    while !text.ends_with("ok\n") {
        let read = control.read(&mut bytes).expect("the engine answers");
        assert_ne!(read, 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    text
}

/// The same descriptor as the transport's crate has it, and what the test keeps of it.
fn event(own: &impl AsFd) -> EventFd {
    let copy = own.as_fd().try_clone_to_owned().expect("descriptors can be had");
    // SAFETY: the number is the copy's, which is given up here.
    unsafe { EventFd::from_raw_fd(copy.into_raw_fd()) }
}

/// An eventfd whose reads and writes wait.
fn blocking() -> OwnedFd {
    eventfd(0, EventfdFlags::empty()).expect("eventfds can be had")
}

#[test]
fn kick_replaced_by_an_empty_one_that_blocks_leaves_the_device_as_it_was() {
    let daemon = Daemon::start(&[]);
    let mut frontend = Hostile::new(&daemon.socket());
    let empty = event(&blocking());
    frontend.frontend.set_vring_kick(0, &empty).expect("an eventfd is accepted");
    // The old one is no kick any more, and a reader of the new one waits for ever.
    for _ in 0..10 {
        frontend.kick(0);
    }
    std::thread::sleep(SHORT);
    assert!(dump(&daemon).contains("front: sound"));
    frontend.kicks[0] = empty;
    assert!(frontend.is_served(), "the new kick wakes the device");
    drop(frontend);
    assert!(Hostile::new(&daemon.socket()).is_served(), "the next frontend is served");
}

#[test]
fn call_that_is_full_and_blocks_keeps_neither_the_engine_nor_the_next_frontend() {
    let daemon = Daemon::start(&[]);
    let mut frontend = Hostile::new(&daemon.socket());
    let full = blocking();
    rustix::io::write(&full, &(u64::MAX - 1).to_ne_bytes()).expect("it takes a count");
    frontend.frontend.set_vring_call(0, &event(&full)).expect("an eventfd is accepted");
    // The device may have changed this; it is undone.
    rustix::io::ioctl_fionbio(&full, false).expect("a flag can be changed");
    assert!(frontend.is_served(), "the request is answered all the same");
    assert!(dump(&daemon).contains("front: sound"));
    assert!(frontend.is_served());
    drop(frontend);
    assert!(Hostile::new(&daemon.socket()).is_served(), "the next frontend is served");
    drop(full);
}

#[test]
fn descriptor_that_is_neither_an_eventfd_nor_a_file_ends_the_connection() {
    let daemon = Daemon::start(&[]);
    let frontend = Hostile::new(&daemon.socket());
    let (ours, theirs) = UnixStream::pair().expect("sockets can be had");
    assert!(frontend.frontend.set_vring_kick(0, &event(&theirs)).is_err());
    drop(ours);
    let told = daemon.wait_for("descriptor is refused");
    assert!(told.contains("is no eventfd and no ordinary file"), "{told}");
    assert!(dump(&daemon).contains("front: sound"));
    drop(frontend);
    assert!(Hostile::new(&daemon.socket()).is_served());
}

#[test]
fn file_is_neither_kick_nor_call_and_harms_nothing() {
    let daemon = Daemon::start(&[]);
    let frontend = Hostile::new(&daemon.socket());
    let file = tempfile::tempfile().expect("files can be had");
    frontend.frontend.set_vring_kick(0, &event(&file)).expect("it is answered");
    frontend.frontend.set_vring_call(0, &event(&file)).expect("it is answered");
    assert!(daemon.wait_for("is no eventfd").contains("kick"));
    assert!(dump(&daemon).contains("front: sound"));
    drop(frontend);
    assert!(Hostile::new(&daemon.socket()).is_served());
}

#[test]
fn kick_after_one_that_was_refused_wakes_the_device() {
    let daemon = Daemon::start(&[]);
    let mut frontend = Hostile::new(&daemon.socket());
    let file = tempfile::tempfile().expect("files can be had");
    frontend.frontend.set_vring_kick(0, &event(&file)).expect("it is answered");
    daemon.wait_for("is no eventfd");
    frontend.kicks[0] = EventFd::new(EFD_NONBLOCK).expect("eventfds can be had");
    frontend.frontend.set_vring_kick(0, &frontend.kicks[0]).expect("an eventfd is accepted");
    assert!(frontend.is_served());
}

#[test]
fn region_beyond_the_last_slot_is_refused_and_the_others_stay() {
    let daemon = Daemon::start(&[]);
    let mut frontend = Hostile::new(&daemon.socket());
    let slots = frontend.frontend.get_max_mem_slots().expect("slots are told");
    let page = 0x4000;
    let more: Vec<_> = (0..slots)
        .map(|n| {
            let base = ane_uapi::hw::space::PhysAddr(BASE + 0x1000_0000 + n * page as u64);
            ane_driver::bus::DmaMemory::new(base, page).expect("memory can be had")
        })
        .collect();
    let (last, fitting) = more.split_last().expect("there are slots");
    for memory in fitting {
        frontend.frontend.add_mem_region(&Hostile::region(memory)).expect("it has a slot");
    }
    assert!(frontend.is_served());
    assert!(frontend.frontend.add_mem_region(&Hostile::region(last)).is_err());
    assert!(daemon.wait_for("regions that a frontend may hand over are there").contains("509"));
    drop(frontend);
    assert!(Hostile::new(&daemon.socket()).is_served());
}

#[test]
fn frontends_that_come_without_end_and_hand_over_nonsense_write_less_than_a_hundred_lines() {
    let mut daemon = Daemon::start(&[]);
    let file = tempfile::tempfile().expect("files can be had");
    for _ in 0..60 {
        let frontend = Hostile::new(&daemon.socket());
        for _ in 0..5 {
            frontend.frontend.set_vring_call(0, &event(&file)).expect("it is answered");
        }
    }
    let lines = daemon.log().lines().count();
    assert!(lines < 100, "{lines} lines");
    assert!(daemon.is_running());
}

/// The reader of the log may be a pager or a terminal that somebody has stopped.
#[test]
fn frontends_are_served_while_nobody_reads_the_log() {
    let (mut reader, log) = std::io::pipe().expect("pipes can be had");
    let flags = |flags| fcntl(&log, FcntlArg::F_SETFL(flags)).expect("a pipe has flags");
    flags(OFlag::O_NONBLOCK);
    while (&log).write(&[b'x'; 4096]).is_ok() {}
    while (&log).write(b"x").is_ok() {}
    flags(OFlag::empty());
    let folder = tempfile::tempdir().expect("a folder can be made");
    let socket = folder.path().join("ane.sock");
    let mut device = Command::new(daemon::path())
        .arg("--socket-path")
        .arg(&socket)
        .stderr(log)
        .spawn()
        .expect("it starts");
    let end = Instant::now() + LIMIT;
    // The socket is there before anything listens at it.
    while UnixStream::connect(&socket).is_err() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(2));
    }
    for _ in 0..3 {
        assert!(Hostile::new(&socket).is_served());
    }
    device.kill().expect("it runs");
    device.wait().expect("it is a child");
    let mut told = String::new();
    reader.read_to_string(&mut told).expect("it ends");
    assert!(told.trim_start_matches('x').is_empty(), "{told}");
}

#[test]
fn sign_of_life_is_given_to_the_service_manager_that_asks_for_it() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let place = folder.path().join("notify");
    let manager = UnixDatagram::bind(&place).expect("a socket can be had");
    manager.set_read_timeout(Some(LIMIT)).expect("a time-out can be set");
    let place = place.to_str().expect("it is text");
    let daemon = Daemon::start_with(&[], &[("NOTIFY_SOCKET", place), ("WATCHDOG_USEC", "100000")]);
    let mut frontend = Hostile::new(&daemon.socket());
    for _ in 0..3 {
        assert!(frontend.is_served());
        let mut sign = [0; 64];
        let read = manager.recv(&mut sign).expect("a sign comes");
        assert_eq!(&sign[..read], b"WATCHDOG=1");
    }
}
