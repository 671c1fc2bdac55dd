//! The engine as a PCI function behind a vfio-user socket, for drivers of the real one.
//!
//! A virtual machine monitor connects as the client of the vfio-user protocol, asks what the function has, hands over guest
//! memory as descriptors, and sends each access of the guest to a BAR as a message. The BARs are described in
//! `ane_uapi::wire::platform`; what accesses do in `ane_device::platform`. One client is served at a time; when it leaves, whatever
//! it did is forgotten, and the next one finds the engine after power-on.
//!
//! * this file: a socket, and one client after the other; * [`message`]: what is said on it, to the byte;
//! * [`connection`]: one client, and the turns of the engine between its messages;
//! * [`function`]: configuration space; * [`interrupts`]: lines and what they raise; * [`memory`]: the guest's memory.
//!
//! The crate of that name speaks the protocol too, and tests use it as the client. Its server panics on a greeting that is no
//! text, and sizes buffers by what a client says; a client of this device is not trusted, so the messages are read here.

mod connection;
mod function;
mod interrupts;
mod memory;
mod message;

use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use self::connection::Connection;
use super::hold::Hold;
use super::journal::{self, Kind};
use super::ringing;
use super::worker::Worker;

/// A pause after a failure to accept, so that one that lasts does not become a busy loop.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves one engine until the program ends.
pub(crate) fn serve(name: &str, listener: &UnixListener, engine: &Arc<Hold>) -> ! {
    loop {
        match listener.accept() {
            Ok((stream, _)) => client(name, stream, engine),
            Err(why) => {
                journal::write(Kind::Disconnection, format_args!("{name}: client cannot be served: {why}"));
                thread::sleep(PAUSE);
            }
        }
    }
}

/// Serves one client until it leaves, and forgets what it did.
pub(crate) fn client(name: &str, stream: UnixStream, engine: &Hold) {
    journal::write(Kind::Connection, format_args!("{name}: client is there"));
    let outcome = Connection::new(stream, engine).and_then(|mut connection| {
        let outcome = connection.serve();
        // With whatever nobody read.
        let _watched = ringing::begin();
        drop(connection);
        outcome
    });
    match outcome {
        Ok(()) => journal::write(Kind::Connection, format_args!("{name}: client is gone")),
        Err(why) => {
            journal::write(Kind::Disconnection, format_args!("{name}: client was disconnected: {why}"))
        }
    }
    engine.with_worker(Worker::forget);
}
