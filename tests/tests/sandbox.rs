//! The daemon shuts off what it does not need before it serves anybody. Every other test runs against a daemon
//! that has done so, and shows that nothing is missing.

use std::fs;

use ane_driver::bus::Bus;
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_tests::control::Control;
use ane_tests::daemon::{Daemon, LIMIT};

/// Fields of the status of each thread of the daemon, while it serves a frontend and a control client.
fn of_each_thread<const N: usize>(daemon: &Daemon, fields: [&str; N]) -> Vec<[String; N]> {
    let settings = Settings { memory_bytes: 1 << 20, timeout: LIMIT, ..Settings::default() };
    let mut bus = VhostUser::connect(&daemon.socket(), settings).expect("device can be had");
    bus.reset().expect("device is there");
    let mut control = Control::connect(&daemon.control());
    control.ask("engines").expect("engines are named");
    let threads = fs::read_dir(format!("/proc/{}/task", daemon.pid())).expect("the daemon runs");
    threads
        .map(|thread| {
            let status = fs::read_to_string(thread.expect("it can be listed").path().join("status"))
                .expect("it has a status");
            fields.map(|field| {
                let value = status.lines().find_map(|line| line.strip_prefix(field));
                value.expect("the field is there").trim().to_owned()
            })
        })
        .collect()
}

#[test]
fn every_thread_of_the_daemon_is_filtered() {
    let daemon = Daemon::start(&[]);
    let modes = of_each_thread(&daemon, ["Seccomp:", "NoNewPrivs:"]);
    // The first, two that accept, the one that watches writes, the one of the frontend's queues and the client's.
    assert_eq!(modes, [["2", "1"]; 6]);
    let log = daemon.log();
    let told = "confined: all but 40 system calls are shut off, files and network are shut off";
    assert_eq!(log.matches(told).count(), 1, "{log}");
    assert!(!log.contains("WARN"), "{log}");
}

#[test]
fn sandbox_is_left_out_on_request() {
    let daemon = Daemon::start(&["--no-sandbox"]);
    assert_eq!(of_each_thread(&daemon, ["Seccomp:"]), [["0"]; 6]);
    assert!(daemon.log().contains("not confined: --no-sandbox"), "{}", daemon.log());
}
