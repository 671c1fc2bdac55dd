//! Both engines, the device and the one written from the text, held against what is known of silicon: real programs with recorded results, the numbered lines
//! of the arithmetic notes, and the sweeps that found what hangs and what does not matter. `programs` and `sweeps` hold the second
//! one alone: that the device agrees with it there is what `tests/mutation.rs` and `tests/programs.rs` show.

mod arithmetic;
mod delta;
mod families;
mod placement;
mod programs;
mod rig;
mod specials;
mod sweeps;
mod vectors;
