//! One descriptor chain: the guest's list of memory, checked as a whole before any of it is used.
//!
//! A chain is hostile: it may form a loop, point at nothing, mix what is to be read with what is to be
//! written, or be longer than a queue. Such a chain is given back with no bytes written. The walk itself is
//! bounded by virtio-queue, which silently stops where a chain goes wrong; that is noticed here by its last
//! descriptor promising another.

use thiserror::Error;
use vm_memory::{Bytes, GuestAddress, GuestMemory, GuestMemoryMmap, Permissions};

use virtio_queue::DescriptorChain;

/// Descriptors of the longest chain that is taken: the largest queue's. Virtio forbids longer ones, indirect ones too.
pub(crate) const DESCRIPTORS_MAX: usize = super::vring::QUEUE_SIZE_MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum BadChain {
    #[error("chain {head} has no descriptor")]
    Empty { head: u16 },
    #[error("chain {head} is cut off after {descriptors} descriptors, or has a loop")]
    CutOff { head: u16, descriptors: usize },
    #[error("chain {head} is longer than {DESCRIPTORS_MAX} descriptors")]
    TooLong { head: u16 },
    #[error("chain {head} goes back to reading after writing")]
    Order { head: u16 },
    #[error("chain {head} names {bytes:#x} bytes at {address:#x}, where no memory is")]
    NoMemory { head: u16, address: u64, bytes: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    at: GuestAddress,
    bytes: u32,
}

/// The memory of one chain. It is kept from chain to chain, so that none of them allocates.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    readable: Vec<Run>,
    writable: Vec<Run>,
    readable_bytes: u64,
    writable_bytes: u64,
}

impl Chain {
    pub(crate) fn gather(
        &mut self,
        chain: DescriptorChain<&GuestMemoryMmap>,
        memory: &GuestMemoryMmap,
    ) -> Result<(), BadChain> {
        let head = chain.head_index();
        self.readable.clear();
        self.writable.clear();
        (self.readable_bytes, self.writable_bytes) = (0, 0);
        let mut goes_on = false;
        let mut descriptors = 0;
        for (n, descriptor) in (1usize..).zip(chain) {
            if n > DESCRIPTORS_MAX {
                return Err(BadChain::TooLong { head });
            }
            descriptors = n;
            goes_on = descriptor.has_next();
            let run = Run { at: descriptor.addr(), bytes: descriptor.len() };
            let access = if descriptor.is_write_only() { Permissions::Write } else { Permissions::Read };
            // A descriptor of no bytes names no memory, and may point anywhere.
            if run.bytes != 0 && !memory.check_range(run.at, run.bytes as usize, access) {
                return Err(BadChain::NoMemory { head, address: run.at.0, bytes: run.bytes });
            }
            if descriptor.is_write_only() {
                self.writable_bytes = self.writable_bytes.saturating_add(run.bytes.into());
                self.writable.push(run);
            } else if self.writable.is_empty() {
                self.readable_bytes = self.readable_bytes.saturating_add(run.bytes.into());
                self.readable.push(run);
            } else {
                return Err(BadChain::Order { head });
            }
        }
        match (descriptors, goes_on) {
            (0, _) => Err(BadChain::Empty { head }),
            (_, true) => Err(BadChain::CutOff { head, descriptors }),
            (_, false) => Ok(()),
        }
    }

    pub(crate) const fn readable_bytes(&self) -> u64 {
        self.readable_bytes
    }

    pub(crate) const fn writable_bytes(&self) -> u64 {
        self.writable_bytes
    }

    /// Copies the readable part out, up to `limit` bytes of it; false if the memory went away meanwhile.
    pub(crate) fn read(&self, memory: &GuestMemoryMmap, limit: usize, into: &mut Vec<u8>) -> bool {
        into.clear();
        for run in &self.readable {
            let start = into.len();
            let bytes = (run.bytes as usize).min(limit.saturating_sub(start));
            into.resize(start.saturating_add(bytes), 0);
            let copied = into.get_mut(start..).is_some_and(|place| memory.read_slice(place, run.at).is_ok());
            if !copied {
                return false;
            }
        }
        true
    }

    /// Copies `from` into the writable part; the number is how many bytes had room.
    pub(crate) fn write(&self, memory: &GuestMemoryMmap, from: &[u8]) -> u32 {
        let mut left = from;
        for run in &self.writable {
            let (now, later) = left.split_at(left.len().min(run.bytes as usize));
            if now.is_empty() && later.is_empty() {
                break;
            }
            if memory.write_slice(now, run.at).is_err() {
                break;
            }
            left = later;
        }
        // No answer is longer than a batch's.
        u32::try_from(from.len().saturating_sub(left.len())).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
