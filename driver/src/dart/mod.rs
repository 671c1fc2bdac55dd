//! The DART as the driver sees it: who may map what where, for the engine.
//!
//! The engine names memory by device addresses below 3.5 GiB, and a table walk in the DART turns them into
//! physical ones. Each context is a stream with tables of its own. Apple's kernel has three objects in a
//! row for it, and so has this driver: a *controller*, which is the registers; one *nub*, which is the right to
//! ask it for address spaces and is given out once; and a *mapper* for each context, which the nub gives out and
//! takes back, but not while a mapping lives in it.
//!
//! * `controller`: controller and nub; what has to be written into the three windows that carry the engine's DMA;
//! * `mapper`: a context's device addresses, and what they lead to;
//! * `segments`: pages on their way into the tables, one 40-byte segment each;
//! * `tables`: the tables themselves, in memory that the DART reads. Nothing else writes leaves.
//!
//! The DART keeps translations until it is told to drop them, so taking a mapping away is two steps: its leaves
//! become zero, and the stream's translations are dropped before anything relies on it. The second is due as long
//! as [`Mapper::is_stale`], so that one invalidation serves any number of unmaps.

mod controller;
mod mapper;
mod segments;
mod tables;

pub use controller::{CONTEXT_BYTES, Controller, Nub};
pub(crate) use mapper::{GIVEN_OUT, address_of, place, range};
pub use mapper::{Mapper, NoPlace, OWN_PAGES};
pub use tables::{TableError, Tables};
