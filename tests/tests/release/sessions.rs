//! F3: hostile sessions. Frontends of the vhost-user front, and clients of the vfio-user front, which is how a platform
//! device is reached, that mean no good and leave in the middle of it.
//!
//! A session is one of: noise; messages of the protocol with bodies and descriptors that do not belong to them; a session set
//! up as it should be, in which rings, requests, registers or memory are then nonsense. Now and then one that behaves comes by
//! and has to be served. When all are gone the device has the descriptors, threads and memory that it began with.

use std::io::{IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use ane_tests::daemon::Daemon;
use ane_tests::hostile::{BASE, Descriptor, Hostile, MEMORY, REQUEST, SIZE};
use ane_tests::random::Random;
use ane_uapi::wire::ctrl::{Header, Op, RequestKind};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use vfio_user::Client;
use vhost::vhost_user::VhostUserFrontend;
use vhost::{VhostBackend, VhostUserMemoryRegionInfo};
use zerocopy::IntoBytes;

use super::harness::{Figure, Plan, Verdict};
use super::having::Having;

const FIGURE: Figure = Figure {
    id: "F3",
    what: "hostile sessions, half at the vhost-user and half at the platform front",
    wanted: "all others served; descriptors, threads and memory back to the start",
    ci: 2_000,
    release: 100_000,
};

/// Sessions between two that behave.
const BETWEEN: u64 = 50;
/// Kibibytes that the heap of the device may have kept: what its allocator does not give back.
const HEAP: u64 = 4 << 10;
/// The wait for things that may never come.
const SHORT: Duration = Duration::from_millis(20);

/// The descriptors that attackers hand over.
struct Things {
    memory: OwnedFd,
    event: OwnedFd,
    null: OwnedFd,
}

impl Things {
    fn new() -> Self {
        let memory = memfd_create("memory", MemfdFlags::CLOEXEC).expect("memory can be had");
        ftruncate(&memory, 1 << 16).expect("memory can be had");
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).expect("eventfds can be had");
        let null = std::fs::File::open("/dev/null").expect("Linux has it").into();
        Self { memory, event, null }
    }

    fn some(&self, random: &mut Random) -> Vec<BorrowedFd<'_>> {
        let count = if random.below(2) == 0 { 0 } else { random.below(10) };
        let pick = |_| [&self.memory, &self.event, &self.null][random.below(3) as usize].as_fd();
        (0..count).map(pick).collect()
    }
}

/// Bytes of which many are small.
fn noise(random: &mut Random, most: u32) -> Vec<u8> {
    let count = random.below(most + 1);
    (0..count)
        .map(|_| if random.below(3) == 0 { random.word() as u8 } else { random.below(4) as u8 })
        .collect()
}

fn connect(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).expect("the device listens");
    stream.set_read_timeout(Some(SHORT)).expect("a time-out can be set");
    stream.set_write_timeout(Some(SHORT)).expect("a time-out can be set");
    stream
}

/// Sends a message with descriptors; what becomes of it is the device's affair.
fn send(stream: &UnixStream, parts: &[&[u8]], descriptors: &[BorrowedFd<'_>]) {
    let mut room = vec![std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    let mut beside = SendAncillaryBuffer::new(&mut room);
    if !descriptors.is_empty() {
        beside.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let parts: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let _ = sendmsg(stream, &parts, &mut beside, SendFlags::NOSIGNAL);
}

/// Leaves: at once, or after the device had time to say something.
fn leave(mut stream: UnixStream, random: &mut Random) {
    match random.below(3) {
        0 => {}
        1 => {
            let _ = stream.read(&mut [0; 256]);
        }
        _ => {
            let _ = stream.shutdown(Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }
    }
}

/// Messages of vhost-user with anything in them.
fn vhost_messages(socket: &Path, things: &Things, random: &mut Random) {
    let stream = connect(socket);
    for _ in 0..random.below(40) {
        let body = noise(random, 72);
        let said = if random.below(8) == 0 { random.word() } else { body.len() as u32 };
        let flags = if random.below(8) == 0 { random.below(64) } else { 1 | random.below(2) << 3 };
        let head = [random.below(48), flags, said].map(u32::to_le_bytes).concat();
        send(&stream, &[&head, &body], &things.some(random));
    }
    leave(stream, random);
}

/// A frontend whose rings are nonsense.
fn rings(hostile: &mut Hostile, random: &mut Random) {
    let table: Vec<Descriptor> = (0..SIZE)
        .map(|_| {
            let at = match random.below(4) {
                0 => random.next(),
                1 => MEMORY as u64 - u64::from(random.below(64)),
                _ => u64::from(random.below(MEMORY as u32)),
            };
            let bytes = if random.below(4) == 0 { random.word() } else { random.below(200) };
            (at, bytes, random.below(8) as u16, random.below(u32::from(SIZE) + 2) as u16)
        })
        .collect();
    hostile.put_table(0, &table);
    for _ in 0..random.below(6) {
        hostile.announce(random.below(u32::from(SIZE) + 1) as u16);
        hostile.kick(random.below(2) as usize);
    }
    let _ = hostile.used(Duration::from_millis(1));
}

/// A frontend whose requests are nonsense: any registers in any order, the push of a task among them.
fn requests(hostile: &mut Hostile, random: &mut Random) {
    for _ in 0..random.below(8) {
        let count = random.below(40);
        let ops: Vec<Op> = (0..count)
            .map(|_| {
                // The task manager and the queues, or anywhere.
                let place = if random.below(4) == 0 {
                    random.below(1 << 25)
                } else {
                    0x1c2_0000 + random.below(0x8000)
                };
                let value = if random.below(2) == 0 { random.word() } else { random.below(16) };
                if random.below(3) == 0 { Op::read(place & !3) } else { Op::write(place & !3, value) }
            })
            .collect();
        let kind = if random.below(8) == 0 { RequestKind::Reset } else { RequestKind::Batch };
        let said = if random.below(8) == 0 { random.word() } else { count };
        let mut request = [Header::new(kind, said, random.next()).as_bytes(), ops.as_bytes()].concat();
        if random.below(8) == 0 {
            request.truncate(random.below(request.len() as u32 + 1) as usize);
        }
        hostile.put(REQUEST, &request);
        hostile.put_table(0, &[(REQUEST, request.len() as u32, 1, 1), (0x2_0000, 24 + 4 * count, 2, 0)]);
        hostile.announce(0);
        hostile.kick(0);
        let _ = hostile.used(SHORT);
    }
}

/// A frontend that lies about its memory, and takes it away while it is used.
fn memory(hostile: &mut Hostile, random: &mut Random) {
    let good = Hostile::region(&hostile.memory);
    for _ in 0..1 + random.below(4) {
        let any = |random: &mut Random| {
            [0, 0x1000, 1 << 40, u64::MAX - 0xfff, random.next()][random.below(5) as usize]
        };
        let mut region = good;
        match random.below(5) {
            0 => region.memory_size = any(random),
            1 => region.mmap_offset = any(random),
            2 => region.guest_phys_addr = any(random),
            3 => region.userspace_addr = any(random),
            _ => region = VhostUserMemoryRegionInfo { guest_phys_addr: BASE + (1 << 30), ..good },
        }
        let _ = match random.below(3) {
            0 => hostile.frontend.set_mem_table(&[region]).is_ok(),
            1 => hostile.frontend.add_mem_region(&region).is_ok(),
            _ => hostile.frontend.remove_mem_region(&region).is_ok(),
        };
        hostile.kick(0);
    }
}

fn vhost_session(socket: &Path, things: &Things, random: &mut Random) {
    match random.below(6) {
        0 => {
            let mut stream = connect(socket);
            let _ = stream.write_all(&noise(random, 4096));
            leave(stream, random);
        }
        1 | 2 => vhost_messages(socket, things, random),
        3 => rings(&mut Hostile::new(socket), random),
        4 => requests(&mut Hostile::new(socket), random),
        _ => memory(&mut Hostile::new(socket), random),
    }
}

/// Sends a message of vfio-user; `said` is the length that it claims, where that is not its own.
fn say(
    stream: &UnixStream,
    (command, flags): (u16, u32),
    said: Option<u32>,
    body: &[u8],
    beside: &[BorrowedFd<'_>],
) {
    let said = said.unwrap_or(16 + body.len() as u32);
    let head = [
        &7_u16.to_ne_bytes()[..],
        &command.to_ne_bytes(),
        &said.to_ne_bytes(),
        &flags.to_ne_bytes(),
        &[0; 4],
    ];
    send(stream, &[&head.concat(), body], beside);
}

fn greet(stream: &UnixStream) {
    say(stream, (1, 0), None, &[0, 0, 1, 0, b'{', b'}', 0], &[]);
}

/// Messages of vfio-user with anything in them.
fn vfio_messages(socket: &Path, things: &Things, random: &mut Random) {
    let stream = connect(socket);
    if random.below(8) != 0 {
        greet(&stream);
    }
    for _ in 0..random.below(40) {
        let body = noise(random, 64);
        let said = (random.below(8) == 0).then(|| random.word());
        let flags = if random.below(4) == 0 { random.below(64) } else { 0 };
        say(&stream, (random.below(18) as u16, flags), said, &body, &things.some(random));
    }
    leave(stream, random);
}

/// A client that introduces itself, and then touches whatever there is with messages that are well formed.
fn vfio_client(socket: &Path, things: &Things, random: &mut Random) {
    let mut stream = connect(socket);
    greet(&stream);
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
    for _ in 0..random.below(30) {
        let offset = if random.below(8) == 0 { random.next() } else { u64::from(random.below(0x4_2000)) };
        let place = if random.below(4) == 0 { random.next() } else { 0x10_0000 * u64::from(random.below(8)) };
        let (region, count) = (random.below(9), random.below(9));
        let long = [place.to_ne_bytes(), 0x1_0000_u64.to_ne_bytes()].concat();
        let access = [&offset.to_ne_bytes()[..], &words(&[region, count])].concat();
        let (command, body, beside) = match random.below(8) {
            0 => (2, [words(&[32, 3]), vec![0; 8], long].concat(), vec![things.memory.as_fd()]),
            1 => (3, [words(&[24, 0]), long].concat(), vec![]),
            2 => (8, words(&[20, 1 << 2 | 1 << 5, 1, 0, 1]), vec![things.event.as_fd()]),
            3 => (13, vec![], vec![]),
            4 => (9, access, vec![]),
            _ => (10, [access, vec![random.below(3) as u8; count as usize]].concat(), vec![]),
        };
        say(&stream, (command, 0), None, &body, &beside);
        // Answers are taken, or nobody would be spoken to for long.
        if random.below(2) == 0 && !matches!(stream.read(&mut [0; 512]), Ok(1..)) {
            return;
        }
    }
    leave(stream, random);
}

fn vfio_session(socket: &Path, things: &Things, random: &mut Random) {
    match random.below(5) {
        0 => {
            let mut stream = connect(socket);
            let _ = stream.write_all(&noise(random, 4096));
            leave(stream, random);
        }
        1 | 2 => vfio_messages(socket, things, random),
        _ => vfio_client(socket, things, random),
    }
}

/// A client of the platform front that behaves is told what the function is.
fn is_platform_served(socket: &Path) -> bool {
    let Ok(mut client) = Client::new(socket) else { return false };
    let mut identity = [0; 4];
    client.region_read(7, 0, &mut identity).is_ok() && identity == [0xf4, 0x1a, 0xfa, 0x10]
}

/// Half of the sessions, at one front. The device's resources before and after, or the error.
fn front(
    plan: Plan,
    part: u64,
    daemon: &Daemon,
    session: fn(&Path, &Things, &mut Random),
    is_served: fn(&Path) -> bool,
) -> Result<(Having, Having), String> {
    let (socket, things, mut random) = (daemon.socket(), Things::new(), plan.random(part));
    // Whatever is made once is made by these.
    for _ in 0..100 {
        session(&socket, &things, &mut random);
    }
    if !is_served(&socket) {
        return Err("whoever behaves is not served".to_owned());
    }
    let before = Having::at_rest(daemon.pid());
    for number in 0..plan.count / 2 {
        session(&socket, &things, &mut random);
        if number % BETWEEN == BETWEEN - 1 && !is_served(&socket) {
            return Err(format!("whoever behaves is not served after session {number}"));
        }
    }
    if !is_served(&socket) {
        return Err("whoever behaves is not served at the end".to_owned());
    }
    Ok((before, Having::once_back(daemon.pid(), &before, HEAP)))
}

#[test]
fn f3_hostile_sessions_leave_nothing_at_either_front() {
    FIGURE.run(|plan| {
        let mut served = plan;
        served.count = plan.count.max(200);
        let (vhost, platform) = std::thread::scope(|scope| {
            let vhost = scope.spawn(|| {
                let daemon = Daemon::start(&[]);
                front(served, 0, &daemon, vhost_session, |socket| Hostile::new(socket).is_served())
            });
            let daemon = Daemon::start_platform(&[]);
            let platform = front(served, 1, &daemon, vfio_session, is_platform_served);
            (
                vhost.join().unwrap_or_else(|_| Err("a frontend that behaves was not let in".to_owned())),
                platform,
            )
        });
        let mut got = format!("{} sessions", served.count);
        let mut held = true;
        for (name, seen) in [("vhost-user", vhost), ("platform", platform)] {
            match seen {
                Ok((before, after)) => {
                    got = format!("{got}; {name}: {}", Having::told(&before, &after));
                    held &= after.is_back(&before, HEAP);
                }
                Err(why) => {
                    got = format!("{got}; {name}: {why}");
                    held = false;
                }
            }
        }
        Verdict::counted(got, held)
    });
}
