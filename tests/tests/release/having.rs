//! The resources of a process, as the system reports them: they have to be the same again when all clients are gone.

use std::thread;
use std::time::{Duration, Instant};

use ane_tests::daemon::LIMIT;

/// Descriptors, threads and memory of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Having {
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    /// Kibibytes of its own that lie in memory.
    pub(crate) resident: u64,
}

impl Having {
    /// The resources of a process now.
    pub(crate) fn of(process: u32) -> Self {
        let entries =
            |what| std::fs::read_dir(format!("/proc/{process}/{what}")).expect("the process lives").count();
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process lives");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("Linux tells it");
        let resident = line.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number");
        Self { descriptors: entries("fd"), threads: entries("task"), resident }
    }

    /// The resources of a process once it is at rest, which means that two looks in a row agree.
    pub(crate) fn at_rest(process: u32) -> Self {
        let mut last = Self::of(process);
        let end = Instant::now() + LIMIT;
        loop {
            thread::sleep(Duration::from_millis(50));
            let now = Self::of(process);
            if (now.descriptors, now.threads) == (last.descriptors, last.threads) || Instant::now() > end {
                return now;
            }
            last = now;
        }
    }

    /// The resources of a process before and after, in words and numbers.
    pub(crate) fn told(before: &Self, after: &Self) -> String {
        format!(
            "descriptors {} to {}, threads {} to {}, memory {} to {} KiB",
            before.descriptors,
            after.descriptors,
            before.threads,
            after.threads,
            before.resident,
            after.resident
        )
    }

    /// Whether the resources are at most those of `before` and `kibibytes` of memory.
    pub(crate) const fn is_back(&self, before: &Self, kibibytes: u64) -> bool {
        self.descriptors <= before.descriptors
            && self.threads <= before.threads
            && self.resident <= before.resident + kibibytes
    }

    /// The resources of a process once it is back, or when it was given time enough.
    pub(crate) fn once_back(process: u32, before: &Self, kibibytes: u64) -> Self {
        let end = Instant::now() + LIMIT;
        loop {
            let now = Self::of(process);
            if now.is_back(before, kibibytes) || Instant::now() > end {
                return now;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}
