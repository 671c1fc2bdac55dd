//! The mover: a block that copies, or fills with zeros, in units of sixteen bytes.
//!
//! It serves three memories. *Scratch* is the large one, *configuration space* a window of words that other
//! blocks take their parameters from, *instruction RAM* the memory that a small core fetches from. There are
//! two ways to start a transfer: a block of [registers](regs) with a [command queue](command) of four,
//! and the coprocessor instruction [XMOV](xmov), whose parameters lie in configuration space.
//!
//! Tenstorrent calls the source of a fill "L0". That is no level of memory and nothing at all is read there;
//! as a destination the same name means configuration space or instruction RAM.
//!
//! No Apple chip has this block. The virtual engine has it in the extension range, and maps the memories as
//! it suits the engine (chosen): scratch is the 2 MB on-chip buffer, instruction RAM is the 64 KB of kernel
//! memory, which fills the mover's window exactly, and configuration space is a range of its own.
//!
//! | file | holds |
//! |---|---|
//! | [`regs`] | the registers, and the windows through which five cores see them |
//! | [`command`] | the words of the command queue |
//! | [`xmov`] | the instruction, the words it reads, and how a thread waits for the mover |
//! | [`transfer`] | what a transfer is, where its destination lies, how many cycles it takes |
//! | [`status`] | the STATUS word, made from the state of the queue |
//! | [`model`] | what the virtual engine adds: switches, outcomes, and a stand-in for packers |
//! | [`profile`] | where seed 002 and Tenstorrent's instruction-set pages differ |
//!
//! Sources: seed 002, and behind it the pages that its section 8 lists: Tenstorrent's instruction-set
//! documentation for the mover, TDMA-RISC and XMOV, the register and direction definitions of Tenstorrent's
//! firmware headers, its `tdma_xmov` firmware routines, and the compact helpers of its low-level kernels.
//! "mover 3" in a source is section 3 of the facts collected from them. What is graded measured here was
//! measured by the author of those pages, on Tenstorrent's silicon.

pub mod command;
pub mod model;
pub mod profile;
pub mod regs;
pub mod status;
pub mod transfer;
pub mod xmov;

pub use profile::{Profile, Rules};
pub use transfer::{Destination, Direction, Transfer, Units};
