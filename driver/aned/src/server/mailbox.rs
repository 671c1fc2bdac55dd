//! A client's mailbox, as the server has it.

use std::os::fd::OwnedFd;

use super::connection::Result;
use aned_protocol::Malformed;
use aned_protocol::mailbox::Serving;

#[derive(Debug)]
pub(super) struct Mailbox {
    memory: Serving,
    /// The client was told that the daemon looks by itself.
    is_watched: bool,
    /// The call that came by it and has no answer yet.
    call: Option<u64>,
}

impl Mailbox {
    /// A new one; gives what the client maps.
    pub(super) fn new() -> std::io::Result<(Self, OwnedFd)> {
        let memory = Serving::new()?;
        let file = memory.file().try_clone_to_owned()?;
        Ok((Self { memory, is_watched: true, call: None }, file))
    }

    /// True if the client has laid a message in.
    pub(super) fn is_asked(&self) -> bool {
        self.is_watched && self.memory.is_asked()
    }

    /// Looks by itself from now on.
    pub(super) fn watch(&mut self) {
        self.is_watched = true;
        self.memory.watch();
    }

    /// Has to be told of the next message; false if there is one already.
    pub(super) fn rest(&mut self) -> bool {
        self.is_watched = self.is_watched && !self.memory.rest();
        !self.is_watched
    }

    pub(super) fn take(&mut self, into: &mut Vec<u8>) -> Result<bool> {
        let is_taken = self.memory.take(into).map_err(|_| Malformed::Huge)?;
        if is_taken && self.call.is_some() {
            return Err(Malformed::Order("a call in a mailbox whose last call waits").into());
        }
        Ok(is_taken)
    }

    /// True if that call came by it and has no answer yet.
    pub(super) fn holds(&self, call: u64) -> bool {
        self.call == Some(call)
    }

    /// The call that the next answer in the box belongs to.
    pub(super) const fn begin_call(&mut self, call: u64) {
        self.call = Some(call);
    }

    pub(super) fn answer(&mut self, message: &[u8]) -> Result<()> {
        self.call = None;
        if self.memory.answer(message) {
            return Ok(());
        }
        Err(Malformed::Huge.into())
    }
}
