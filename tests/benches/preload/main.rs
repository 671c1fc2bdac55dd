//! The cost of an ioctl for a program under the preload library, beside the same call on a driver in the process.
//!
//! The program is this one again, started with the library; the daemon is a thread here. Both sides make the same calls
//! in turns, a batch each, so that whatever else the machine does meets both; the figure to quote is the difference of
//! the medians. Daemon and program each look for the other before they sleep, so a second core helps.
//!
//! `cargo bench -p ane-tests --bench preload`
#![expect(unsafe_code, reason = "calls of a C program")]

#[path = "../../../device/benches/report/mod.rs"]
mod report;

use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::ptr;
use std::task::Poll;
use std::time::Instant;

use ane::embedded;
use ane_device::Options;
use ane_driver::Driver;
use ane_driver::front::{Call, Credentials, Files, Segments, User};
use ane_tests::preload::Preload;
use ane_uapi::ioctl::drm_ane::{BO_INIT, BoInit};
use ane_uapi::ioctl::param::{GET_PARAM, GetParam, Param};
use nix::libc;
use report::median;
use zerocopy::{FromZeros, IntoBytes};

/// Rounds of which the median is taken: many and short, so that what else the machine does meets few of them.
const ROUNDS: usize = 201;

/// Calls of a round: many beside the first, which finds the daemon asleep and is told apart.
const CALLS: u32 = 1000;

/// Set for the program under the library.
const CLIENT: &str = "ANE_BENCH_CLIENT";

/// Bytes of the large mapping.
const LARGE: usize = 64 << 20;

fn nanoseconds(calls: u32, mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
}

fn page_size() -> GetParam {
    GetParam { param: Param::PageSize as u32, ..GetParam::new_zeroed() }
}

fn ioctl<T>(fd: i32, number: u32, argument: &mut T) {
    // SAFETY: the argument is as long as the number says, and borrowed for the call.
    let result = unsafe { libc::ioctl(fd, number.into(), ptr::from_mut(argument)) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// Microseconds that mapping `LARGE` bytes of a file and giving them back takes.
fn mapping(fd: i32, offset: u64) -> f64 {
    let map = || {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the system chooses an address where nothing is.
        let at = unsafe { libc::mmap(ptr::null_mut(), LARGE, prot, libc::MAP_SHARED, fd, offset as i64) };
        assert_ne!(at, libc::MAP_FAILED);
        // SAFETY: it was just mapped, and nobody uses it.
        unsafe { libc::munmap(at, LARGE) };
    };
    nanoseconds(10, map) / 1e3
}

/// Microseconds that copying as many bytes takes.
fn copying(from: &[u8], into: &mut [u8]) -> f64 {
    nanoseconds(1, || black_box(&mut *into).copy_from_slice(black_box(from))) / 1e3
}

/// The program: for each line that it reads it prints what a call took, and one that is not the device's, a mapping of
/// the node, and a copy of as many bytes.
fn client() {
    let node = OpenOptions::new().read(true).write(true).open("/dev/accel/accel0").expect("the node opens");
    let fd = node.as_raw_fd();
    let mut init = BoInit { size: LARGE as u64, ..BoInit::new_zeroed() };
    ioctl(fd, BO_INIT.number, &mut init);
    let (pipe, _other) = nix::unistd::pipe().expect("a pipe can be made");
    let (from, mut into) = (vec![1; LARGE], vec![0; LARGE]);
    for line in std::io::stdin().lines() {
        line.expect("the bench is there");
        let first = nanoseconds(1, || ioctl(fd, GET_PARAM.number, &mut page_size()));
        let device = nanoseconds(CALLS, || ioctl(fd, GET_PARAM.number, &mut page_size()));
        let other = nanoseconds(CALLS, || ioctl(pipe.as_raw_fd(), libc::FIONREAD as u32, &mut 0_i32));
        println!("{first} {device} {other} {} {}", mapping(fd, init.offset), copying(&from, &mut into));
    }
}

fn main() {
    if std::env::var_os(CLIENT).is_some() {
        return client();
    }
    let bus = embedded::open(&Options::default(), 32 << 20).expect("the device can be made");
    let mut driver = Driver::probe(bus).expect("the driver finds it");
    let file = driver
        .open(Credentials { process: 1, user: User { id: 1, is_privileged: false } })
        .expect("a file opens");
    let mut embedded = || {
        let mut call = Call::new(GET_PARAM.number, page_size().as_bytes().to_vec(), Segments::new());
        assert_eq!(driver.ioctl(file, &mut call), Poll::Ready(Ok(())));
    };
    let (pipe, _other) = nix::unistd::pipe().expect("a pipe can be made");

    let preload = Preload::start(&Options::default());
    let mut command = Command::new(std::env::current_exe().expect("a bench knows its own path"));
    command.env(CLIENT, "1").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = preload.set_up(&mut command).spawn().expect("the program starts");
    let mut ask = child.stdin.take().expect("it is piped");
    let mut answers = BufReader::new(child.stdout.take().expect("it is piped")).lines();

    let mut seen = [const { Vec::new() }; 7];
    for _ in 0..ROUNDS {
        writeln!(ask, "go").expect("the program reads");
        let line = answers.next().expect("the program answers").expect("the program answers");
        let there = line.split(' ').map(|number| number.parse::<f64>().expect("a number"));
        let here = [
            nanoseconds(CALLS, &mut embedded),
            nanoseconds(CALLS, || ioctl(pipe.as_raw_fd(), libc::FIONREAD as u32, &mut 0_i32)),
        ];
        for (seen, number) in seen.iter_mut().zip(there.chain(here)) {
            seen.push(number);
        }
    }
    drop(ask);
    child.wait().expect("the program ends");

    let [first, call, other, map, copy, call_here, other_here] = seen.map(median);
    let line = |id, what: &str, unit, there: f64, here: f64, figure| {
        report::line(id, what, &format!("{there:.0} {unit} / {here:.0} {unit}"), figure);
    };
    let beyond = (call - call_here) / 1e3;
    line("U2", "ioctl through the preload library, beyond the embedded call", "ns", call, call_here, beyond);
    let woken = (first - call_here) / 1e3;
    line("(U2)", "the first after a pause, the daemon asleep", "ns", first, call_here, woken);
    let ratio = other / other_here;
    line("U3", "ioctl that is not the device's, with the library / without", "ns", other, other_here, ratio);
    let ratio = map / copy;
    line("U4", "mapping 64 MiB of the node / copying them", "us", map, copy, ratio);
}
