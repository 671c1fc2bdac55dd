//! Clients of one daemon side by side, each a process: I1, I2, I3.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ane_tests::aned::Aned;
use ane_tests::client::Clients;
use ane_tests::daemon::Daemon;
use ane_tests::null_task::program;
use ane_tests::remote::Remote;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{BO_MAP, BO_UNMAP, BoMap, BoUnmap};
use aned_protocol::client::{Client, Settings};
use zerocopy::FromZeros;

use crate::common::pin_to;
use crate::report::{self, median};

/// Rounds, of which the median counts.
const ROUNDS: usize = 7;
/// How long a round goes on.
const ROUND: Duration = Duration::from_millis(400);
/// Clients at a time; one of the eight contexts stays free.
const MANY: usize = 7;
/// The memory of a client that does nothing but map it.
const MAPPED: u64 = 64 << 10;

/// The load that a client makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// Runs a chain of so many null tasks, over and over.
    Tasks(usize),
    /// Maps a buffer and unmaps it, over and over.
    Mappings,
}

/// The work that a client did in its time: how often, and the median time in microseconds.
#[derive(Clone, Copy, Debug)]
struct Done {
    times: f64,
    median: f64,
}

/// A client that waits for its start.
struct ClientProcess(Child);

impl ClientProcess {
    fn start(socket: &Path, load: Load) -> Self {
        let load = match load {
            Load::Tasks(tasks) => tasks.to_string(),
            Load::Mappings => "mappings".to_owned(),
        };
        let child = Command::new(std::env::current_exe().expect("a bench knows itself"))
            .arg("--client")
            .arg(socket)
            .arg(load)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a bench can start itself");
        Self(child)
    }
}

/// One round of several clients, which begin and end together.
fn round(socket: &Path, loads: &[Load]) -> Vec<Done> {
    let mut runners: Vec<_> = loads.iter().map(|&load| ClientProcess::start(socket, load)).collect();
    let mut lines: Vec<_> = runners
        .iter_mut()
        .map(|runner| BufReader::new(runner.0.stdout.take().expect("its output is piped")).lines())
        .collect();
    let mut next = |n: usize| lines[n].next().expect("a client says something").expect("it is text");
    for n in 0..loads.len() {
        assert_eq!(next(n), "ready");
    }
    for runner in &mut runners {
        writeln!(runner.0.stdin.as_mut().expect("its input is piped"), "go").expect("a client is told");
    }
    let done = (0..loads.len())
        .map(|n| {
            let line = next(n);
            let (times, median) = line.split_once(' ').expect("two figures");
            Done { times: times.parse().expect("a figure"), median: median.parse().expect("a figure") }
        })
        .collect();
    for runner in &mut runners {
        assert!(runner.0.wait().expect("a client ends").success());
    }
    done
}

/// If these are the arguments of a client, is one.
pub(crate) fn run_if_asked(arguments: &[String]) {
    let [_, mode, socket, load] = arguments else { return };
    if mode != "--client" {
        return;
    }
    let client = Client::connect(Path::new(socket), Settings::default()).expect("the daemon is there");
    let mut clients = Clients::new(Remote::new(client));
    let file = clients.open();
    match load.parse() {
        Ok(tasks) => {
            let built = program(tasks);
            let loaded = clients.load(file, &built.program());
            measure(|| assert_eq!(clients.run(&loaded).result, 0));
        }
        Err(_) => {
            let buffer = clients.buffer(file, MAPPED, Usage::Input);
            let mapped = BoMap { handle: buffer.handle, usage: Usage::Input as u32, ..BoMap::new_zeroed() };
            measure(|| {
                let mut map = BoMap { size: MAPPED, ..mapped };
                clients.ioctl(file, &BO_MAP, &mut map).expect("a buffer can be mapped");
                let mut unmap = BoUnmap {
                    handle: buffer.handle,
                    usage: Usage::Input as u32,
                    mapping: map.mapping,
                    ..BoUnmap::new_zeroed()
                };
                clients.ioctl(file, &BO_UNMAP, &mut unmap).expect("and unmapped");
            });
        }
    }
    std::process::exit(0);
}

/// Does something over and over for one round, from the word on; prints how often, and what it took.
fn measure(mut action: impl FnMut()) {
    for _ in 0..200 {
        action();
    }
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).expect("the word comes");
    let start = Instant::now();
    let mut times = Vec::with_capacity(1 << 16);
    while start.elapsed() < ROUND {
        let before = Instant::now();
        action();
        times.push(before.elapsed().as_secs_f64() * 1e6);
    }
    println!("{} {}", times.len(), median(times));
}

/// The tasks of a chain that takes some 100 microseconds.
fn hundred_microseconds(socket: &Path) -> usize {
    let time = |tasks| median((0..3).map(|_| round(socket, &[Load::Tasks(tasks)])[0].median).collect());
    let (few, many) = (time(10), time(110));
    let each = ((many - few) / 100.0).max(0.1);
    (100.0 / each).round().max(1.0) as usize
}

/// Prints the three.
pub(crate) fn side_by_side(processors: &[usize]) {
    pin_to(processors);
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let socket = daemon.socket();
    let tasks = hundred_microseconds(&socket);
    let mut figures: [Vec<f64>; 3] = Default::default();
    let mut seen: [Vec<(f64, f64)>; 3] = Default::default();
    for _ in 0..ROUNDS {
        let alone = round(&socket, &[Load::Tasks(1)])[0];
        let together: f64 = round(&socket, &[Load::Tasks(1); MANY]).iter().map(|done| done.times).sum();
        let long: Vec<f64> =
            round(&socket, &[Load::Tasks(tasks); MANY]).iter().map(|done| done.times).collect();
        let slowest = long.iter().copied().fold(f64::INFINITY, f64::min);
        let fastest = long.iter().copied().fold(0.0, f64::max);
        let beside = round(&socket, &[Load::Tasks(1), Load::Mappings])[0];
        let pairs = [(together, alone.times), (slowest, fastest), (beside.median, alone.median)];
        for ((figures, seen), pair) in figures.iter_mut().zip(&mut seen).zip(pairs) {
            figures.push(pair.0 / pair.1);
            seen.push(pair);
        }
    }
    let per_second = 1.0 / ROUND.as_secs_f64();
    let of = |n: usize, which: fn(&(f64, f64)) -> f64| median(seen[n].iter().map(which).collect());
    let [i1, i2, i3] = figures.map(median);
    let rates = |n| {
        format!("{:.0}/s / {:.0}/s", of(n, |pair| pair.0) * per_second, of(n, |pair| pair.1) * per_second)
    };
    report::line("I1", &format!("null tasks of {MANY} clients together / of one alone"), &rates(0), i1);
    report::line(
        "I2",
        &format!("chains of {tasks} null tasks, {MANY} clients: slowest / fastest"),
        &rates(1),
        i2,
    );
    let seen = format!("{:.1} us / {:.1} us", of(2, |pair| pair.0), of(2, |pair| pair.1));
    report::line("I3", "null task beside a client that maps and unmaps 64 KiB / alone", &seen, i3);
}
