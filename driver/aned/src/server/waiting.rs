//! Calls that do not end at once: ioctls, and questions whether a file has something to tell.
//!
//! Such a call waits with its client, and is offered to the driver again whenever the driver says that something happened.
//! It ends once, whichever comes first: by itself, by its client's wish, with its file, or with its client.

use std::task::Poll;

use ane_uapi::ioctl::errno::Errno;

use super::calls::Calls;
use super::connection::{Connection, Result, Waiting, What, weight};
use ane_driver::front::{Call, FileId, Files};
use aned_protocol::answer;
use aned_protocol::{CALLS_MAX, Kind};

impl<F: Files> Calls<F> {
    /// Carries an ioctl out, or has it wait.
    pub(super) fn ioctl(
        &mut self,
        client: &mut Connection,
        number: u32,
        id: u64,
        mut call: Call,
    ) -> Result<()> {
        let file = match self.file(client, number) {
            Ok(file) => file,
            Err(why) => return ended(client, number, id, &call, Err(why)),
        };
        match self.driver.ioctl(file, &mut call) {
            Poll::Ready(outcome) => ended(client, number, id, &call, outcome),
            Poll::Pending if client.waiting.len() >= CALLS_MAX => {
                self.give_up(file, client, number, id, call, Errno::EAGAIN)
            }
            Poll::Pending if !client.has_room_for(weight(&call)) => {
                self.give_up(file, client, number, id, call, Errno::ENOMEM)
            }
            Poll::Pending => {
                client.wait(Waiting { id, number, file, what: What::Ioctl(call) });
                Ok(())
            }
        }
    }

    /// Ends a call that has not ended by itself.
    fn give_up(
        &mut self,
        file: FileId,
        client: &mut Connection,
        number: u32,
        id: u64,
        call: Call,
        why: Errno,
    ) -> Result<()> {
        let sent = ended(client, number, id, &call, Err(why));
        self.driver.abandon(file, call);
        sent
    }

    /// Answers once the file has something to tell.
    pub(super) fn wait_readable(&mut self, client: &mut Connection, number: u32, id: u64) -> Result<()> {
        let outcome = match self.file(client, number) {
            Ok(file) if self.driver.is_readable(file) => Ok(()),
            Ok(_) if client.waiting.len() >= CALLS_MAX => Err(Errno::EAGAIN),
            Ok(file) => {
                client.wait(Waiting { id, number, file, what: What::Readable });
                return Ok(());
            }
            Err(why) => Err(why),
        };
        plain(client, Kind::Readable, number, id, outcome)
    }

    /// Offers some of the calls that wait once more.
    pub(super) fn offer(&mut self, client: &mut Connection, limit: usize) -> Result<()> {
        let some = client.to_offer.min(limit);
        client.to_offer = client.to_offer.saturating_sub(some);
        for _ in 0..some {
            let Some(waiting) = client.next_waiting() else { break };
            let Waiting { id, number, file, what } = waiting;
            match what {
                What::Ioctl(mut call) => match self.driver.ioctl(file, &mut call) {
                    Poll::Ready(outcome) => ended(client, number, id, &call, outcome)?,
                    Poll::Pending => client.wait(Waiting { id, number, file, what: What::Ioctl(call) }),
                },
                What::Readable if self.driver.is_readable(file) => {
                    plain(client, Kind::Readable, number, id, Ok(()))?;
                }
                What::Readable => client.wait(Waiting { id, number, file, what: What::Readable }),
            }
        }
        Ok(())
    }

    /// Gives up a call that waits, if it still does.
    pub(super) fn abandon(&mut self, client: &mut Connection, call: u64) -> Result<()> {
        match client.waiting.iter().position(|waiting| waiting.id == call) {
            Some(index) => self.end(client, index, Errno::EINTR),
            None => Ok(()),
        }
    }

    /// Ends the calls on a file that the client has closed.
    pub(super) fn void(&mut self, client: &mut Connection, number: u32) {
        while let Some(index) = client.waiting.iter().position(|waiting| waiting.number == number) {
            // A client that does not take this answer will not take that to its close either, and goes then.
            let _ = self.end(client, index, Errno::EBADF);
        }
    }

    fn end(&mut self, client: &mut Connection, index: usize, why: Errno) -> Result<()> {
        let Some(Waiting { id, number, file, what }) = client.take_waiting(index) else { return Ok(()) };
        match what {
            What::Ioctl(call) => self.give_up(file, client, number, id, call, why),
            What::Readable => plain(client, Kind::Readable, number, id, Err(why)),
        }
    }
}

fn ended(
    client: &mut Connection,
    number: u32,
    id: u64,
    call: &Call,
    outcome: Result<(), Errno>,
) -> Result<()> {
    let mut message = Vec::with_capacity(64);
    answer::begin(&mut message, Kind::Ioctl, number, id, outcome);
    answer::ioctl(&mut message, &call.argument, &call.memory);
    client.send(id, message, Vec::new())
}

/// Answers with nothing but the outcome.
fn plain(
    client: &mut Connection,
    kind: Kind,
    number: u32,
    id: u64,
    outcome: Result<(), Errno>,
) -> Result<()> {
    let mut message = Vec::new();
    answer::begin(&mut message, kind, number, id, outcome);
    client.send(id, message, Vec::new())
}
