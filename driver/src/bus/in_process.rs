//! A device in this process: a call instead of a kick.
//!
//! Nothing has to be set up and nothing runs beside the caller: the engine works while somebody waits for an
//! event, on the thread that waits. A device may do otherwise, and says so by a descriptor that is readable when it is
//! to be asked to work again ([`Device::wakeup`]). Whoever joins driver and device says what the device is; this file
//! only knows what it has to do.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::{EngineOffset, IovaRange, PhysAddr};
use ane_uapi::hw::usage::Usage;
use ane_uapi::wire::config::Config;
use ane_uapi::wire::ctrl::Status;
use ane_uapi::wire::event::Event;
use ane_uapi::wire::sideband::{Declaration, Regions};
use vm_memory::MmapRegion;

use super::{Arena, Bus, BusError, DmaMemory, Operation};

/// Where the memory starts for the device: not at zero, so that a device address used as a physical one is
/// noticed.
pub const MEMORY_BASE: PhysAddr = PhysAddr(0x1_0000_0000);

/// What is left for the engine to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// There is more to do now.
    pub pending: bool,
    /// When there will be, if nothing else happens until then.
    pub after: Option<Duration>,
}

/// An access that ends its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// As what.
    pub status: Status,
    /// More about it.
    pub detail: u32,
}

/// What the driver needs of a device in its process.
pub trait Device {
    /// What the device says it is.
    fn config(&self) -> &Config;

    /// Reads a register.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the batch ends here.
    fn read(&mut self, at: EngineOffset) -> Result<u32, Refused>;

    /// Writes a register.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the batch ends here.
    fn write(&mut self, at: EngineOffset, value: u32) -> Result<(), Refused>;

    /// Back to the state after power-on.
    fn reset(&mut self);

    /// From now on the device reaches these, each at its physical address, and nothing else.
    ///
    /// # Errors
    ///
    /// What is wrong with them; the device reaches what it did.
    fn reach(&mut self, regions: Vec<(PhysAddr, Arc<MmapRegion>)>) -> Result<(), String>;

    /// Hears what a mapping is for, or that it is no more.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the device does not check, or has no room for more.
    fn declare(&mut self, stream: StreamId, range: IovaRange, usage: Option<Usage>) -> Result<(), Refused>;

    /// Carries out a message to PE_MMU, as a whole or not at all.
    ///
    /// # Errors
    ///
    /// Which entry was refused, if it was one, and why. A device without PE_MMU refuses all of them.
    fn regions(&mut self, _: Regions<'_>) -> Result<(), (Option<u32>, Refused)> {
        Err((None, Refused { status: Status::Absent, detail: 0 }))
    }

    /// What the last error was, in words, if it is the one that the error registers had these values for.
    fn reason(&self, _registers: [u32; 3]) -> Option<String> {
        None
    }

    /// Runs at most one task.
    fn work(&mut self) -> Work;

    /// Readable when there is something to do that another thread has prepared, until the device works.
    fn wakeup(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The next event that has happened.
    fn event(&mut self) -> Option<Event>;
}

/// A bus to a device in this process.
pub struct InProcess<D> {
    device: D,
    memory: DmaMemory,
    arenas: [Option<Arena>; ContextId::COUNT as usize],
    /// What is left to do, as far as is known: a batch may have brought more.
    left: Work,
}

impl<D: Device> InProcess<D> {
    /// A bus to `device`, which reaches `memory`.
    pub const fn new(device: D, memory: DmaMemory) -> Self {
        Self {
            device,
            memory,
            arenas: [const { None }; ContextId::COUNT as usize],
            left: Work { pending: true, after: None },
        }
    }

    /// The device.
    pub const fn device(&self) -> &D {
        &self.device
    }

    /// The device, to ask of it what no bus carries.
    pub const fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Lets the device reach these arenas, and what it reaches always.
    fn reach(&mut self, arenas: [Option<Arena>; ContextId::COUNT as usize]) -> Result<(), BusError> {
        // An arena of this bus is one region: its file has a single stretch.
        let of_arenas = arenas.iter().flatten().filter_map(|arena| {
            let stretch = arena.stretches().first()?;
            Some((stretch.at, Arc::clone(arena.region())))
        });
        let regions = std::iter::once((self.memory.base(), self.memory.shared_region())).chain(of_arenas);
        self.device
            .reach(regions.collect())
            .map_err(|why| BusError::Transport { action: "sharing memory", why })?;
        self.arenas = arenas;
        Ok(())
    }
}

impl<D: Device> Bus for InProcess<D> {
    fn config(&self) -> &Config {
        self.device.config()
    }

    fn memory(&self) -> &DmaMemory {
        &self.memory
    }

    fn arena(&mut self, context: ContextId) -> Result<Arena, BusError> {
        let arena = Arena::of(context)?;
        let mut arenas = self.arenas.clone();
        arenas[context.index()] = Some(arena.clone());
        self.reach(arenas)?;
        Ok(arena)
    }

    fn retire(&mut self, context: ContextId) -> Result<(), BusError> {
        let mut arenas = self.arenas.clone();
        arenas[context.index()] = None;
        self.reach(arenas)
    }

    fn batch(&mut self, operations: &[Operation], values: &mut [u32]) -> Result<usize, BusError> {
        let limit = usize::from(self.device.config().batch_max.get());
        if operations.len() > limit {
            return Err(BusError::TooLong { len: operations.len(), limit });
        }
        let reads = operations.iter().filter(|operation| matches!(operation, Operation::Read(_))).count();
        if reads > values.len() {
            return Err(BusError::TooFewPlaces { reads, places: values.len() });
        }
        // Whatever is written may start something.
        self.left.pending = true;
        let mut read = 0;
        for (index, operation) in (0..).zip(operations) {
            let outcome = match *operation {
                Operation::Read(at) => self.device.read(at).map(|value| {
                    values[read] = value;
                    read += 1;
                }),
                Operation::Write(at, value) => self.device.write(at, value),
            };
            if let Err(Refused { status, detail }) = outcome {
                return Err(BusError::Refused { status, done: index, index: Some(index), detail });
            }
        }
        Ok(read)
    }

    fn reset(&mut self) -> Result<(), BusError> {
        self.left = Work { pending: true, after: None };
        self.device.reset();
        Ok(())
    }

    fn declare(&mut self, declarations: &[Declaration]) -> Result<(), BusError> {
        let refused = |index, Refused { status, detail }| BusError::Refused {
            status,
            done: index,
            index: Some(index),
            detail,
        };
        let bad = Refused { status: Status::BadEntry, detail: 0 };
        // All of them first: a message with a bad one has no effect.
        let decoded: Result<Vec<_>, _> = (0..)
            .zip(declarations)
            .map(|(index, declaration)| declaration.decode().ok_or_else(|| refused(index, bad)))
            .collect();
        for (index, (stream, range, usage)) in (0..).zip(decoded?) {
            self.device.declare(stream, range, usage).map_err(|why| refused(index, why))?;
        }
        Ok(())
    }

    fn regions(&mut self, regions: Regions<'_>) -> Result<(), BusError> {
        let refused =
            |(index, Refused { status, detail })| BusError::Refused { status, done: 0, index, detail };
        self.device.regions(regions).map_err(refused)
    }

    fn reason(&mut self, registers: [u32; 3]) -> Option<String> {
        self.device.reason(registers)
    }

    fn event(&mut self, limit: Duration) -> Result<Option<Event>, BusError> {
        let start = Instant::now();
        loop {
            if let Some(event) = self.device.event() {
                return Ok(Some(event));
            }
            let left = limit.saturating_sub(start.elapsed());
            self.left = self.device.work();
            match self.left {
                Work { pending: true, .. } if limit.is_zero() => return Ok(self.device.event()),
                Work { pending: true, .. } => {}
                // Nothing will happen but what a later call of this bus starts.
                Work { after: None, .. } => return Ok(self.device.event()),
                Work { .. } if left.is_zero() => return Ok(self.device.event()),
                Work { after: Some(after), .. } => std::thread::sleep(after.min(left)),
            }
        }
    }

    fn arrived(&mut self) -> Result<Option<Event>, BusError> {
        Ok(self.device.event())
    }

    fn is_pending(&self) -> bool {
        self.left.pending
    }

    fn due(&self) -> Option<Duration> {
        self.left.after
    }

    fn wakeup(&self) -> Option<BorrowedFd<'_>> {
        self.device.wakeup()
    }
}

#[cfg(test)]
mod tests {
    use zerocopy::FromZeros;

    use super::*;

    /// A device of one register, which is refused from the third access on.
    struct Fake {
        config: Config,
        accesses: u32,
        tasks: u32,
        reached: Vec<PhysAddr>,
    }

    impl Device for Fake {
        fn config(&self) -> &Config {
            &self.config
        }

        fn read(&mut self, at: EngineOffset) -> Result<u32, Refused> {
            self.write(at, 0).map(|()| self.accesses)
        }

        fn write(&mut self, _: EngineOffset, _: u32) -> Result<(), Refused> {
            self.accesses += 1;
            if self.accesses > 2 { Err(Refused { status: Status::Dead, detail: 7 }) } else { Ok(()) }
        }

        fn reset(&mut self) {
            self.accesses = 0;
        }

        fn reach(&mut self, regions: Vec<(PhysAddr, Arc<MmapRegion>)>) -> Result<(), String> {
            self.reached = regions.into_iter().map(|(at, _)| at).collect();
            Ok(())
        }

        fn declare(&mut self, _: StreamId, _: IovaRange, usage: Option<Usage>) -> Result<(), Refused> {
            self.accesses += u32::from(usage.is_some());
            Ok(())
        }

        fn work(&mut self) -> Work {
            self.tasks = self.tasks.saturating_sub(1);
            Work { pending: self.tasks > 0, after: None }
        }

        fn event(&mut self) -> Option<Event> {
            (self.tasks == 1).then(Event::new_zeroed)
        }
    }

    fn bus(tasks: u32) -> InProcess<Fake> {
        let mut config = Config::new_zeroed();
        config.batch_max.set(4);
        let memory = DmaMemory::new(MEMORY_BASE, 0x4000).unwrap();
        InProcess::new(Fake { config, accesses: 0, tasks, reached: Vec::new() }, memory)
    }

    const AT: EngineOffset = EngineOffset(0);

    #[test]
    fn batch_ends_at_the_refused_operation_and_keeps_what_was_read() {
        let mut values = [0; 3];
        let outcome = bus(0).batch(&[Operation::Read(AT); 3], &mut values);
        assert!(matches!(outcome, Err(BusError::Refused { done: 2, index: Some(2), detail: 7, .. })));
        assert_eq!(values, [1, 2, 0]);
    }

    #[test]
    fn batch_that_is_too_long_or_has_too_few_places_touches_nothing() {
        let mut bus = bus(0);
        let long = bus.batch(&[Operation::Write(AT, 0); 5], &mut []);
        assert!(matches!(long, Err(BusError::TooLong { len: 5, limit: 4 })));
        let narrow = bus.batch(&[Operation::Read(AT)], &mut []);
        assert!(matches!(narrow, Err(BusError::TooFewPlaces { reads: 1, places: 0 })));
        assert_eq!(bus.device().accesses, 0);
    }

    #[test]
    fn message_with_a_bad_declaration_has_no_effect() {
        let mut bus = bus(0);
        let range = IovaRange::new(0x4000, 0x4000).unwrap();
        let good = Declaration::new(StreamId::BASE, range, Usage::try_from(1).ok());
        let mut bad = good;
        bad.size.set(0);
        let outcome = bus.declare(&[good, bad]);
        assert!(matches!(outcome, Err(BusError::Refused { status: Status::BadEntry, index: Some(1), .. })));
        assert_eq!(bus.device().accesses, 0);
        bus.declare(&[good]).unwrap();
        assert_eq!(bus.device().accesses, 1);
    }

    #[test]
    fn waiting_for_an_event_lets_the_engine_work_until_there_is_one_or_nothing_to_do() {
        assert!(bus(5).event(Duration::from_secs(1)).unwrap().is_some());
        assert!(bus(0).event(Duration::from_secs(1)).unwrap().is_none());
    }

    #[test]
    fn without_time_to_wait_the_engine_does_one_task() {
        let mut bus = bus(3);
        assert!(bus.is_pending());
        assert!(bus.event(Duration::ZERO).unwrap().is_none());
        assert_eq!((bus.device().tasks, bus.is_pending()), (2, true));
        assert!(bus.arrived().unwrap().is_none());
        assert_eq!(bus.device().tasks, 2);
    }

    #[test]
    fn device_reaches_the_arena_of_a_context_until_it_is_retired() {
        let mut bus = bus(0);
        let [first, second] = [0, 1].map(|number| ContextId::new(number).unwrap());
        let arenas = [first, second].map(|context| bus.arena(context).unwrap().stretches()[0].at);
        assert_eq!(bus.device().reached, [MEMORY_BASE, arenas[0], arenas[1]]);
        bus.retire(first).unwrap();
        assert_eq!(bus.device().reached, [MEMORY_BASE, arenas[1]]);
    }
}
