//! What the wire costs: goals S1 to S3, B1 and M1.
//!
//! `cargo bench -p ane-tests --bench wire`. A null task from submission to event, and a batch of forty register writes,
//! which is what a submission is, from kick to completion; over a real socket between two processes, compared with the least that two processes can do, which is to wake each other with
//! an eventfd. Both are pinned to two processors (or, where there is only one, to that), measured in turns in
//! one run, and quoted as a ratio: what a wake-up takes differs from machine to machine by more than the rest.
//! What is timed has been seen to do what it should.

mod null_task;
#[path = "../../../device/benches/report/mod.rs"]
mod report;

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ane_device::time::Ticks;
use ane_device::{Ane, Options};
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_driver::bus::{Bus, Operation};
use ane_tests::daemon::{self, Daemon};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tq::{Pairing, QueueId, Slot};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use null_task::{NullTasks, REQUESTS};
use report::median;
use vm_memory::GuestMemoryMmap;

/// Rounds, of which the median counts.
const ROUNDS: usize = 9;
/// Round trips of one round.
const TRIPS: usize = 10_000;
/// The window of both sides where both poll.
const POLL: Duration = Duration::from_micros(200);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, ping, pong] = arguments.as_slice()
        && mode == "--echo"
    {
        echo(ping.parse().expect("a descriptor"), pong.parse().expect("a descriptor"));
    }
    let processors = processors();
    let (front, back) = (processors[0], *processors.last().expect("there is a processor"));
    println!(
        "profile {}, processors {front} (frontend) and {back} (device)",
        if cfg!(debug_assertions) { "debug" } else { "release" }
    );
    round_trips(front, back);
    device_time();
    start_and_memory();
}

fn processors() -> Vec<usize> {
    let all = sched_getaffinity(Pid::from_raw(0)).expect("affinity can be asked");
    (0..CpuSet::count()).filter(|&n| all.is_set(n).unwrap_or(false)).collect()
}

/// Pins this thread, and what it starts from now on.
fn pin(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor).expect("processor exists");
    sched_setaffinity(Pid::from_raw(0), &set).expect("affinity can be set");
}

/// Starts something on another processor than this one's.
fn on<T>(there: usize, here: usize, start: impl FnOnce() -> T) -> T {
    pin(there);
    let started = start();
    pin(here);
    started
}

/// The median of so many round trips, in microseconds.
fn trips(count: usize, mut trip: impl FnMut()) -> f64 {
    for _ in 0..count / 10 {
        trip();
    }
    let times = (0..count)
        .map(|_| {
            let start = Instant::now();
            trip();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    median(times)
}

/// The bare ping-pong: an eventfd there, and one back.
struct PingPong {
    child: Child,
    ping: nix::sys::eventfd::EventFd,
    pong: nix::sys::eventfd::EventFd,
}

impl PingPong {
    fn start() -> Self {
        // Not closed on exec: the other process inherits them.
        let eventfd = || nix::sys::eventfd::EventFd::new().expect("an eventfd can be made");
        let (ping, pong) = (eventfd(), eventfd());
        let number = |fd: &nix::sys::eventfd::EventFd| std::os::fd::AsFd::as_fd(fd).as_raw_fd().to_string();
        let child = Command::new(std::env::current_exe().expect("a bench knows itself"))
            .args(["--echo", &number(&ping), &number(&pong)])
            .spawn()
            .expect("a bench can start itself");
        Self { child, ping, pong }
    }

    fn trip(&self) {
        self.ping.write(1).expect("eventfd takes a ping");
        self.pong.read().expect("the other side answers");
    }
}

impl Drop for PingPong {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The other side of the ping-pong, until it is killed.
fn echo(ping: RawFd, pong: RawFd) -> ! {
    let file = |fd| {
        // SAFETY: the parent made both descriptors for this process and names each once; nothing else uses them.
        std::fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) })
    };
    let (mut ping, mut pong) = (file(ping), file(pong));
    let mut count = [0; 8];
    loop {
        std::io::Read::read_exact(&mut ping, &mut count).expect("ping can be read");
        std::io::Write::write_all(&mut pong, &1u64.to_ne_bytes()).expect("pong can be written");
    }
}

/// Forty writes that start nothing: the base addresses of both sets of a queue, but for the last.
fn batch() -> Vec<Operation> {
    let queue = QueueId::LINUX.base().0;
    let bars = Slot::ALL.map(|slot| slot.registers(Pairing::ByPlace).bars);
    let offsets = bars.into_iter().flat_map(|bar| (0..20).map(move |n| queue + bar + 4 * n));
    (0u32..).zip(offsets).map(|(n, offset)| Operation::Write(EngineOffset(offset), 0x4000 * n)).collect()
}

fn attach(daemon: &Daemon, poll: Duration) -> VhostUser {
    let settings = Settings { memory_bytes: 1 << 20, poll, ..Settings::default() };
    VhostUser::connect(&daemon.socket(), settings).expect("device can be had")
}

fn connect(daemon: &Daemon, poll: Duration) -> VhostUser {
    let mut bus = attach(daemon, poll);
    let batch = batch();
    assert_eq!(batch.len(), 40);
    bus.batch(&batch, &mut []).expect("batch is done");
    for operation in &batch {
        if let Operation::Write(at, value) = *operation {
            assert_eq!(bus.read(at).expect("register can be read"), value, "{at}");
        }
    }
    bus
}

/// Ours, and the ping-pong of the same rounds, in microseconds.
struct Rounds<'a> {
    bare: &'a [f64],
}

impl Rounds<'_> {
    /// Prints both, and the median ratio of them.
    fn line(&self, id: &str, what: &str, ours: Vec<f64>) {
        let ratio = median(ours.iter().zip(self.bare).map(|(ours, bare)| ours / bare).collect());
        let seen = format!("{:.2} us / {:.2} us", median(ours), median(self.bare.to_vec()));
        report::line(id, what, &seen, ratio);
    }
}

fn round_trips(front: usize, back: usize) {
    pin(front);
    let ping_pong = on(back, front, PingPong::start);
    let poll = POLL.as_micros().to_string();
    let asleep: [_; 3] = std::array::from_fn(|_| on(back, front, || Daemon::start(&["--log-level", "info"])));
    let awake: [_; 3] = std::array::from_fn(|_| on(back, front, || Daemon::start(&["--poll-us", &poll])));
    let batch = batch();
    // One of them serves at a time: who polls for a while and finds nothing goes to sleep.
    let (mut sleeping, mut polling) = (connect(&asleep[0], Duration::ZERO), connect(&awake[0], POLL));
    let null = |daemon, poll, tasks| NullTasks::load(attach(daemon, poll), tasks);
    let mut single = [null(&asleep[1], Duration::ZERO, 1), null(&awake[1], POLL, 1)];
    let mut four = [null(&asleep[2], Duration::ZERO, 4), null(&awake[2], POLL, 4)];
    let (singles, fours) = (REQUESTS as f64, (4 * REQUESTS) as f64);
    let mut bare = Vec::new();
    let mut ours: [Vec<f64>; 8] = Default::default();
    for _ in 0..ROUNDS {
        bare.push(trips(TRIPS, || ping_pong.trip()));
        let figures = [
            trips(TRIPS, || assert!(sleeping.batch(&batch, &mut []).is_ok())),
            trips(TRIPS, || assert!(polling.batch(&batch, &mut []).is_ok())),
            trips(TRIPS, || single[0].trip()),
            trips(TRIPS, || single[1].trip()),
            trips(TRIPS / REQUESTS, || four[0].flood_trip()) / fours,
            trips(TRIPS / REQUESTS, || four[1].flood_trip()) / fours,
            trips(TRIPS / REQUESTS, || single[0].flood_trip()) / singles,
            trips(TRIPS / REQUESTS, || single[1].flood_trip()) / singles,
        ];
        ours.iter_mut().zip(figures).for_each(|(ours, figure)| ours.push(figure));
    }
    let rounds = Rounds { bare: &bare };
    let what = [
        ("S1d", "40 writes, both asleep / eventfd ping-pong".to_owned()),
        ("S2d", "40 writes, both poll / eventfd ping-pong".to_owned()),
        ("S1", "null task, both asleep / eventfd ping-pong".to_owned()),
        ("S2", "null task, both poll / eventfd ping-pong".to_owned()),
        ("S3", format!("64 null tasks in {REQUESTS} requests, asleep, each / eventfd ping-pong")),
        ("S3", format!("64 null tasks in {REQUESTS} requests, both poll, each / eventfd ping-pong")),
        ("(S3)", format!("{REQUESTS} requests of one null task, asleep, each / eventfd ping-pong")),
        ("(S3)", format!("{REQUESTS} requests of one null task, both poll, each / eventfd ping-pong")),
    ];
    what.iter().zip(ours).for_each(|((id, what), ours)| rounds.line(id, what, ours));
}

/// What the forty writes take the device itself.
fn device_time() {
    let mut ane = Ane::new(&Options::default(), GuestMemoryMmap::<()>::new()).expect("device can be made");
    let writes: Vec<(EngineOffset, u32)> = batch()
        .into_iter()
        .filter_map(|operation| match operation {
            Operation::Write(at, value) => Some((at, value)),
            Operation::Read(_) => None,
        })
        .collect();
    let mut now = 0;
    let times = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..TRIPS {
                now += 1;
                for &(at, value) in &writes {
                    assert!(ane.write(at, value, Ticks(now)).is_ok());
                }
            }
            start.elapsed().as_secs_f64() * 1e6 / TRIPS as f64
        })
        .collect();
    let figure = median(times);
    report::line("(S1d)", "what the 40 writes take the device itself", &format!("{figure:.2} us"), figure);
}

/// B1 and M1.
fn start_and_memory() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let times = (0..21)
        .map(|n| {
            let socket = folder.path().join(n.to_string());
            let start = Instant::now();
            let mut child = Command::new(daemon::path())
                .arg("--socket-path")
                .arg(&socket)
                .stderr(Stdio::null())
                .spawn()
                .expect("daemon starts");
            while UnixStream::connect(&socket).is_err() {
                assert!(start.elapsed() < daemon::LIMIT, "daemon never listens");
                // Half of the machine is the daemon's.
                std::thread::yield_now();
            }
            let ready = start.elapsed().as_secs_f64() * 1e3;
            let _ = child.kill();
            let _ = child.wait();
            ready
        })
        .collect();
    let figure = median(times);
    report::line("B1", "exec to socket ready", &format!("{figure:.2} ms"), figure);
    let daemon = Daemon::start(&[]);
    let idle = private(daemon.pid());
    let bus = connect(&daemon, Duration::ZERO);
    let connected = private(daemon.pid());
    drop(bus);
    let seen = format!("{idle:.2} MiB, with a frontend {connected:.2} MiB");
    report::line("M1", "private memory, idle", &seen, idle);
}

/// Private memory of a process, in MiB.
fn private(pid: u32) -> f64 {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("process is there");
    let kilobytes: f64 = rollup
        .lines()
        .filter(|line| line.starts_with("Private_"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok())
        .sum();
    kilobytes / 1024.0
}
