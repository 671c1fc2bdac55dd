//! Interrupts a thread that is stuck in a call which a frontend can hold up.
//!
//! A write to a full eventfd waits if the frontend says so, at any time and whatever was said before. No flag of a single
//! write prevents that. Closing a connection waits for its other end if its owner said so (`SO_LINGER`), and what lies unread in
//! a socket is closed with it. So each thread says when it begins such a call and when it is back; a thread that watches
//! looks a few times a second, and interrupts a call that has lasted from one look to the next by a signal that does
//! nothing else.
#![expect(unsafe_code, reason = "signals to a thread have no safe interface")]

use std::cell::OnceCell;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use super::journal::{self, Kind};
use super::lock::lock;

/// The signal that interrupts.
const SIGNAL: Signal = Signal::SIGUSR2;

/// How long from one look to the next: such a call takes microseconds, and the thread that is stuck may have the engine.
pub(crate) const LOOK: Duration = Duration::from_millis(250);

/// A thread that makes such calls, and how often it began or ended to: odd while it is at it.
struct Writer {
    thread: libc::pid_t,
    count: AtomicU64,
}

/// Every thread that ever made such a call and has not ended.
static WRITERS: Mutex<Vec<Arc<Writer>>> = Mutex::new(Vec::new());

/// Signalled when there is a writer; the watching thread sleeps until then.
static IS_ANY: Condvar = Condvar::new();

thread_local! {
    static SELF: OnceCell<Listed> = const { OnceCell::new() };
}

/// A thread's place among the writers, until it ends.
struct Listed(Arc<Writer>);

impl Drop for Listed {
    fn drop(&mut self) {
        // Under the lock: the thread that signals holds it, and so signals no thread that is gone.
        lock(&WRITERS).retain(|writer| !Arc::ptr_eq(writer, &self.0));
    }
}

/// A call that is watched, while this lives.
pub(crate) struct Ringing(Arc<Writer>);

impl Drop for Ringing {
    fn drop(&mut self) {
        self.0.count.fetch_add(1, Ordering::SeqCst);
    }
}

/// Says that this thread begins a call that a frontend can hold up.
pub(crate) fn begin() -> Ringing {
    let writer = SELF.with(|cell| {
        let listed = cell.get_or_init(|| {
            // SAFETY: it asks for a number, and cannot fail.
            let thread = unsafe { libc::gettid() };
            let writer = Arc::new(Writer { thread, count: AtomicU64::new(0) });
            lock(&WRITERS).push(Arc::clone(&writer));
            IS_ANY.notify_all();
            Listed(writer)
        });
        Arc::clone(&listed.0)
    });
    writer.count.fetch_add(1, Ordering::SeqCst);
    Ringing(writer)
}

/// Has the signal interrupt and do nothing else; and that of a file that is as long as it may be: the write fails, and is told.
pub(crate) fn set_handlers() -> io::Result<()> {
    extern "C" fn nothing(_: i32) {}
    // Without SA_RESTART: the call that is interrupted is to fail.
    let action = SigAction::new(SigHandler::Handler(nothing), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler does nothing at all, which is safe at any time.
    unsafe { sigaction(SIGNAL, &action) }?;
    // SAFETY: the same.
    unsafe { sigaction(Signal::SIGXFSZ, &action) }?;
    Ok(())
}

/// Starts the thread that looks, once for all engines. `process` is this process, which may not ask for its number any more.
pub(crate) fn watch(process: u32, look: Duration) -> io::Result<()> {
    let process = libc::pid_t::try_from(process).map_err(io::Error::other)?;
    thread::Builder::new()
        .name("watch".to_owned())
        .spawn(move || {
            let mut seen: Vec<(Arc<Writer>, u64)> = Vec::new();
            loop {
                let idle = IS_ANY.wait_while(lock(&WRITERS), |writers| writers.is_empty());
                drop(idle.unwrap_or_else(PoisonError::into_inner));
                thread::sleep(look);
                seen = look_around(process, &seen);
            }
        })
        .map(drop)
}

/// Interrupts each writer that is still in the call of the last look, and returns the count of every writer.
fn look_around(process: libc::pid_t, seen: &[(Arc<Writer>, u64)]) -> Vec<(Arc<Writer>, u64)> {
    let writers = lock(&WRITERS);
    let mut now = Vec::with_capacity(writers.len());
    for writer in writers.iter() {
        let count = writer.count.load(Ordering::SeqCst);
        let is_stuck = count % 2 == 1
            && seen.iter().any(|(known, before)| Arc::ptr_eq(known, writer) && *before == count);
        if is_stuck {
            journal::write(
                Kind::Descriptor,
                format_args!("a peer's descriptor holds a thread up; the call is interrupted"),
            );
            // A thread that is listed lives as long as the list is locked. It is named to the system itself: the C library would ask
            // for the number of this process first.
            // SAFETY: the numbers are those of a thread that lives, and the signal's handler does nothing.
            let _ = unsafe { libc::syscall(libc::SYS_tgkill, process, writer.thread, SIGNAL as libc::c_int) };
        }
        now.push((Arc::clone(writer), count));
    }
    now
}
