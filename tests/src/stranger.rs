//! A stranger: a process of a user that nothing here belongs to, at the socket of a daemon.
//!
//! Daemons ask the kernel who connects, whatever the permissions of their socket are. To see that, somebody else has to
//! connect, which takes root; the permissions of the socket are opened first, so that the daemon refuses, and not the file.

use std::fs::{Permissions, set_permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use nix::unistd::geteuid;
use rustix::process::Uid;
use rustix::thread::set_thread_uid;

use aned_protocol::socket;

use crate::data;
use crate::preload::python;

/// Its user: `nobody`, who owns no file.
pub const USER: u32 = 65534;

/// Connects, says what it was told to, and prints everything that it receives until the other side closes the connection.
const SCRIPT: &str = "
import socket, sys
peer = socket.socket(socket.AF_UNIX, getattr(socket, sys.argv[2]))
peer.settimeout(10)
try:
    peer.connect(sys.argv[1])
except PermissionError:
    sys.exit(13)
try:
    peer.send(sys.argv[3].encode())
except (BrokenPipeError, ConnectionResetError):
    pass
heard, was_reset = b'', False
while True:
    try:
        part = peer.recv(4096)
    except ConnectionResetError:
        # Where the words lay unread, packets are told of that before what was answered.
        if was_reset:
            break
        was_reset = True
        continue
    if not part:
        break
    heard += part
sys.stdout.buffer.write(heard)
";

/// The bytes that a stranger receives at a socket of a type such as `SOCK_STREAM` after it has sent `words`,
/// until the other side closes the connection. `None`, with a message as of a test that does not run, where no
/// other user can be had.
///
/// # Panics
///
/// If it cannot connect, or is not hung up on.
pub fn answer_to(socket: &Path, kind: &str, words: &str) -> Option<String> {
    if !geteuid().is_root() {
        data::not_run("only root can knock as somebody else");
        return None;
    }
    let python = python()?;
    open_wide(socket);
    let output = knock(python, socket, USER, kind, words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The same of a stranger in a group, at a socket that keeps its permissions; no bytes where these do not let it connect.
///
/// # Panics
///
/// If it is not hung up on.
pub fn answer_to_group(socket: &Path, group: u32, words: &str) -> Option<Option<String>> {
    if !geteuid().is_root() {
        data::not_run("only root can knock as somebody else");
        return None;
    }
    let python = python()?;
    open(socket.parent().expect("a socket lies in a folder"), 0o755);
    let output = knock(python, socket, group, "SOCK_SEQPACKET", words);
    match output.status.code() {
        Some(0) => Some(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
        Some(13) => Some(None),
        _ => panic!("{}", String::from_utf8_lossy(&output.stderr)),
    }
}

fn knock(python: &str, socket: &Path, group: u32, kind: &str, words: &str) -> Output {
    let mut stranger = Command::new(python);
    stranger.args(["-c", SCRIPT]).arg(socket).args([kind, words]).current_dir("/");
    stranger.uid(USER).gid(group).output().expect("the stranger starts")
}

/// Lets everybody come to a socket.
fn open_wide(socket: &Path) {
    open(socket, 0o666);
    open(socket.parent().expect("a socket lies in a folder"), 0o755);
}

fn open(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

/// Connections of a user's to a daemon's socket, as many as are asked for. None, said as a test that does not run, where
/// nobody else can be had.
///
/// # Panics
///
/// If it cannot connect.
pub fn dials(path: &Path, user: u32, count: usize) -> Option<Vec<OwnedFd>> {
    if !geteuid().is_root() {
        data::not_run("only root can knock as somebody else");
        return None;
    }
    open_wide(path);
    let dial_as = || {
        // This changes the user of the thread only, which ends soon after.
        set_thread_uid(Uid::from_raw(user)).expect("root may become anybody");
        (0..count).map(|_| socket::dial(path).expect("it listens")).collect()
    };
    Some(thread::scope(|scope| scope.spawn(dial_as).join().expect("it connects")))
}
