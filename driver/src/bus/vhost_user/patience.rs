//! How long the device may keep silent on its socket.
//!
//! A device serves one frontend at a time. Whoever connects meanwhile is let in by the system, and heard when the other
//! one is gone; and a device that is stopped is not heard at all. A time-out of the socket does not help: `vhost` takes
//! it for an interruption and reads again. So somebody stands beside who hangs up when it took too long, which ends
//! whatever is read or written.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::transport;
use crate::bus::BusError;

/// Asks something at the other end of `socket`, for `limit` at most. What took longer has no connection any more.
pub(super) fn within<T>(
    socket: &UnixStream,
    limit: Duration,
    ask: impl FnOnce() -> Result<T, BusError>,
) -> Result<T, BusError> {
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
        let watching = thread::Builder::new().name("ane-patience".to_owned()).spawn_scoped(scope, watch);
        let watching = watching.map_err(transport("watching the time"))?;
        let outcome = ask();
        drop(answered);
        match watching.join() {
            Ok(true) => Err(BusError::TimedOut { limit }),
            _ => outcome,
        }
    })
}
