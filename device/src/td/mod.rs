//! Task descriptors: from words in guest memory to the state of one pass.
//!
//! The fetcher reads a descriptor through the DART, as long as its predecessor in the chain said it is. The
//! decoder takes it apart and refuses every word that the model does not understand; only then are its
//! registers written, all of them or none. Last, base addresses are added where the header names a BAR.
//!
//! * [`fetch`]: the transfer.
//! * [`decode`]: header, records, and the check of every word.
//! * [`error`]: why a descriptor is refused.
//! * [`register_file`]: the registers, which keep their values from task to task.
//! * [`bar`]: base addresses.

pub mod bar;
pub mod decode;
pub mod error;
pub mod fetch;
mod known_values;
pub mod register_file;
mod used_words;
