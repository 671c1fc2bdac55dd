//! F4: the device, the daemon and clients are killed in turns, as `kill -9` kills, while eight clients work.
//!
//! Six clients add one to a number, in place: a request that ran twice, or not at all, is seen in the number. Two more
//! are processes that are killed themselves. A process that is killed is started again at once, at the same place; then
//! each of the six has to get a request done, and the time that takes is its recovery. A client that has lost its
//! daemon connects again.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ane::build::{Built, Element, Graph, Shape};
use ane_driver::front::{FileId, Files};
use ane_tests::client::{Buffer, Clients, Loaded};
use ane_tests::command::built;
use ane_tests::remote::Remote;
use ane_tests::{aned, daemon};
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{BO_CREATE, BoCreate};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fence::TIME_NEVER;
use aned_protocol::client::{Client, Settings};
use half::f16;
use zerocopy::FromZeros;

use super::harness::{Figure, Verdict, p99};

const FIGURE: Figure = Figure {
    id: "F4",
    what: "kill -9 of device, daemon and client in turns, with 8 clients",
    wanted: "each request exactly once or a named error; recovery p99 at most 500 ms",
    ci: 100,
    release: 2_000,
};

const WORKERS: u64 = 6;
const RECOVERY: Duration = Duration::from_millis(500);
/// How long a recovery may take before it is none.
const NEVER: Duration = Duration::from_secs(20);
/// The largest number that half precision counts to.
const TOP: u16 = 2_000;

/// A process that can be killed and started again as it was.
struct Mortal {
    program: PathBuf,
    arguments: Vec<String>,
    child: Child,
}

impl Mortal {
    fn start(program: &Path, arguments: &[&str]) -> Self {
        let (program, arguments) =
            (program.to_owned(), arguments.iter().map(|&word| word.to_owned()).collect());
        let child = Self::spawn(&program, &arguments);
        Self { program, arguments, child }
    }

    fn spawn(program: &Path, arguments: &Vec<String>) -> Child {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the program starts")
    }

    fn die(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn again(&mut self) {
        self.die();
        self.child = Self::spawn(&self.program, &self.arguments);
    }
}

impl Drop for Mortal {
    fn drop(&mut self) {
        self.die();
    }
}

/// The state that all clients share with the killer.
struct Killing {
    socket: PathBuf,
    built: Built,
    is_over: AtomicBool,
    /// Requests that each worker got done.
    done: [AtomicU64; WORKERS as usize],
    /// Errors by name, and what was wrong.
    errors: Mutex<BTreeMap<&'static str, u64>>,
    wrong: Mutex<Vec<String>>,
}

fn add_one() -> Built {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(1, 1, 1)).expect("fits");
    let one = graph.scalar(f16::ONE).expect("fits");
    let y = graph.binary(x, one, Element::ADD).expect("is offered");
    graph.output("y", y).expect("computed");
    graph.build().expect("can be built")
}

/// A client whose program has one buffer for input and output.
struct Worker {
    clients: Clients<Remote>,
    loaded: Loaded,
    number: Buffer,
}

impl Worker {
    /// Connects and makes what it needs; an error is for the next attempt.
    fn new(killing: &Killing) -> Option<Self> {
        let settings = Settings { patience: Duration::from_secs(5), ..Settings::default() };
        let mut clients = Clients::new(Remote::new(Client::connect(&killing.socket, settings).ok()?));
        let credentials = ane_driver::front::Credentials {
            process: 1,
            user: ane_driver::front::User { id: 0, is_privileged: false },
        };
        let file = clients.driver.open(credentials).ok()?;
        let program = killing.built.program();
        let mut bars = Vec::new();
        let number = buffer(&mut clients, file, 0x4000, Usage::Intermediate)?;
        for bar in &program.bars {
            use ane::container::Role;
            let made = match bar.role {
                Role::Surface(_) => number,
                Role::Tasks => filled(&mut clients, file, Usage::Program, program.stream)?,
                Role::Constants(index) => {
                    filled(&mut clients, file, Usage::Weights, program.constants[index].bytes)?
                }
                Role::Scratch | Role::Unassigned => {
                    buffer(&mut clients, file, bar.bytes.max(1), Usage::Intermediate)?
                }
            };
            bars.push((bar.index, made));
        }
        let loaded = Loaded {
            file,
            bars,
            stream_size: program.stream.len() as u64,
            task_count: program.task_count,
            first_size: program.first_task_bytes,
        };
        let mut worker = Self { clients, loaded, number };
        worker.put(0)?;
        Some(worker)
    }

    /// The number as it is in memory; none if the daemon is gone.
    fn get(&mut self) -> Option<u16> {
        let mut bytes = [0; 2];
        with(&mut self.clients, self.number, |file, at| file.read_exact_at(&mut bytes, at))?;
        Some(f16::from_le_bytes(bytes).to_f32() as u16)
    }

    fn put(&mut self, number: u16) -> Option<()> {
        let bytes = f16::from_f32(number.into()).to_le_bytes();
        with(&mut self.clients, self.number, |file, at| file.write_all_at(&bytes, at))
    }

    /// Submits once and sees it to its end: done, or the error's name. None if the daemon is gone.
    fn request(&mut self) -> Option<Result<(), Errno>> {
        let fence = match self.clients.submit(&self.loaded) {
            Ok(fence) => fence,
            Err(why) => return self.is_alive().then_some(Err(why)),
        };
        let end = Instant::now() + NEVER;
        while Instant::now() < end {
            match self.clients.wait_until(self.loaded.file, fence, TIME_NEVER as i64) {
                Ok(ended) if ended.result == 0 => return Some(Ok(())),
                Ok(ended) => return Some(Err(ended.result.unsigned_abs().try_into().unwrap_or(Errno::EIO))),
                // The device is gone, and will say how the request ended when it is back.
                Err(Errno::ENODEV) if self.is_alive() => thread::sleep(Duration::from_millis(1)),
                Err(Errno::ENODEV) => return None,
                Err(why) => return Some(Err(why)),
            }
        }
        Some(Err(Errno::ETIMEDOUT))
    }

    /// Whether the daemon is there, with or without a device.
    fn is_alive(&mut self) -> bool {
        self.get().is_some()
    }
}

fn buffer(clients: &mut Clients<Remote>, file: FileId, size: u64, usage: Usage) -> Option<Buffer> {
    let mut create = BoCreate { size, usage: usage as u32, ..BoCreate::new_zeroed() };
    clients.ioctl(file, &BO_CREATE, &mut create).ok()?;
    Some(Buffer { file, handle: create.handle, size: create.size, map_offset: create.map_offset })
}

/// Makes a buffer with something in it.
fn filled(clients: &mut Clients<Remote>, file: FileId, usage: Usage, bytes: &[u8]) -> Option<Buffer> {
    let made = buffer(clients, file, bytes.len() as u64, usage)?;
    with(clients, made, |file, at| file.write_all_at(bytes, at))?;
    Some(made)
}

/// Does something with a buffer's memory, which is one piece.
fn with(
    clients: &mut Clients<Remote>,
    buffer: Buffer,
    act: impl FnOnce(&std::fs::File, u64) -> std::io::Result<()>,
) -> Option<()> {
    let extents = clients.driver.map(buffer.file, buffer.map_offset, buffer.size).ok()?;
    let extent = extents.first()?;
    let file = std::fs::File::from(extent.file.try_clone().ok()?);
    act(&file, extent.offset).ok()?;
    clients.driver.unmap(buffer.file, buffer.map_offset, buffer.size).ok()
}

/// One of the six: adds one until it is over, and looks at the number each time.
fn work(killing: &Killing, index: usize) {
    let mut worker = None;
    while !killing.is_over.load(Ordering::Relaxed) {
        let Some(one) = &mut worker else {
            worker = Worker::new(killing);
            if worker.is_none() {
                thread::sleep(Duration::from_millis(1));
            }
            continue;
        };
        if add(killing, one, index).is_none() {
            worker = None;
        }
    }
}

/// One request of a worker's; none if its daemon is gone.
fn add(killing: &Killing, worker: &mut Worker, index: usize) -> Option<()> {
    let mut before = worker.get()?;
    if before >= TOP {
        worker.put(0)?;
        before = 0;
    }
    let ended = worker.request()?;
    let after = worker.get()?;
    let is_right = match ended {
        Ok(()) => after == before + 1,
        // It ran before its end was lost, or it did not.
        Err(_) => after == before || after == before + 1,
    };
    if !is_right {
        let mut wrong = killing.wrong.lock().expect("nobody panics with it");
        wrong.push(format!("{before} became {after} by a request that ended {ended:?}"));
    }
    match ended {
        Ok(()) => {
            killing.done[index].fetch_add(1, Ordering::Relaxed);
        }
        Err(why) => {
            *killing.errors.lock().expect("nobody panics with it").entry(why.name()).or_default() += 1;
            thread::sleep(Duration::from_millis(1));
        }
    }
    Some(())
}

/// Waits until each worker has got done what it had before, and one more that began afterwards; how long each took.
fn recoveries(killing: &Killing, killed: Instant) -> Vec<Duration> {
    // One may have ended before the kill and be counted behind it.
    let wanted: Vec<u64> = killing.done.iter().map(|done| done.load(Ordering::Relaxed) + 2).collect();
    let mut times = vec![NEVER; wanted.len()];
    let mut left: Vec<usize> = (0..wanted.len()).collect();
    while !left.is_empty() && killed.elapsed() < NEVER {
        left.retain(|&index| {
            let is_done = killing.done[index].load(Ordering::Relaxed) >= wanted[index];
            if is_done {
                times[index] = killed.elapsed();
            }
            !is_done
        });
        thread::sleep(Duration::from_micros(500));
    }
    times
}

#[test]
fn f4_whatever_is_killed_requests_run_exactly_once_or_end_with_a_name() {
    FIGURE.run(|plan| {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let (device_socket, socket) = (at("ane.sock"), at("aned.sock"));
        let mut device = Mortal::start(daemon::path(), &["--socket-path", &device_socket]);
        let end = Instant::now() + NEVER;
        while !Path::new(&device_socket).exists() && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        let where_device = format!("vhost-user:{device_socket}");
        let mut server = Mortal::start(aned::path(), &["--device", &where_device, "--socket-path", &socket]);
        let client = built("aned_client");
        let killing = Killing {
            socket: socket.clone().into(),
            built: add_one(),
            is_over: AtomicBool::new(false),
            done: Default::default(),
            errors: Mutex::default(),
            wrong: Mutex::default(),
        };
        let mut random = plan.random(0);
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        thread::scope(|scope| {
            let killing = &killing;
            for index in 0..WORKERS as usize {
                scope.spawn(move || work(killing, index));
            }
            recoveries(killing, Instant::now());
            let mut doomed = [(); 2].map(|()| Mortal::start(&client, &[&socket]));
            for number in 0..plan.count as usize {
                thread::sleep(Duration::from_micros(random.below(20_000).into()));
                let killed = Instant::now();
                match number % 3 {
                    0 => device.again(),
                    1 => server.again(),
                    _ => doomed[number % 2].die(),
                }
                times[number % 3].extend(recoveries(killing, killed));
                // Clients that lost their daemon are gone, too.
                doomed.iter_mut().for_each(Mortal::again);
            }
            killing.is_over.store(true, Ordering::Relaxed);
        });
        let wrong = killing.wrong.into_inner().expect("nobody panics with it");
        let errors = killing.errors.into_inner().expect("nobody panics with it");
        let done: u64 = killing.done.into_iter().map(AtomicU64::into_inner).sum();
        let named: Vec<String> = errors.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let each = times.each_mut().map(|times| p99(times));
        let all = p99(&mut times.concat());
        let mut got = format!(
            "{} kills, {done} requests, errors: {}; {} wrong; recovery p99 {all:.0?} (device {:.0?}, daemon {:.0?}, client {:.0?})",
            plan.count,
            if named.is_empty() { "none".to_owned() } else { named.join(", ") },
            wrong.len(),
            each[0],
            each[1],
            each[2]
        );
        if let Some(first) = wrong.first() {
            got = format!("{got}, the first: {first}");
        }
        let is_sound = wrong.is_empty() && done > plan.count;
        Verdict { got, held: is_sound && all <= RECOVERY, fails: !is_sound || all > 10 * RECOVERY, not_run: Vec::new() }
    });
}
