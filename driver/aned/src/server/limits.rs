//! The limits of one client, and those of all together. [`User`] has the limits of one user.
//!
//! [`User`]: ane_driver::front::User

use std::time::Duration;

/// How long a client may take no answers while there is no room for more, or keep its next message from being taken in
/// (Chosen: some hundred answers have room, and who reads none of them for so long is gone or means harm).
pub(super) const DEAF_MAX: Duration = Duration::from_secs(30);

/// Connections: eight contexts, shared by processes with some threads each.
pub(super) const CLIENTS_MAX: usize = 256;

/// Threads that are held up by descriptors that clients passed.
pub(super) const OFFLOAD_THREADS_MAX: usize = 2 * CLIENTS_MAX;

/// Sockets that are to be closed, and wait for a thread that may be held up. Beyond them no client is let in.
pub(super) const ASIDE_MAX: usize = CLIENTS_MAX;

/// Connections of one process: a library that keeps one for each thread that calls.
pub(super) const CLIENTS_OF_PROCESS_MAX: usize = 96;

/// Descriptors that tell of the end of requests, of one connection: all that it may have in flight, twice.
pub(super) const SIGNALS_MAX: usize = 256;

/// Bytes of answers that a client has not taken. While there are any it is not listened to, so this is what calls that
/// wait may come to all at once; their largest answers are some twenty.
pub(super) const OUTGOING_MAX: usize = 4 << 20;

/// Calls of one client that are offered again in one turn: others are heard between the turns of one with many threads.
pub(super) const OFFERED_MAX: usize = 16;

/// Bytes of memory that calls of one client may wait with: a largest chain for each of some dozens of threads.
pub(super) const WAITING_BYTES_MAX: usize = 4 << 20;
