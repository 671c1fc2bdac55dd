//! The control socket: faults made, and the state told, while a guest runs.
//!
//! A client of it could as well stop the device, so it lets in root and the user that the daemon runs as, and refuses
//! all others. The protocol is lines of text: a command goes in; its answer is as many
//! lines as it has to tell, each behind two spaces, and then `ok`, or `error` and why.
//!
//! Each client has a thread of its own, and there are few. None of them does anything with the engine but to
//! ask between two of its turns, so the thread that the engine runs on waits for no client.

mod command;

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{getsockopt, sockopt};
use nix::unistd::Uid;

use self::command::{Command, HELP, Line};
use super::hold::Hold;
use super::journal::{self, Kind};
use super::worker::Worker;

/// Bytes of the longest line: every command is shorter than half of it.
const LINE_MAX: u64 = 256;

/// Clients at one time: a person, a script, and some to spare.
const CLIENTS_MAX: usize = 4;

/// How long a client may leave an answer unread.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A pause after a failure to accept, so that one that lasts does not become a busy loop.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) type Engines = Vec<(String, Arc<Hold>)>;

/// Serves clients until the program ends; the daemon itself runs as `own`.
pub(crate) fn serve(listener: &UnixListener, own: Uid, engines: Engines) {
    let engines = Arc::new(engines);
    let clients = Arc::new(AtomicUsize::new(0));
    loop {
        if let Err(why) = welcome(listener, own, &engines, &clients) {
            journal::write(Kind::Stranger, format_args!("control: client cannot be served: {why}"));
            thread::sleep(PAUSE);
        }
    }
}

/// Lets the next client in, or tells it why not.
fn welcome(
    listener: &UnixListener,
    own: Uid,
    engines: &Arc<Engines>,
    clients: &Arc<AtomicUsize>,
) -> io::Result<()> {
    let (stream, _) = listener.accept()?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let peer = getsockopt(&stream, sockopt::PeerCredentials)?.uid();
    if !admits(peer, own.as_raw()) {
        journal::write(Kind::Stranger, format_args!("control: user {peer} was refused"));
        return refuse(&stream, &format!("user {peer} may not control this device"));
    }
    // Only this thread counts up, so the count cannot change in between.
    if clients.load(Ordering::SeqCst) >= CLIENTS_MAX {
        return refuse(&stream, &format!("there are {CLIENTS_MAX} clients already"));
    }
    clients.fetch_add(1, Ordering::SeqCst);
    let (engines, left) = (Arc::clone(engines), Arc::clone(clients));
    let client = thread::Builder::new().name("control".to_owned()).spawn(move || {
        if let Err(why) = converse(&stream, &engines) {
            log::debug!("control: client is gone: {why}");
        }
        left.fetch_sub(1, Ordering::SeqCst);
    });
    if client.is_err() {
        clients.fetch_sub(1, Ordering::SeqCst);
    }
    client.map(drop)
}

/// True if a process of user `peer` may control a daemon that runs as `own`.
const fn admits(peer: u32, own: u32) -> bool {
    peer == own || peer == 0
}

/// Says why a client is not served. One that is gone already need not be told.
fn refuse(mut stream: &UnixStream, why: &str) -> io::Result<()> {
    let _ = writeln!(stream, "error {why}");
    Ok(())
}

/// Answers lines until the client goes.
fn converse(mut stream: &UnixStream, engines: &Engines) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.pop() != Some(b'\n') {
            // Where the next line starts cannot be known.
            return refuse(stream, &format!("line does not end within {LINE_MAX} bytes"));
        }
        stream.write_all(reply(engines, &line).as_bytes())?;
    }
}

/// The whole answer to a line.
fn reply(engines: &Engines, line: &[u8]) -> String {
    let text = str::from_utf8(line).map_err(|_| "line is no text".to_owned());
    let told = text
        .and_then(|text| text.parse::<Line>().map_err(|bad| bad.to_string()))
        .and_then(|line| carry_out(engines, &line));
    match told {
        Ok(told) => told.lines().map(|line| format!("  {line}\n")).chain(["ok\n".to_owned()]).collect(),
        Err(why) => format!("error {why}\n"),
    }
}

fn engine<'a>(engines: &'a Engines, name: Option<&str>) -> Result<&'a (String, Arc<Hold>), String> {
    let known = || engines.iter().map(|(name, _)| format!("@{name}")).collect::<Vec<_>>().join(" ");
    match (name, engines.as_slice()) {
        (Some(name), _) => engines
            .iter()
            .find(|(known, _)| known == name)
            .ok_or_else(|| format!("engine {name:?} is not known; known: {}", known())),
        (None, [only]) => Ok(only),
        (None, _) => Err(format!("there are several engines; begin the line with one of {}", known())),
    }
}

/// Does something with the engine that a line is for, between two of its turns.
fn ask<R>(engines: &Engines, line: &Line, action: impl FnOnce(&mut Worker) -> R) -> Result<R, String> {
    engine(engines, line.engine.as_deref()).map(|(_, engine)| engine.with_worker(action))
}

fn carry_out(engines: &Engines, line: &Line) -> Result<String, String> {
    match line.command {
        Command::Help => Ok(help()),
        Command::Engines => Ok(lines(engines.iter().map(|(name, _)| name))),
        Command::Inject(injection) => ask(engines, line, |worker| worker.inject(injection)).map(|()| {
            journal::write(Kind::Control, format_args!("control: fault {injection} is armed"));
            String::new()
        }),
        Command::Clear => ask(engines, line, Worker::clear_injections).map(|()| {
            journal::write(Kind::Control, format_args!("control: faults are disarmed"));
            String::new()
        }),
        Command::Armed => ask(engines, line, |worker| worker.injections()).map(lines),
        Command::Counters => ask(engines, line, |worker| worker.counts())
            .map(|counts| lines(counts.into_iter().map(|(name, count)| format!("{name} {count}")))),
        Command::Findings => {
            let take = |worker: &mut Worker| (worker.take_findings(), worker.take_findings_lost());
            match ask(engines, line, |worker| worker.is_checking().then(|| take(worker)))? {
                Some((findings, lost)) => {
                    let lost = (lost > 0).then(|| format!("{lost} more were dropped: nobody asked in time"));
                    Ok(lines(findings.iter().map(ToString::to_string).chain(lost)))
                }
                None => Err("checking mode is off; start the device with --check".to_owned()),
            }
        }
        Command::Dump => ask(engines, line, |worker| worker.dump()),
        Command::Registers => ask(engines, line, Worker::registers),
        Command::Tables => ask(engines, line, |worker| worker.tables()),
        Command::Faults => ask(engines, line, |worker| worker.faults()),
        Command::Trace(is_wanted) => {
            ask(engines, line, |worker| worker.keep_timeline(is_wanted)).map(|()| String::new())
        }
        Command::Timeline => ask(engines, line, Worker::timeline)?
            .ok_or_else(|| "no timeline is kept; the line \"trace on\" begins one".to_owned()),
    }
}

fn lines(items: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    items.into_iter().map(|item| format!("{item}\n")).collect()
}

fn help() -> String {
    let mut text = String::new();
    for (form, what) in HELP {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{form:<18} {what}");
    }
    text.push_str("With several engines a line begins with @ and a name: @ane0 dump\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peer_is_let_in_only_as_root_or_as_the_daemons_own_user() {
        assert!(admits(1000, 1000) && admits(0, 1000) && admits(0, 0));
        assert!(!admits(1001, 1000) && !admits(1000, 0) && !admits(u32::MAX, 0));
    }
}
