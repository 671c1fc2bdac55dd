//! The engine as a platform device: accesses, lines, and turns without queues.
//!
//! Should the model fail, then that is our mistake: the engine answers nothing until it is reset.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ane_device::engine::cancel::Cancel;
use ane_device::platform::{Lines, Range};
use ane_device::time::Ticks;

use super::{Turn, Worker, now};

impl Worker {
    pub(crate) fn lines(&self) -> Lines {
        if self.failed { Lines::default() } else { self.platform.lines(&self.ane) }
    }

    /// Reads so many bytes of a range; one that polls for the end of a request waits for it.
    pub(crate) fn read_range(&mut self, at: (Range, u64, u8), cancel: &dyn Cancel) -> u64 {
        if self.failed {
            return u64::MAX;
        }
        let start = self.start;
        let Self { platform, ane, .. } = self;
        let clock = || now(start);
        let read = catch_unwind(AssertUnwindSafe(|| platform.read(ane, at, &clock, cancel)));
        read.unwrap_or_else(|_| {
            self.fail("reading a register");
            u64::MAX
        })
    }

    pub(crate) fn write_range(&mut self, at: (Range, u64, u8), value: u64) {
        if self.failed {
            return;
        }
        let time = self.now();
        let Self { platform, ane, .. } = self;
        let written = catch_unwind(AssertUnwindSafe(|| platform.write(ane, at, value, time)));
        if written.is_err() {
            self.fail("writing a register");
        }
    }

    pub(crate) fn ranges_turn(&mut self, cancel: &dyn Cancel) -> Turn {
        if self.failed {
            return Turn::default();
        }
        let time = self.now();
        let Self { platform, ane, .. } = self;
        let worked = catch_unwind(AssertUnwindSafe(|| platform.work(ane, time, cancel)));
        let Ok(work) = worked else {
            self.fail("running a task");
            return Turn::default();
        };
        if !work.pending || self.ane.timeline_mut().is_filling_up() {
            self.trace.take(self.ane.timeline_mut());
        }
        Turn { busy: work.pending, at: work.at.filter(|at| *at > Ticks::ZERO), ..Turn::default() }
    }
}
