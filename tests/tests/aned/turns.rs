//! A neighbour whose requests have 60,000 tasks, beside a client whose requests are as small as can be.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ane_tests::aned::Aned;
use ane_tests::chain;
use ane_tests::client::{Clients, Loaded};
use ane_tests::daemon::Daemon;
use ane_tests::null_task;
use ane_tests::remote::Remote;
use ane_uapi::ioctl::fence::TIME_NEVER;

/// Tasks of the neighbour's requests.
const TASKS: u32 = 60_000;

/// How long each rate is measured.
const MEASURED: Duration = Duration::from_secs(2);

fn short(daemon: &Aned) -> (Clients<Remote>, Loaded) {
    let mut clients = daemon.clients();
    let file = clients.open();
    let loaded = clients.load(file, &null_task::program(4).program());
    (clients, loaded)
}

fn long(daemon: &Aned) -> (Clients<Remote>, Loaded) {
    let mut clients = daemon.clients();
    let file = clients.open();
    let mut loaded = clients.load(file, &null_task::program(3).program());
    chain::lengthen(&mut clients, &mut loaded, TASKS);
    (clients, loaded)
}

/// Requests a second, one after the other, and the longest that one took.
fn rate((clients, loaded): &mut (Clients<Remote>, Loaded)) -> (f64, Duration) {
    let (start, mut done, mut longest) = (Instant::now(), 0, Duration::ZERO);
    while start.elapsed() < MEASURED {
        let one = Instant::now();
        assert_eq!(clients.run(loaded).result, 0);
        longest = longest.max(one.elapsed());
        done += 1;
    }
    (f64::from(done) / start.elapsed().as_secs_f64(), longest)
}

#[test]
fn client_beside_requests_of_60000_tasks_keeps_about_its_share() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let mut victim = short(&daemon);
    let (alone, _) = rate(&mut victim);
    let is_over = AtomicBool::new(false);
    let (beside, longest, neighbours) = thread::scope(|scope| {
        let neighbour = scope.spawn(|| {
            let (mut clients, loaded) = long(&daemon);
            let mut took = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let start = Instant::now();
                assert_eq!(clients.run(&loaded).result, 0);
                took.push(start.elapsed());
            }
            took
        });
        thread::sleep(Duration::from_millis(300));
        let (beside, longest) = rate(&mut victim);
        is_over.store(true, Ordering::Relaxed);
        (beside, longest, neighbour.join().expect("the neighbour is served as well"))
    });
    let share = beside / (alone / 2.0);
    println!(
        "{alone:.0} requests/s alone, {beside:.0} beside, the longest {longest:?}; {share:.2} of a fair share; \
         the neighbour's took {neighbours:?}"
    );
    // Other tests run on the same machine. Without turns it is a hundredth.
    assert!(share > 0.25, "{share:.2}");
    assert!(!neighbours.is_empty());
}

#[test]
fn neighbour_killed_in_the_midst_of_a_long_request_leaves_the_device_to_others() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let mut victim = short(&daemon);
    for round in 0..20_u64 {
        let (mut clients, loaded) = long(&daemon);
        clients.submit(&loaded).expect("request is taken");
        for _ in 0..3 {
            assert_eq!(victim.0.run(&victim.1).result, 0);
        }
        thread::sleep(Duration::from_millis(round % 12));
        // As the kernel closes the connection of a process that was killed.
        drop(clients);
        assert_eq!(victim.0.run(&victim.1).result, 0, "round {round}");
    }
    let (mut clients, loaded) = long(&daemon);
    assert_eq!(clients.run(&loaded).result, 0);
}

#[test]
fn device_killed_while_requests_are_aside_ends_them_with_an_error_and_serves_anew() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let mut victim = short(&daemon);
    let (mut clients, loaded) = long(&daemon);
    let fence = clients.submit(&loaded).expect("request is taken");
    assert_eq!(victim.0.run(&victim.1).result, 0);
    let remains = device.killed();
    let ended = clients.wait_until(loaded.file, fence, TIME_NEVER as i64);
    assert!(ended.is_err() || ended.is_ok_and(|fence| fence.result != 0));
    let _device = remains.again(&[]);
    let end = Instant::now() + Duration::from_secs(10);
    while clients.submit(&loaded).is_err() {
        assert!(Instant::now() < end, "the device is served again");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(victim.0.run(&victim.1).result, 0);
    assert_eq!(clients.run(&loaded).result, 0);
}
