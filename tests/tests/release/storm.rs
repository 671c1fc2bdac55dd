//! F6: one context faults without end, and others go on.
//!
//! Three users run null tasks while a fourth submits a program that reads beyond its buffer, over and over. Storm and quiet take
//! turns of half a second, so that whatever else the machine does falls on both.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ane::build::{Built, Graph, Shape};
use ane_tests::null_task;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::fault::{RECOVER, RECOVER_RESUME, Recover};
use zerocopy::FromZeros;

use super::harness::{Figure, Verdict, p99};
use super::users::{Service, User, become_user};

const FIGURE: Figure = Figure {
    id: "F6",
    what: "fault storm of one context beside three that behave, in turns with quiet",
    wanted: "p99 of the others at most 2 times quiet; at most 100 lines of log in 10 s",
    ci: 10,
    release: 600,
};

const TURN: Duration = Duration::from_millis(500);
const ATTACKER: u32 = 60_001;
const OTHERS: u64 = 3;
/// How much longer the others may wait.
const LONGER: f64 = 2.0;
/// Lines of a log in ten seconds.
const LINES: u64 = 100;

/// A program whose input has four pages.
fn wide() -> Built {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(32, 1, 1024)).expect("fits");
    let y = graph.relu(x).expect("is offered");
    graph.output("y", y).expect("computed");
    graph.build().expect("can be built")
}

/// A user whose program reads behind its buffer.
fn faulty(socket: &Path) -> User {
    let built = wide();
    let mut user = User::new(socket, &built);
    let short = user.clients.buffer(user.file, 1, Usage::Input);
    let x = built.surface("x").expect("input").bar;
    for (bar, buffer) in &mut user.loaded.bars {
        if *bar == x {
            *buffer = short;
        }
    }
    user
}

/// Has it fault once, and the file taken up again if the driver has had enough of it.
fn fault(user: &mut User) -> bool {
    match user.clients.submit(&user.loaded) {
        Ok(fence) => user.clients.wait(user.file, fence).result != 0,
        Err(_) => {
            let mut recover = Recover { flags: RECOVER_RESUME, ..Recover::new_zeroed() };
            let _ = user.clients.ioctl(user.file, &RECOVER, &mut recover);
            false
        }
    }
}

#[test]
fn f6_fault_storm_of_one_context_costs_others_little() {
    FIGURE.run(|plan| {
        let service = Service::start(&[], &[]);
        let socket = service.daemon.socket();
        let (is_storm, is_over, faults, wrong) =
            (AtomicBool::new(false), AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let [mut quiet, mut storm] = thread::scope(|scope| {
            let (socket, is_storm, is_over, faults, wrong) = (&socket, &is_storm, &is_over, &faults, &wrong);
            scope.spawn(move || {
                become_user(ATTACKER);
                let mut user = faulty(socket);
                while !is_over.load(Ordering::Relaxed) {
                    if !is_storm.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(1));
                    } else if fault(&mut user) {
                        faults.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            let others: Vec<_> = (0..OTHERS)
                .map(|number| {
                    scope.spawn(move || {
                        become_user(ATTACKER + 1 + number as u32);
                        let mut user = User::new(socket, &null_task::program(1));
                        let mut times = [Vec::new(), Vec::new()];
                        while !is_over.load(Ordering::Relaxed) {
                            let before = is_storm.load(Ordering::Relaxed);
                            let (time, ended) = user.run();
                            wrong.fetch_add(u64::from(ended != 0), Ordering::Relaxed);
                            if is_storm.load(Ordering::Relaxed) == before {
                                times[usize::from(before)].push(time);
                            }
                            thread::sleep(Duration::from_micros(500));
                        }
                        times
                    })
                })
                .collect();
            let start = Instant::now();
            while start.elapsed() < plan.time() {
                thread::sleep(TURN);
                is_storm.fetch_xor(true, Ordering::Relaxed);
            }
            is_over.store(true, Ordering::Relaxed);
            others.into_iter().fold([Vec::new(), Vec::new()], |[quiet, storm], one| {
                let [more, beside] = one.join().expect("it is served");
                [[quiet, more].concat(), [storm, beside].concat()]
            })
        });
        let (faults, wrong) = (faults.into_inner(), wrong.into_inner());
        let counts = [quiet.len(), storm.len()];
        let (quiet, storm) = (p99(&mut quiet), p99(&mut storm));
        let ratio = storm.as_secs_f64() / quiet.as_secs_f64();
        let lines = [service.daemon.log(), service.device.log()].map(|log| log.lines().count() as u64);
        let most = LINES * plan.count.div_ceil(10).max(1);
        let got = format!(
            "{faults} faults; p99 {storm:.1?} of {} beside them, {quiet:.1?} of {} without: {ratio:.2}; {} lines of the daemon's log, \
             {} of the device's; {wrong} of the others' requests wrong",
            counts[1], counts[0], lines[0], lines[1]
        );
        let is_quiet = lines.iter().all(|&lines| lines <= most);
        let is_sound = is_quiet && wrong == 0 && faults > plan.count;
        Verdict { got, held: ratio <= LONGER && is_sound, fails: ratio > 10.0 * LONGER || !is_sound, not_run: Vec::new() }
    });
}
