//! Clients that know nothing of this project, through the preload library: in C, C++ and Python, linked and by hand.
//!
//! They run the compiled programs that the engine's own tests know, and their results have to be the same to the bit.

mod behaviour;
mod crowd;
mod header;
mod hostile;
mod libane;
mod programs;
mod silence;
