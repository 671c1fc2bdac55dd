//! Transfer scripts: what a firmware author wants to try on the mover, without writing firmware.
//!
//! A script is text, a command to a line. It is read as a whole before anything is done, so a slip in its last line
//! leaves the device alone. Then it is carried out over a driver's bus, by the registers that firmware would write;
//! what it says and shows is a list. An `expect` that does not hold ends it.
//!
//! ```text
//! scratch 0x1000 = 00 01 02 03            # bytes, from that address on
//! fill scratch 0x3000 64 0xff             # so many bytes of one value
//! config 88 = 0x100 0x200 0xc0000002      # words of configuration space
//! move 0x100 0x200 2 scratch-to-scratch   # source, destination and size in units, and a direction
//! write COMMAND_ADDR 0xc2300540 t0        # any register of a core's window: b, t0, t1, t2 or other
//! read STATUS
//! read LAST_CYCLES                        # or a register of the model
//! xmov 0                                  # a thread issues XMOV, with parameters from configuration space
//! stallwait 0 0x10 0x200                  # thread, block mask, condition mask
//! wait                                    # until the queue is empty and the mover idle
//! show scratch 0x2000 32
//! expect iram 0 = 00 01 02 03
//! ```
//!
//! * [`Script`]: the text, understood.
//! * [`run`]: carrying it out.
//! * [`Shown`]: what it says.

mod output;
mod run;
mod script;

pub use output::{Shown, What};
pub use run::{Failed, run};
pub use script::{BadLine, Command, Memory, Script};
