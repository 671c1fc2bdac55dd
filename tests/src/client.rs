//! Clients of the driver, as a test has them: calls on files, the memory of buffers, whole programs.

use std::os::unix::fs::FileExt;
use std::task::Poll;
use std::time::{Duration, Instant};

use ane::container::{Direction, Program, Role, Surface};
use ane_driver::front::{Call, Credentials, FileId, Files, Segments, User};
use ane_uapi::abi::AbiStruct;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{BO_CREATE, BoCreate};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fence::{Fence, TIME_NEVER, WAIT, Wait};
use ane_uapi::ioctl::number::Ioctl;
use ane_uapi::ioctl::param::{GET_PARAM, GetParam, Param};
use ane_uapi::ioctl::request::{Bar, PRIORITY_DEFAULT, Request, SUBMIT_REQUEST};
use half::f16;
use zerocopy::{FromZeros, IntoBytes};

use crate::runner::element_offsets;

/// How long a test waits for what has to happen.
const LIMIT: Duration = Duration::from_secs(20);

/// Where a test's arrays lie in its client's memory, one behind the other.
const ARRAYS: u64 = 0x7000_0000_0000;

/// A driver and its caller.
pub struct Clients<F> {
    pub driver: F,
    processes: u32,
}

/// A buffer of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    pub file: FileId,
    pub handle: u32,
    /// Bytes.
    pub size: u64,
    /// Where it is mapped.
    pub map_offset: u64,
}

/// A program in a client's buffers.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub file: FileId,
    /// BARs and their buffers.
    pub bars: Vec<(u8, Buffer)>,
    /// Bytes of the task stream.
    pub stream_size: u64,
    pub task_count: u32,
    /// Bytes of the first descriptor.
    pub first_size: u32,
}

impl Loaded {
    /// The buffer of a BAR.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn bar(&self, index: u8) -> Buffer {
        self.bars.iter().find(|(bar, _)| *bar == index).expect("program has the bar").1
    }

    /// The BARs of a request for it.
    pub fn entries(&self) -> Vec<Bar> {
        let entry = |(index, buffer): &(u8, Buffer)| Bar {
            index: (*index).into(),
            handle: buffer.handle,
            mapping: 0,
            reserved: 0,
            offset: 0,
        };
        self.bars.iter().map(entry).collect()
    }

    /// A raw request for it, and the memory that it points at.
    pub fn request(&self) -> (Request, Segments) {
        let bars = self.entries();
        let mut memory = Segments::new();
        memory.push(ARRAYS, bars.as_bytes().to_vec());
        let request = Request {
            priority: PRIORITY_DEFAULT,
            bars: ARRAYS,
            bar_count: bars.len() as u32,
            bar_size: size_of::<Bar>() as u32,
            stream_size: self.stream_size,
            task_count: self.task_count,
            first_size: self.first_size,
            ..Request::new_zeroed()
        };
        (request, memory)
    }
}

impl<F: Files> Clients<F> {
    /// Nobody calls yet.
    pub const fn new(driver: F) -> Self {
        Self { driver, processes: 0 }
    }

    /// Opens a file, as another process of another user each time.
    ///
    /// # Panics
    ///
    /// If the driver refuses.
    pub fn open(&mut self) -> FileId {
        self.open_as(false)
    }

    /// The same, perhaps as one that may do everything.
    ///
    /// # Panics
    ///
    /// If the driver refuses.
    pub fn open_as(&mut self, is_privileged: bool) -> FileId {
        self.processes += 1;
        let who = Credentials { process: self.processes, user: User { id: self.processes, is_privileged } };
        self.driver.open(who).expect("a file can be opened")
    }

    /// Tries a call once.
    pub fn attempt(&mut self, file: FileId, call: &mut Call) -> Poll<Result<(), Errno>> {
        self.driver.ioctl(file, call)
    }

    /// Carries a call out to its end.
    ///
    /// # Panics
    ///
    /// If it does not end in time.
    pub fn call(&mut self, file: FileId, call: &mut Call) -> Result<(), Errno> {
        let start = Instant::now();
        loop {
            if let Poll::Ready(result) = self.driver.ioctl(file, call) {
                return result;
            }
            assert!(start.elapsed() < LIMIT, "call {:#x} does not end", call.number);
            self.driver.progress(Duration::from_millis(10));
        }
    }

    /// How many contexts are free.
    ///
    /// # Panics
    ///
    /// If that cannot be asked for.
    pub fn free_contexts(&mut self) -> u64 {
        let file = self.open();
        let mut free = GetParam { param: Param::ContextsFree as u32, ..GetParam::new_zeroed() };
        self.ioctl(file, &GET_PARAM, &mut free).expect("a parameter can be asked for");
        self.driver.close(file);
        free.value
    }

    /// Carries out a call whose argument points at nothing.
    ///
    /// # Errors
    ///
    /// The call's.
    pub fn ioctl<T: AbiStruct + zerocopy::KnownLayout>(
        &mut self,
        file: FileId,
        ioctl: &Ioctl,
        argument: &mut T,
    ) -> Result<(), Errno> {
        self.ioctl_with(file, ioctl, argument, &mut Segments::new())
    }

    /// Carries out a call whose argument points at `memory`.
    ///
    /// # Errors
    ///
    /// The call's.
    ///
    /// # Panics
    ///
    /// If it does not end in time.
    pub fn ioctl_with<T: AbiStruct + zerocopy::KnownLayout>(
        &mut self,
        file: FileId,
        ioctl: &Ioctl,
        argument: &mut T,
        memory: &mut Segments,
    ) -> Result<(), Errno> {
        let mut call = Call::new(ioctl.number, argument.as_bytes().to_vec(), std::mem::take(memory));
        let result = self.call(file, &mut call);
        *argument = T::read_from_bytes(&call.argument).expect("argument keeps its size");
        *memory = call.memory;
        result
    }

    /// Makes a buffer.
    ///
    /// # Panics
    ///
    /// If the driver refuses.
    pub fn buffer(&mut self, file: FileId, size: u64, usage: Usage) -> Buffer {
        let mut create = BoCreate { size, usage: usage as u32, ..BoCreate::new_zeroed() };
        self.ioctl(file, &BO_CREATE, &mut create).expect("a buffer can be made");
        Buffer { file, handle: create.handle, size: create.size, map_offset: create.map_offset }
    }

    /// Writes into a buffer, as its process would through its mapping.
    ///
    /// # Panics
    ///
    /// If the bytes are not the buffer's.
    pub fn write(&mut self, buffer: Buffer, mut offset: u64, bytes: &[u8]) {
        let mut left = bytes;
        for extent in self.driver.map(buffer.file, buffer.map_offset, buffer.size).expect("buffer is there") {
            if offset >= extent.bytes {
                offset -= extent.bytes;
                continue;
            }
            let part = left.len().min((extent.bytes - offset) as usize);
            let file = std::fs::File::from(extent.file.try_clone().expect("file is open"));
            file.write_all_at(&left[..part], extent.offset + offset).expect("memory can be written");
            left = &left[part..];
            offset = 0;
        }
        assert!(left.is_empty(), "bytes leave the buffer");
        self.driver.unmap(buffer.file, buffer.map_offset, buffer.size).expect("buffer was mapped");
    }

    /// Reads from a buffer.
    ///
    /// # Panics
    ///
    /// If the bytes are not the buffer's.
    pub fn read(&mut self, buffer: Buffer, mut offset: u64, bytes: usize) -> Vec<u8> {
        let mut all = Vec::new();
        for extent in self.driver.map(buffer.file, buffer.map_offset, buffer.size).expect("buffer is there") {
            if offset >= extent.bytes {
                offset -= extent.bytes;
                continue;
            }
            let part = (bytes - all.len()).min((extent.bytes - offset) as usize);
            let file = std::fs::File::from(extent.file.try_clone().expect("file is open"));
            let mut read = vec![0; part];
            file.read_exact_at(&mut read, extent.offset + offset).expect("memory can be read");
            all.extend(read);
            offset = 0;
        }
        self.driver.unmap(buffer.file, buffer.map_offset, buffer.size).expect("buffer was mapped");
        assert_eq!(all.len(), bytes, "bytes leave the buffer");
        all
    }

    /// Puts a program into buffers.
    ///
    /// # Panics
    ///
    /// If the driver refuses.
    pub fn load(&mut self, file: FileId, program: &Program<'_>) -> Loaded {
        let mut bars = Vec::new();
        for bar in &program.bars {
            let (bytes, usage, contents) = match bar.role {
                Role::Tasks => (program.stream.len() as u64, Usage::Program, program.stream.to_vec()),
                Role::Constants(index) => {
                    let bytes = program.constants[index].bytes;
                    (bytes.len() as u64, Usage::Weights, bytes.to_vec())
                }
                Role::Surface(index) => {
                    let surface = &program.surfaces[index];
                    let usage = match surface.direction {
                        Direction::Input => Usage::Input,
                        Direction::Output => Usage::Output,
                    };
                    (surface.buffer_bytes, usage, Vec::new())
                }
                Role::Scratch | Role::Unassigned => (bar.bytes, Usage::Intermediate, Vec::new()),
            };
            let buffer = self.buffer(file, bytes.max(1), usage);
            self.write(buffer, 0, &contents);
            bars.push((bar.index, buffer));
        }
        Loaded {
            file,
            bars,
            stream_size: program.stream.len() as u64,
            task_count: program.task_count,
            first_size: program.first_task_bytes,
        }
    }

    /// Submits a program that was loaded; its fence.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn submit(&mut self, loaded: &Loaded) -> Result<u64, Errno> {
        let (mut request, mut memory) = loaded.request();
        self.ioctl_with(loaded.file, &SUBMIT_REQUEST, &mut request, &mut memory)?;
        Ok(request.out_fence)
    }

    /// Waits for a fence; what became of it.
    ///
    /// # Panics
    ///
    /// If it does not complete in time.
    pub fn wait(&mut self, file: FileId, fence: u64) -> Fence {
        self.wait_until(file, fence, TIME_NEVER as i64).expect("fence completes")
    }

    /// Waits for a fence until a time on the driver's clock.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Panics
    ///
    /// If the call does not end in time.
    pub fn wait_until(&mut self, file: FileId, fence: u64, timeout_ns: i64) -> Result<Fence, Errno> {
        let mut memory = Segments::new();
        memory.push(ARRAYS, Fence { fence, ..Fence::new_zeroed() }.as_bytes().to_vec());
        let mut wait = Wait {
            fences: ARRAYS,
            count: 1,
            fence_size: size_of::<Fence>() as u32,
            timeout_ns,
            ..Wait::new_zeroed()
        };
        self.ioctl_with(file, &WAIT, &mut wait, &mut memory)?;
        let bytes = memory.read(ARRAYS, size_of::<Fence>()).expect("fence is there");
        Ok(zerocopy::FromBytes::read_from_bytes(bytes).expect("fence has its size"))
    }

    /// Runs a program that was loaded to its end.
    ///
    /// # Panics
    ///
    /// If the driver refuses it.
    pub fn run(&mut self, loaded: &Loaded) -> Fence {
        let fence = self.submit(loaded).expect("request is taken");
        self.wait(loaded.file, fence)
    }

    /// Writes the elements of a surface, which come in NCHW order.
    ///
    /// # Panics
    ///
    /// If the surface has another number of elements.
    pub fn fill(&mut self, loaded: &Loaded, surface: &Surface<'_>, values: &[f16]) {
        let buffer = loaded.bar(surface.bar);
        let mut bytes = self.read(buffer, 0, buffer.size as usize);
        let at: Vec<usize> = element_offsets(surface).collect();
        assert_eq!(at.len(), values.len(), "surface has {} elements", at.len());
        for (at, value) in at.into_iter().zip(values) {
            bytes[at..at + 2].copy_from_slice(&value.to_bits().to_le_bytes());
        }
        self.write(buffer, 0, &bytes);
    }

    /// Reads the elements of a surface in NCHW order.
    pub fn take(&mut self, loaded: &Loaded, surface: &Surface<'_>) -> Vec<f16> {
        let buffer = loaded.bar(surface.bar);
        let bytes = self.read(buffer, 0, buffer.size as usize);
        element_offsets(surface).map(|at| f16::from_le_bytes([bytes[at], bytes[at + 1]])).collect()
    }

    /// Lets the driver work until nothing is left to do at once.
    pub fn settle(&mut self) {
        while {
            let progress = self.driver.progress(Duration::ZERO);
            progress.is_some || progress.is_pending
        } {}
    }
}
