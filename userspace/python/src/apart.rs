//! Long work apart from the interpreter: on a thread of its own, so that a signal ends the wait for it.
//!
//! Python looks for signals on its main thread alone, and only where it is asked to. So the caller's thread waits, without
//! the interpreter's lock, and asks now and then. After an exception of a signal handler the work is told to stop, and what
//! becomes of it is dropped on its own thread: it ends where it looks, or at its bounded end.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::raise;

/// How long is waited before signals are looked at: what a person who presses Ctrl-C does not notice.
const SLICE: Duration = Duration::from_millis(50);

/// Bytes of the thread's stack: what a program's first thread has.
const STACK_BYTES: usize = 8 << 20;

/// Whether the work is still wanted.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Does `work` on a thread of its own, and gives its result.
///
/// # Errors
///
/// The exception of a signal handler, such as `KeyboardInterrupt`; `OSError` if there is no thread.
pub(crate) fn apart<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> T + Send + 'static,
) -> PyResult<T> {
    let stop = Stop::default();
    let (sender, mut receiver) = mpsc::sync_channel(1);
    let own = stop.clone();
    let run = move || {
        // Nobody may be waiting any more.
        let _ = sender.send(work(&own));
    };
    let thread = thread::Builder::new().name("ane work".to_owned()).stack_size(STACK_BYTES).spawn(run);
    let thread = thread.map_err(|why| raise::system(&why, None))?;
    loop {
        let received;
        (receiver, received) = py.detach(move || {
            let received = receiver.recv_timeout(SLICE);
            (receiver, received)
        });
        match received {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| {
                stop.0.store(true, Ordering::Relaxed);
            })?,
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panicked) => panic::resume_unwind(panicked),
                Ok(()) => return Err(raise::wrong_value("the thread ended without a result")),
            },
        }
    }
}
