//! One device, many processes: the daemon that owns the device.
//!
//! A kernel stands between the processes of a machine and its devices: it hands out files, passes calls on, maps
//! memory, and cleans up behind whoever dies. Where there is no kernel driver, a daemon does the same, over a socket:
//! a call is a message, a mapping is a descriptor that comes with one, and a process that is gone is a connection that
//! broke.
//!
//! * [`server`]: one thread that serves all clients from any driver that is [`Files`](ane_driver::front::Files);
//! * [`place`]: where a daemon listens, and that it is the only one there;
//! * [`resources`]: limits of its process that clients run into;
//! * [`sandbox`]: what the system lets it do then.
//!
//! What is said between a client and the daemon is [`aned_protocol`], the client's end included.
#![deny(unsafe_code)]

#[cfg(feature = "cli")]
pub mod limits;
pub mod place;
pub mod resources;
pub mod sandbox;
pub mod server;

#[cfg(test)]
mod testing;
