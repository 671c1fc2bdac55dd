//! The event queue: buffers that the device fills, taken and left again.

use std::time::Duration;

use ane_uapi::wire::EVENT_QUEUE;
use ane_uapi::wire::event::Event;
use zerocopy::FromBytes;

use super::{Doorbell, EVENTS, Queues, transport, wait};
use crate::bus::requests::bad_answer;
use crate::bus::ring::{Part, Token};
use crate::bus::{BusError, Result};

impl<D: Doorbell> Queues<D> {
    /// Makes a buffer available to the device for its next event.
    pub(super) fn leave_event_buffer(&mut self, buffer: u16) -> Result<()> {
        let bytes = size_of::<Event>();
        let address = self.at(EVENTS + usize::from(buffer) * bytes).0;
        let token = self
            .events
            .add(&[Part { address, bytes: bytes as u32, writable: true }])
            .map_err(transport("leaving an event buffer"))?;
        if let Some(of) = self.event_of.get_mut(usize::from(token.0)) {
            *of = buffer;
        }
        Ok(())
    }

    pub(in crate::bus) fn event(&mut self, limit: Duration) -> Result<Option<Event>> {
        let window = self.settings.poll.min(limit);
        if !wait(&mut self.events, &mut self.doorbell, EVENT_QUEUE, window, limit)? {
            return Ok(None);
        }
        self.take_event()
    }

    pub(in crate::bus) fn arrived(&mut self) -> Result<Option<Event>> {
        if self.out_of_order {
            return Err(BusError::OutOfOrder);
        }
        if !self.events.is_ready() {
            // Wake-ups of before are over; the next shows on the descriptor that the caller waits for.
            let is_gone = self.doorbell.sleep(EVENT_QUEUE, Duration::ZERO)?;
            if !self.events.arm() {
                return if is_gone { Err(BusError::HungUp) } else { Ok(None) };
            }
        }
        self.take_event()
    }

    /// Takes an event out of its buffer, and leaves the buffer for another.
    fn take_event(&mut self) -> Result<Option<Event>> {
        let Some(done) = self.events.take()? else { return Ok(None) };
        let Token(place) = done.token;
        let buffer = self.event_of.get(usize::from(place)).copied().unwrap_or_default();
        let mut bytes = [0; size_of::<Event>()];
        self.messages.read(self.at(EVENTS + usize::from(buffer) * bytes.len()), &mut bytes)?;
        self.leave_event_buffer(buffer)?;
        if self.events.publish() {
            self.doorbell.ring(EVENT_QUEUE)?;
        }
        if done.written as usize != bytes.len() {
            return Err(bad_answer(format!("an event of {} bytes", done.written)));
        }
        Event::read_from_bytes(&bytes).map(Some).map_err(|_| bad_answer("an event"))
    }
}
