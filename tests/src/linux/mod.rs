//! Today's Linux driver, as far as the device can tell: what it writes and reads, in its order, and what it makes of it.
//!
//! This is the contract as data. A submission is a list of steps, each a write, or a read and what has to come of it;
//! around them are the loop that polls, the fast path of a fault, and the cycle of the power that gets a wedged engine
//! back. It knows nothing of the device but ranges and offsets, which stand here as numbers and not as the device's own
//! tables, so that a number that moves there shows here. An [`Mmio`] carries the accesses.
//!
//! * this file: submission; * [`memory`]: buffers and page tables, as `apple-dart` makes them; * [`recover`]: faults and power;
//! * [`rig`]: a program for it; * [`job_file`]: the same for the module in tests/kernel, which is this driver in a guest.

pub mod job_file;
pub mod memory;
pub mod recover;
pub mod rig;

use ane_device::platform::Range;

use self::memory::Space;

/// Carries loads and stores of 32 bits to a device, and has the caller's clock.
pub trait Mmio {
    fn read(&mut self, range: Range, offset: u32) -> u32;
    fn write(&mut self, range: Range, offset: u32, value: u32);
    /// Microseconds that have passed.
    fn now(&mut self) -> u64;
}

/// Offset of the task manager in the engine's range.
pub const MANAGER: u32 = 0x2_0000;
/// Offset of the queue that the driver uses, number 4.
pub const QUEUE: u32 = 0x2_1000 + 4 * 0x148;
/// The network id of every request.
pub const NID: u32 = 0x40;

/// How long the driver polls, in microseconds.
const PATIENCE: u64 = 1_000_000;
/// More events than this on a line are an error.
const EVENTS_MAX: u32 = 64;

/// One access of a fixed sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A store to the engine's range.
    Write(u32, u32),
    /// A load, and what it has to give.
    Expect(u32, u32),
}

/// The error that a submission ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    Io,
    /// It did not end in time.
    TimedOut,
    /// The engine is wedged, and could not be got back.
    Canceled,
}

/// The events on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Pages that were put where the engine found none.
    pub contained: usize,
    /// Cycles of the power.
    pub cycles: usize,
    /// Third word of the event on the first line, raw.
    pub stamp: u32,
    /// Accesses from the staging to the end.
    pub accesses: u64,
}

#[derive(Clone, Debug)]
pub struct Job {
    /// Base addresses; those that are absent are zero.
    pub bars: [u32; 32],
    /// Device address of the first descriptor.
    pub first: u32,
    pub first_bytes: u32,
    /// Tasks of the chain.
    pub tasks: u32,
}

impl Job {
    const fn size_word(&self) -> u32 {
        (self.first_bytes / 4 - 1) << 16
    }

    /// The steps before the push: writes, and reads of what was written.
    pub fn staging(&self) -> Vec<Step> {
        let mut steps = vec![Step::Write(QUEUE, 1)];
        steps.extend((0..).zip(self.bars).map(|(bar, value)| Step::Write(QUEUE + 0x20 + 4 * bar, value)));
        steps.extend([
            Step::Write(QUEUE + 0x130, self.size_word()),
            Step::Write(QUEUE + 0x134, self.first),
            Step::Write(QUEUE + 0xa0, NID << 8 | 1),
            // The manager's registers get what the queue's own hold, so those have to hold it.
            Step::Expect(QUEUE + 0x134, self.first),
            Step::Write(MANAGER, self.first),
            Step::Expect(QUEUE + 0x130, self.size_word()),
            Step::Write(MANAGER + 4, self.size_word() | self.tasks),
            Step::Expect(MANAGER, self.first),
            Step::Expect(MANAGER + 4, self.size_word() | self.tasks),
        ]);
        steps
    }

    /// The word that both lines have to give.
    pub const fn done_word(&self) -> u32 {
        0x0500_0000 | NID << 16 | (self.tasks - 1)
    }
}

/// The write that starts a request: queue and priority.
pub const PUSH: Step = Step::Write(MANAGER + 8, 0x405);

/// The steps on the queue when its request has ended.
pub const RETIRE: [Step; 3] =
    [Step::Expect(QUEUE + 0xa0, NID << 8 | 1), Step::Write(QUEUE + 0xa0, NID << 8), Step::Write(QUEUE, 0)];

/// The steps of the driver whenever the engine gets its power.
pub fn enabling() -> Vec<Step> {
    let priorities = [1, 2, 3, 4, 5, 6, 0x1e, 0x1f];
    let queues =
        (0..).zip(priorities).map(|(queue, word)| Step::Write(0x2_1000 + 0x148 * queue + 0x10, word));
    [Step::Write(MANAGER + 0xc, 0x1000)]
        .into_iter()
        .chain(queues)
        .chain([Step::Write(MANAGER + 0x68, 0x400_0000), Step::Write(MANAGER + 0x70, 6)])
        .collect()
}

/// The driver of one device.
pub struct Linux<T> {
    /// The way to the device.
    pub mmio: T,
    /// Buffers and tables.
    pub space: Space,
    seen: Observed,
    accesses: u64,
}

impl<T: Mmio> Linux<T> {
    /// Probes: resets the DARTs, gives them tables, and enables the engine.
    ///
    /// # Panics
    ///
    /// If the device does not answer as one of an M1.
    pub fn probe(mmio: T, space: Space) -> Self {
        let mut linux = Self { mmio, space, seen: Observed::default(), accesses: 0 };
        linux.attach_darts();
        linux.enable();
        linux
    }

    fn read(&mut self, range: Range, offset: u32) -> u32 {
        self.accesses += 1;
        self.mmio.read(range, offset)
    }

    fn write(&mut self, range: Range, offset: u32, value: u32) {
        self.accesses += 1;
        self.mmio.write(range, offset, value);
    }

    /// Enables the engine, and looks at its signature.
    ///
    /// # Panics
    ///
    /// If it is not idle.
    pub fn enable(&mut self) {
        self.play(&enabling()).expect("there is nothing to expect");
        assert_eq!(self.read(Range::Engine, MANAGER + 0x54) & 1, 1, "engine is idle when it is enabled");
    }

    /// Makes accesses one after the other; gives the first read that does not give what it has to.
    ///
    /// # Errors
    ///
    /// The step, and what the read gave.
    pub fn play(&mut self, steps: &[Step]) -> Result<(), (Step, u32)> {
        for &step in steps {
            match step {
                Step::Write(offset, value) => self.write(Range::Engine, offset, value),
                Step::Expect(offset, expected) => {
                    let found = self.read(Range::Engine, offset);
                    if found != expected {
                        return Err((step, found));
                    }
                }
            }
        }
        Ok(())
    }

    /// Submits a request and waits for its end; says what was seen on the way.
    pub fn submit(&mut self, job: &Job) -> (Result<(), Errno>, Observed) {
        self.seen = Observed::default();
        let before = self.accesses;
        let ended = self.try_submit(job);
        self.seen.accesses = self.accesses - before;
        (ended, self.seen)
    }

    fn try_submit(&mut self, job: &Job) -> Result<(), Errno> {
        if self.play(&job.staging()).is_err() {
            return Err(self.recovered(Errno::Io));
        }
        for line in [0, 1] {
            if self.events(line, 0).is_none() {
                return Err(self.recovered(Errno::Io));
            }
        }
        self.play(&[PUSH]).expect("there is nothing to expect");
        let polled = self.poll(job);
        let contained = self.give_pages_back();
        if let Err(errno) = polled {
            return Err(self.recovered(errno));
        }
        if self.play(&RETIRE).is_err() {
            return Err(self.recovered(Errno::Io));
        }
        self.seen.contained = contained;
        if contained > 0 { Err(Errno::Io) } else { Ok(()) }
    }

    /// Reads a line to its end; gives the third word of the last event whose first is `word`, or that there was none. `None`
    /// if the line says that it holds more than it can.
    fn events(&mut self, line: u32, word: u32) -> Option<Option<u32>> {
        let at = MANAGER + 0x14 * line;
        let mut done = None;
        let mut left = self.read(Range::Engine, at + 0x14);
        if left > EVENTS_MAX {
            return None;
        }
        while left > 0 {
            let words = [0x18, 0x1c, 0x20, 0x24].map(|offset| self.read(Range::Engine, at + offset));
            if words[0] == word {
                done = Some(words[2]);
            }
            left -= 1;
        }
        let acknowledged = self.read(Range::Engine, MANAGER + 0x6c) | 2;
        self.write(Range::Engine, MANAGER + 0x6c, acknowledged);
        Some(done)
    }

    /// Looks again and again, until both lines and the status say that the request has ended.
    fn poll(&mut self, job: &Job) -> Result<(), Errno> {
        let mut finished = [false; 2];
        let mut start = self.mmio.now();
        loop {
            // No register of the engine is touched while a DART holds a fault: that hangs the machine.
            if let Some(dart) = self.faulted_dart() {
                self.contain(dart)?;
                start = self.mmio.now();
                continue;
            }
            for line in [0, 1] {
                let seen = self.events(line, job.done_word()).ok_or(Errno::Io)?;
                if let Some(stamp) = seen {
                    finished[line as usize] = true;
                    self.seen.stamp = stamp;
                }
            }
            let is_idle = self.read(Range::Engine, MANAGER + 0x54) & 1 == 1;
            if finished == [true; 2] && is_idle {
                return Ok(());
            }
            if self.mmio.now() - start > PATIENCE {
                return Err(Errno::TimedOut);
            }
        }
    }
}
