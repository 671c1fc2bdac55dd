//! How long a device's death keeps clients from their work.

use std::time::{Duration, Instant};

use ane_tests::aned::Aned;
use ane_tests::client::{Clients, Loaded};
use ane_tests::daemon::{LIMIT, RestartableDaemon};
use ane_tests::null_task::program;
use ane_tests::percentile;
use ane_tests::remote::Remote;
use ane_uapi::ioctl::fence::TIME_NEVER;

use crate::report;

const DEATHS: usize = 100;

/// True if a run succeeds.
fn runs(clients: &mut Clients<Remote>, loaded: &Loaded) -> bool {
    let outcome =
        clients.submit(loaded).and_then(|fence| clients.wait_until(loaded.file, fence, TIME_NEVER as i64));
    outcome.is_ok_and(|fence| fence.result == 0)
}

/// Prints the time from a death to the next run that succeeds. Whoever looks after the device starts another at once.
pub(crate) fn recovery() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let socket = folder.path().join("ane.sock");
    let mut device = RestartableDaemon::start(&socket);
    while !socket.exists() {
        std::thread::yield_now();
    }
    let daemon = Aned::start(&socket, &[]);
    let mut clients = daemon.clients();
    let file = clients.open();
    let loaded = clients.load(file, &program(1).program());
    let mut times: Vec<f64> = (0..DEATHS)
        .map(|_| {
            for _ in 0..10 {
                assert!(runs(&mut clients, &loaded));
            }
            let start = Instant::now();
            device.restart();
            while !runs(&mut clients, &loaded) {
                assert!(start.elapsed() < LIMIT, "the device was not found again");
                std::thread::sleep(Duration::from_micros(200));
            }
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let (p50, p99) = (times[DEATHS / 2], percentile::p99(&times));
    report::line(
        "recovery",
        "a device dies and is started again, to the next run: p99",
        &format!("p50 {p50:.1} ms, p99 {p99:.1} ms"),
        p99,
    );
}
