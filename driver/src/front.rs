//! The interface of the driver for a front: files, calls on them, and progress.
//!
//! A kernel stands between a client and a driver; here that is a *front*: the client library in the same
//! process, or the server that takes clients over a socket. Fronts pass calls on and never look into them. The
//! driver is a state machine without threads: a call that cannot end yet says so, and the front offers it again
//! once [`Files::progress`] says that something happened. So one front may keep any number of calls waiting, and a
//! test may have any interleaving it wants.
//!
//! Requests of calls are queued, and go to the device with the next progress: a trip to the device costs a wake-up at
//! each end, whether it brings one request or sixteen.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::task::Poll;
use std::time::Duration;

use ane_uapi::ioctl::errno::Errno;

pub use ane_call::{Bad, Extent, Segments};
pub use user::User;

mod user;

/// Files that may be open at once: far more than there are contexts, as most wait for one.
pub const FILES_MAX: usize = 4096;

/// An open file of the device. Never used again once it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u64);

/// The process and user that open a file. The front knows them from the system, and not from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The process, for dumps and logs.
    pub process: u32,
    pub user: User,
}

/// One call on a file: the word that says which, its argument, and the memory that the argument points at.
///
/// It is the same object from its first try to its end, since it may have to remember how far it came.
#[derive(Debug)]
pub struct Call {
    /// The ioctl's number, with direction and size.
    pub number: u32,
    /// The argument; what the driver answers is written into it.
    pub argument: Vec<u8>,
    /// The memory that the argument's pointers lead to.
    pub memory: Segments,
    /// How far a call has come that did not end at once: the driver's own note, of no use to a front.
    pub ticket: Option<u64>,
}

impl Call {
    pub const fn new(number: u32, argument: Vec<u8>, memory: Segments) -> Self {
        Self { number, argument, memory, ticket: None }
    }
}

/// The outcome of a look for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// A call that waits may have its answer now, or a file may have become readable.
    pub is_some: bool,
    /// The engine of a device in this process has more to do now: look again at once.
    pub is_pending: bool,
    /// When to look again if nothing calls before that: a deadline, or the end of something.
    pub after: Option<Duration>,
}

/// The driver as fronts see it.
pub trait Files {
    /// Opens a file. It has no context yet: the first call that needs one attaches it.
    ///
    /// # Errors
    ///
    /// `ENODEV` if the device is gone, `ENOMEM` if the driver keeps too many files already.
    fn open(&mut self, who: Credentials) -> Result<FileId, Errno>;

    /// Closes a file: work that has not started is cancelled, work that runs is aborted, and everything the file
    /// had goes back. Calls of the file that wait are void.
    fn close(&mut self, file: FileId);

    /// Tries a call. While it cannot end, it is [`Poll::Pending`] and to be offered again.
    ///
    /// # Errors
    ///
    /// The error number that the call ends with; `ENOTTY`, `EINVAL` and the like as `docs/uapi.md` has them.
    fn ioctl(&mut self, file: FileId, call: &mut Call) -> Poll<Result<(), Errno>>;

    /// Gives up a call that is pending: its client had a signal, or is gone. Work that it started goes on.
    fn abandon(&mut self, file: FileId, call: Call);

    /// The memory behind `offset`, as the client got it with a buffer. Each is a mapping that keeps the buffer.
    ///
    /// # Errors
    ///
    /// `EINVAL` if no buffer is there, or it has fewer bytes.
    fn map(&mut self, file: FileId, offset: u64, bytes: u64) -> Result<Vec<Extent>, Errno>;

    /// A mapping that [`Files::map`] gave is no more.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is none.
    fn unmap(&mut self, file: FileId, offset: u64, bytes: u64) -> Result<(), Errno>;

    /// Has `event` written to once the request of `fence` has ended, at once if it has already. The driver drops it then, so
    /// whoever keeps a [`Weak`](std::sync::Weak) sees which requests have not ended.
    ///
    /// # Errors
    ///
    /// `ENODATA` if the fence was never given out.
    fn signal(&mut self, file: FileId, fence: u64, event: Arc<OwnedFd>) -> Result<(), Errno>;

    /// Why the request of `fence` failed, in words, if the device said so and it is one of the file's last.
    fn failure(&self, file: FileId, fence: u64) -> Option<&str>;

    /// Has a request ended, or a fault happened, since the file last waited or asked? What `poll` says of a file.
    fn is_readable(&self, file: FileId) -> bool;

    /// The arena of the file: the memory object in which all its unscattered buffers lie at their map offsets, for
    /// a client that maps a device node as if it were a file.
    ///
    /// # Errors
    ///
    /// As for attaching a context: `EBUSY` if none is free; `ENOMEM`.
    fn arena(&mut self, file: FileId) -> Result<Arc<OwnedFd>, Errno>;

    /// From now on the memory that no file has any more goes to `sink` while that has room, for the front to close it where it holds
    /// nothing up. To close the last descriptor of some gigabytes takes seconds.
    fn retire_to(&mut self, sink: SyncSender<Arc<OwnedFd>>);

    /// True if calls have left something that the device does not know of yet: requests that were submitted, or that may
    /// start because a file was closed.
    fn has_queued(&self) -> bool;

    /// Tells the device of it. [`Files::progress`] does so too, so this is for a front that may not come to that soon.
    fn push(&mut self);

    /// Tells the device what was queued, all at once, and takes what it has to say and whatever the clock brings,
    /// waiting for that no longer than `limit`.
    fn progress(&mut self, limit: Duration) -> Progress;

    /// Readable when the device has something to say, if there is such a thing on this bus.
    fn wakeup(&self) -> Option<BorrowedFd<'_>>;
}
