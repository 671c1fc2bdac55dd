//! One device, many processes: the daemon that owns the device, and the way to it.
//!
//! A kernel stands between the processes of a machine and its devices: it hands out files, passes calls on, maps
//! memory, and cleans up behind whoever dies. Where there is no kernel driver, a daemon does the same, over a socket:
//! a call is a message, a mapping is a descriptor that comes with one, and a process that is gone is a connection that
//! broke.
//!
//! * [`protocol`]: the messages; `docs/aned.md` specifies them for other clients;
//! * [`socket`]: packets, and the descriptors that ride on them;
//! * [`server`]: one thread that serves all clients from any driver that is [`Files`](crate::front::Files);
//! * [`mailbox`]: memory beside a socket, in which short calls pass without the system;
//! * [`client`]: the other end, blocking, for any number of threads;
//! * [`report`]: what it tells about its driver;
//! * [`place`]: where a daemon listens, and that it is the only one there.

pub mod client;
pub mod mailbox;
pub mod place;
pub mod protocol;
pub mod report;
pub mod server;
pub mod socket;
