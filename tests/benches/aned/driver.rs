//! Null tasks through the whole driver, over the device's socket: S1, S2, S3.

use std::task::Poll;
use std::time::Duration;

use ane_driver::Driver;
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_driver::front::{Call, FileId, Files, Segments};
use ane_tests::client::{Clients, Loaded};
use ane_tests::daemon::Daemon;
use ane_tests::null_task::program;
use ane_uapi::ioctl::fence::{Fence, TIME_NEVER, WAIT, Wait};
use ane_uapi::ioctl::request::{PRIORITY_DEFAULT, PRIORITY_FIRST, PRIORITY_LAST, Request, SUBMIT_REQUEST};
use half::f16;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::common::{PingPong, on, pin, pin_to, trips};
use crate::report::{self, median};

/// Rounds, of which the median counts.
const ROUNDS: usize = 9;
/// Round trips of one round.
const TRIPS: usize = 5_000;
/// The window of whoever polls.
const POLL: Duration = Duration::from_micros(200);
/// Null tasks that are in flight at a time where many are: two requests to each of the eight queues, of four tasks each,
/// as on the bare wire.
const DEPTH: usize = REQUESTS * TASKS;
const REQUESTS: usize = 16;
const TASKS: usize = 4;
/// Where fences lie in the client's memory.
const FENCES: u64 = 0x7100_0000_0000;

/// A client in one process with the driver, and a program that it has loaded.
struct DirectClient {
    clients: Clients<Driver<VhostUser>>,
    file: FileId,
    submit: Call,
    wait: Call,
    /// Requests of one task, by priority; and those of several.
    singles: Vec<Call>,
    fours: Vec<Call>,
    wait_all: Call,
}

impl DirectClient {
    fn load(device: &Daemon, poll: Duration) -> Self {
        let bus = VhostUser::connect(&device.socket(), Settings { poll, ..Settings::default() })
            .expect("device can be had");
        let mut clients = Clients::new(Driver::probe(bus).expect("device is one"));
        // The system's priorities are for who may use them.
        let file = clients.open_as(true);
        let [single, four] = [1, TASKS].map(|tasks| {
            let built = program(tasks);
            let loaded = clients.load(file, &built.program());
            let value = [f16::from_f32(3.0)];
            clients.fill(&loaded, built.surface("x").expect("input"), &value);
            assert_eq!(clients.run(&loaded).result, 0);
            assert_eq!(clients.take(&loaded, built.surface("y").expect("output")), value, "null tasks copy");
            loaded
        });
        let by_priority =
            |loaded| (PRIORITY_FIRST..=PRIORITY_LAST).map(|priority| submission(loaded, priority)).collect();
        let mut client = Self {
            submit: submission(&single, PRIORITY_DEFAULT),
            wait: waiting(1),
            singles: by_priority(&single),
            fours: by_priority(&four),
            wait_all: waiting(REQUESTS),
            clients,
            file,
        };
        client.trip();
        client.flood();
        client.flood_of_singles();
        client
    }

    /// One null task, there and back.
    fn trip(&mut self) {
        let fence = submit(&mut self.clients.driver, self.file, &mut self.submit);
        wait(&mut self.clients.driver, self.file, &mut self.wait, &[fence]);
    }

    /// Many null tasks, all of them in flight.
    fn flood(&mut self) {
        flood(&mut self.clients.driver, self.file, &mut self.fours, &mut self.wait_all);
    }

    /// As many requests, of one task each.
    fn flood_of_singles(&mut self) {
        flood(&mut self.clients.driver, self.file, &mut self.singles, &mut self.wait_all);
    }
}

/// Submits each of the calls twice, and waits for all.
fn flood<F: Files>(driver: &mut F, file: FileId, calls: &mut [Call], all: &mut Call) {
    let mut fences = [0; REQUESTS];
    for (n, fence) in fences.iter_mut().enumerate() {
        let call = n % calls.len();
        *fence = submit(driver, file, &mut calls[call]);
    }
    wait(driver, file, all, &fences);
}

/// Carries a call out to its end, and makes nothing anew for it.
fn again<F: Files>(driver: &mut F, file: FileId, call: &mut Call) {
    call.ticket = None;
    loop {
        if let Poll::Ready(outcome) = driver.ioctl(file, call) {
            return outcome.expect("call succeeds");
        }
        driver.progress(Duration::from_secs(1));
    }
}

fn submit<F: Files>(driver: &mut F, file: FileId, call: &mut Call) -> u64 {
    again(driver, file, call);
    Request::ref_from_bytes(&call.argument).expect("argument keeps its size").out_fence
}

fn wait<F: Files>(driver: &mut F, file: FileId, call: &mut Call, fences: &[u64]) {
    let place = |n: usize| FENCES + (n * size_of::<Fence>()) as u64;
    for (n, &fence) in fences.iter().enumerate() {
        let asked = Fence { fence, ..Fence::new_zeroed() };
        call.memory.write(place(n), asked.as_bytes()).expect("fence has its place");
    }
    again(driver, file, call);
    for n in 0..fences.len() {
        let told = call.memory.read(place(n), size_of::<Fence>()).expect("fence has its place");
        assert_eq!(Fence::ref_from_bytes(told).expect("fence keeps its size").result, 0);
    }
}

/// The call that submits a program.
fn submission(loaded: &Loaded, priority: u32) -> Call {
    let (request, memory) = loaded.request();
    let request = Request { priority, ..request };
    Call::new(SUBMIT_REQUEST.number, request.as_bytes().to_vec(), memory)
}

/// The call that waits for so many fences.
fn waiting(fences: usize) -> Call {
    let wait = Wait {
        fences: FENCES,
        count: fences as u32,
        fence_size: size_of::<Fence>() as u32,
        timeout_ns: TIME_NEVER as i64,
        ..Wait::new_zeroed()
    };
    let mut memory = Segments::new();
    memory.push(FENCES, vec![0; fences * size_of::<Fence>()]);
    Call::new(WAIT.number, wait.as_bytes().to_vec(), memory)
}

/// Prints the three.
pub(crate) fn null_tasks(processors: &[usize]) {
    let (front, back) = (processors[0], *processors.last().expect("there is a processor"));
    pin(front);
    let ping_pong = on(back, front, PingPong::start);
    let poll = POLL.as_micros().to_string();
    let asleep = on(back, front, || Daemon::start(&[]));
    let awake = on(back, front, || Daemon::start(&["--poll-us", &poll]));
    let (mut sleeping, mut polling) =
        (DirectClient::load(&asleep, Duration::ZERO), DirectClient::load(&awake, POLL));
    let (tasks, requests) = (DEPTH as f64, REQUESTS as f64);
    let mut rounds: [Vec<f64>; 7] = Default::default();
    for _ in 0..ROUNDS {
        let figures = [
            trips(TRIPS, || ping_pong.trip()),
            trips(TRIPS, || sleeping.trip()),
            trips(TRIPS, || polling.trip()),
            trips(TRIPS / DEPTH, || sleeping.flood()) / tasks,
            trips(TRIPS / DEPTH, || polling.flood()) / tasks,
            trips(TRIPS / DEPTH, || sleeping.flood_of_singles()) / requests,
            trips(TRIPS / DEPTH, || polling.flood_of_singles()) / requests,
        ];
        rounds.iter_mut().zip(figures).for_each(|(round, figure)| round.push(figure));
    }
    let [bare, ours @ ..] = rounds;
    let what = [
        ("S1 driver", "null task through the driver, all asleep / eventfd ping-pong"),
        ("S2 driver", "null task through the driver, all poll / eventfd ping-pong"),
        ("S3 driver", "64 null tasks in 16 requests, all asleep, each / eventfd ping-pong"),
        ("S3 driver", "64 null tasks in 16 requests, all poll, each / eventfd ping-pong"),
        ("(S3)", "16 requests of one null task, all asleep, each / eventfd ping-pong"),
        ("(S3)", "16 requests of one null task, all poll, each / eventfd ping-pong"),
    ];
    for ((id, what), ours) in what.into_iter().zip(ours) {
        let ratio = median(ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect());
        let seen = format!("{:.2} us / {:.2} us", median(ours), median(bare.clone()));
        report::line(id, what, &seen, ratio);
    }
    pin_to(processors);
}
