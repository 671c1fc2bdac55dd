//! How large a model may be, and how many of its problems are told.

/// Most layers of a model: as many as a program has tasks.
pub const NODES_MAX: usize = 1 << 16;

/// Most operations that layers become: what stands for a loop is some ten of them for each step.
pub const OPERATIONS_MAX: usize = 4 * NODES_MAX;

/// Most problems that are told at once.
pub const PROBLEMS_MAX: usize = 1000;

/// Most bytes of a model's file. (Chosen) Constants of the engine's whole aperture as singles are 8 GB; more than half
/// of that nobody has brought yet.
pub const FILE_BYTES_MAX: u64 = 4 << 30;

/// Most bytes of what is no regular file, such as a pipe, which may have no end.
pub const PIPE_BYTES_MAX: u64 = 256 << 20;

/// Numbers from here down are masks: what they are added to is below all others, and how far below means nothing.
pub const MASK: f64 = -65504.0;
