//! The device: opening it, and calls on what is open.

use ane_uapi::ioctl::buffer::{self, BO_SCATTERED, BoCreate};
use ane_uapi::ioctl::number::Ioctl;
use ane_uapi::ioctl::{context, drm_ane, find, unknown};
use aned_protocol::Kind;
use libc::c_int;
use std::mem::offset_of;

use crate::config::Config;
use crate::connection::{self, Ready, Signals, Taken};
use crate::files::{self, File};
use crate::sys::file::{self, Identity};
use crate::sys::{Failure, Result, memory};
use crate::{marshal, sweep};

/// Flags of `open` that mean something for the descriptor of a memory object.
const KEPT: c_int = libc::O_ACCMODE | libc::O_CLOEXEC | libc::O_NONBLOCK;

/// How the names of arenas begin, of small pages and of huge ones.
const ARENA: &[u8] = b"ane-";

/// Opens the device: a descriptor of the new file's arena.
///
/// The file has its place in a context from now on, as only that has an arena; so it is opening that fails with `EBUSY` when
/// its user may have no more, and not the first call.
pub(crate) fn open(config: &Config, flags: c_int) -> Result<c_int> {
    if flags & libc::O_DIRECTORY != 0 {
        return Err(Failure(libc::ENOTDIR));
    }
    if flags & (libc::O_CREAT | libc::O_EXCL) == libc::O_CREAT | libc::O_EXCL {
        return Err(Failure(libc::EEXIST));
    }
    connection::settle(config);
    sweep::now_at_once();
    let mut lane = connection::take(config)?;
    let result = new_file(&mut lane, config);
    // It came under the lowest number that was free, as a program expects of `open`.
    let (number, fd) = lane.settle(result)?;
    if file::reopen(fd, flags & KEPT).is_err() {
        // Where there is no `/proc`, the descriptor that came has to do.
        file::close_at_exec(fd, flags & libc::O_CLOEXEC != 0);
    }
    match file::regular(fd).and_then(files::insert) {
        Some(known) => {
            let learnt = lane.learn(known, number);
            // A connection that broke has taken the new file with it.
            lane.settle(learnt).map(|_| fd).inspect_err(|_| {
                files::remove(known);
                file::close(fd);
            })
        }
        None => {
            file::close(fd);
            let ready = lane.ready(config)?;
            let closed = ready.link.simple(Kind::Close, number, None, ready.answer).map(drop);
            lane.settle(closed)?;
            Err(Failure(libc::EMFILE))
        }
    }
}

/// A new file of the daemon: the connection's number of it, and its arena.
fn new_file(lane: &mut Taken, config: &Config) -> Result<(u32, c_int)> {
    let Ready { link, answer, .. } = lane.ready(config)?;
    let (opened, _) = link.simple(Kind::Open, 0, None, answer)?;
    let number = opened?;
    match link.simple(Kind::Arena, number, None, answer)? {
        (Ok(_), Some(arena)) => Ok((number, arena)),
        (result, got) => {
            file::close_any(got);
            let _ = link.simple(Kind::Close, number, None, answer)?;
            // An arena that did not come had no room in this process.
            Err(result.err().unwrap_or(Failure(libc::EMFILE)))
        }
    }
}

/// True if `fd` stands for a file of the device.
pub(crate) fn is_open(identity: Identity) -> bool {
    files::find(identity).is_some()
}

/// An ioctl with the letter of DRM on `fd`; `None` if that is no file of the device.
pub(crate) fn ioctl(config: &Config, fd: c_int, number: u32, argument: u64) -> Option<Result<()>> {
    let identity = file::regular(fd)?;
    connection::settle(config);
    let file = match files::find(identity) {
        Some(file) => file,
        None => match inherited(config, fd, identity) {
            Ok(file) => file,
            Err(why) => return file::is_memory_object(fd, ARENA).then_some(Err(why)),
        },
    };
    sweep::now_and_then();
    // The kernel, too, answers for a number that is none before it looks at the argument.
    let Some(ioctl) = find(number) else { return Some(Err(Failure(unknown(number) as c_int))) };
    Some(call(config, file, fd, ioctl, argument))
}

/// The file of an arena that did not come from this process' `open`: from before `exec`, or from another process.
fn inherited(config: &Config, fd: c_int, identity: Identity) -> Result<File> {
    let mut lane = connection::take(config).map_err(without)?;
    let file = files::insert(identity).ok_or(Failure(libc::EMFILE))?;
    let attached = lane.number(config, file, fd);
    let attached = lane.settle(attached).map_err(without).inspect_err(|_| {
        files::remove(file);
    });
    attached.map(|_| file)
}

/// The error of a call whose file cannot be reached. One that the daemon does not know was there when it was started anew, or
/// is closed; for others it has no room now.
const fn without(why: Failure) -> Failure {
    match why.number() {
        libc::EAGAIN | libc::ENOMEM => Failure(why.number()),
        _ => Failure(libc::ENODEV),
    }
}

fn call(config: &Config, file: File, fd: c_int, ioctl: &Ioctl, argument: u64) -> Result<()> {
    refuse(ioctl, argument)?;
    let mut lane = connection::take(config).map_err(without)?;
    let number = lane.number(config, file, fd);
    let number = lane.settle(number).map_err(without)?;
    let result = carry(lane.ready(config)?, number, ioctl, argument);
    lane.settle(result)
}

/// Refuses calls that a client cannot have which maps the node as one file: a buffer whose pages do not follow
/// each other in it, and another context, which would be another file.
fn refuse(ioctl: &Ioctl, argument: u64) -> Result<()> {
    if ioctl.number == context::CONTEXT_DETACH.number {
        return Err(Failure(libc::EBUSY));
    }
    if ioctl.number == buffer::BO_CREATE.number {
        let mut flags = [0; 4];
        let at = argument.wrapping_add(offset_of!(BoCreate, flags) as u64);
        if memory::read(at, &mut flags) == flags.len() && u32::from_le_bytes(flags) & BO_SCATTERED != 0 {
            return Err(Failure(libc::EOPNOTSUPP));
        }
    }
    Ok(())
}

/// Carries a call to the daemon and back.
fn carry(ready: Ready<'_>, file: u32, ioctl: &Ioctl, argument: u64) -> Result<()> {
    let Ready { link, message, answer } = ready;
    let id = link.next_id();
    let written = marshal::write(message, ioctl, file, id, argument)?;
    // The existing driver waits for the engine without listening to signals.
    let is_legacy = ioctl.number == drm_ane::SUBMIT.number;
    let signals = if is_legacy { Signals::Wait } else { Signals::Interrupt };
    let sent = message.get(..written.bytes).unwrap_or_default();
    let answer = link.ioctl(id, sent, signals, answer)?;
    marshal::write_back(message, written, answer, argument)?;
    if answer.error == 0 { Ok(()) } else { Err(Failure(answer.error)) }
}
