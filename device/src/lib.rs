//! The Apple Neural Engine as a library: registers, task manager, DART and faults, without a bus around it.
//!
//! [`Ane`] is one engine. Its owner hands in register accesses, guest memory and the time, and takes
//! out events; there is no socket in here, no clock but that of the timeline, and its threads only compute: those that share a pass, and one for
//! long passes ([`engine`]). A mistake of a guest is a value, never a
//! panic and never an error that ends something: nearly everything in this crate can be reached by a guest,
//! so what could panic on its input is denied everywhere outside tests.
//!
//! * [`bus`] finds the block that an offset belongs to; [`ane`] carries the access out.
//! * [`dart`] translates every address that the engine uses.
//! * [`tm`] is the task manager: eight queues, their arbitration, events and deadlines.
//! * [`td`] fetches task descriptors, decodes them and holds the registers that they write.
//! * [`engine`] executes a decoded task.
//! * [`firmware`] does the firmware's share, for drivers that leave it to the device.
//! * [`mover`] copies and fills between on-chip memories.
//! * [`pe_mmu`] translates before the DART, where a device has it.
//! * [`timing`] says how long it would have taken on the chip.
//! * [`trace`] keeps what happened when.
//! * [`inject`] makes faults on demand.
//! * [`platform`] is the engine as a driver of the real one finds it: ranges, power words and lines.
//! * [`wire`] says all of it in the words that drivers get.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod ane;
pub mod bus;
pub mod chip;
mod copy;
pub mod counters;
pub mod dart;
pub mod engine;
pub mod event;
pub mod firmware;
mod halves;
pub mod inject;
pub mod kernel_memory;
pub mod mover;
mod number;
pub mod options;
pub mod pe_mmu;
pub mod platform;
pub mod power;
pub mod refusal;
mod report;
pub mod sram;
mod stored_words;
pub mod td;
pub mod time;
pub mod timing;
pub mod tm;
pub mod trace;
pub mod wire;

pub use ane::Ane;
pub use options::Options;
