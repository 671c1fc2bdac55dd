//! The three memories, for as long as an access lasts.
//!
//! The mover owns none of them: scratch is the engine's on-chip buffer, instruction RAM its kernel memory, and
//! configuration space a range of its own ([`ane_uapi::hw::mover`], chosen). None of their words acts when it is
//! written; what the mover writes is what a register access would have written.
//!
//! A task may have left bytes in scratch that nobody knows. A copy of them in scratch is as unknown. Copies in the other
//! memories only registers can read, which read such bytes in scratch too.

use ane_uapi::hw::mover::Destination;
use ane_uapi::hw::mover::transfer::WINDOW_BYTES;

use crate::sram::Known;

/// The memories between which the mover moves bytes.
#[derive(Debug)]
pub struct Memories<'a> {
    pub scratch: &'a mut [u8],
    /// Which bytes of scratch are known, if anything asks.
    pub known: Option<&'a mut dyn Known>,
    pub configuration: &'a mut [u8],
    pub instruction_ram: &'a mut [u8],
}

/// Bytes of a memory that do not all exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outside;

/// The part of a memory from `at` on.
fn part(memory: &mut [u8], at: u32, bytes: u32) -> Result<&mut [u8], Outside> {
    let end = at.checked_add(bytes).ok_or(Outside)?;
    memory.get_mut(at as usize..end as usize).ok_or(Outside)
}

impl Memories<'_> {
    /// Copies inside scratch, as if by way of a snapshot.
    pub(super) fn copy_in_scratch(&mut self, from: u32, to: u32, bytes: u32) -> Result<(), Outside> {
        part(self.scratch, to, bytes)?;
        let len = part(self.scratch, from, bytes)?.len();
        let source = from as usize..(from as usize).saturating_add(len);
        self.scratch.copy_within(source, to as usize);
        if let Some(known) = &mut self.known {
            known.copied(from, to, bytes);
        }
        Ok(())
    }

    /// Copies from scratch to one of the other memories.
    pub(super) fn copy_out(&mut self, from: u32, to: Destination, bytes: u32) -> Result<(), Outside> {
        let Self { scratch, configuration, instruction_ram, .. } = self;
        let source = part(scratch, from, bytes)?;
        let target = match to {
            Destination::Configuration { at } => part(configuration, at, bytes)?,
            Destination::InstructionRam { at } => part(instruction_ram, at, bytes)?,
            Destination::Scratch { .. } | Destination::Nowhere => return Ok(()),
        };
        target.copy_from_slice(source);
        Ok(())
    }

    pub(super) fn fill(&mut self, to: Destination, bytes: u32) -> Result<(), Outside> {
        match to {
            Destination::Scratch { at } => {
                part(self.scratch, at, bytes)?.fill(0);
                self.written(at, bytes);
            }
            Destination::Configuration { at } => part(self.configuration, at, bytes)?.fill(0),
            Destination::InstructionRam { at } => part(self.instruction_ram, at, bytes)?.fill(0),
            Destination::Nowhere => {}
        }
        Ok(())
    }

    pub(super) fn has_scratch(&mut self, at: u32, bytes: u32) -> bool {
        part(self.scratch, at, bytes).is_ok()
    }

    pub(super) fn write_scratch(&mut self, at: u32, bytes: &[u8]) -> Result<(), Outside> {
        // At most eight.
        let len = u32::try_from(bytes.len()).map_err(|_| Outside)?;
        part(self.scratch, at, len)?.copy_from_slice(bytes);
        self.written(at, len);
        Ok(())
    }

    /// Bytes of scratch were written.
    fn written(&mut self, at: u32, bytes: u32) {
        if let Some(known) = &mut self.known {
            known.written(at, bytes);
        }
    }

    /// A word of configuration space; 0 where there is none.
    pub(super) fn configuration_word(&self, index: u32) -> u32 {
        let at = (index as usize).saturating_mul(4);
        let word = self.configuration.get(at..).and_then(|rest| rest.first_chunk());
        word.map_or(0, |word| u32::from_le_bytes(*word))
    }
}

pub const CONFIGURATION_BYTES: usize = WINDOW_BYTES as usize;
