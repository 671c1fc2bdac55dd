//! A driver in this process: calls under a lock.
//!
//! Nothing runs beside the callers. Whoever waits looks for what the device has to say meanwhile, and that is when an
//! embedded engine computes: on the thread that waits. The lock is given up between two tasks, so that other threads get
//! their calls in.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use ane_driver::front::{Call, Credentials, FileId, Files, Segments, User};
use ane_uapi::ioctl::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::unistd::getuid;

use super::connection::{ANOTHER_FILE, Connection, Failed, signal_of};
use super::error::Error;
use super::mapping::Mapping;

/// How long a waiter sleeps at most before it looks again: for what neither a call nor the device tells.
const NAP: Duration = Duration::from_millis(10);

/// A driver, and those who wait for it.
pub(super) struct Shared<F> {
    files: Mutex<F>,
    changed: Condvar,
    /// Readable when the device has something to say, where it is in another process.
    wakeup: Option<OwnedFd>,
    /// Tells of driver and device what calls do not.
    reporter: Option<Reporter<F>>,
}

/// The report of a driver besides its calls, or the known reports, if it has no such one.
pub(super) type Reporter<F> = fn(&mut F, &str) -> Result<String, String>;

impl<F: Files> Shared<F> {
    pub(super) fn new(files: F, reporter: Option<Reporter<F>>) -> Self {
        let wakeup = files.wakeup().and_then(|wakeup| wakeup.try_clone_to_owned().ok());
        Self { files: Mutex::new(files), changed: Condvar::new(), wakeup, reporter }
    }

    /// The driver. A thread that panicked under the lock has left it between two calls.
    pub(super) fn lock(&self) -> MutexGuard<'_, F> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is reason to look again.
    fn nap(&self, files: MutexGuard<'_, F>, limit: Option<Duration>) {
        let limit = limit.unwrap_or(NAP).min(NAP);
        match &self.wakeup {
            Some(wakeup) => {
                drop(files);
                // At least a millisecond: a time-out of zero would not sleep.
                let millis = u16::try_from(limit.as_millis()).unwrap_or(u16::MAX).max(1);
                let mut descriptors = [PollFd::new(wakeup.as_fd(), PollFlags::POLLIN)];
                // Interrupted or not, what happened is looked at next.
                let _ = poll(&mut descriptors, PollTimeout::from(millis));
            }
            None => {
                let woken = self.changed.wait_timeout(files, limit);
                drop(woken.unwrap_or_else(PoisonError::into_inner));
            }
        }
    }
}

pub(super) struct InProcess<F: Files> {
    shared: Arc<Shared<F>>,
    file: FileId,
}

impl<F: Files + Send + 'static> InProcess<F> {
    pub(super) fn open(shared: Arc<Shared<F>>) -> Result<Self, Errno> {
        let user = User { id: getuid().as_raw(), is_privileged: true };
        let who = Credentials { process: std::process::id(), user };
        let file = shared.lock().open(who)?;
        Ok(Self { shared, file })
    }

    pub(super) fn shared(&self) -> Arc<Shared<F>> {
        Arc::clone(&self.shared)
    }

    fn wait_for(&self, call: &mut Call) -> Result<(), Errno> {
        loop {
            let mut files = self.shared.lock();
            if let Poll::Ready(outcome) = files.ioctl(self.file, call) {
                // Its caller may do something else for long before it waits.
                files.push();
                // It may be what somebody else waits for: memory, a context, a fence.
                self.shared.changed.notify_all();
                return outcome;
            }
            let progress = files.progress(Duration::ZERO);
            if progress.is_some {
                self.shared.changed.notify_all();
            }
            if !progress.is_some && !progress.is_pending {
                self.shared.nap(files, progress.after);
            }
        }
    }
}

impl<F: Files + Send + 'static> Connection for InProcess<F> {
    fn ioctl(&self, number: u32, argument: &mut [u8], memory: &mut [&mut [u8]]) -> Result<(), Failed> {
        let mut segments = Segments::new();
        for slice in memory.iter() {
            segments.push(slice.as_ptr().addr() as u64, slice.to_vec());
        }
        let mut call = Call::new(number, argument.to_vec(), segments);
        let outcome = self.wait_for(&mut call);
        argument.copy_from_slice(&call.argument);
        copy_back(&call.memory, memory);
        Ok(outcome?)
    }

    fn map(&self, offset: u64, bytes: u64) -> Result<Mapping, Error> {
        let failed = |why| Error::Map { bytes, why };
        let extents = self.shared.lock().map(self.file, offset, bytes);
        let extents = extents.map_err(|errno| failed(std::io::Error::from_raw_os_error(errno as i32)))?;
        // The driver has counted a mapping that is none.
        Mapping::of(&extents).inspect_err(|_| self.unmap(offset, bytes)).map_err(failed)
    }

    fn unmap(&self, offset: u64, bytes: u64) {
        // Told out of politeness: the driver keeps the buffer until then, or until the file is closed.
        let _ = self.shared.lock().unmap(self.file, offset, bytes);
    }

    fn signal(&self, fence: u64) -> Result<OwnedFd, Error> {
        let failed = |code| Error::Failed { what: signal_of(fence), code };
        let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .map_err(|why| failed(why as i32))?;
        let event = OwnedFd::from(event);
        let theirs = event.try_clone().map_err(|why| failed(why.raw_os_error().unwrap_or_default()))?;
        let outcome = self.shared.lock().signal(self.file, fence, Arc::new(theirs));
        outcome.map_err(|errno| failed(errno as i32))?;
        Ok(event)
    }

    fn failure(&self, fence: u64) -> Option<String> {
        self.shared.lock().failure(self.file, fence).map(str::to_owned)
    }

    fn again(&self) -> Result<Box<dyn Connection>, Error> {
        let opened = Self::open(self.shared());
        let failed = |errno| Error::Failed { what: ANOTHER_FILE.to_owned(), code: errno as i32 };
        Ok(Box::new(opened.map_err(failed)?))
    }

    fn report(&self, what: &str) -> Result<Option<String>, Error> {
        let report = |reporter: Reporter<F>| reporter(&mut self.shared.lock(), what).ok();
        Ok(self.shared.reporter.and_then(report))
    }
}

impl<F: Files> Drop for InProcess<F> {
    fn drop(&mut self) {
        self.shared.lock().close(self.file);
        self.shared.changed.notify_all();
    }
}

/// Copies the bytes that the driver wrote into their slices.
pub(super) fn copy_back(segments: &Segments, memory: &mut [&mut [u8]]) {
    for (at, bytes) in segments.changed() {
        let slice = memory.iter_mut().find(|slice| slice.as_ptr().addr() as u64 == at);
        // An empty slice has no address of its own, and nothing was written to it.
        if let Some(slice) = slice.filter(|slice| slice.len() == bytes.len()) {
            slice.copy_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use ane_device::Options;

    use super::super::{Device, Fence, Location};
    use super::*;

    #[test]
    fn fence_that_is_not_known_is_refused_and_the_device_is_there() {
        let device = Device::open(&Location::Embedded, &Options::default()).unwrap();
        let refused = device.signal(Fence(7)).unwrap_err();
        assert_eq!(refused.to_string(), "a descriptor for fence 7 cannot be had: ENODATA");
        assert_eq!((refused.errno(), refused.is_device_missing()), (Some(Errno::ENODATA), false));
    }
}
