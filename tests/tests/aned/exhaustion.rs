//! Clients that want everything: connections, descriptors, files, contexts, memory and threads, and take it in a storm.
//!
//! A client that behaves is served all the while, and when the others are gone nothing of them is left.
//! `ANE_STORM=10000` makes it longer.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ane_driver::front::Segments;
use ane_tests::aned::Aned;
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::null_task::program;
use ane_tests::random::Random;
use ane_uapi::ioctl::buffer::BO_CREATE;
use ane_uapi::ioctl::fence::WAIT;
use aned_protocol::request::{Ask, Request};
use aned_protocol::socket::{self, Arrival};
use half::f16;
use rustix::net::{RecvFlags, SendFlags};

/// Threads that attack.
const ATTACKERS: u64 = 6;

/// Connections that each of them makes, if nothing is said.
const ROUNDS: u32 = 400;

/// The resources of a process, as the system reports them.
#[derive(Clone, Copy, Debug)]
struct ProcessUse {
    descriptors: usize,
    threads: usize,
    /// Mebibytes that lie in memory.
    resident: usize,
}

impl ProcessUse {
    fn of(process: u32) -> Self {
        let entries =
            |what| std::fs::read_dir(format!("/proc/{process}/{what}")).expect("Linux has it").count();
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("Linux has it");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("is told");
        let kibibytes: usize = line.split_whitespace().next().expect("a number").parse().expect("a number");
        Self { descriptors: entries("fd"), threads: entries("task"), resident: kibibytes >> 10 }
    }
}

/// A connection that has no manners.
struct Rude(OwnedFd);

impl Rude {
    fn new(daemon: &Aned) -> Self {
        Self(socket::dial(&daemon.socket()).expect("it listens"))
    }

    /// One that said who it is, whether or not it is wanted.
    fn greeted(daemon: &Aned) -> Self {
        let rude = Self::new(daemon);
        rude.say(&Request::hello(1));
        rude
    }

    /// Says something as if nobody listened; false if there is no room for it.
    fn say(&self, request: &Request) -> bool {
        self.say_bytes(&request.to_bytes(), &[])
    }

    fn say_bytes(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> bool {
        socket::send(&self.0, bytes, descriptors, SendFlags::DONTWAIT).is_ok()
    }

    fn ask(&self, file: u32, id: u64, ask: Ask) -> bool {
        self.say(&Request { file, id, ask })
    }

    /// An ioctl with so many bytes beside its argument.
    fn ioctl(&self, id: u64, number: u32, argument: usize, bytes: usize) -> bool {
        let mut memory = Segments::new();
        memory.push(0x1000, vec![0; bytes]);
        self.ask(1, id, Ask::Ioctl { number, argument: vec![0; argument], memory })
    }

    /// Waits for whatever the daemon says next.
    fn hear(&self) {
        let mut room = vec![0; 1 << 18];
        let _ = socket::wait(&self.0, Some(LIMIT)).is_ok_and(|is_there| {
            is_there
                && matches!(
                    socket::receive(&self.0, &mut room, RecvFlags::empty()),
                    Ok(Arrival::Message { .. })
                )
        });
    }
}

/// One connection, in one of many bad ways; what it keeps open.
fn attack(daemon: &Aned, kind: u32) -> Option<Rude> {
    let any = std::fs::File::open("/dev/null").expect("is there");
    match kind {
        0 => drop(Rude::new(daemon)),
        1 => {
            Rude::new(daemon).say_bytes(&[0], &[]);
        }
        2 => {
            Rude::new(daemon).say_bytes(&Request::hello(1).to_bytes()[..17], &[]);
        }
        3 => {
            let rude = Rude::greeted(daemon);
            for id in 2..40 {
                rude.ask(0, id, Ask::Open);
            }
        }
        4 => {
            let rude = Rude::greeted(daemon);
            for id in 2..10 {
                rude.ask(0, id, Ask::Mailbox);
            }
            rude.hear();
        }
        5 => {
            let rude = Rude::greeted(daemon);
            rude.ask(0, 2, Ask::Open);
            for id in 3..10 {
                rude.ask(1, id, Ask::Arena);
            }
            rude.hear();
        }
        6 => {
            Rude::greeted(daemon).say_bytes(&Request::hello(2).to_bytes(), &[any.as_fd(); 100]);
        }
        7 => {
            let rude = Rude::greeted(daemon);
            for id in 2..12 {
                let message = Request { file: 0, id, ask: Ask::AttachArena }.to_bytes();
                rude.say_bytes(&message, &[any.as_fd()]);
            }
        }
        8 => {
            let rude = Rude::greeted(daemon);
            rude.ask(0, 2, Ask::Open);
            for id in 3..200 {
                rude.ioctl(id, BO_CREATE.number, 40, 0);
            }
            rude.hear();
        }
        9 => {
            // Calls without end, none of whose answers it takes.
            let rude = Rude::greeted(daemon);
            rude.ask(0, 2, Ask::Open);
            let _ = (3..).take_while(|&id| rude.ioctl(id, WAIT.number, 40, 100_000)).take(300).count();
            return Some(rude);
        }
        _ => return Some(Rude::greeted(daemon)),
    }
    None
}

/// A client that behaves; how often it was served, and what it waited for most.
fn behave(daemon: &Aned, is_over: &AtomicBool) -> (u32, Duration) {
    let mut clients = daemon.clients();
    let file = clients.open();
    let built = program(2);
    let loaded = clients.load(file, &built.program());
    let (mut rounds, mut longest) = (0, Duration::ZERO);
    while !is_over.load(Ordering::Relaxed) {
        let start = Instant::now();
        let value = [f16::from_f32((rounds % 2048) as f32)];
        clients.fill(&loaded, built.surface("x").unwrap(), &value);
        assert_eq!(clients.run(&loaded).result, 0);
        assert_eq!(clients.take(&loaded, built.surface("y").unwrap()), value);
        longest = longest.max(start.elapsed());
        rounds += 1;
    }
    (rounds, longest)
}

#[test]
fn storm_of_clients_that_want_everything_takes_nothing_from_one_that_behaves_and_leaves_nothing() {
    let wanted = std::env::var("ANE_STORM").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let mut first = daemon.clients();
    assert_eq!(first.free_contexts(), 8);
    let before = ProcessUse::of(daemon.pid());
    let (is_over, made) = (AtomicBool::new(false), AtomicU32::new(0));
    let (rounds, longest) = thread::scope(|scope| {
        let behaved = scope.spawn(|| behave(&daemon, &is_over));
        let attackers: Vec<_> = (0..ATTACKERS)
            .map(|number| {
                let (daemon, made) = (&daemon, &made);
                scope.spawn(move || {
                    let mut random = Random::new(0xe84a_0000 + number);
                    let mut kept = Vec::new();
                    for _ in 0..wanted {
                        kept.extend(attack(daemon, random.below(11)));
                        made.fetch_add(1, Ordering::Relaxed);
                        if kept.len() > 12 {
                            kept.clear();
                        }
                    }
                })
            })
            .collect();
        for attacker in attackers {
            attacker.join().expect("it comes to its end");
        }
        is_over.store(true, Ordering::Relaxed);
        behaved.join().expect("it is served")
    });
    assert_eq!(u64::from(made.into_inner()), ATTACKERS * u64::from(wanted));
    assert!(rounds > 20, "{rounds} rounds");
    assert!(longest < Duration::from_secs(5), "{longest:?}");
    let end = Instant::now() + LIMIT;
    loop {
        let (contexts, after) = (first.free_contexts(), ProcessUse::of(daemon.pid()));
        let is_clean = after.descriptors <= before.descriptors && after.threads <= before.threads;
        if contexts == 8 && is_clean && after.resident <= before.resident + 32 {
            break;
        }
        assert!(Instant::now() < end, "{contexts} contexts free; {before:?} became {after:?}");
        thread::sleep(Duration::from_millis(10));
    }
    println!("{rounds} rounds beside it, the longest took {longest:?}");
}
