//! Requests of queue 0 as bytes, and what their answers mean: the driver's end of the wire.
//!
//! Every bus to a device goes through here, whatever carries the bytes to it: the virtqueue of a device in another process
//! or another machine, or a call of one in this process ([`Carrier`]). The device's end is its own, and checks
//! everything again.

use ane_uapi::wire::config::Config;
use ane_uapi::wire::ctrl::{BATCH_MAX, Header, NO_INDEX, Op, RequestKind, Response, Status};
use ane_uapi::wire::sideband::{DECLARATIONS_MAX, Declaration, Regions};
use zerocopy::{FromBytes, IntoBytes};

use super::{BusError, Operation, Result};

/// The way of a request's bytes to a device.
pub trait Carrier {
    fn config(&self) -> &Config;

    /// Brings `request` to the device, which may answer with `room` bytes, and its answer to `answer`.
    fn carry(&mut self, request: &[u8], room: usize, answer: &mut Vec<u8>) -> Result<()>;
}

/// A device that is asked one request after the other.
#[derive(Debug)]
pub struct Requests<C> {
    carrier: C,
    cookie: u64,
    /// Both are kept from request to request, so that none of them allocates.
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl<C: Carrier> Requests<C> {
    pub const fn new(carrier: C) -> Self {
        Self { carrier, cookie: 0, request: Vec::new(), answer: Vec::new() }
    }

    pub const fn carrier(&self) -> &C {
        &self.carrier
    }

    pub const fn carrier_mut(&mut self) -> &mut C {
        &mut self.carrier
    }

    pub fn batch(&mut self, operations: &[Operation], values: &mut [u32]) -> Result<usize> {
        let limit = (BATCH_MAX as usize).min(self.carrier.config().batch_max.get().into());
        if operations.len() > limit {
            return Err(BusError::TooLong { len: operations.len(), limit });
        }
        let reads = operations.iter().filter(|operation| matches!(operation, Operation::Read(_))).count();
        if reads > values.len() {
            return Err(BusError::TooFewPlaces { reads, places: values.len() });
        }
        self.begin(RequestKind::Batch, operations.len());
        for operation in operations {
            let op = match *operation {
                Operation::Read(at) => Op::read(at.0),
                Operation::Write(at, value) => Op::write(at.0, value),
            };
            self.request.extend_from_slice(op.as_bytes());
        }
        let response = self.exchange(4 * reads)?;
        let words = self.answer.get(size_of::<Response>()..).unwrap_or_default().chunks_exact(4);
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

    pub fn reset(&mut self) -> Result<()> {
        self.begin(RequestKind::Reset, 0);
        accepted(&self.exchange(0)?)
    }

    pub fn declare(&mut self, declarations: &[Declaration]) -> Result<()> {
        for part in declarations.chunks(DECLARATIONS_MAX as usize) {
            self.begin(RequestKind::Declare, part.len());
            self.request.extend_from_slice(part.as_bytes());
            accepted(&self.exchange(0)?)?;
        }
        Ok(())
    }

    /// [`Bus::regions`](super::Bus::regions).
    ///
    /// # Errors
    ///
    /// The errors of the carrier. A message takes effect as a whole, so a message that is too long is not cut.
    pub fn regions(&mut self, regions: Regions<'_>) -> Result<()> {
        let limit = usize::from(self.carrier.config().entries_max.get());
        // A device without PE_MMU takes none, and says so itself.
        if limit != 0 && regions.len() > limit {
            return Err(BusError::TooLong { len: regions.len(), limit });
        }
        match regions {
            Regions::Map(entries) => {
                self.begin(RequestKind::PeMmuMap, entries.len());
                self.request.extend_from_slice(entries.as_bytes());
            }
            Regions::Unmap(ranges) => {
                self.begin(RequestKind::PeMmuUnmap, ranges.len());
                self.request.extend_from_slice(ranges.as_bytes());
            }
        }
        accepted(&self.exchange(0)?)
    }

    /// A header of the next request, and nothing behind it yet.
    fn begin(&mut self, kind: RequestKind, count: usize) {
        self.cookie += 1;
        self.request.clear();
        self.request.extend_from_slice(Header::new(kind, count as u32, self.cookie).as_bytes());
    }

    /// Has the request carried, with room for so many bytes of values behind the response.
    fn exchange(&mut self, values: usize) -> Result<Response> {
        self.answer.clear();
        self.carrier.carry(&self.request, size_of::<Response>() + values, &mut self.answer)?;
        response(&self.request, &self.answer)
    }
}

/// The response that an answer begins with, if it is one to this request.
pub(super) fn response(request: &[u8], answer: &[u8]) -> Result<Response> {
    let (response, _) =
        Response::read_from_prefix(answer).map_err(|_| bad_answer(format!("{} bytes", answer.len())))?;
    let asked = Header::read_from_prefix(request).map_or(0, |(header, _)| header.cookie.get());
    if response.cookie.get() != asked {
        return Err(bad_answer(format!("request {}", response.cookie)));
    }
    Ok(response)
}

/// The answer of a device that did everything, or the refusal.
fn accepted(response: &Response) -> Result<()> {
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

pub(super) fn bad_answer(what: impl Into<String>) -> BusError {
    BusError::BadAnswer { what: what.into() }
}

#[cfg(test)]
mod tests;
