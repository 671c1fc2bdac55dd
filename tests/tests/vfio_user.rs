//! The engine as a PCI function, over a real socket: the driver of the real engine with another project's client of the
//! protocol in between, and clients that mean no good.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ane_device::platform::Range;
use ane_tests::control::Control;
use ane_tests::daemon::Daemon;
use ane_tests::lingering::Lingering;
use ane_tests::linux::memory::RAM;
use ane_tests::linux::rig::{self, BYTES};
use ane_tests::linux::{Errno, Job, MANAGER, Mmio, PUSH, RETIRE, Step};
use ane_tests::long_task;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::Signal;
use vfio_user::Client;
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap};
use vmm_sys_util::sock_ctrl_msg::ScmSocket;

/// How VFIO numbers what this function has.
const CONFIGURATION: u32 = 7;
const MESSAGES: u32 = 1;
/// A vector is connected with a descriptor.
const CONNECT: u32 = 1 << 2 | 1 << 5;

/// A client, and the bar of each range.
struct Socket {
    client: Client,
    start: Instant,
}

fn bar(range: Range) -> u32 {
    Range::ALL.iter().position(|&known| known == range).unwrap() as u32
}

impl Mmio for Socket {
    fn read(&mut self, range: Range, offset: u32) -> u32 {
        let mut bytes = [0; 4];
        self.client.region_read(bar(range), offset.into(), &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    }

    fn write(&mut self, range: Range, offset: u32, value: u32) {
        self.client.region_write(bar(range), offset.into(), &value.to_le_bytes()).unwrap();
    }

    fn now(&mut self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }
}

type SocketRig = rig::LinuxRig<Socket>;

fn daemon() -> (Daemon, PathBuf) {
    let daemon = Daemon::start_platform(&["--check"]);
    let socket = daemon.socket();
    (daemon, socket)
}

/// A guest's memory, and the file that it is.
fn memory() -> (File, GuestMemoryMmap) {
    let file = File::from(memfd_create(c"guest", MFdFlags::empty()).unwrap());
    file.set_len(BYTES).unwrap();
    let shared = FileOffset::new(file.try_clone().unwrap(), 0);
    let memory =
        GuestMemoryMmap::from_ranges_with_files([(GuestAddress(RAM), BYTES as usize, Some(shared))]).unwrap();
    (file, memory)
}

/// A guest whose memory is a file, and a driver in it.
fn guest(socket: &std::path::Path) -> (SocketRig, File) {
    let (file, memory) = memory();
    let mut client = Client::new(socket).unwrap();
    client.dma_map(0, RAM, BYTES, file.as_raw_fd()).unwrap();
    let rig = SocketRig::new(Socket { client, start: Instant::now() }, memory, 8);
    (rig, file)
}

fn eventfd() -> EventFd {
    EventFd::from_flags(EfdFlags::EFD_NONBLOCK).unwrap()
}

/// Waits until an interrupt was raised.
fn wait(event: &EventFd) {
    let end = Instant::now() + Duration::from_secs(10);
    while event.read().is_err() {
        assert!(Instant::now() < end, "interrupt does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn function_says_what_it_is() {
    let (_daemon, socket) = daemon();
    let mut client = Client::new(&socket).unwrap();
    let mut identity = [0; 4];
    client.region_read(CONFIGURATION, 0, &mut identity).unwrap();
    assert_eq!(identity, [0xf4, 0x1a, 0xfa, 0x10]);
    let sizes: Vec<u64> = (0..9).map(|index| client.region(index).unwrap().size).collect();
    assert_eq!(sizes, [0x4_0000, 0x4000, 0x4000, 0x4000, 0x1_0000, 0, 0, 256, 0]);
    assert_eq!(client.get_irq_info(MESSAGES).unwrap().count, 2);
}

#[test]
fn driver_of_a_real_engine_runs_programs_contains_faults_and_cycles_the_power() {
    let (daemon, socket) = daemon();
    let (mut rig, _file) = guest(&socket);
    rig.next_is_good();
    let input = rig.input.clone();
    rig.linux.space.free(&input, 1, 1);
    rig.linux.invalidate_all();
    let (ended, seen) = rig.linux.submit(&rig.job);
    assert_eq!((ended, seen.contained, seen.cycles), (Err(Errno::Io), 1, 0));
    rig.linux.space.restore(&input, 1, 1);
    rig.linux.invalidate_all();
    rig.next_is_good();
    let mut control = Control::connect(&daemon.control());
    control.ask("inject wedge").unwrap();
    let (ended, seen) = rig.linux.submit(&rig.job);
    assert_eq!((ended, seen.cycles), (Err(Errno::TimedOut), 1));
    rig.next_is_good();
    let counters = control.ask("counters").unwrap();
    assert!(counters.iter().any(|line| line.trim() == "hazards 0"), "{counters:?}");
}

#[test]
fn client_whose_memory_is_cut_short_is_disconnected_and_the_next_is_served() {
    let (mut daemon, socket) = daemon();
    let (mut rig, file) = guest(&socket);
    rig.next_is_good();
    // The device has a copy of it, so this process does not touch what goes.
    let mut copy = File::from(memfd_create(c"copy", MFdFlags::empty()).unwrap());
    std::io::copy(&mut &file, &mut copy).unwrap();
    rig.linux.mmio.client.dma_unmap(RAM, BYTES).unwrap();
    rig.linux.mmio.client.dma_map(0, RAM, BYTES, copy.as_raw_fd()).unwrap();
    copy.set_len(0).unwrap();
    let submitted = std::panic::catch_unwind(AssertUnwindSafe(|| rig.linux.submit(&rig.job)));
    assert!(submitted.is_err(), "registers are answered no more: {submitted:?}");
    let told = daemon.wait_for("client was disconnected");
    assert!(
        told.contains("the file behind the guest's memory at") && told.contains("was cut short"),
        "{told}"
    );
    drop(rig);
    guest(&socket).0.next_is_good();
    assert!(daemon.is_running());
}

#[test]
fn events_and_faults_raise_a_vector_each() {
    let (_daemon, socket) = daemon();
    let (mut rig, _file) = guest(&socket);
    let (engine, dart) = (eventfd(), eventfd());
    let files = [engine.as_fd().as_raw_fd(), dart.as_fd().as_raw_fd()];
    rig.linux.mmio.client.set_irqs(MESSAGES, CONNECT, 0, 2, &files).unwrap();
    // Nobody polls: the engine works all the same.
    let job: Job = rig.job.clone();
    rig.linux.play(&job.staging()).unwrap();
    rig.linux.play(&[PUSH]).unwrap();
    wait(&engine);
    rig.check();
    assert!(dart.read().is_err());
    rig.linux.mmio.write(Range::Engine, MANAGER + 0x6c, 2);
    let input = rig.input.clone();
    rig.linux.space.free(&input, 0, 1);
    rig.linux.invalidate_all();
    rig.linux.play(&job.staging()).unwrap();
    rig.linux.play(&[PUSH]).unwrap();
    wait(&dart);
}

#[test]
fn memory_that_goes_while_a_transfer_waits_is_no_memory_any_more() {
    let (_daemon, socket) = daemon();
    let (mut rig, file) = guest(&socket);
    let input = rig.input.clone();
    rig.linux.space.free(&input, 0, 1);
    rig.linux.invalidate_all();
    let job: Job = rig.job.clone();
    rig.linux.play(&job.staging()).unwrap();
    rig.linux.play(&[PUSH]).unwrap();
    assert_eq!(rig.linux.mmio.read(Range::Dart(1), 0x40) >> 31, 1, "a transfer waits");
    rig.linux.mmio.client.dma_unmap(RAM, BYTES).unwrap();
    rig.linux.invalidate_all();
    assert_eq!(rig.linux.mmio.read(Range::Dart(1), 0x40) >> 31, 1, "and has nowhere to go");
    rig.linux.mmio.client.dma_map(0, RAM, BYTES, file.as_raw_fd()).unwrap();
    rig.linux.space.restore(&input, 0, 1);
    rig.linux.invalidate_all();
    rig.linux.mmio.client.reset().unwrap();
    assert_eq!(rig.linux.mmio.read(Range::Dart(1), 0x40), 0, "a reset drops it");
}

#[test]
fn client_that_dies_in_the_middle_leaves_a_fresh_engine_to_the_next() {
    let (_daemon, socket) = daemon();
    for _ in 0..3 {
        let (mut rig, _file) = guest(&socket);
        rig.linux.play(&rig.job.staging()).unwrap();
        rig.linux.play(&[PUSH]).unwrap();
    }
    let (mut rig, _file) = guest(&socket);
    rig.next_is_good();
}

/// A message of the protocol.
fn message(command: u16, size: u32, body: &[u8]) -> Vec<u8> {
    [&1_u16.to_ne_bytes()[..], &command.to_ne_bytes(), &size.to_ne_bytes(), &[0; 8], body].concat()
}

#[test]
fn client_that_says_nonsense_is_disconnected_and_the_next_is_served() {
    let (mut daemon, socket) = daemon();
    let greeting = message(1, 21, &[0, 0, 1, 0, 0]);
    let wrong: [Vec<u8>; 8] = [
        message(1, u32::MAX, &[]),
        message(1, 0, &[]),
        message(9, 16, &[]),
        [greeting.clone(), message(9, 16, &[])].concat(),
        // A read of four gigabytes, a write that is shorter than it says, a map without what it needs.
        [greeting.clone(), message(9, 32, &[0xff; 16])].concat(),
        [greeting.clone(), message(10, 32, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0])].concat(),
        [greeting.clone(), message(2, 20, &[0; 4])].concat(),
        (0..=255).cycle().take(4096).collect(),
    ];
    for bytes in wrong {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let _ = stream.write_all(&bytes);
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answers = Vec::new();
        let _ = stream.read_to_end(&mut answers);
        assert!(answers.len() < 1024);
    }
    assert!(daemon.is_running());
    let (mut rig, _file) = guest(&socket);
    rig.next_is_good();
}

#[test]
fn greeting_is_answered_with_no_later_version_than_the_clients() {
    let (_daemon, socket) = daemon();
    // QEMU says 0.0, and leaves when it is answered with more.
    for (minor, answer) in [(0, 0), (1, 1), (9, 1)] {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(&message(1, 21, &[0, 0, minor, 0, 0])).unwrap();
        let mut head = [0; 20];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(head[16..], [0, 0, answer, 0], "minor {minor}");
    }
}

#[test]
fn access_of_any_width_and_place_is_answered() {
    let (mut daemon, socket) = daemon();
    let (mut rig, _file) = guest(&socket);
    let client = &mut rig.linux.mmio.client;
    for region in 0..5 {
        for width in [1, 2, 3, 4, 7, 8, 64] {
            for offset in [0, 1, 6, 0x40, 0x2_0008, 0x2_3ffe, 0x3_ffff, u64::MAX - 3] {
                let mut bytes = vec![0; width];
                client.region_read(region, offset, &mut bytes).unwrap();
                client.region_write(region, offset, &bytes).unwrap();
            }
        }
    }
    assert!(daemon.is_running());
}

/// A client of the protocol's crate waits without end, so that a time-out is seen here.
fn assert_that_the_next_is_served(socket: &std::path::Path) {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(&message(1, 21, &[0, 0, 1, 0, 0])).unwrap();
    stream.read_exact(&mut [0; 20]).expect("the next one is heard");
    drop(stream);
    guest(socket).0.next_is_good();
}

fn change(flags: u32, count: u32) -> Vec<u8> {
    let words = [20, flags, MESSAGES, 0, count].map(u32::to_ne_bytes);
    message(8, 36, words.as_flattened())
}

#[test]
fn interrupt_that_is_full_and_blocks_keeps_nobody_out() {
    let (mut daemon, socket) = daemon();
    let full = EventFd::from_flags(EfdFlags::empty()).unwrap();
    full.write(u64::MAX - 1).unwrap();
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(&message(1, 21, &[0, 0, 1, 0, 0])).unwrap();
    stream.send_with_fds(&[&change(CONNECT, 1)[..]], &[full.as_fd().as_raw_fd()]).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    // The device may have changed this; it is undone.
    fcntl(&full, FcntlArg::F_SETFL(OFlag::empty())).unwrap();
    stream.write_all(&change(1 | 1 << 5, 1)).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(stream);
    assert_that_the_next_is_served(&socket);
    assert!(daemon.is_running());
}

#[test]
fn client_whose_own_socket_comes_as_a_descriptor_ends_with_it() {
    let (mut daemon, socket) = daemon();
    let greeting = message(1, 21, &[0, 0, 1, 0, 0]);
    let whole = change(CONNECT, 1);
    for length in [5, 16, 17, whole.len()] {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(&greeting).unwrap();
        stream.send_with_fds(&[&whole[..length]], &[stream.as_raw_fd()]).unwrap();
        drop(stream);
        assert_that_the_next_is_served(&socket);
    }
    // With what is behind the header.
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(&greeting).unwrap();
    stream.write_all(&whole[..16]).unwrap();
    stream.send_with_fds(&[&whole[16..]], &[stream.as_raw_fd()]).unwrap();
    drop(stream);
    assert_that_the_next_is_served(&socket);
    assert!(daemon.is_running());
}

#[test]
fn descriptor_that_takes_long_to_close_keeps_no_client_out() {
    let (mut daemon, socket) = daemon();
    let mut lingering = Lingering::connect();
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(&message(1, 21, &[0, 0, 1, 0, 0])).unwrap();
    // The daemon closes the last one.
    daemon.while_stopped(|| {
        stream.send_with_fds(&[&change(CONNECT, 1)[..]], &[lingering.as_raw_fd()]).unwrap();
        drop(stream);
        lingering.close();
    });
    assert_that_the_next_is_served(&socket);
    assert!(daemon.is_running());
}

/// A client that sends messages as it likes.
struct Raw {
    stream: UnixStream,
    start: Instant,
}

impl Raw {
    fn new(socket: &std::path::Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut raw = Self { stream, start: Instant::now() };
        raw.stream.write_all(&message(1, 21, &[0, 0, 1, 0, 0])).unwrap();
        raw.answer();
        raw
    }

    /// Sends a message with descriptors; the error and the body of its answer.
    fn ask(&mut self, bytes: &[u8], descriptors: &[i32]) -> (u32, Vec<u8>) {
        self.stream.send_with_fds(&[bytes], descriptors).unwrap();
        self.answer()
    }

    fn answer(&mut self) -> (u32, Vec<u8>) {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head).unwrap();
        let [size, _, errno] = [4, 8, 12].map(|at| u32::from_le_bytes(head[at..at + 4].try_into().unwrap()));
        let mut body = vec![0; size as usize - head.len()];
        self.stream.read_exact(&mut body).unwrap();
        (errno, body)
    }

    /// The message that maps guest memory.
    fn map(address: u64, bytes: u64) -> Vec<u8> {
        let words = [32, 3].map(u32::to_ne_bytes);
        let longs = [0, address, bytes].map(u64::to_ne_bytes);
        message(2, 48, &[words.as_flattened(), longs.as_flattened()].concat())
    }

    /// The message that makes an access of four bytes.
    fn access(command: u16, range: Range, offset: u32, value: &[u8]) -> Vec<u8> {
        let words = [bar(range), 4].map(u32::to_ne_bytes);
        let body = [&u64::from(offset).to_ne_bytes()[..], words.as_flattened(), value].concat();
        message(command, 16 + body.len() as u32, &body)
    }
}

impl Mmio for Raw {
    fn read(&mut self, range: Range, offset: u32) -> u32 {
        let (errno, body) = self.ask(&Self::access(9, range, offset, &[]), &[]);
        assert_eq!(errno, 0);
        u32::from_le_bytes(body[16..].try_into().unwrap())
    }

    fn write(&mut self, range: Range, offset: u32, value: u32) {
        let (errno, _) = self.ask(&Self::access(10, range, offset, &value.to_le_bytes()), &[]);
        assert_eq!(errno, 0);
    }

    fn now(&mut self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }
}

#[test]
fn event_that_follows_its_acknowledgement_at_once_raises_its_vector() {
    let (_daemon, socket) = daemon();
    let (file, memory) = memory();
    let mut raw = Raw::new(&socket);
    assert_eq!(raw.ask(&Raw::map(RAM, BYTES), &[file.as_raw_fd()]).0, 0);
    let vectors = [eventfd(), eventfd()];
    let files = [vectors[0].as_fd().as_raw_fd(), vectors[1].as_fd().as_raw_fd()];
    assert_eq!(raw.ask(&change(CONNECT, 2), &files).0, 0);
    let mut rig = rig::LinuxRig::with_program(raw, memory, 8, &rig::program_of_two_tasks(8));
    assert_eq!(rig.job.tasks, 2);
    rig.linux.play(&rig.job.staging()).unwrap();
    rig.linux.play(&[PUSH]).unwrap();
    wait(&vectors[0]);
    rig.linux.play(&RETIRE).unwrap();
    rig.linux.play(&rig.job.staging()).unwrap();
    // The engine makes the first task between the two, and the second behind them.
    let Step::Write(offset, value) = PUSH else { panic!("it is a write") };
    let push = Raw::access(10, Range::Engine, offset, &value.to_le_bytes());
    let acknowledge = Raw::access(10, Range::Engine, MANAGER + 0x6c, &2_u32.to_le_bytes());
    let raw = &mut rig.linux.mmio;
    raw.stream.write_all(&[push, acknowledge].concat()).unwrap();
    assert_eq!([raw.answer().0, raw.answer().0], [0; 2]);
    wait(&vectors[0]);
    rig.check();
}

#[test]
fn transfer_that_faults_again_when_it_is_retried_raises_the_vector_again() {
    let (_daemon, socket) = daemon();
    let (mut rig, _file) = guest(&socket);
    let (engine, dart) = (eventfd(), eventfd());
    let files = [engine.as_fd().as_raw_fd(), dart.as_fd().as_raw_fd()];
    rig.linux.mmio.client.set_irqs(MESSAGES, CONNECT, 0, 2, &files).unwrap();
    let input = rig.input.clone();
    rig.linux.space.free(&input, 0, 1);
    rig.linux.invalidate_all();
    rig.linux.play(&rig.job.staging()).unwrap();
    rig.linux.play(&[PUSH]).unwrap();
    wait(&dart);
    rig.linux.invalidate_all();
    wait(&dart);
}

/// A device that computes products with as much care as silicon, which takes long.
fn slow_daemon() -> (Daemon, PathBuf) {
    let daemon = Daemon::start_platform(&["--numerics", "exact"]);
    let socket = daemon.socket();
    (daemon, socket)
}

/// A driver whose engine has a task that takes longer than any test waits.
fn busy(socket: &std::path::Path) -> (rig::LinuxRig<Raw>, File) {
    let (file, memory) = memory();
    let mut raw = Raw::new(socket);
    assert_eq!(raw.ask(&Raw::map(RAM, BYTES), &[file.as_raw_fd()]).0, 0);
    let mut rig = rig::LinuxRig::with_program(raw, memory, 64, &long_task::convolution(64, 16, 64, 1.0));
    rig.linux.play(&rig.job.staging()).unwrap();
    rig.linux.play(&[PUSH]).unwrap();
    // So that it runs when what follows comes. Whether it does makes no difference to what is expected.
    std::thread::sleep(Duration::from_millis(100));
    (rig, file)
}

#[test]
fn device_that_is_asked_for_a_dump_while_a_task_runs_can_be_ended() {
    let (mut daemon, socket) = slow_daemon();
    let _busy = busy(&socket);
    daemon.signal(Signal::SIGUSR1);
    daemon.signal(Signal::SIGTERM);
    assert!(daemon.wait().success());
    assert!(!socket.exists());
}

#[test]
fn signal_that_interrupts_calls_ends_no_device() {
    let (mut daemon, _socket) = daemon();
    for _ in 0..20 {
        daemon.signal(Signal::SIGUSR2);
        std::thread::sleep(Duration::from_millis(1));
    }
    daemon.signal(Signal::SIGUSR1);
    daemon.wait_for("--- ane");
    assert!(daemon.is_running());
}

#[test]
fn client_that_dies_while_a_task_runs_keeps_nobody_out() {
    let (_daemon, socket) = slow_daemon();
    drop(busy(&socket));
    assert_that_the_next_is_served(&socket);
}

#[test]
fn all_memory_is_unmapped_by_the_flag_that_vfio_has_for_it() {
    let (_daemon, socket) = daemon();
    let (file, _) = memory();
    let mut raw = Raw::new(&socket);
    let map = Raw::map(RAM, BYTES);
    assert_eq!(raw.ask(&map, &[file.as_raw_fd()]).0, 0);
    assert_eq!(raw.ask(&map, &[file.as_raw_fd()]).0, nix::errno::Errno::EEXIST as u32);
    let all = [24_u32, 1 << 1].map(u32::to_ne_bytes);
    assert_eq!(raw.ask(&message(3, 40, &[all.as_flattened(), &[0; 16]].concat()), &[]).0, 0);
    assert_eq!(raw.ask(&map, &[file.as_raw_fd()]).0, 0);
}

#[test]
fn message_whose_rest_comes_late_is_no_descriptor_that_holds_a_thread_up() {
    let (daemon, socket) = daemon();
    let mut stream = UnixStream::connect(&socket).unwrap();
    let greeting = message(1, 21, &[0, 0, 1, 0, 0]);
    let (first, rest) = greeting.split_at(18);
    stream.write_all(first).unwrap();
    // The device looks four times a second at threads that it has to help.
    std::thread::sleep(Duration::from_secs(1));
    stream.write_all(rest).unwrap();
    stream.read_exact(&mut [0; 20]).unwrap();
    assert!(!daemon.log().contains("holds a thread up"), "{}", daemon.log());
}
