//! F11: a mixed load for hours, and nothing grows.
//!
//! Clients that stay run programs and compare each result; others come, load, run, fault, leave requests behind and go; somebody
//! asks the daemon for its state. Descriptors, threads and memory of both daemons are looked at after a warm-up, and at the end,
//! when the same clients are left.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ane::build::{Built, Graph, Shape};
use ane_driver::front::Files;
use ane_tests::control::Control;
use ane_tests::null_task;
use ane_tests::random::Random;
use ane_uapi::hw::usage::Usage;
use half::f16;

use super::harness::{Figure, Verdict};
use super::having::Having;
use super::users::{Service, User, become_user, connect};

const FIGURE: Figure = Figure {
    id: "F11",
    what: "soak: clients that stay, that come and go, that fault, and that look",
    wanted: "descriptors, threads and memory flat; nothing wrong",
    ci: 60,
    release: 7_200,
};

/// Kibibytes that a heap may differ by, whenever it is looked at.
const HEAP: u64 = 8 << 10;

/// A row and its ReLU.
fn relu(width: u32) -> Built {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(4, 2, width)).expect("fits");
    let y = graph.relu(x).expect("is offered");
    graph.output("y", y).expect("computed");
    graph.build().expect("can be built")
}

/// Runs a ReLU on numbers of its own; whether the result is right.
fn is_right(user: &mut User, built: &Built, random: &mut Random) -> bool {
    let surface = built.surface("x").expect("input");
    let count = surface.shape.c * surface.shape.h * surface.shape.w;
    let values: Vec<f16> =
        (0..count).map(|_| f16::from_f32(random.below(4001) as f32 / 8.0 - 250.0)).collect();
    user.clients.fill(&user.loaded, surface, &values);
    let ended = user.run().1;
    let wanted: Vec<f16> = values.iter().map(|value| value.max(f16::ZERO)).collect();
    ended == 0 && user.clients.take(&user.loaded, built.surface("y").expect("output")) == wanted
}

/// A client that comes, does something and goes. Whether all was as it should be.
fn visit(service: &Service, random: &mut Random) -> bool {
    let socket = service.daemon.socket();
    match random.below(6) {
        0 => {
            let built = null_task::program(4);
            let mut user = User::new(&socket, &built);
            // Requests are left behind.
            (0..random.below(8)).all(|_| user.clients.submit(&user.loaded).is_ok())
        }
        1 => {
            let built = relu(16_384);
            let mut user = User::new(&socket, &built);
            let short = user.clients.buffer(user.file, 1, Usage::Input);
            let x = built.surface("x").expect("input").bar;
            user.loaded.bars.iter_mut().filter(|(bar, _)| *bar == x).for_each(|(_, buffer)| *buffer = short);
            // It reads behind its buffer, and is told.
            user.run().1 != 0
        }
        2 => {
            let mut clients = connect(&socket);
            let file = clients.open();
            for _ in 0..random.below(20) {
                clients.buffer(file, u64::from(random.below(1 << 22)) + 1, Usage::Intermediate);
            }
            clients.driver.close(file);
            true
        }
        3 => Control::connect(&service.device.control()).ask("counters").is_ok(),
        _ => {
            let built = relu(1 + random.below(200));
            let mut user = User::new(&socket, &built);
            is_right(&mut user, &built, random)
        }
    }
}

#[test]
fn f11_soak_of_mixed_load_leaves_everything_flat() {
    FIGURE.run(|plan| {
        let service = Service::start(&[], &[]);
        let socket = service.daemon.socket();
        let (is_over, runs, wrong) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let processes = [service.device.pid(), service.daemon.pid()];
        let warm_up = plan.time().min(Duration::from_secs(60)) / 4;
        let (before, after) = thread::scope(|scope| {
            let (socket, is_over, runs, wrong) = (&socket, &is_over, &runs, &wrong);
            let count = move |is_right: bool| {
                runs.fetch_add(1, Ordering::Relaxed);
                wrong.fetch_add(u64::from(!is_right), Ordering::Relaxed);
            };
            for number in 0..2_u64 {
                scope.spawn(move || {
                    become_user(60_001 + number as u32);
                    let (built, mut random) = (relu(30 + 100 * number as u32), plan.random(number));
                    let mut user = User::new(socket, &built);
                    while !is_over.load(Ordering::Relaxed) {
                        count(is_right(&mut user, &built, &mut random));
                        thread::sleep(Duration::from_micros(200));
                    }
                });
            }
            let mut random = plan.random(9);
            let mut until = |end: Instant| {
                while Instant::now() < end {
                    count(visit(&service, &mut random));
                }
            };
            let start = Instant::now();
            until(start + warm_up);
            let before = processes.map(Having::at_rest);
            until(start + plan.time());
            let after = [0, 1].map(|n| Having::once_back(processes[n], &before[n], HEAP));
            is_over.store(true, Ordering::Relaxed);
            (before, after)
        });
        let (runs, wrong) = (runs.into_inner(), wrong.into_inner());
        let mut got = format!("{runs} runs and visits, {wrong} wrong");
        for (name, (before, after)) in ["device", "aned"].iter().zip(before.iter().zip(&after)) {
            got = format!("{got}; {name}: {}", Having::told(before, after));
        }
        let is_flat = before.iter().zip(&after).all(|(before, after)| after.is_back(before, HEAP));
        Verdict::counted(got, is_flat && wrong == 0 && runs > plan.count)
    });
}
