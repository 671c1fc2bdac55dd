//! The component: messages that come over the fabric, one at a time and in the order of their arrival.
//!
//! A message takes the fabric's time to arrive; until then translations see the table as it was. It then takes
//! effect as a whole, and its sender's `done` completes: a sender that waits for that can never meet the old state
//! (seed 001, D5). Everything that is neither map nor unmap is handed on as it came, so that a topology may lead
//! through this node; no traffic does today (D6). The other nodes, and the senders of messages, are outside of
//! this block.

use std::collections::VecDeque;

use super::PeMmu;
use super::table::{Mapping, Range, Rejected};

/// Transactions that the inbox holds (Chosen). A sender that waits for `done` has one under way.
pub const INBOX: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    Map(Vec<Mapping>),
    Unmap(Vec<Range>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionRequest<T> {
    Sideband(Message),
    /// Something for a node behind it.
    Other(T),
}

/// A message as the fabric wraps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction<T> {
    /// The request; `None` in a bare control message.
    pub request: Option<TransactionRequest<T>>,
    /// The number by which the sender recognises the completion.
    pub done: u64,
}

/// How a transaction ended, and when, in picoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received<T> {
    /// It was carried out: its `done` completes.
    /// Nothing of it took effect if it was refused.
    Done { done: u64, at: u64, outcome: Result<(), Rejected> },
    /// It is not for this node: the next hop gets it as it came.
    Forwarded { transaction: Transaction<T>, at: u64 },
}

#[derive(Clone, Debug)]
pub struct Node<T> {
    inbox: VecDeque<(u64, Transaction<T>)>,
    fabric_ps: u64,
}

impl<T> Node<T> {
    /// A node whose messages take `fabric_ps` picoseconds to arrive.
    pub const fn new(fabric_ps: u32) -> Self {
        Self { inbox: VecDeque::new(), fabric_ps: fabric_ps as u64 }
    }

    /// Sends a transaction at a time; gives it back if the inbox is full.
    pub fn send(&mut self, at: u64, transaction: Transaction<T>) -> Result<(), Transaction<T>> {
        if self.inbox.len() >= INBOX {
            return Err(transaction);
        }
        // A message never overtakes an earlier one: the fabric keeps the order.
        let behind = self.inbox.back().map_or(0, |&(arrival, _)| arrival);
        self.inbox.push_back((at.saturating_add(self.fabric_ps).max(behind), transaction));
        Ok(())
    }

    pub fn next(&self) -> Option<u64> {
        self.inbox.front().map(|&(arrival, _)| arrival)
    }

    pub fn receive(&mut self, now: u64, mmu: &mut PeMmu) -> Option<Received<T>> {
        if self.next()? > now {
            return None;
        }
        let (at, transaction) = self.inbox.pop_front()?;
        let Transaction { request, done } = transaction;
        Some(match request {
            Some(TransactionRequest::Sideband(Message::Map(entries))) => {
                Received::Done { done, at, outcome: mmu.map(&entries) }
            }
            Some(TransactionRequest::Sideband(Message::Unmap(ranges))) => {
                Received::Done { done, at, outcome: mmu.unmap(&ranges) }
            }
            request => Received::Forwarded { transaction: Transaction { request, done }, at },
        })
    }
}
