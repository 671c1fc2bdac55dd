//! How long the device may keep silent on its socket.
//!
//! A device serves one frontend at a time. The system accepts the connection of another one, and the device answers it when
//! the first one is gone. A device that is stopped does not answer at all. A time-out of the socket does not help: `vhost`
//! takes it for an interruption and reads again. So a thread waits beside the call and shuts the connection when the limit
//! has passed, which ends every read and write.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::transport;
use crate::bus::{BusError, Result};

/// Calls `ask`, which waits for the other end of `socket`. After `limit` the connection is shut, so `ask` fails.
pub(super) fn within<T>(socket: &UnixStream, limit: Duration, ask: impl FnOnce() -> Result<T>) -> Result<T> {
    let (answered, answer) = mpsc::channel::<()>();
    let watch = move || {
        let is_late = answer.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        if is_late {
            // One that hung up by itself is as quiet.
            let _ = socket.shutdown(Shutdown::Both);
        }
        is_late
    };
    thread::scope(|scope| {
        let watching = thread::Builder::new().name("ane-timeout".to_owned()).spawn_scoped(scope, watch);
        let watching = watching.map_err(transport("watching the time"))?;
        let outcome = ask();
        drop(answered);
        match watching.join() {
            Ok(true) => Err(BusError::TimedOut { limit }),
            _ => outcome,
        }
    })
}
