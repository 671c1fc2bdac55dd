//! The DART: the engine's IOMMU.
//!
//! Every address that the engine reads or writes is a device address, an [`Iova`](crate::hw::space::Iova),
//! and the DART turns it into a physical one before memory is touched. A buffer may lie scattered over
//! memory in pages of 16 KB and still look like one piece to the engine.
//!
//! The way of an address through it:
//!
//! 1. The engine's DMA circuits go through three [windows](regs::Window) of registers, dart0 to dart2. Each
//!    has its own copy of everything below, so a driver has to program all three alike.
//! 2. A request carries a [stream](stream::StreamId), one of sixteen. It has to be enabled, and its
//!    translation control says whether addresses are translated, passed on as they are, or stopped. Client
//!    [contexts](iso::ContextId) are streams: that is what keeps clients apart.
//! 3. The stream's [table base](ttbr::Ttbr) names a table of 2048 entries, each of which names a table of
//!    2048 [leaves](pte::LeafFormat): one page each. The address itself holds the three
//!    [indices](walk::WalkIndices).
//! 4. A translation found is kept in a translation buffer until the driver invalidates it, even if the
//!    tables change underneath.
//! 5. A walk that fails latches one [status word](regs::ErrorStatus) and the address. What each
//!    [cause](error::HwError) looks like there is written once, in [`error`]; the descriptor that software
//!    passes around is [`fault`](super::fault).
//!
//! The host's mapping code collects [segments](segment::Segment), one per page, and turns each into a leaf.

pub mod aperture;
pub mod error;
pub mod iso;
pub mod pte;
pub mod regs;
pub mod scan;
pub mod segment;
pub mod stream;
pub mod ttbr;
pub mod walk;
