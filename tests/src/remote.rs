//! Files of a daemon's, for clients of any [`Files`]: the server is in another process.

use std::collections::BTreeMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::task::Poll;
use std::time::Duration;

use ane_driver::front::{Call, Credentials, Extent, FileId, Files, Progress};
use ane_uapi::ioctl::errno::Errno;
use aned_protocol::Token;
use aned_protocol::client::{Client, File};

/// A connection to a daemon.
#[derive(Debug)]
pub struct Remote {
    client: Client,
    tokens: BTreeMap<FileId, Token>,
}

impl Remote {
    /// Files over this connection.
    pub const fn new(client: Client) -> Self {
        Self { client, tokens: BTreeMap::new() }
    }

    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// The token with which another process attaches to a file.
    ///
    /// # Panics
    ///
    /// If it was not opened here.
    pub fn token(&self, file: FileId) -> Token {
        self.tokens[&file]
    }
}

/// The file as the client numbers it.
fn number(file: FileId) -> File {
    File(file.0 as u32)
}

impl Files for Remote {
    fn open(&mut self, _: Credentials) -> Result<FileId, Errno> {
        let opened = self.client.open().map_err(|why| why.errno())?;
        let file = FileId(opened.file.0.into());
        self.tokens.insert(file, opened.token);
        Ok(file)
    }

    fn close(&mut self, file: FileId) {
        // A daemon that is gone has closed it.
        let _ = self.client.close(number(file));
    }

    fn ioctl(&mut self, file: FileId, call: &mut Call) -> Poll<Result<(), Errno>> {
        let outcome = self.client.ioctl(number(file), call.number, &mut call.argument, &mut call.memory);
        Poll::Ready(outcome.map_err(|why| why.errno()))
    }

    fn abandon(&mut self, _: FileId, _: Call) {}

    fn map(&mut self, file: FileId, offset: u64, bytes: u64) -> Result<Vec<Extent>, Errno> {
        self.client.map(number(file), offset, bytes).map_err(|why| why.errno())
    }

    fn unmap(&mut self, file: FileId, offset: u64, bytes: u64) -> Result<(), Errno> {
        self.client.unmap(number(file), offset, bytes).map_err(|why| why.errno())
    }

    fn signal(&mut self, _: FileId, _: u64, _: Arc<OwnedFd>) -> Result<(), Errno> {
        // The daemon gives a descriptor and takes none.
        Err(Errno::EOPNOTSUPP)
    }

    fn failure(&self, _: FileId, _: u64) -> Option<&str> {
        None
    }

    fn is_readable(&self, file: FileId) -> bool {
        self.client.is_readable(number(file)).unwrap_or(false)
    }

    fn arena(&mut self, file: FileId) -> Result<Arc<OwnedFd>, Errno> {
        self.client.arena(number(file)).map(Arc::new).map_err(|why| why.errno())
    }

    fn retire_to(&mut self, _: SyncSender<Arc<OwnedFd>>) {}

    fn has_queued(&self) -> bool {
        false
    }

    fn push(&mut self) {}

    fn progress(&mut self, _: Duration) -> Progress {
        Progress { is_some: true, is_pending: false, after: None }
    }

    fn wakeup(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
