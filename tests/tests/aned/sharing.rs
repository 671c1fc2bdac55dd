//! Files of clients that know of no contexts: more of them than there are contexts, over both sockets.

use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use ane_driver::front::Files;
use ane_tests::aned::Aned;
use ane_tests::client::{Clients, Loaded};
use ane_tests::daemon::{Daemon, LIMIT, RestartableDaemon};
use ane_tests::null_task::program;
use ane_tests::remote::Remote;
use ane_uapi::hw::usage::Usage;
use half::f16;

/// So many files that came as such clients' do, with a program each.
fn silent(clients: &mut Clients<Remote>, files: usize) -> Vec<Loaded> {
    let built = program(1);
    let load = |_| {
        let file = clients.open();
        clients.driver.arena(file).expect("there is room for it");
        clients.load(file, &built.program())
    };
    (0..files).map(load).collect()
}

/// Has all of them compute before the first result is looked at: each has a value of its own, which comes back.
fn compute(clients: &mut Clients<Remote>, all: &[Loaded], round: usize) {
    let built = program(1);
    let value = |at: usize| [f16::from_f32((round * 100 + at) as f32)];
    for (at, loaded) in all.iter().enumerate() {
        clients.fill(loaded, built.surface("x").expect("it has one"), &value(at));
    }
    for loaded in all.iter().rev() {
        assert_eq!(clients.run(loaded).result, 0);
    }
    for (at, loaded) in all.iter().enumerate() {
        assert_eq!(clients.take(loaded, built.surface("y").expect("it has one")), value(at));
    }
}

#[test]
fn twenty_files_that_share_eight_contexts_compute_apart_and_close_in_any_order() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let mut clients = daemon.clients();
    let mut all = silent(&mut clients, 20);
    compute(&mut clients, &all, 1);
    for (round, gone) in [0, 18, 7, 0, 3].into_iter().enumerate() {
        let closed = all.remove(gone);
        clients.driver.close(closed.file);
        compute(&mut clients, &all, 2 + round);
        all.extend(silent(&mut clients, 1));
        compute(&mut clients, &all, 10 + round);
    }
}

#[test]
fn arena_of_a_file_that_shares_a_context_shows_no_other_file_s_bytes() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let mut clients = daemon.clients();
    let files: Vec<_> = (0..16).map(|_| clients.open()).collect();
    for &file in &files {
        clients.driver.arena(file).unwrap();
    }
    for &file in &files[..15] {
        let buffer = clients.buffer(file, 0x10000, Usage::Input);
        clients.write(buffer, 0, &[0x5a; 0x10000]);
        assert_eq!(buffer.map_offset, 0);
    }
    let arena = clients.driver.arena(files[15]).unwrap();
    let arena = std::fs::File::from(arena.try_clone().unwrap());
    let mut found = vec![1; 0x100000];
    arena.read_exact_at(&mut found, 0).unwrap();
    assert!(found.iter().all(|&byte| byte == 0));
    assert!(clients.driver.map(files[15], 0, 0x10000).is_err(), "it has no buffer");
}

#[test]
fn device_that_is_found_again_reaches_every_arena() {
    let folder = tempfile::tempdir().unwrap();
    let mut device = RestartableDaemon::start(&folder.path().join("ane.sock"));
    let daemon = Aned::start(&device.socket, &[]);
    let mut clients = daemon.clients();
    let all = silent(&mut clients, 12);
    compute(&mut clients, &all, 1);
    device.restart();
    let end = Instant::now() + LIMIT;
    while clients.submit(&all[0]).is_err() {
        assert!(Instant::now() < end, "the device was not found again");
        std::thread::sleep(Duration::from_millis(1));
    }
    compute(&mut clients, &all, 2);
}
