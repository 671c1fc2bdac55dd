//! The work for a message.
//!
//! A message that is well formed has an answer, whatever it asks for; one that is not ends its connection, since what
//! its sender means by the next cannot be known either. An ioctl that cannot end yet waits, and is offered to the
//! driver again whenever the driver says that something happened.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use ane_uapi::ioctl::errno::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

use super::connection::{Connection, Result, Waiting, What};
use super::files::{Identity, Shared};
use super::mailbox::Mailbox;
use super::offload::Passed;
use super::shares::Shares;
use ane_driver::front::{Call, Extent, FileId, Files};
use aned_protocol::answer::{self, Piece, Welcome};
use aned_protocol::request::{Ask, Request};
use aned_protocol::{DESCRIPTORS_MAX, EXTENTS_MAX, FILES_MAX, Kind, Malformed, Token, VERSION};

/// Tells about the device what an ioctl does not: see [`super::Settings::report`].
pub type Report<F> = Box<dyn FnMut(&mut F, &str) -> Result<String, String> + Send>;

/// The driver, its open files, and what else a call may need.
pub(super) struct Calls<F> {
    pub(super) driver: F,
    pub(super) shared: Shared,
    pub(super) shares: Shares,
    pub(super) report: Option<Report<F>>,
    /// The daemon is about to end: what waits may end, nothing new begins.
    pub(super) is_closing: bool,
}

struct Said {
    file: u32,
    body: Vec<u8>,
    descriptors: Vec<Arc<OwnedFd>>,
}

impl Said {
    const fn done(file: u32) -> Self {
        Self { file, body: Vec::new(), descriptors: Vec::new() }
    }

    fn with(file: u32, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut said = Self::done(file);
        write(&mut said.body);
        said
    }
}

impl<F: Files> Calls<F> {
    /// Takes a message from a client's mailbox, if one is there. It is a call whose answer is not longer, and needs no
    /// descriptor.
    pub(super) fn take_from_mailbox(&mut self, client: &mut Connection, buffer: &mut Vec<u8>) -> Result<()> {
        let Some(mailbox) = client.mailbox.as_mut() else { return Ok(()) };
        if !mailbox.take(buffer)? {
            return Ok(());
        }
        let request = Request::read(buffer)?;
        match request.ask.kind() {
            Kind::Open | Kind::Attach | Kind::Close | Kind::Ioctl | Kind::Unmap | Kind::Readable => {}
            other => return Err(Malformed::Order(other.name()).into()),
        }
        if client.waiting.iter().any(|waiting| waiting.id == request.id) {
            return Err(Malformed::Id { id: request.id }.into());
        }
        mailbox.begin_call(request.id);
        self.carry_out(client, request, Err(Errno::ENOENT))
    }

    /// Takes a message from a client's socket, with the descriptors that came along.
    pub(super) fn take(&mut self, client: &mut Connection, message: &[u8], passed: Passed) -> Result<()> {
        let request = Request::read(message)?;
        let kind = request.ask.kind();
        let takes = kind.descriptors();
        // One was lost at least.
        let count = passed.count.saturating_add(passed.is_short.into());
        if count != takes {
            return Err(Malformed::Descriptors { count, takes }.into());
        }
        let object = match passed {
            // The daemon has as many descriptors as it may, which is not the client's fault.
            Passed { is_short: true, .. } => Err(Errno::EAGAIN),
            // Arenas are memory objects, so a descriptor of another kind belongs to no file.
            Passed { object, .. } => object.ok_or(Errno::ENOENT),
        };
        if client.is_welcome == (kind == Kind::Hello) {
            return Err(Malformed::Order(kind.name()).into());
        }
        match request.ask {
            Ask::Abandon { call } => {
                // Sockets are heard before mailboxes, so the call may lie there still.
                self.take_from_mailbox(client, &mut Vec::new())?;
                return self.abandon(client, call);
            }
            Ask::Kick => {
                client.mailbox.iter_mut().for_each(Mailbox::watch);
                return Ok(());
            }
            _ => {}
        }
        let is_in_mailbox = client.mailbox.as_ref().is_some_and(|mailbox| mailbox.holds(request.id));
        if is_in_mailbox || client.waiting.iter().any(|waiting| waiting.id == request.id) {
            return Err(Malformed::Id { id: request.id }.into());
        }
        self.carry_out(client, request, object)
    }

    fn carry_out(
        &mut self,
        client: &mut Connection,
        request: Request,
        object: Result<Identity, Errno>,
    ) -> Result<()> {
        let Request { file: number, id, ask } = request;
        let kind = ask.kind();
        let said = match ask {
            Ask::Ioctl { number: ioctl, argument, memory } => {
                return self.ioctl(client, number, id, Call::new(ioctl, argument, memory));
            }
            Ask::Readable { wait: true } => return self.wait_readable(client, number, id),
            ask => self.ask(client, number, ask, object),
        };
        let mut message = Vec::new();
        match said {
            Ok(said) => {
                answer::begin(&mut message, kind, said.file, id, Ok(()));
                message.extend_from_slice(&said.body);
                client.send(id, message, said.descriptors)
            }
            Err(why) => {
                answer::begin(&mut message, kind, number, id, Err(why));
                client.send(id, message, Vec::new())
            }
        }
    }

    /// Answers what is answered at once.
    fn ask(
        &mut self,
        client: &mut Connection,
        number: u32,
        ask: Ask,
        object: Result<Identity, Errno>,
    ) -> Result<Said, Errno> {
        match ask {
            Ask::Hello { version } => {
                client.is_welcome = true;
                let version = version.min(VERSION);
                Ok(Said::with(0, |body| body.extend_from_slice(Welcome::new(version).as_bytes())))
            }
            Ask::Open => self.open(client),
            Ask::Attach(token) => self.attach(client, |shared| shared.attach(token)),
            Ask::AttachArena => {
                let arena = object?;
                self.attach(client, |shared| shared.attach_arena(arena))
            }
            Ask::Close => {
                let file = client.files.remove(&number).ok_or(Errno::EBADF)?;
                self.void(client, number);
                self.unmap_all(file, client.maps.forget(number));
                self.release(file);
                Ok(Said::done(number))
            }
            Ask::Map { offset, bytes, from } => {
                let file = self.file(client, number)?;
                if from == 0 {
                    client.maps.add(number, offset, bytes)?;
                }
                let said = self.map(file, offset, bytes, from, number);
                if from == 0 && said.is_err() {
                    client.maps.remove(number, offset, bytes);
                }
                said
            }
            Ask::Unmap { offset, bytes } => {
                let file = self.file(client, number)?;
                if !client.maps.remove(number, offset, bytes) {
                    return Err(Errno::EINVAL);
                }
                self.driver.unmap(file, offset, bytes).map(|()| Said::done(number))
            }
            Ask::Signal { fence } => {
                let file = self.file(client, number)?;
                self.signal(client, file, fence, number)
            }
            Ask::Failure { fence } => {
                let file = self.file(client, number)?;
                let why = self.driver.failure(file, fence).ok_or(Errno::ENODATA)?;
                Ok(Said::with(number, |body| answer::words(body, why)))
            }
            Ask::Arena => {
                let file = self.file(client, number)?;
                let arena = self.driver.arena(file)?;
                self.shared.know_arena(file, &*arena)?;
                Ok(Said { descriptors: vec![arena], ..Said::done(number) })
            }
            Ask::Readable { .. } => {
                let file = self.file(client, number)?;
                let is_readable = self.driver.is_readable(file);
                is_readable.then(|| Said::done(number)).ok_or(Errno::EAGAIN)
            }
            Ask::Report { from, what } => self.report(client, from, &what),
            Ask::Mailbox => {
                let (mailbox, file) = Mailbox::new().map_err(|_| Errno::ENOMEM)?;
                if client.mailbox.is_some() {
                    return Err(Errno::EEXIST);
                }
                client.mailbox = Some(mailbox);
                Ok(Said { descriptors: vec![Arc::new(file)], ..Said::done(0) })
            }
            Ask::Kick | Ask::Abandon { .. } | Ask::Ioctl { .. } => Err(Errno::ENOTTY),
        }
    }

    /// The file that a client means by a number.
    pub(super) fn file(&self, client: &Connection, number: u32) -> Result<FileId, Errno> {
        if self.is_closing {
            return Err(Errno::ENODEV);
        }
        client.files.get(&number).copied().ok_or(Errno::EBADF)
    }

    fn open(&mut self, client: &mut Connection) -> Result<Said, Errno> {
        self.may_open(client)?;
        self.shares.take_file(client.user())?;
        let opened = self.open_file(client);
        if opened.is_err() {
            self.shares.give_file(client.user());
        }
        let (file, token) = opened?;
        let number = client.number(file);
        Ok(Said::with(number, |body| body.extend_from_slice(token.as_bytes())))
    }

    fn open_file(&mut self, client: &Connection) -> Result<(FileId, Token), Errno> {
        let file = self.driver.open(client.who)?;
        let token = self.shared.insert(file, client.user());
        if token.is_err() {
            self.driver.close(file);
        }
        Ok((file, token?))
    }

    fn attach(
        &mut self,
        client: &mut Connection,
        find: impl FnOnce(&mut Shared) -> Result<FileId, Errno>,
    ) -> Result<Said, Errno> {
        self.may_open(client)?;
        let file = find(&mut self.shared)?;
        Ok(Said::done(client.number(file)))
    }

    fn may_open(&self, client: &Connection) -> Result<(), Errno> {
        if self.is_closing {
            return Err(Errno::ENODEV);
        }
        if client.files.len() >= FILES_MAX {
            return Err(Errno::ENOMEM);
        }
        Ok(())
    }

    fn map(&mut self, file: FileId, offset: u64, bytes: u64, from: u64, number: u32) -> Result<Said, Errno> {
        let start = usize::try_from(from).map_err(|_| Errno::EINVAL)?;
        let extents = self.driver.map(file, offset, bytes)?;
        if from != 0 {
            // Told once more, not mapped once more.
            self.driver.unmap(file, offset, bytes)?;
        }
        let rest = extents.get(start..).ok_or(Errno::EINVAL)?;
        let (pieces, files) = pieces(rest);
        let said = Said::with(number, |body| answer::pieces(body, &pieces, files.len(), extents.len()));
        Ok(Said { descriptors: files, ..said })
    }

    /// Makes a pipe whose end the driver writes to, and gives the client the other. Nothing that the client does with
    /// its own can make the driver wait, and it hangs up if the driver is gone before the request has ended.
    fn signal(
        &mut self,
        client: &mut Connection,
        file: FileId,
        fence: u64,
        number: u32,
    ) -> Result<Said, Errno> {
        if !client.has_room_for_signal() || !self.shares.has_room_for_signal(client.user()) {
            return Err(Errno::EAGAIN);
        }
        let (reader, writer) =
            pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(|_| Errno::ENOMEM)?;
        let writer = Arc::new(writer);
        client.remember_signal(Arc::downgrade(&writer));
        self.shares.remember_signal(client.user(), Arc::downgrade(&writer));
        self.driver.signal(file, fence, writer)?;
        Ok(Said { descriptors: vec![Arc::new(reader)], ..Said::done(number) })
    }

    fn report(&mut self, client: &mut Connection, from: u32, what: &str) -> Result<Said, Errno> {
        if !client.who.user.is_privileged {
            return Err(Errno::EACCES);
        }
        if from == 0 {
            let report = self.report.as_mut().ok_or(Errno::EOPNOTSUPP)?;
            client.report = report(&mut self.driver, what).map_err(|_| Errno::EINVAL)?;
        }
        Ok(Said::with(0, |body| answer::report(body, &client.report, from)))
    }

    /// Cleans up behind a client that is gone; its socket is left.
    pub(super) fn retire(&mut self, mut client: Connection) -> OwnedFd {
        while let Some(Waiting { file, what, .. }) = client.next_waiting() {
            if let What::Ioctl(call) = what {
                self.driver.abandon(file, call);
            }
        }
        for (number, file) in std::mem::take(&mut client.files) {
            self.unmap_all(file, client.maps.forget(number));
            self.release(file);
        }
        self.shares.tidy();
        client.into_socket()
    }

    /// Ends what a client had mapped of a file. Others may hold the file, or the memory of its context.
    fn unmap_all(&mut self, file: FileId, ranges: impl Iterator<Item = (u64, u64)>) {
        for (offset, bytes) in ranges {
            // It was mapped.
            let _ = self.driver.unmap(file, offset, bytes);
        }
    }

    fn release(&mut self, file: FileId) {
        if let Some(owner) = self.shared.release(file) {
            // Which ends its requests, and with them the pipes of its user.
            self.driver.close(file);
            self.shares.give_file(owner);
        }
    }
}

/// As many extents as one answer tells, and the files that they are of.
fn pieces(extents: &[Extent]) -> (Vec<Piece>, Vec<Arc<OwnedFd>>) {
    let mut files: Vec<Arc<OwnedFd>> = Vec::new();
    let mut pieces = Vec::new();
    for extent in extents.iter().take(EXTENTS_MAX) {
        let known = files.iter().position(|file| Arc::ptr_eq(file, &extent.file));
        let file = match known {
            Some(file) => file,
            None if files.len() == DESCRIPTORS_MAX => break,
            None => {
                files.push(Arc::clone(&extent.file));
                files.len().saturating_sub(1)
            }
        };
        pieces.push(Piece {
            file: U32::new(u32::try_from(file).unwrap_or(u32::MAX)),
            reserved: U32::ZERO,
            offset: U64::new(extent.offset),
            bytes: U64::new(extent.bytes),
        });
    }
    (pieces, files)
}
