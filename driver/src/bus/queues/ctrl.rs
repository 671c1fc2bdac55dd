//! The control queue: one request at a time, and its answer.

use ane_uapi::wire::CTRL_QUEUE;
use ane_uapi::wire::config::Config;

use super::{Doorbell, QueueSettings, Queues, REQUEST, RESPONSE, transport, wait};
use crate::bus::requests::{Carrier, bad_answer, response};
use crate::bus::ring::{Broken, Part};
use crate::bus::{BusError, Result};

impl<D: Doorbell> Carrier for Queues<D> {
    fn config(&self) -> &Config {
        &self.config
    }

    fn carry(&mut self, request: &[u8], room: usize, answer: &mut Vec<u8>) -> Result<()> {
        if self.doorbell.is_gone() {
            return Err(BusError::HungUp);
        }
        if self.out_of_order {
            return Err(BusError::OutOfOrder);
        }
        let outcome = self.send(request, room, answer);
        // Whatever else went wrong, the device may have the request still.
        self.out_of_order = outcome.is_err();
        outcome
    }
}

impl<D: Doorbell> Queues<D> {
    fn send(&mut self, request: &[u8], room: usize, answer: &mut Vec<u8>) -> Result<()> {
        let (at_request, at_response) = (self.at(REQUEST), self.at(RESPONSE));
        self.messages.write(at_request, request)?;
        let parts = [
            Part { address: at_request.0, bytes: request.len() as u32, writable: false },
            Part { address: at_response.0, bytes: room as u32, writable: true },
        ];
        let token = self.ctrl.add(&parts).map_err(transport("adding a request"))?;
        if self.ctrl.publish() {
            self.doorbell.ring(CTRL_QUEUE)?;
        }
        let QueueSettings { poll, timeout, .. } = self.settings;
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
        answer.resize(written, 0);
        self.messages.read(at_response, answer)?;
        // A device that answers another request is not to be trusted with the next.
        response(request, answer).map(|_| ())
    }
}
