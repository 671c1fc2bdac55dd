//! A client that has a signal while its call waits.
#![expect(unsafe_code, reason = "signals have no safe wrapper")]

use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ane_uapi::ioctl::errno::Errno;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use super::fake::{ECHO, WAIT};
use super::{LIMIT, Rig};
use ane_driver::front::Segments;

extern "C" fn ignore(_: libc::c_int) {}

#[test]
fn signal_ends_a_call_that_waits_and_the_next_call_is_served() {
    let nothing = SigAction::new(SigHandler::Handler(ignore), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler does nothing at all, and this process's own use of the signal is this test.
    unsafe { sigaction(Signal::SIGUSR2, &nothing) }.unwrap();
    let rig = Rig::new();
    let client = Arc::new(rig.client());
    let file = client.open().unwrap().file;
    let caller = Arc::clone(&client);
    let waiting = thread::spawn(move || caller.ioctl(file, WAIT, &mut [0; 8], &mut Segments::new()));
    rig.until(|journal| journal.offers >= 1);
    let end = std::time::Instant::now() + LIMIT;
    // One that comes before the thread sleeps is lost, so there are several.
    while !waiting.is_finished() {
        assert!(std::time::Instant::now() < end, "the call goes on");
        // SAFETY: the thread was not joined, so its name is good.
        unsafe { libc::pthread_kill(waiting.as_pthread_t(), libc::SIGUSR2) };
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(waiting.join().unwrap().unwrap_err().errno(), Errno::EINTR);
    client.ioctl(file, ECHO, &mut [0; 8], &mut Segments::new()).unwrap();
    rig.until(|journal| (journal.abandoned, journal.wrong) == (1, 0));
}
