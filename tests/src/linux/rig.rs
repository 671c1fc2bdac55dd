//! A driver with a program in its memory: ReLU, whose result anybody can tell.

use ane::build::{Built, script};
use ane::container::{Direction, Role};
use half::f16;
use vm_memory::{GuestAddress, GuestMemoryMmap};

use super::memory::{LinuxBuffer, RAM, Space};
use super::{Job, Linux, Mmio, NID};

/// Bytes of guest memory.
pub const BYTES: u64 = 64 << 20;

/// Guest memory that nobody shares.
///
/// # Panics
///
/// If there is none.
pub fn memory() -> GuestMemoryMmap {
    GuestMemoryMmap::from_ranges(&[(GuestAddress(RAM), BYTES as usize)]).expect("there is memory")
}

/// An element of the input.
pub fn value(index: u64) -> f16 {
    f16::from_f32((index % 1024) as f32 / 8.0 - 64.0)
}

/// A driver that has probed, and its request.
pub struct LinuxRig<T> {
    pub linux: Linux<T>,
    pub job: Job,
    /// Where the input lies.
    pub input: LinuxBuffer,
    /// Where the output goes.
    pub output: LinuxBuffer,
    pub elements: u64,
}

impl<T: Mmio> LinuxRig<T> {
    /// ReLU over so many channels of 64 x 64, which are half a page each.
    ///
    /// # Panics
    ///
    /// If memory is too small.
    pub fn new(mmio: T, memory: GuestMemoryMmap, channels: u32) -> Self {
        Self::with_program(mmio, memory, channels, &program(channels))
    }

    /// The same with another program that has the same result.
    ///
    /// # Panics
    ///
    /// If memory is too small.
    pub fn with_program(mmio: T, memory: GuestMemoryMmap, channels: u32, program: &Built) -> Self {
        let mut linux = Linux::probe(mmio, Space::new(memory));
        let (job, [input, output]) = load(&mut linux.space, program);
        linux.invalidate_all();
        let elements = u64::from(channels) * 64 * 64;
        let bytes: Vec<u8> = (0..elements).flat_map(|at| value(at).to_le_bytes()).collect();
        linux.space.write(&input, 0, &bytes);
        Self { linux, job, input, output, elements }
    }

    /// Requires that the output is that of the program.
    ///
    /// # Panics
    ///
    /// If it is not.
    pub fn check(&self) {
        let bytes = self.linux.space.read(&self.output, 0, 2 * self.elements);
        for (at, two) in (0..).zip(bytes.chunks_exact(2)) {
            let expected = value(at).max(f16::ZERO);
            assert_eq!(f16::from_le_bytes([two[0], two[1]]), expected, "element {at}");
        }
    }

    /// Requires that the next submission is as good as if nothing had happened.
    ///
    /// # Panics
    ///
    /// If it is not.
    pub fn next_is_good(&mut self) {
        let other = vec![0xff; 2 * self.elements as usize];
        self.linux.space.write(&self.output, 0, &other);
        let (ended, seen) = self.linux.submit(&self.job);
        assert_eq!((ended, seen.contained, seen.cycles), (Ok(()), 0, 0));
        self.check();
    }
}

/// ReLU over so many channels of 64 x 64.
///
/// # Panics
///
/// If there are none.
pub fn program(channels: u32) -> Built {
    built(&format!("x = input {channels}x64x64\ny = relu x\noutput y"))
}

/// The same in two tasks: what ReLU gives it leaves as it is.
///
/// # Panics
///
/// If there are no channels.
pub fn program_of_two_tasks(channels: u32) -> Built {
    built(&format!("x = input {channels}x64x64\ny = relu x\nz = relu y\noutput z"))
}

fn built(text: &str) -> Built {
    script::build(text, |name, _| Err(format!("there is no array {name}"))).expect("program can be built")
}

/// Puts a program into memory: the request, its input and its output.
fn load(space: &mut Space, built: &Built) -> (Job, [LinuxBuffer; 2]) {
    let program = built.program();
    let mut bars = [0; 32];
    let mut ports = [None, None];
    for bar in &program.bars {
        let bytes = match bar.role {
            Role::Tasks => program.stream.len() as u64,
            Role::Constants(index) => program.constants[index].bytes.len() as u64,
            Role::Surface(index) => program.surfaces[index].buffer_bytes,
            Role::Scratch | Role::Unassigned => bar.bytes,
        };
        let buffer = space.buffer(bytes);
        match bar.role {
            Role::Tasks => space.write(&buffer, 0, program.stream),
            Role::Constants(index) => space.write(&buffer, 0, program.constants[index].bytes),
            Role::Surface(index) => {
                let is_output = program.surfaces[index].direction == Direction::Output;
                ports[usize::from(is_output)] = Some(buffer.clone());
            }
            Role::Scratch | Role::Unassigned => {}
        }
        bars[usize::from(bar.index)] = buffer.iova;
    }
    let mut first = program.stream[..program.first_task_bytes as usize].to_vec();
    first[2] = NID as u8;
    let bootstrap = space.buffer(first.len() as u64);
    space.write(&bootstrap, 0, &first);
    let (first_bytes, tasks) = (program.first_task_bytes, program.task_count);
    let job = Job { bars, first: bootstrap.iova, first_bytes, tasks };
    (job, ports.map(|port| port.expect("program has one input and one output")))
}
