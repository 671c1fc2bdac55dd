//! F9: random ioctls. Whatever is called, an error is one that docs/uapi.md lists for that call.
//!
//! A third of the arguments is noise; the others are mostly right: fields are handles, addresses and small numbers that mean
//! something, so that calls get beyond the first check.

use std::collections::BTreeMap;
use std::task::Poll;
use std::time::Duration;

use ane::embedded;
use ane_device::Options;
use ane_driver::Driver;
use ane_driver::clock::{Clock, Manual, Time};
use ane_driver::front::{Call, FileId, Files, Segments};
use ane_tests::client::{Clients, Loaded};
use ane_tests::null_task::program;
use ane_tests::random::Random;
use ane_uapi::abi::FieldLayout;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::number::Ioctl;
use ane_uapi::ioctl::{ALWAYS, DRM_IOCTLS, IOCTLS, find};
use zerocopy::IntoBytes;

use super::harness::{Figure, Verdict};

const FIGURE: Figure = Figure {
    id: "F9",
    what: "random ioctls",
    wanted: "no panic; each errno is one that docs/uapi.md lists for the call",
    ci: 20_000,
    release: 1_000_000,
};

/// Calls on one driver, before the next has a fresh one.
const CALLS: u64 = 5_000;
/// Looks at a call that waits, before it is given up as if a signal had come.
const LOOKS: u32 = 20;
/// Where a caller's arrays lie.
const ARRAYS: [u64; 3] = [0x7000_0000_0000, 0x40_0000, 0x80_0000];

/// A clock on which a little time passes with each look.
struct Passing(Manual);

impl Clock for Passing {
    fn now(&self) -> Time {
        self.0.advance(Duration::from_micros(50));
        self.0.now()
    }
}

struct RandomCalls {
    clients: Clients<Driver<embedded::InProcess>>,
    files: Vec<(FileId, Loaded)>,
    random: Random,
}

impl RandomCalls {
    fn new(random: Random) -> Self {
        let bus = embedded::open(&Options::default(), 32 << 20).expect("a device can be had");
        let driver = Driver::with_clock(bus, Box::new(Passing(Manual::default()))).expect("it is a device");
        let mut calls = Self { clients: Clients::new(driver), files: Vec::new(), random };
        (0..3).for_each(|_| calls.open());
        calls
    }

    /// A file with a program in it.
    fn open(&mut self) {
        let is_privileged = self.random.below(4) == 0;
        let file = self.clients.open_as(is_privileged);
        let loaded = self.clients.load(file, &program(2).program());
        self.clients.buffer(file, 1 << 16, Usage::Intermediate);
        self.files.push((file, loaded));
    }

    /// A number as a client might put it into a field of so many bytes.
    fn value(&mut self, file: FileId, bytes: usize) -> u64 {
        let random = &mut self.random;
        let small = u64::from(random.below(8));
        match random.below(16) {
            0..=4 => small,
            5 => ARRAYS[random.below(3) as usize],
            6 => 0x4000 * small,
            7 => u64::from(random.below(200)),
            8 => u64::MAX,
            9 => 1 << random.below(64),
            10 => (1 << random.below(64)) - 1,
            11 => u64::from(random.word()),
            12 => random.next(),
            13 => bytes as u64 * small,
            14 => file.0,
            _ => 24,
        }
    }

    fn set(&mut self, file: FileId, field: &FieldLayout, argument: &mut [u8]) {
        let count = field.count.unwrap_or(1).max(1);
        let each = field.size / count;
        let Some(part) = argument.get_mut(field.offset..field.offset + field.size) else { return };
        let at = self.random.below(count as u32) as usize * each;
        let value = self.value(file, each).to_le_bytes();
        let bytes = each.min(8);
        part[at..at + bytes].copy_from_slice(&value[..bytes]);
    }

    /// An argument of a call, and what it may point at.
    fn argument(&mut self, index: usize, ioctl: &Ioctl) -> (Vec<u8>, Segments) {
        let (file, loaded) = self.files[index].clone();
        let (request, mut memory) = loaded.request();
        let mut argument = vec![0; ioctl.structure.size];
        let kind = self.random.below(3);
        if kind == 0 {
            argument.fill_with(|| self.random.word() as u8);
        } else if kind == 1 && argument.len() == request.as_bytes().len() {
            argument.copy_from_slice(request.as_bytes());
        }
        let fields = ioctl.structure.fields;
        let changes = if kind == 2 { fields.len() as u32 } else { self.random.below(3) };
        for _ in 0..changes {
            let field = &fields[self.random.below(fields.len() as u32) as usize];
            self.set(file, field, &mut argument);
        }
        for at in &ARRAYS[1..] {
            let bytes = 8 * self.random.below(64) as usize;
            let requests = request.as_bytes().repeat(4);
            let noise = (0..bytes).map(|_| self.random.below(3) as u8).collect();
            memory.push(*at, if self.random.below(2) == 0 { requests } else { noise });
        }
        (argument, memory)
    }

    /// Calls once. The result, if it ended, and the call's number.
    fn call(&mut self) -> (u32, Option<Result<(), Errno>>) {
        let index = self.random.below(self.files.len() as u32) as usize;
        let all = IOCTLS.len() + DRM_IOCTLS.len();
        let ioctl = IOCTLS.iter().chain(DRM_IOCTLS).nth(self.random.below(all as u32) as usize);
        let ioctl = ioctl.expect("there are so many");
        let (argument, memory) = self.argument(index, ioctl);
        let number = match self.random.below(32) {
            0 => self.random.word(),
            1 => ioctl.number ^ 1 << self.random.below(32),
            _ => ioctl.number,
        };
        let file = self.files[index].0;
        let mut call = Call::new(number, argument, memory);
        for _ in 0..LOOKS {
            if let Poll::Ready(ended) = self.clients.driver.ioctl(file, &mut call) {
                return (number, Some(ended));
            }
            self.clients.driver.progress(Duration::ZERO);
        }
        self.clients.driver.abandon(file, call);
        (number, None)
    }

    /// A file goes and another comes.
    fn exchange(&mut self) {
        let index = self.random.below(self.files.len() as u32) as usize;
        let (file, _) = self.files.swap_remove(index);
        self.clients.driver.close(file);
        self.clients.settle();
        self.open();
    }
}

/// Whether the page lists an error for a number. A number without a call may fail in any way.
fn is_listed(number: u32, errno: Errno) -> bool {
    let own = find(number).map_or(&[][..], |ioctl| ioctl.refusals);
    own.iter().chain(ALWAYS).any(|refusal| refusal.errno == errno)
}

#[test]
fn f9_random_ioctls_end_with_errors_that_the_page_lists() {
    FIGURE.run(|plan| {
        let mut seen = BTreeMap::<String, u64>::new();
        let mut wrong = Vec::new();
        for part in 0..plan.count.div_ceil(CALLS) {
            let mut calls = RandomCalls::new(plan.random(part));
            for number in 0..CALLS.min(plan.count - part * CALLS) {
                if number % 250 == 249 {
                    calls.exchange();
                }
                let (call, ended) = calls.call();
                let word = match ended {
                    None => "waiting".to_owned(),
                    Some(Ok(())) => "done".to_owned(),
                    Some(Err(errno)) => {
                        if !is_listed(call, errno) {
                            let name = find(call).map_or("no call", |ioctl| ioctl.c_name);
                            wrong.push(format!("{} from {name} ({call:#x})", errno.name()));
                        }
                        errno.name().to_owned()
                    }
                };
                *seen.entry(word).or_default() += 1;
            }
        }
        let count = wrong.len();
        wrong.sort_unstable();
        wrong.dedup();
        let ends: Vec<String> = seen.iter().map(|(word, count)| format!("{count} {word}")).collect();
        let mut got = format!("{} calls: {}; {count} not listed", plan.count, ends.join(", "));
        if count > 0 {
            got = format!("{got}: {}", wrong.join(", "));
        }
        // A run whose calls all fail, or all succeed, has shown nothing.
        let is_mixed = ["done", "EINVAL", "ENOENT", "EFAULT"].iter().all(|word| seen.contains_key(*word));
        Verdict::counted(got, count == 0 && is_mixed)
    });
}
