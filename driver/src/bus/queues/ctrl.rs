//! The control queue: one request at a time, and its answer.

use ane_uapi::wire::CTRL_QUEUE;
use ane_uapi::wire::ctrl::{Header, Kind, NO_INDEX, Op, Response, Status};
use ane_uapi::wire::sideband::{DECLARATIONS_MAX, Declaration, Regions};
use zerocopy::{FromBytes, IntoBytes};

use super::{Doorbell, Queues, REQUEST, RESPONSE, Settings, bad_answer, transport, wait};
use crate::bus::ring::{Broken, Part};
use crate::bus::{BusError, Operation};

impl<D: Doorbell> Queues<D> {
    /// Sends what `self.buffer` holds, and brings the answer's first `answer` bytes there.
    fn exchange(&mut self, answer: usize) -> Result<Response, BusError> {
        if self.doorbell.is_gone() {
            return Err(BusError::HungUp);
        }
        if self.out_of_order {
            return Err(BusError::OutOfOrder);
        }
        let outcome = self.send(answer);
        // Whatever else went wrong, the device may have the request still.
        self.out_of_order = outcome.is_err();
        outcome
    }

    fn send(&mut self, answer: usize) -> Result<Response, BusError> {
        let (request, response) = (self.at(REQUEST), self.at(RESPONSE));
        self.messages.write(request, &self.buffer)?;
        let parts = [
            Part { address: request.0, bytes: self.buffer.len() as u32, writable: false },
            Part { address: response.0, bytes: answer as u32, writable: true },
        ];
        let token = self.ctrl.add(&parts).map_err(transport("adding a request"))?;
        if self.ctrl.publish() {
            self.doorbell.ring(CTRL_QUEUE)?;
        }
        let Settings { poll, timeout, .. } = self.settings;
        if !wait(&mut self.ctrl, &mut self.doorbell, CTRL_QUEUE, poll, timeout)? {
            return Err(BusError::TimedOut { limit: timeout });
        }
        let done = self.ctrl.take()?;
        if self.events.is_ready() {
            self.doorbell.pass_on();
        }
        let written = match done {
            Some(done) if done.token == token => done.written as usize,
            Some(done) => return Err(Broken::Token { id: done.token.0.into() }.into()),
            None => return Err(bad_answer("nothing")),
        };
        self.buffer.resize(written, 0);
        self.messages.read(response, &mut self.buffer)?;
        let (head, _) =
            Response::read_from_prefix(&self.buffer).map_err(|_| bad_answer(format!("{written} bytes")))?;
        if head.cookie.get() != self.cookie {
            return Err(bad_answer(format!("request {}", head.cookie)));
        }
        Ok(head)
    }

    /// A header of the next request, in an empty buffer.
    fn begin(&mut self, kind: Kind, count: usize) {
        self.cookie += 1;
        self.buffer.clear();
        self.buffer.extend_from_slice(Header::new(kind, count as u32, self.cookie).as_bytes());
    }

    /// [`Bus::batch`](crate::bus::Bus::batch).
    ///
    /// # Errors
    ///
    /// Its.
    pub(in crate::bus) fn batch(
        &mut self,
        operations: &[Operation],
        values: &mut [u32],
    ) -> Result<usize, BusError> {
        if operations.len() > self.batch_max {
            return Err(BusError::TooLong { len: operations.len(), limit: self.batch_max });
        }
        let reads = operations.iter().filter(|operation| matches!(operation, Operation::Read(_))).count();
        if reads > values.len() {
            return Err(BusError::TooFewPlaces { reads, places: values.len() });
        }
        self.begin(Kind::Batch, operations.len());
        for operation in operations {
            let op = match *operation {
                Operation::Read(at) => Op::read(at.0),
                Operation::Write(at, value) => Op::write(at.0, value),
            };
            self.buffer.extend_from_slice(op.as_bytes());
        }
        let response = self.exchange(size_of::<Response>() + 4 * reads)?;
        let words = self.buffer.get(size_of::<Response>()..).unwrap_or_default().chunks_exact(4);
        let read = words.len();
        for (value, word) in values.iter_mut().zip(words) {
            *value = word.try_into().map(u32::from_le_bytes).unwrap_or_default();
        }
        accepted(&response)?;
        if read != reads {
            return Err(bad_answer(format!("{read} values for {reads} reads")));
        }
        Ok(reads)
    }

    /// [`Bus::reset`](crate::bus::Bus::reset).
    ///
    /// # Errors
    ///
    /// Its.
    pub(in crate::bus) fn reset(&mut self) -> Result<(), BusError> {
        self.begin(Kind::Reset, 0);
        let response = self.exchange(size_of::<Response>())?;
        accepted(&response)
    }

    /// [`Bus::declare`](crate::bus::Bus::declare).
    ///
    /// # Errors
    ///
    /// Its.
    pub(in crate::bus) fn declare(&mut self, declarations: &[Declaration]) -> Result<(), BusError> {
        for part in declarations.chunks(DECLARATIONS_MAX as usize) {
            self.begin(Kind::Declare, part.len());
            self.buffer.extend_from_slice(part.as_bytes());
            let response = self.exchange(size_of::<Response>())?;
            accepted(&response)?;
        }
        Ok(())
    }

    /// [`Bus::regions`](crate::bus::Bus::regions), of a device that takes `limit` entries at a time.
    ///
    /// # Errors
    ///
    /// Its. A message takes effect as a whole, so one that is too long is not cut into several.
    pub(in crate::bus) fn regions(&mut self, regions: Regions<'_>, limit: usize) -> Result<(), BusError> {
        if limit != 0 && regions.len() > limit {
            return Err(BusError::TooLong { len: regions.len(), limit });
        }
        match regions {
            Regions::Map(entries) => {
                self.begin(Kind::PeMmuMap, entries.len());
                self.buffer.extend_from_slice(entries.as_bytes());
            }
            Regions::Unmap(ranges) => {
                self.begin(Kind::PeMmuUnmap, ranges.len());
                self.buffer.extend_from_slice(ranges.as_bytes());
            }
        }
        let response = self.exchange(size_of::<Response>())?;
        accepted(&response)
    }
}

/// The answer of a device that did everything, or the refusal.
fn accepted(response: &Response) -> Result<(), BusError> {
    match response.status() {
        Ok(Status::Done) => Ok(()),
        Ok(status) => Err(BusError::Refused {
            status,
            done: response.done.get(),
            index: Some(response.index.get()).filter(|&index| index != NO_INDEX),
            detail: response.detail.get(),
        }),
        Err(unknown) => Err(bad_answer(unknown.to_string())),
    }
}
