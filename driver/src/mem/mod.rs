//! Frames: which pages of a context's arena belong to which buffer.
//!
//! A buffer's pages follow each other in its arena's file, so that a client can map it in one piece, unless it
//! asked to be scattered. They are zero when a buffer gets them, and stay its own while the buffer has a holder:
//! eviction takes its address away and never its pages. A page that a mapping may lead to is pinned and cannot be freed. A
//! page that was freed goes to another buffer only after the translation buffer has been told, since until then the engine
//! could still reach it under its old address.
//!
//! * `runs`: which numbers of a range are free, for pages of the file and for pages of the aperture;
//! * `frames`: pages of an arena.

mod frames;
mod runs;

pub use frames::{Frames, Layout, NoMemory, Pages, Pinned};
pub use runs::{FreeRuns, Run};
