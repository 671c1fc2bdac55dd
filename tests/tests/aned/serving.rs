//! Clients that are served side by side.

use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use ane::container::{self, Direction};
use ane::device::{Device, Fence, Location};
use ane::model::Model;
use ane::session::Session;
use ane_device::Options;
use ane_driver::front::Files;
use ane_tests::aned::Aned;
use ane_tests::daemon::Daemon;
use ane_tests::data;
use ane_tests::null_task::program;
use ane_tests::runner::surfaces;
use ane_tests::stranger;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{BO_MAP, BO_UNMAP, BoMap, BoUnmap};
use ane_uapi::ioctl::errno::Errno;
use half::f16;
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Group};
use zerocopy::FromZeros;

fn halves(values: impl IntoIterator<Item = f32>) -> Vec<f16> {
    values.into_iter().map(f16::from_f32).collect()
}

#[test]
fn compiled_program_gives_its_bits_through_the_daemon() {
    let Some(programs) = data::programs() else { return };
    let sample = programs.into_iter().find(|sample| sample.name == "sum").unwrap();
    let program = container::open(&sample.bytes).unwrap();
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let mut clients = daemon.clients();
    let file = clients.open();
    let loaded = clients.load(file, &program);
    let inputs = surfaces(&program, Direction::Input);
    clients.fill(&loaded, inputs[0], &halves([3.0; 64]));
    clients.fill(&loaded, inputs[1], &halves([2.0; 64]));
    assert_eq!(clients.run(&loaded).result, 0);
    assert_eq!(clients.take(&loaded, surfaces(&program, Direction::Output)[0]), halves([5.0; 64]));
}

#[test]
fn request_that_fails_tells_its_own_client_register_and_value_and_no_other() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let mut bytes = std::fs::read(data::example()).unwrap();
    // The depth of the first task's input.
    bytes[0x112c] = 3;
    let location = Location::Aned(Some(daemon.socket()));
    let open = || Device::open(&location, &Options::default()).unwrap();
    let (mine, other) = (open(), open());
    let model = Model::read(&bytes).unwrap();
    let why = Session::load(&mine, &model).unwrap().run().unwrap_err();
    let text = "task 0: undefined: 0x00000001 in OutDepth at 0x18";
    assert_eq!(why.to_string(), format!("request ended with EIO: {text}"));
    assert_eq!(mine.failure(Fence(1)).as_deref(), Some(text));
    assert_eq!((mine.failure(Fence(2)), other.failure(Fence(1))), (None, None));
}

#[test]
fn clients_side_by_side_each_see_their_own_values_and_nobody_elses() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let built = program(3);
    thread::scope(|scope| {
        for number in 0..7_u8 {
            let (daemon, built) = (&daemon, &built);
            scope.spawn(move || {
                let mut clients = daemon.clients();
                let file = clients.open();
                let loaded = clients.load(file, &built.program());
                for round in 0..200_u8 {
                    let value = halves([f32::from(number) * 200.0 + f32::from(round)]);
                    clients.fill(&loaded, built.surface("x").unwrap(), &value);
                    assert_eq!(clients.run(&loaded).result, 0);
                    assert_eq!(clients.take(&loaded, built.surface("y").unwrap()), value);
                }
            });
        }
    });
}

#[test]
fn handle_and_map_offset_of_one_client_lead_another_nowhere() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let (mut one, mut other) = (daemon.clients(), daemon.clients());
    let secret = {
        let file = one.open();
        let buffer = one.buffer(file, 0x10000, Usage::Input);
        one.write(buffer, 0, &[0x5a; 0x10000]);
        buffer
    };
    // The same numbers in another process: a file of its own, in which nobody made anything.
    let file = other.open();
    assert_eq!(file, secret.file);
    other.buffer(file, 0x4000, Usage::Input);
    let why = other.driver.map(file, secret.map_offset, 0x10000).unwrap_err();
    assert_eq!(why, Errno::EINVAL);
    let arena = std::fs::File::from(other.driver.arena(file).unwrap().try_clone().unwrap());
    let mut found = vec![0; 0x20000];
    std::os::unix::fs::FileExt::read_exact_at(&arena, &mut found, 0).unwrap();
    assert!(found.iter().all(|&byte| byte == 0), "another's bytes");
}

#[test]
fn ninth_client_with_a_context_is_told_so_and_has_it_once_one_is_gone() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let mut eight: Vec<_> = (0..8).map(|_| daemon.clients()).collect();
    for clients in &mut eight {
        let file = clients.open();
        clients.buffer(file, 0x4000, Usage::Input);
    }
    let mut ninth = daemon.clients();
    let file = ninth.open();
    assert_eq!(ninth.driver.arena(file).unwrap_err(), Errno::EBUSY);
    eight.pop();
    // The daemon notices the end of the connection in its own time, but before it reads a message of this client again.
    while ninth.free_contexts() == 0 {}
    ninth.driver.arena(file).unwrap();
}

#[test]
fn report_names_the_processes_of_a_context_and_what_is_mapped() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let mut clients = daemon.clients();
    let file = clients.open();
    let built = program(1);
    let loaded = clients.load(file, &built.program());
    assert_eq!(clients.run(&loaded).result, 0);
    let told = clients.driver.client().report("contexts").unwrap();
    let first = told.lines().next().unwrap();
    assert!(first.ends_with(&format!("processes {}", std::process::id())), "{told}");
    let mappings: Vec<_> = told.lines().filter(|line| line.starts_with("  0x")).collect();
    // And the driver's own pages.
    assert_eq!(mappings.len(), loaded.bars.len() + 1, "{told}");
    assert_eq!(clients.driver.client().report("faults").unwrap(), "fault clear\n");
}

#[test]
fn daemon_that_is_ended_removes_its_socket_and_one_beside_it_is_refused() {
    let device = Daemon::start(&[]);
    let mut daemon = Aned::start(&device.socket(), &[]);
    let client = daemon.client();
    let second = std::process::Command::new(ane_tests::aned::path())
        .args(["--device", "vhost-user:/nowhere", "--socket-path"])
        .arg(daemon.socket())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && said.contains("another process listens"), "{said}");
    daemon.signal(Signal::SIGTERM);
    assert!(daemon.wait().success());
    assert!(!daemon.socket().exists());
    assert_eq!(client.open().unwrap_err().to_string(), "daemon ended the connection: daemon ends");
}

#[test]
fn device_that_is_not_there_is_named_and_one_that_is_none_is_a_wrong_argument() {
    for (device, expected, code) in [
        ("vhost-user:/nowhere/ane.sock", "no device at /nowhere/ane.sock; start vhost-device-ane", 1),
        ("usb:1", "device \"usb:1\" is not known; known: vhost-user:PATH, vfio:ADDRESS", 2),
        ("vfio:ffff:00:00.0", "no device at ffff:00:00.0", 1),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = std::process::Command::new(ane_tests::aned::path())
            .args(["--device", device, "--socket-path"])
            .arg(folder.path().join("aned.sock"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(expected), "{device}: {said}");
        assert_eq!(output.status.code(), Some(code), "{device}");
    }
}

#[test]
fn client_that_maps_without_end_or_opens_without_end_stalls_nobody() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let (is_over, mapped, opened) = (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut clients = daemon.clients();
            let file = clients.open();
            let buffer = clients.buffer(file, 16 << 20, Usage::Input);
            while !is_over.load(Ordering::Relaxed) {
                let usage = Usage::Input as u32;
                let mut map = BoMap { handle: buffer.handle, usage, ..BoMap::new_zeroed() };
                clients.ioctl(file, &BO_MAP, &mut map).unwrap();
                let mapping = map.mapping;
                let mut unmap = BoUnmap { handle: buffer.handle, usage, mapping, ..BoUnmap::new_zeroed() };
                clients.ioctl(file, &BO_UNMAP, &mut unmap).unwrap();
                clients.driver.map(file, buffer.map_offset, buffer.size).unwrap();
                clients.driver.unmap(file, buffer.map_offset, buffer.size).unwrap();
                mapped.fetch_add(1, Ordering::Relaxed);
            }
        });
        scope.spawn(|| {
            let mut clients = daemon.clients();
            while !is_over.load(Ordering::Relaxed) {
                let file = clients.open();
                clients.driver.arena(file).unwrap();
                clients.driver.close(file);
                opened.fetch_add(1, Ordering::Relaxed);
            }
        });
        let mut clients = daemon.clients();
        let file = clients.open();
        let built = program(1);
        let loaded = clients.load(file, &built.program());
        let mut runs = 0;
        while runs < 200 || mapped.load(Ordering::Relaxed) < 50 || opened.load(Ordering::Relaxed) < 50 {
            assert_eq!(clients.run(&loaded).result, 0);
            runs += 1;
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn stranger_is_told_so_and_gets_no_answer_whatever_the_permissions_of_the_socket() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let Some(heard) = stranger::answer_to(&daemon.socket(), "SOCK_SEQPACKET", "let me in") else { return };
    let refusal = format!("user {} may not use this device", stranger::USER);
    assert!(heard.ends_with(&refusal), "{heard:?}");
    assert!(!heard.contains("ane-aned"), "{heard:?}");
}

#[test]
fn socket_of_a_group_lets_in_its_users_and_no_others() {
    let device = Daemon::start(&[]);
    let group = Group::from_gid(Gid::from_raw(1)).expect("it can be asked").expect("there is a first group");
    let daemon = Aned::start(&device.socket(), &["--group", &group.name]);
    let socket = std::fs::metadata(daemon.socket()).expect("it is there");
    assert_eq!((socket.mode() & 0o777, socket.gid()), (0o660, 1));
    let Some(heard) = stranger::answer_to_group(&daemon.socket(), 1, "let me in") else { return };
    let heard = heard.expect("the group may connect");
    assert!(!heard.contains("may not use this device"), "{heard:?}");
    let refused = stranger::answer_to_group(&daemon.socket(), 2, "let me in").expect("as before");
    assert_eq!(refused, None, "another group may not connect");
}
