//! The cost of the wire: goals S1 to S3, B1 and M1.
//!
//! `cargo bench -p ane-tests --bench wire`. A null task from submission to event, and a batch of forty register writes,
//! which is what a submission is, from kick to completion; over a real socket between two processes, compared with the least that two processes can do, which is to wake each other with
//! an eventfd. Both are pinned to two processors (or, where there is only one, to that), measured in turns in
//! one run, and quoted as a ratio: what a wake-up takes differs from machine to machine by more than the rest.
//! Each part is checked for the right result before it is timed.

#[path = "../common/mod.rs"]
mod common;
mod null_task;
#[path = "../../../device/benches/report/mod.rs"]
mod report;

use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ane_device::time::Ticks;
use ane_device::{Ane, Options};
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_driver::bus::{Bus, Operation};
use ane_tests::daemon::{self, Daemon};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tq::{Pairing, QueueId, Slot};
use common::{PingPong, echo_if_asked, on, pin, processors, trips};
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
    echo_if_asked(&arguments);
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

/// The device's own time for the forty writes.
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
