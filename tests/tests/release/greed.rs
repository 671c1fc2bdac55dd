//! F7: neighbours who want everything, and the share that is left to a stranger.
//!
//! The stranger always has eight requests of four null tasks waiting. Alone, the engine is all his; beside one other
//! user, half of it is fair, for any neighbour with any number of clients. Each kind of neighbour has three clients:
//! tasks that are long, requests of 60,000 tasks, tasks that do not end, buffers that are mapped and let go without
//! end, and connections that are made and dropped.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ane_tests::chain;
use ane_tests::long_task;
use ane_tests::null_task;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{BO_MAP, BoMap};
use ane_uapi::ioctl::drm::{GEM_CLOSE, GemClose};
use zerocopy::FromZeros;

use super::harness::{Figure, Verdict};
use super::users::{Service, User, become_user, connect};

const FIGURE: Figure = Figure {
    id: "F7",
    what: "greedy neighbours, each with three clients: long tasks, 60,000 tasks, hanging ones, mapping, connecting; for so long each",
    wanted: "a stranger's share is at least 0.8 of fair",
    ci: 10,
    release: 600,
};

const GREEDY: u32 = 60_001;
const STRANGER: u32 = 60_002;
const CLIENTS: usize = 3;
const DEPTH: usize = 8;
const SHARE: f64 = 0.8;

#[derive(Clone, Copy, Debug)]
enum Greed {
    Long,
    Chains,
    Hanging,
    Mapping,
    Connecting,
}

/// The work of a greedy client until it is over. The client is ready once it has the things that it is greedy with.
fn greedy(kind: Greed, socket: &Path, ready: &Barrier, is_over: &AtomicBool) {
    become_user(GREEDY);
    if let Greed::Connecting = kind {
        ready.wait();
        while !is_over.load(Ordering::Relaxed) {
            let _ = aned_protocol::client::Client::connect(socket, Default::default());
        }
        return;
    }
    let built = match kind {
        Greed::Long => long_task::convolution(8, 16, 32, 1.0),
        Greed::Hanging => long_task::endless(),
        Greed::Chains => null_task::program(3),
        Greed::Mapping | Greed::Connecting => null_task::program(1),
    };
    let mut user = User::new(socket, &built);
    if let Greed::Chains = kind {
        chain::lengthen(&mut user.clients, &mut user.loaded, 60_000);
    }
    ready.wait();
    let mut fences = VecDeque::new();
    while !is_over.load(Ordering::Relaxed) {
        if let Greed::Mapping = kind {
            let buffer = user.clients.buffer(user.file, 1 << 20, Usage::Input);
            let mut map = BoMap { handle: buffer.handle, usage: Usage::Input as u32, ..BoMap::new_zeroed() };
            let _ = user.clients.ioctl(user.file, &BO_MAP, &mut map);
            let _ = user.clients.ioctl(
                user.file,
                &GEM_CLOSE,
                &mut GemClose { handle: buffer.handle, padding: 0 },
            );
            continue;
        }
        if fences.len() < DEPTH {
            // While as many requests wait as may, the daemon refuses the next; it takes one when another has ended.
            match user.clients.submit(&user.loaded) {
                Ok(fence) => fences.push_back(fence),
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        } else if let Some(&fence) = fences.front() {
            // It looks now and then whether it is over.
            if user.clients.wait_until(user.file, fence, 1).is_ok() {
                fences.pop_front();
            } else {
                thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

/// Requests a second that a stranger gets done, who always has some waiting.
fn rate(user: &mut User, time: Duration) -> f64 {
    let (start, mut fences, mut done) = (Instant::now(), VecDeque::new(), 0_u32);
    while start.elapsed() < time {
        fences.push_back(user.clients.submit(&user.loaded).expect("request is taken"));
        if fences.len() == DEPTH {
            let fence = fences.pop_front().expect("there are some");
            assert_eq!(user.clients.wait(user.file, fence).result, 0);
            done += 1;
        }
    }
    let rate = f64::from(done) / start.elapsed().as_secs_f64();
    for fence in fences {
        user.clients.wait(user.file, fence);
    }
    rate
}

/// The stranger's part of what would be fair.
fn share(kind: Greed, time: Duration) -> f64 {
    // Products are computed one by one there, so that tasks are long.
    let service = Service::start(&["--numerics", "exact"], &["--request-limit", "1"]);
    let socket = service.daemon.socket();
    let (ready, is_over) = (Barrier::new(CLIENTS + 1), AtomicBool::new(false));
    thread::scope(|scope| {
        let (socket, ready, is_over) = (&socket, &ready, &is_over);
        let stranger = scope.spawn(move || {
            become_user(STRANGER);
            let mut user = User::new(socket, &null_task::program(4));
            let alone = rate(&mut user, (time / 5).max(Duration::from_secs(1)));
            ready.wait();
            thread::sleep(Duration::from_millis(200));
            let beside = rate(&mut user, time);
            is_over.store(true, Ordering::Relaxed);
            beside / (alone / 2.0)
        });
        for _ in 0..CLIENTS {
            scope.spawn(move || greedy(kind, socket, ready, is_over));
        }
        stranger.join().expect("the stranger is served")
    })
}

#[test]
fn f7_greedy_neighbour_leaves_a_stranger_a_fair_share() {
    FIGURE.run(|plan| {
        // The daemon has to let clients of another user in at all.
        drop(connect(&Service::start(&[], &[]).daemon.socket()));
        let kinds = [Greed::Long, Greed::Chains, Greed::Hanging, Greed::Mapping, Greed::Connecting];
        let shares = kinds.map(|kind| (kind, share(kind, plan.time())));
        let told: Vec<String> = shares.iter().map(|(kind, share)| format!("{kind:?} {share:.2}")).collect();
        let held = shares.iter().all(|&(_, share)| share >= SHARE);
        let fails = shares.iter().any(|&(_, share)| share < SHARE / 10.0);
        Verdict { got: format!("of fair: {}", told.join(", ")), held, fails, not_run: Vec::new() }
    });
}
