//! The same server over a device in its own process.

use std::thread;

use ane_device::Options;
use ane_tests::daemon_thread::DaemonThread;
use ane_tests::null_task::program;
use half::f16;

#[test]
fn clients_of_a_device_in_the_daemons_process_are_served_and_nothing_stays() {
    let mut daemon = DaemonThread::start(&Options::default());
    let socket = daemon.socket();
    let built = program(5);
    thread::scope(|scope| {
        for number in 0..8_u8 {
            let (daemon, built) = (&daemon, &built);
            scope.spawn(move || {
                let mut clients = daemon.clients();
                let file = clients.open();
                let loaded = clients.load(file, &built.program());
                for round in 0..20_u8 {
                    let value = [f16::from_f32(f32::from(number) * 20.0 + f32::from(round))];
                    clients.fill(&loaded, built.surface("x").unwrap(), &value);
                    assert_eq!(clients.run(&loaded).result, 0);
                    assert_eq!(clients.take(&loaded, built.surface("y").unwrap()), value);
                }
            });
        }
    });
    assert_eq!(daemon.end(), 0, "contexts in use at the end");
    assert!(!socket.exists());
}
