//! The driver in front of the real device.

mod buffers;
mod checked_bus;
mod companions;
mod faults;
mod legacy;
mod loads;
mod misuse;
mod on_chip;
mod power;
mod programs;
mod recovery;
mod requests;
mod rig;
mod shares;
mod state_machine;
mod turns;
mod wide_bars;
