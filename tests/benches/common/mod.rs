//! The common part of benches of several processes: processors, and the shortest exchange between two processes.
#![expect(unsafe_code, reason = "a number becomes a descriptor")]

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::process::{Child, Command};
use std::time::Instant;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::eventfd::EventFd;
use nix::unistd::Pid;

use crate::report::median;

/// The processors that this program may use.
pub(crate) fn processors() -> Vec<usize> {
    let all = sched_getaffinity(Pid::from_raw(0)).expect("affinity can be asked");
    (0..CpuSet::count()).filter(|&n| all.is_set(n).unwrap_or(false)).collect()
}

/// Pins this thread, and what it starts from now on.
pub(crate) fn pin(processor: usize) {
    pin_to(&[processor]);
}

/// Lets this thread, and what it starts from now on, use these processors.
pub(crate) fn pin_to(processors: &[usize]) {
    let mut set = CpuSet::new();
    processors.iter().for_each(|&one| set.set(one).expect("processor exists"));
    sched_setaffinity(Pid::from_raw(0), &set).expect("affinity can be set");
}

/// Starts something on another processor than this one's.
pub(crate) fn on<T>(there: usize, here: usize, start: impl FnOnce() -> T) -> T {
    pin(there);
    let started = start();
    pin(here);
    started
}

/// The median of so many round trips, in microseconds.
pub(crate) fn trips(count: usize, mut trip: impl FnMut()) -> f64 {
    for _ in 0..count / 10 {
        trip();
    }
    let times = (0..count)
        .map(|_| {
            let start = Instant::now();
            trip();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    median(times)
}

/// The bare ping-pong: an eventfd there, and one back.
pub(crate) struct PingPong {
    child: Child,
    ping: EventFd,
    pong: EventFd,
}

impl PingPong {
    /// Starts the other side, which is this program again.
    pub(crate) fn start() -> Self {
        // Not closed on exec: the other process inherits them.
        let eventfd = || EventFd::new().expect("an eventfd can be made");
        let (ping, pong) = (eventfd(), eventfd());
        let number = |fd: &EventFd| fd.as_fd().as_raw_fd().to_string();
        let child = Command::new(std::env::current_exe().expect("a bench knows itself"))
            .args(["--echo", &number(&ping), &number(&pong)])
            .spawn()
            .expect("a bench can start itself");
        Self { child, ping, pong }
    }

    pub(crate) fn trip(&self) {
        self.ping.write(1).expect("eventfd takes a ping");
        self.pong.read().expect("the other side answers");
    }
}

impl Drop for PingPong {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// If these are the arguments of the other side of a ping-pong, is that until it is killed.
pub(crate) fn echo_if_asked(arguments: &[String]) {
    if let [_, mode, ping, pong] = arguments
        && mode == "--echo"
    {
        echo(ping.parse().expect("a descriptor"), pong.parse().expect("a descriptor"));
    }
}

/// The other side of the ping-pong, until it is killed.
fn echo(ping: RawFd, pong: RawFd) -> ! {
    let file = |fd| {
        // SAFETY: the parent made both descriptors for this process and names each once; nothing else uses them.
        std::fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) })
    };
    let (mut ping, mut pong) = (file(ping), file(pong));
    let mut count = [0; 8];
    loop {
        std::io::Read::read_exact(&mut ping, &mut count).expect("ping can be read");
        std::io::Write::write_all(&mut pong, &1u64.to_ne_bytes()).expect("pong can be written");
    }
}
