//! One device, many processes: the daemon that owns the device.
//!
//! A kernel stands between the processes of a machine and its devices: it hands out files, passes calls on, maps
//! memory, and cleans up behind a process that dies. Where there is no kernel driver, a daemon does the same, over a socket:
//! a call is a message, a mapping is a descriptor that comes with one, and a process that is gone is a connection that
//! broke.
//!
//! * [`server`]: one thread that serves all clients from any driver that is [`Files`](ane_driver::front::Files);
//! * [`place`]: where a daemon listens, and that it is the only one there;
//! * [`resources`]: limits of its process that clients run into;
//! * [`sandbox`]: the system calls that it may make then.
//!
//! [`aned_protocol`] has the messages between a client and the daemon, and the client's end.

#[cfg(feature = "cli")]
pub mod limits;
pub mod place;
pub mod resources;
pub mod sandbox;
pub mod server;

#[cfg(test)]
mod tests;
