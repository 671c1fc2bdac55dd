//! A client that has a signal while its call waits.
#![expect(unsafe_code, reason = "signals have no safe wrapper")]

use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ane_uapi::ioctl::errno::Errno;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use super::fake::{ECHO, RELEASE, WAIT};
use super::{LIMIT, Rig, greet};
use ane_driver::front::Segments;
use aned_protocol::client::{Client, ClientError, Settings};
use aned_protocol::socket;

extern "C" fn ignore(_: libc::c_int) {}

/// Sends a thread signals until it ends: one that comes before it sleeps is lost.
fn pester<R>(thread: thread::JoinHandle<R>) -> R {
    let nothing = SigAction::new(SigHandler::Handler(ignore), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler does nothing at all, and this process's own use of the signal is these tests.
    unsafe { sigaction(Signal::SIGUSR2, &nothing) }.unwrap();
    let end = std::time::Instant::now() + LIMIT;
    while !thread.is_finished() {
        assert!(std::time::Instant::now() < end, "the call goes on");
        // SAFETY: the thread was not joined, so its name is good.
        unsafe { libc::pthread_kill(thread.as_pthread_t(), libc::SIGUSR2) };
        thread::sleep(Duration::from_millis(1));
    }
    thread.join().unwrap()
}

#[test]
fn signal_ends_a_call_that_waits_and_the_next_call_is_served() {
    let rig = Rig::new();
    let client = Arc::new(rig.client());
    let file = client.open().unwrap().file;
    let caller = Arc::clone(&client);
    let waiting = thread::spawn(move || caller.ioctl(file, WAIT, &mut [0; 8], &mut Segments::new()));
    rig.until(|journal| journal.offers >= 1);
    assert_eq!(pester(waiting).unwrap_err().errno(), Errno::EINTR);
    client.ioctl(file, ECHO, &mut [0; 8], &mut Segments::new()).unwrap();
    rig.until(|journal| (journal.abandoned, journal.wrong) == (1, 0));
}

#[test]
fn daemon_that_hangs_is_found_out_by_a_thread_that_has_signals_all_the_time() {
    let (here, there) = socket::pair().unwrap();
    let calling = thread::spawn(move || {
        let patience = Duration::from_secs(1);
        let client = Client::over(here, Settings { patience, ..Settings::default() }).unwrap();
        client.open().unwrap_err()
    });
    greet(&there);
    let why = pester(calling);
    assert!(matches!(&why, ClientError::Gone(why) if why.contains("did not answer")), "{why}");
}

#[test]
fn signal_also_ends_the_call_of_a_thread_for_which_another_one_reads() {
    let rig = Rig::new();
    let client = Arc::new(rig.client());
    let file = client.open().unwrap().file;
    let wait = |before| {
        let caller = Arc::clone(&client);
        let waiting = thread::spawn(move || caller.ioctl(file, WAIT, &mut [0; 8], &mut Segments::new()));
        rig.until(|journal| journal.offers > before);
        waiting
    };
    let reading = wait(0);
    let sleeping = wait(1);
    assert_eq!(pester(sleeping).unwrap_err().errno(), Errno::EINTR);
    client.ioctl(file, RELEASE, &mut [0; 8], &mut Segments::new()).unwrap();
    reading.join().unwrap().unwrap();
}
