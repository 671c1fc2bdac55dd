//! Pools of output buffers, and how many requests are in flight.
//!
//! ```text
//!            take                  return            recycle
//!  available ----> in execution ---------> returned ---------> available
//! ```
//!
//! A buffer that is in use cannot be taken again, and a pool with one cannot be ended. Numbers of pools and buffers are
//! never used twice, so one that is gone is nobody's.

use std::collections::{BTreeMap, BTreeSet};

use ane_uapi::hw::firmware::{Answer, BUFFERS, IN_FLIGHT_MAX, POOLS};
use ane_uapi::hw::space::ApertureAddr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BufferState {
    Available,
    InExecution,
    Returned,
}

#[derive(Clone, Copy, Debug)]
struct Buffer {
    pool: u32,
    address: ApertureAddr,
    state: BufferState,
}

#[derive(Debug, Default)]
pub(super) struct Pools {
    pools: BTreeSet<u32>,
    buffers: BTreeMap<u32, Buffer>,
    last: u32,
    in_flight: u32,
}

impl Pools {
    fn number(&mut self) -> Result<u32, Answer> {
        self.last = self.last.checked_add(1).ok_or(Answer::Full)?;
        Ok(self.last)
    }

    fn known(&self, pool: u32) -> Result<(), Answer> {
        if self.pools.contains(&pool) { Ok(()) } else { Err(Answer::Nobody) }
    }

    pub(super) fn create(&mut self) -> Result<u32, Answer> {
        if self.pools.len() >= POOLS {
            return Err(Answer::Full);
        }
        let number = self.number()?;
        self.pools.insert(number);
        Ok(number)
    }

    pub(super) fn destroy(&mut self, pool: u32) -> Result<(), Answer> {
        self.known(pool)?;
        if self.buffers.values().any(|buffer| buffer.pool == pool && buffer.state != BufferState::Available) {
            return Err(Answer::WrongState);
        }
        self.pools.remove(&pool);
        self.buffers.retain(|_, buffer| buffer.pool != pool);
        Ok(())
    }

    pub(super) fn add(&mut self, pool: u32, address: ApertureAddr) -> Result<u32, Answer> {
        self.known(pool)?;
        if self.buffers.len() >= BUFFERS {
            return Err(Answer::Full);
        }
        let number = self.number()?;
        self.buffers.insert(number, Buffer { pool, address, state: BufferState::Available });
        Ok(number)
    }

    /// The available buffer of a pool that has been there longest.
    pub(super) fn take(&mut self, pool: u32) -> Result<(u32, ApertureAddr), Answer> {
        self.known(pool)?;
        let mut available = self
            .buffers
            .iter_mut()
            .filter(|(_, buffer)| buffer.pool == pool && buffer.state == BufferState::Available);
        let (number, buffer) = available.next().ok_or(Answer::WrongState)?;
        buffer.state = BufferState::InExecution;
        Ok((*number, buffer.address))
    }

    fn turn(&mut self, buffer: u32, from: BufferState, to: BufferState) -> Result<(), Answer> {
        let buffer = self.buffers.get_mut(&buffer).ok_or(Answer::Nobody)?;
        if buffer.state != from {
            return Err(Answer::WrongState);
        }
        buffer.state = to;
        Ok(())
    }

    pub(super) fn give_back(&mut self, buffer: u32) -> Result<(), Answer> {
        self.turn(buffer, BufferState::InExecution, BufferState::Returned)
    }

    pub(super) fn recycle(&mut self, buffer: u32) -> Result<(), Answer> {
        self.turn(buffer, BufferState::Returned, BufferState::Available)
    }

    pub(super) fn begin(&mut self) -> Result<(), Answer> {
        if self.in_flight >= IN_FLIGHT_MAX {
            return Err(Answer::Full);
        }
        self.in_flight = self.in_flight.saturating_add(1);
        Ok(())
    }

    pub(super) fn end(&mut self) -> Result<(), Answer> {
        self.in_flight = self.in_flight.checked_sub(1).ok_or(Answer::WrongState)?;
        Ok(())
    }

    pub(super) const fn in_flight(&self) -> u32 {
        self.in_flight
    }
}
