//! Behind a daemon: a client whose task takes long keeps nobody else from being served.

use std::path::Path;
use std::thread;
use std::time::Duration;

use ane_device::Options;
use ane_device::options::Numerics;
use ane_driver::front::FileId;
use ane_tests::aned::Aned;
use ane_tests::client::Clients;
use ane_tests::daemon::Daemon;
use ane_tests::daemon_thread::DaemonThread;
use ane_tests::long_task::endless;
use ane_tests::null_task::program;
use ane_tests::remote::Remote;
use ane_uapi::ioctl::errno::Errno;
use aned_protocol::client::{Client, Settings};
use half::f16;

/// Less than any task here takes, and more than a call does.
const PATIENCE: Duration = Duration::from_secs(5);

/// A daemon whose device computes exactly, which takes long.
fn exact() -> DaemonThread {
    DaemonThread::start(&Options { numerics: Numerics::Exact, ..Options::default() })
}

/// A client that gives up a daemon which keeps it waiting.
fn client(socket: &Path) -> Clients<Remote> {
    let settings = Settings { patience: PATIENCE, ..Settings::default() };
    Clients::new(Remote::new(Client::connect(socket, settings).expect("the daemon lets clients in")))
}

/// A client whose task takes minutes, and the fence of it.
fn busy(socket: &Path) -> (Clients<Remote>, FileId, u64) {
    let mut clients = client(socket);
    let file = clients.open();
    let loaded = clients.load(file, &endless().program());
    let fence = clients.submit(&loaded).expect("request is taken");
    // So that it is being computed by now.
    thread::sleep(Duration::from_millis(300));
    (clients, file, fence)
}

/// Whether a request still runs.
fn still_runs((clients, file, fence): &mut (Clients<Remote>, FileId, u64)) -> bool {
    clients.wait_until(*file, *fence, 1).err() == Some(Errno::ETIMEDOUT)
}

/// A client comes, opens, maps and submits while another's task runs, and is done when that client leaves.
fn serves_others(socket: &Path) {
    let mut first = busy(socket);
    assert!(still_runs(&mut first));
    let mut second = client(socket);
    let file = second.open();
    let built = program(2);
    let loaded = second.load(file, &built.program());
    let value = [f16::from_f32(3.0)];
    second.fill(&loaded, built.surface("x").expect("is there"), &value);
    let fence = second.submit(&loaded).expect("request is taken");
    assert_eq!(second.wait_until(file, fence, 1).err(), Some(Errno::ETIMEDOUT), "the engine is another's");
    assert!(still_runs(&mut first));
    drop(first);
    assert_eq!(second.wait(file, fence).result, 0);
    assert_eq!(second.take(&loaded, built.surface("y").expect("is there")), value);
}

#[test]
fn daemon_with_its_own_device_serves_others_while_a_task_runs() {
    let mut daemon = exact();
    serves_others(&daemon.socket());
    assert_eq!(daemon.end(), 0);
}

#[test]
fn daemon_before_another_process_serves_others_while_a_task_runs() {
    let device = Daemon::start(&["--numerics", "exact"]);
    let daemon = Aned::start(&device.socket(), &[]);
    serves_others(&daemon.socket());
    assert!(!device.log().contains("called off"), "{}", device.log());
}

#[test]
fn daemon_that_is_to_end_does_not_wait_for_the_task_that_runs() {
    let mut daemon = exact();
    let (mut clients, file, fence) = busy(&daemon.socket());
    thread::scope(|scope| {
        let waits = scope.spawn(move || clients.wait_until(file, fence, i64::MAX).err());
        // So that the call waits when the end comes.
        thread::sleep(Duration::from_millis(100));
        assert_eq!(daemon.end(), 0);
        assert_eq!(waits.join().expect("the call ends"), Some(Errno::ENODEV));
    });
}
