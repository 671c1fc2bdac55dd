//! Anything, in any order: eight clients and a device that misbehaves, and what holds all the same.
//!
//! Every submission ends exactly once; nothing is left of a client that is gone; no two clients have the same memory
//! unless they asked for it. `ANE_STEPS=100000 cargo nextest run -p ane-tests --test driver state_machine` goes on for
//! longer.

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use ane::embedded;
use ane_device::Options;
use ane_driver::Driver;
use ane_driver::clock::{Clock, Manual, Time};
use ane_driver::front::{FileId, Files, Segments};
use ane_tests::client::{Buffer, Clients, Loaded};
use ane_tests::random::Random;
use ane_uapi::abi::AbiStruct;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{BO_CREATE, BO_MAP, BO_PREMAP, BO_UNMAP, BoCreate, BoMap, BoPremap, BoUnmap};
use ane_uapi::ioctl::context::{CONTEXT_ANY, CONTEXT_ATTACH, CONTEXT_DETACH, ContextAttach, ContextDetach};
use ane_uapi::ioctl::drm::{GEM_CLOSE, GemClose};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fault::{GET_FAULT, GetFault, RECOVER, Recover};
use ane_uapi::ioctl::fence::{CANCEL, Cancel, FenceState};
use ane_uapi::ioctl::number::Ioctl;
use ane_uapi::ioctl::param::Param;
use ane_uapi::ioctl::pool::{
    POOL_CREATE, POOL_DESTROY, POOL_RECYCLE, POOL_TAKE, PoolCreate, PoolDestroy, PoolRecycle, PoolTake,
};
use ane_uapi::ioctl::program::{
    PROGRAM_CREATE, PROGRAM_DESTROY, ProgramBinding, ProgramBuffer, ProgramCreate, ProgramDestroy,
};
use ane_uapi::ioctl::request::{Chain, REQUEST_NONBLOCK, Request, SUBMIT_CHAIN, SUBMIT_REQUEST};
use ane_uapi::ioctl::stats::Counter;
use zerocopy::{FromBytes, FromZeros, IntoBytes, KnownLayout};

use super::rig::{EmbeddedClients, MEMORY, ane, counter, inject, param, sum};

const AT: u64 = 0x40_0000;
const CLIENTS: usize = 8;

/// The ways in which a request ends.
const ENDS: [(&str, Counter); 4] = [
    ("completed", Counter::Completed),
    ("failed", Counter::Failed),
    ("cancelled", Counter::Cancelled),
    ("timed out", Counter::TimedOut),
];

/// Calls that random steps do now and then: a driver that refused one of them always would keep every promise below.
const DONE: [Ioctl; 17] = [
    BO_CREATE,
    BO_MAP,
    BO_UNMAP,
    BO_PREMAP,
    GEM_CLOSE,
    POOL_CREATE,
    POOL_RECYCLE,
    POOL_TAKE,
    POOL_DESTROY,
    PROGRAM_CREATE,
    PROGRAM_DESTROY,
    SUBMIT_REQUEST,
    SUBMIT_CHAIN,
    CANCEL,
    RECOVER,
    CONTEXT_DETACH,
    CONTEXT_ATTACH,
];

#[derive(Default)]
struct ClientState {
    loaded: Option<Loaded>,
    buffers: Vec<Buffer>,
    pools: Vec<u32>,
    programs: Vec<u32>,
    fences: Vec<u64>,
}

struct StateMachine {
    rig: EmbeddedClients,
    clock: Manual,
    clients: BTreeMap<FileId, ClientState>,
    random: Random,
    taken: u64,
    /// How often each call was done, and how many requests ended in each way.
    tally: BTreeMap<&'static str, u64>,
}

/// A clock that is wound, and on which a little time passes with each look: what waits for a moment waits no longer.
struct PassingClock(Manual);

impl Clock for PassingClock {
    fn now(&self) -> Time {
        self.0.advance(Duration::from_micros(10));
        self.0.now()
    }
}

impl StateMachine {
    fn new(seed: u64) -> Self {
        let clock = Manual::default();
        let bus = embedded::open(&Options::default(), MEMORY).unwrap();
        let rig = Clients::new(Driver::with_clock(bus, Box::new(PassingClock(clock.clone()))).unwrap());
        Self {
            rig,
            clock,
            clients: BTreeMap::new(),
            random: Random::new(seed),
            taken: 0,
            tally: BTreeMap::new(),
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.next() % limit
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        let index = self.below(of.len().max(1) as u64);
        of.get(index as usize).copied()
    }

    /// Calls, whatever comes of it: what is wrong is refused, and that is all.
    fn call<T: AbiStruct + KnownLayout>(
        &mut self,
        file: FileId,
        ioctl: &Ioctl,
        argument: T,
    ) -> Result<T, Errno> {
        self.call_with(file, ioctl, argument, &mut Segments::new())
    }

    /// A call with memory that it names.
    fn call_with<T: AbiStruct + KnownLayout>(
        &mut self,
        file: FileId,
        ioctl: &Ioctl,
        mut argument: T,
        memory: &mut Segments,
    ) -> Result<T, Errno> {
        self.rig.ioctl_with(file, ioctl, &mut argument, memory)?;
        *self.tally.entry(ioctl.c_name).or_default() += 1;
        Ok(argument)
    }

    fn step(&mut self) {
        let files: Vec<FileId> = self.clients.keys().copied().collect();
        if files.len() < CLIENTS && (files.is_empty() || self.below(8) == 0) {
            return self.open();
        }
        let Some(file) = self.pick(&files) else { return };
        match self.below(40) {
            0 => self.close(file),
            1..=3 => self.make_buffer(file),
            4..=5 => self.change_buffer(file),
            6..=7 => self.change_pool(file),
            8..=9 => self.change_program(file),
            10..=21 => self.submit(file),
            22..=24 => self.submit_chain(file),
            25..=26 => self.cancel(file),
            27 => self.misbehave(),
            28..=29 => self.recover(file),
            30 => self.clock.advance(Duration::from_millis(self.random.next() % 600)),
            31 => self.context(file),
            _ => {
                self.rig.driver.progress(Duration::ZERO);
            }
        }
    }

    fn open(&mut self) {
        let is_privileged = self.below(4) == 0;
        // A file that was closed keeps its context until the device has let go of its requests.
        self.rig.settle();
        if self.rig.driver.contexts().len() == CLIENTS {
            return;
        }
        let file = self.rig.open_as(is_privileged);
        let mut client = ClientState::default();
        if self.below(4) != 0 {
            client.loaded = sum(&mut self.rig, file);
        }
        self.clients.insert(file, client);
    }

    fn close(&mut self, file: FileId) {
        self.clients.remove(&file);
        self.rig.driver.close(file);
    }

    fn make_buffer(&mut self, file: FileId) {
        let usage = [1, 2, 7, 8, 9, 11][self.below(6) as usize];
        let pools = self.clients[&file].pools.clone();
        let create = BoCreate {
            size: 1 + self.below(0x4_0000),
            flags: [0, 1, 4, 8, 9, 12][self.below(6) as usize],
            usage,
            pool: if usage == 2 { self.pick(&pools).unwrap_or(0) } else { 0 },
            ..BoCreate::new_zeroed()
        };
        if let Ok(made) = self.call(file, &BO_CREATE, create) {
            let buffer = Buffer { file, handle: made.handle, size: made.size, map_offset: made.map_offset };
            self.clients.get_mut(&file).unwrap().buffers.push(buffer);
        }
    }

    fn change_buffer(&mut self, file: FileId) {
        let buffers = self.clients[&file].buffers.clone();
        let Some(Buffer { handle, size, .. }) = self.pick(&buffers) else { return };
        match self.below(4) {
            0 => {
                let map = BoMap { handle, usage: Usage::Input as u32, ..BoMap::new_zeroed() };
                let _ = self.call(file, &BO_MAP, map);
            }
            1 => {
                let unmap = BoUnmap { handle, mapping: self.below(3) as u32, usage: 1, reserved: 0 };
                let _ = self.call(file, &BO_UNMAP, unmap);
            }
            2 => {
                let premap =
                    BoPremap { count: 1, handle, usage: 7, reserved: 0, device_address: u64::MAX, size };
                let _ = self.call(file, &BO_PREMAP, premap);
            }
            _ => {
                let _ = self.call(file, &GEM_CLOSE, GemClose { handle, padding: 0 });
            }
        }
    }

    fn change_pool(&mut self, file: FileId) {
        let pools = self.clients[&file].pools.clone();
        match self.pick(&pools) {
            Some(pool) if self.below(2) == 0 => {
                let buffers = self.clients[&file].buffers.clone();
                if let Some(Buffer { handle, .. }) = self.pick(&buffers) {
                    let _ = self.call(file, &POOL_RECYCLE, PoolRecycle { pool, handle });
                }
                // The handle is that of a buffer that is known already.
                let _ = self.call(file, &POOL_TAKE, PoolTake { pool, handle: 0, size: 1 });
            }
            Some(handle) if self.below(3) == 0 => {
                let _ = self.call(file, &POOL_DESTROY, PoolDestroy { handle, reserved: 0 });
            }
            _ => {
                let create = PoolCreate { capacity: 3, ..PoolCreate::new_zeroed() };
                if let Ok(made) = self.call(file, &POOL_CREATE, create) {
                    self.clients.get_mut(&file).unwrap().pools.push(made.handle);
                }
            }
        }
    }

    fn change_program(&mut self, file: FileId) {
        let programs = self.clients[&file].programs.clone();
        if let Some(handle) = self.pick(&programs)
            && self.below(2) == 0
        {
            let _ = self.call(file, &PROGRAM_DESTROY, ProgramDestroy { handle, reserved: 0 });
            return;
        }
        let Some(loaded) = self.clients[&file].loaded.clone() else { return };
        let part = |&(index, buffer): &(u8, Buffer)| ProgramBuffer {
            handle: buffer.handle,
            usage: if index == 0 { 9 } else { 7 },
            offset: 0,
            size: buffer.size,
        };
        let buffers: Vec<ProgramBuffer> = loaded.bars.iter().map(part).collect();
        let bindings: Vec<ProgramBinding> = (0..)
            .zip(&loaded.bars)
            .map(|(buffer, (index, _))| ProgramBinding { bar: (*index).into(), buffer, offset: 0 })
            .collect();
        let mut memory = Segments::new();
        memory.push(AT, buffers.as_bytes().to_vec());
        memory.push(AT / 2, bindings.as_bytes().to_vec());
        let text = loaded.bars.iter().position(|(index, _)| *index == 0).unwrap() as u32;
        let create = ProgramCreate {
            buffers: AT,
            buffer_count: buffers.len() as u32,
            buffer_size: size_of::<ProgramBuffer>() as u32,
            bindings: AT / 2,
            binding_count: bindings.len() as u32,
            binding_size: size_of::<ProgramBinding>() as u32,
            text,
            stream_size: loaded.stream_size,
            task_count: loaded.task_count,
            first_size: loaded.first_size,
            ..ProgramCreate::new_zeroed()
        };
        if let Ok(made) = self.call_with(file, &PROGRAM_CREATE, create, &mut memory) {
            self.clients.get_mut(&file).unwrap().programs.push(made.handle);
        }
    }

    /// A request of this client's, raw or of a program, perhaps behind another of its own.
    fn request(&mut self, file: FileId) -> Option<(Request, Segments)> {
        let loaded = self.clients[&file].loaded.clone()?;
        let (mut request, mut memory) = loaded.request();
        let programs = self.clients[&file].programs.clone();
        if let Some(program) = self.pick(&programs)
            && self.below(2) == 0
        {
            request = Request { program, ..Request::new_zeroed() };
        }
        request.priority = 2 + self.below(6) as u32;
        request.flags = [0, 2][self.below(2) as usize];
        let fences = self.clients[&file].fences.clone();
        if let Some(fence) = self.pick(&fences)
            && self.below(4) == 0
        {
            memory.push(AT, fence.as_bytes().to_vec());
            (request.in_fences, request.in_fence_count) = (AT, 1);
        }
        if self.below(8) == 0 {
            let now = param(&mut self.rig, file, Param::ClockNs);
            request.deadline_ns = now + 1 + self.below(400_000_000);
        }
        Some((request, memory))
    }

    fn submit(&mut self, file: FileId) {
        let Some((mut request, mut memory)) = self.request(file) else { return };
        request.flags |= REQUEST_NONBLOCK;
        if let Ok(taken) = self.call_with(file, &SUBMIT_REQUEST, request, &mut memory) {
            self.taken += 1;
            self.clients.get_mut(&file).unwrap().fences.push(taken.out_fence);
        }
    }

    fn submit_chain(&mut self, file: FileId) {
        let Some((request, mut memory)) = self.request(file) else { return };
        let count = 1 + self.below(6) as usize;
        memory.push(2 * AT, vec![request; count].as_bytes().to_vec());
        let size = size_of::<Request>();
        let chain = Chain {
            requests: 2 * AT,
            request_count: count as u32,
            request_size: size as u32,
            flags: REQUEST_NONBLOCK,
            ..Chain::new_zeroed()
        };
        if self.call_with(file, &SUBMIT_CHAIN, chain, &mut memory).is_ok() {
            self.taken += count as u64;
            let written = <[Request]>::ref_from_bytes(memory.read(2 * AT, count * size).unwrap()).unwrap();
            let fences = written.iter().map(|request| request.out_fence);
            self.clients.get_mut(&file).unwrap().fences.extend(fences);
        }
    }

    fn cancel(&mut self, file: FileId) {
        let fences = self.clients[&file].fences.clone();
        let Some(fence) = self.pick(&fences) else { return };
        let flags = self.below(2) as u32;
        let _ = self.call(file, &CANCEL, Cancel { fence, flags, state: 0 });
    }

    fn misbehave(&mut self) {
        let how = ["translation-fault:after=2", "lost-interrupt:1", "corrupted-completion:1", "stuck-queue"];
        let which = self.below(13) as usize;
        inject(&mut self.rig, how[which / 4]);
        if which == 12 {
            inject(&mut self.rig, "ignored-abort:1");
        }
    }

    fn recover(&mut self, file: FileId) {
        let flags = 1 + u32::from(self.below(6) == 0);
        let _ = self.call(file, &RECOVER, Recover { flags, ..Recover::new_zeroed() });
        let _ = self.call(file, &GET_FAULT, GetFault::new_zeroed());
    }

    fn context(&mut self, file: FileId) {
        let _ = self.call(file, &CONTEXT_DETACH, ContextDetach { flags: 0, reserved: 0 });
        let attach = ContextAttach { policy: 2, context: CONTEXT_ANY, ..ContextAttach::new_zeroed() };
        let _ = self.call(file, &CONTEXT_ATTACH, attach);
    }

    /// The invariants.
    fn check(&mut self) {
        let contexts = self.rig.driver.contexts();
        for (n, context) in contexts.iter().enumerate() {
            assert!(contexts[..n].iter().all(|other| other.context != context.context));
            for pair in context.mappings.windows(2) {
                assert!(!pair[0].range.overlaps(pair[1].range), "{pair:?}");
            }
        }
        let mut arenas = BTreeMap::new();
        let files: Vec<FileId> = self.clients.keys().copied().collect();
        for file in files {
            let of = param(&mut self.rig, file, Param::Context);
            if of != u64::from(CONTEXT_ANY) {
                let arena = self.rig.driver.arena(file).unwrap().as_raw_fd();
                assert_eq!(*arenas.entry(of).or_insert(arena), arena, "one context, one arena");
            }
        }
        let mut seen: Vec<i32> = arenas.values().copied().collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), arenas.len(), "two contexts, two arenas");
    }

    /// Lets time pass until a request has ended. A stuck request ends by the device's own deadline.
    fn see_end(&mut self, file: FileId, fence: u64) {
        let start = Instant::now();
        loop {
            match self.rig.wait_until(file, fence, 0) {
                Ok(ended) => {
                    let ends = [FenceState::Complete as u32, FenceState::Forgotten as u32];
                    return assert!(ends.contains(&ended.state));
                }
                Err(errno) => assert_eq!(errno, Errno::ETIMEDOUT),
            }
            assert!(start.elapsed() < Duration::from_secs(10), "fence {fence} of {file:?} does not end");
            self.clock.advance(Duration::from_millis(50));
            self.rig.driver.progress(Duration::from_millis(1));
        }
    }

    /// Lets everything come to its end, and sees that it has. Gives what was done.
    fn end(mut self) -> BTreeMap<&'static str, u64> {
        ane(&mut self.rig).clear_injections();
        let files: Vec<FileId> = self.clients.keys().copied().collect();
        for file in files {
            let fences = std::mem::take(&mut self.clients.get_mut(&file).unwrap().fences);
            for fence in fences {
                let _ = self.call(file, &CANCEL, Cancel { fence, flags: 1, state: 0 });
                self.see_end(file, fence);
            }
        }
        let files: Vec<FileId> = self.clients.keys().copied().collect();
        files.into_iter().for_each(|file| self.close(file));
        for _ in 0..3 {
            self.clock.advance(Duration::from_millis(300));
            self.rig.settle();
        }
        let last = self.rig.open();
        let ended = ENDS.map(|(_, which)| counter(&mut self.rig, last, true, which));
        assert_eq!(ended.iter().sum::<u64>(), self.taken, "each submission ends once: {ended:?}");
        self.tally.extend(ENDS.map(|(name, _)| name).into_iter().zip(ended));
        assert_eq!(counter(&mut self.rig, last, true, Counter::Submitted), self.taken);
        for left in [Counter::InFlight, Counter::Buffers, Counter::BufferBytes, Counter::MappedBytes] {
            assert_eq!(counter(&mut self.rig, last, true, left), 0, "{left:?}");
        }
        assert_eq!(param(&mut self.rig, last, Param::ContextsFree), 8);
        assert_eq!((self.rig.driver.loads().count(), self.rig.driver.contexts().len()), (0, 0));
        self.tally
    }
}

#[test]
fn every_submission_ends_once_and_nothing_is_left_of_clients_that_are_gone() {
    if ane_tests::data::programs().is_none() {
        return;
    }
    let steps: u64 = std::env::var("ANE_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(6000);
    let mut done: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..steps.div_ceil(300) {
        let mut world = StateMachine::new(seed);
        for step in 0..300 {
            world.step();
            if step % 20 == 0 {
                world.check();
            }
        }
        for (what, times) in world.end() {
            *done.entry(what).or_default() += times;
        }
    }
    let wanted = DONE.iter().map(|ioctl| ioctl.c_name).chain(ENDS.map(|(name, _)| name));
    let never: Vec<&str> = wanted.filter(|what| done.get(what).is_none_or(|times| *times == 0)).collect();
    assert!(steps < 6000 || never.is_empty(), "never done: {never:?}");
}
