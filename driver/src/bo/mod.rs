//! Buffer objects: a context's buffers, where the engine sees them, and how long they live.
//!
//! A [`Space`] has the memory of a context: arenas with the buffers' bytes, and a mapper with their device addresses. The
//! two are apart. A buffer keeps its bytes as long as it has a holder (a handle, a program, a request that has not ended,
//! a process that mapped it), and its addresses only while it needs them. A mapping that is in use or pinned stays where it
//! is. An idle mapping may have to make room.
//!
//! * `space`: making buffers, and holding and releasing them;
//! * `mapping`: giving a mapping its place and taking it away, by eviction if need be;
//! * `call`: mapping and unmapping as clients ask for it;
//! * `declarations`: mappings and their ends, as the device is told of them;
//! * `work`: what a request needs before its push, and afterwards;
//! * `store`: the arenas, one for each file where files share the context without having asked;
//! * `process`: buffers in client processes, and in the driver's own sight;
//! * `buffer`: one buffer.
//!
//! Every number that a client gave is checked here, and nothing is done before everything is checked.

mod buffer;
mod call;
mod declarations;
mod error;
mod mapping;
mod process;
mod space;
mod store;
#[cfg(test)]
mod tests;
mod work;

pub use buffer::{BufferId, Holder};
pub use call::{Map, MappingInfo, Premap};
pub use error::{BufferError, Result};
pub use space::{Counters, Create, Info, Space};
pub use store::StoreId;
pub use work::Use;
