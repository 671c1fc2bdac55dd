//! A driver that does nothing but remember what was asked of it.

use std::collections::BTreeMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use ane_uapi::ioctl::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};

use ane_driver::front::{Call, Credentials, Extent, FileId, Files, Progress};

/// Reverses the argument, and adds one to each byte of memory.
pub(crate) const ECHO: u32 = 1;
/// Ends once there is a [`RELEASE`] that nobody has had yet.
pub(crate) const WAIT: u32 = 2;
/// Lets one call that waits end.
pub(crate) const RELEASE: u32 = 3;
/// Fails, after it wrote to the argument.
pub(crate) const FAIL: u32 = 4;

#[derive(Debug, Default)]
pub(crate) struct Journal {
    pub(crate) open: BTreeMap<u64, Credentials>,
    pub(crate) closed: u64,
    pub(crate) abandoned: u64,
    /// Calls that were offered again after they had ended, or whose file was closed.
    pub(crate) wrong: u64,
    pub(crate) offers: u64,
    pub(crate) mappings: i64,
}

#[derive(Debug, Default)]
pub(crate) struct Fake {
    pub(crate) journal: Arc<Mutex<Journal>>,
    next: u64,
    released: u64,
    has_news: bool,
    /// Extents of every mapping.
    extents: u64,
    signals: Vec<Arc<OwnedFd>>,
    arenas: BTreeMap<FileId, Arc<OwnedFd>>,
    /// It always has more to do at once.
    is_at_work: bool,
}

impl Fake {
    /// One whose mappings have that many pieces.
    pub(crate) fn scattered(extents: u64) -> Self {
        Self { extents, ..Self::default() }
    }

    /// One whose device is always at work.
    pub(crate) fn at_work() -> Self {
        Self { is_at_work: true, ..Self::default() }
    }
}

impl Files for Fake {
    fn open(&mut self, who: Credentials) -> Result<FileId, Errno> {
        self.next += 1;
        self.journal.lock().unwrap().open.insert(self.next, who);
        Ok(FileId(self.next))
    }

    fn close(&mut self, file: FileId) {
        let mut journal = self.journal.lock().unwrap();
        journal.wrong += u64::from(journal.open.remove(&file.0).is_none());
        journal.closed += 1;
        self.arenas.remove(&file);
    }

    fn ioctl(&mut self, file: FileId, call: &mut Call) -> Poll<Result<(), Errno>> {
        let mut journal = self.journal.lock().unwrap();
        journal.offers += 1;
        journal.wrong += u64::from(!journal.open.contains_key(&file.0));
        match call.number {
            ECHO => {
                call.argument.reverse();
                let changed: Vec<_> = call
                    .memory
                    .iter()
                    .map(|(at, bytes)| {
                        (at, bytes.iter().map(|byte| byte.wrapping_add(1)).collect::<Vec<_>>())
                    })
                    .collect();
                for (at, bytes) in changed {
                    call.memory.write(at, &bytes).unwrap();
                }
                Poll::Ready(Ok(()))
            }
            WAIT if self.released > 0 => {
                self.released -= 1;
                Poll::Ready(Ok(()))
            }
            WAIT => {
                call.ticket = Some(1);
                Poll::Pending
            }
            RELEASE => {
                self.released += 1;
                self.has_news = true;
                for signal in self.signals.drain(..) {
                    rustix::io::write(signal, &1_u64.to_ne_bytes()).unwrap();
                }
                Poll::Ready(Ok(()))
            }
            FAIL => {
                call.argument.fill(0xee);
                Poll::Ready(Err(Errno::ENOSPC))
            }
            _ => Poll::Ready(Err(Errno::ENOTTY)),
        }
    }

    fn abandon(&mut self, file: FileId, call: Call) {
        let mut journal = self.journal.lock().unwrap();
        journal.abandoned += 1;
        journal.wrong += u64::from(call.ticket.is_none() || !journal.open.contains_key(&file.0));
    }

    fn map(&mut self, file: FileId, offset: u64, bytes: u64) -> Result<Vec<Extent>, Errno> {
        self.journal.lock().unwrap().mappings += 1;
        let file = self.arena(file)?;
        let extents = self.extents.max(1);
        Ok((0..extents)
            .map(|n| Extent { file: Arc::clone(&file), offset: offset + n * 2 * bytes, bytes })
            .collect())
    }

    fn unmap(&mut self, _: FileId, _: u64, _: u64) -> Result<(), Errno> {
        self.journal.lock().unwrap().mappings -= 1;
        Ok(())
    }

    fn signal(&mut self, _: FileId, fence: u64, event: Arc<OwnedFd>) -> Result<(), Errno> {
        if fence == 0 {
            return Err(Errno::ENODATA);
        }
        self.signals.push(event);
        Ok(())
    }

    fn failure(&self, file: FileId, fence: u64) -> Option<&str> {
        (fence == file.0 + 100).then_some("because of this file")
    }

    fn is_readable(&self, _: FileId) -> bool {
        self.released > 0
    }

    fn arena(&mut self, file: FileId) -> Result<Arc<OwnedFd>, Errno> {
        let arena = self
            .arenas
            .entry(file)
            .or_insert_with(|| Arc::new(memfd_create(c"arena", MFdFlags::MFD_CLOEXEC).unwrap()));
        Ok(Arc::clone(arena))
    }

    fn retire_to(&mut self, _: SyncSender<Arc<OwnedFd>>) {}

    fn has_queued(&self) -> bool {
        false
    }

    fn push(&mut self) {}

    fn progress(&mut self, _: Duration) -> Progress {
        Progress { is_some: std::mem::take(&mut self.has_news), is_pending: self.is_at_work, after: None }
    }

    fn wakeup(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
