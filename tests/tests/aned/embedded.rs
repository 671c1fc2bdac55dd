//! The same server over a device in its own process.

use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use ane::daemon;
use ane_device::Options;
use ane_driver::report::report;
use ane_tests::client::Clients;
use ane_tests::null_task::program;
use ane_tests::remote::Remote;
use aned::place::{Access, Place};
use aned::server::Settings;
use aned_protocol::client::{self, Client};
use half::f16;

#[test]
fn clients_of_a_device_in_the_daemons_process_are_served_and_nothing_stays() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("aned.sock");
    let place = Place::listen(&socket, Access::default()).unwrap();
    let (stopped, stop) = nix::unistd::pipe().unwrap();
    let settings =
        Settings { poll: Duration::from_micros(100), report: Some(Box::new(report)), ..Settings::default() };
    let server = thread::spawn(move || {
        let driver = daemon::driver(&Options::default()).unwrap();
        daemon::serve(driver, place, settings, stopped.as_fd()).map(|driver| driver.contexts().len())
    });
    let built = program(5);
    thread::scope(|scope| {
        for number in 0..8_u8 {
            let (socket, built) = (&socket, &built);
            scope.spawn(move || {
                let client = Client::connect(socket, client::Settings::default()).unwrap();
                let mut clients = Clients::new(Remote::new(client));
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
    drop(stop);
    assert_eq!(server.join().unwrap().unwrap(), 0, "contexts in use at the end");
    assert!(!socket.exists());
}
