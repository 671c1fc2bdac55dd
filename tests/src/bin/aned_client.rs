//! A client that runs null tasks until it is killed: `aned_client SOCKET`.
//!
//! It opens files and closes them, makes buffers and lets them go, submits and waits or does not wait, over and over, so
//! that it is somewhere in the middle of something whenever it dies. Each round that came out right is a line.

use std::path::Path;

use ane_driver::front::Files;
use ane_tests::client::Clients;
use ane_tests::null_task::program;
use ane_tests::remote::Remote;
use aned_protocol::client::{Client, Settings};
use half::f16;

fn main() {
    let socket = std::env::args().nth(1).expect("a socket");
    let client =
        Client::connect(Path::new(&socket), Settings::default()).expect("the daemon lets clients in");
    let mut clients = Clients::new(Remote::new(client));
    let built = program(4);
    let program = built.program();
    for round in 1_u16.. {
        let file = clients.open();
        let loaded = clients.load(file, &program);
        let value = [f16::from_f32(f32::from(round % 64))];
        clients.fill(&loaded, built.surface("x").expect("input"), &value);
        for _ in 0..round % 8 {
            clients.submit(&loaded).expect("request is taken");
        }
        assert_eq!(clients.run(&loaded).result, 0);
        assert_eq!(clients.take(&loaded, built.surface("y").expect("output")), value);
        println!("{round}");
        for _ in 0..round % 5 {
            clients.submit(&loaded).expect("request is taken");
        }
        clients.driver.close(file);
    }
}
