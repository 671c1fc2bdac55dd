//! `/dev/accel/accelN` for programs that know nothing of this project: preloaded, it stands in for the device node.
//!
//! A program opens the node, asks it for buffers by `ioctl`, maps them at the offsets it is told, and has the engine
//! run by another `ioctl`. Here the node opens as the file's *arena*: the memory object in which its buffers lie at
//! just those offsets. So the descriptor is a real one, and `mmap`, `dup`, `fork`, `close` and passing it to another
//! process are the kernel's own affair, at the kernel's own speed and without a copy. What is left are two questions
//! that the kernel would answer wrongly: what lies at the path, and what an `ioctl` on such a descriptor means. Those
//! calls are taken over, all others of the same names go on to the C library untouched.
//!
//! The daemon does the work of an `ioctl`. A call is carried there whole: `marshal` copies the memory behind
//! the argument's pointers, by the table of [`ane_uapi::ioctl::nested`], and writes changes back.
//!
//! A process that this library is loaded into is not ours. So it
//!
//! * never follows a client's pointer: the system copies, and says what is no memory;
//! * takes no lock and waits for no other thread: a call needs a lane, a connection with room for
//!   one call, and where all are taken it makes another. So a signal handler may do what it interrupted, and a child
//!   after `fork` finds nothing held. Only where there may be no more lanes a call waits for another's;
//! * allocates nothing once it has started, prints nothing, starts no thread, and changes `errno` only to report;
//! * does nothing at all unless `ANE_SHIM_SOCKET` names a daemon.
//!
//! | module | is about |
//! | --- | --- |
//! | `exports` | the functions that programs call |
//! | `next` | the functions behind them |
//! | `config`, `node` | what stands where, and which paths are the device's |
//! | `device` | opening, and calls on what is open |
//! | `huge` | buffers of arenas that are made of huge pages |
//! | `files`, `sweep` | which files are open, and which are not any more |
//! | `connection`, `marshal` | lanes to the daemon, and how calls travel on them |
//! | `sys` | the system, without the functions that this library replaces |
#![expect(unsafe_code, reason = "functions of the C library are replaced and called")]
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]
// The tests of a library with a function called `open` would open by it.
#![cfg_attr(test, expect(dead_code, reason = "what only the exported functions use"))]

mod config;
mod connection;
mod device;
#[cfg(not(test))]
mod exports;
mod files;
mod huge;
mod marshal;
#[cfg(not(test))]
mod next;
mod node;
mod sweep;
mod sys;
