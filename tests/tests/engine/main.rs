//! Both engines, the device and the one written from the text, held against what is known of silicon: real programs with recorded results, the numbered lines
//! of the arithmetic notes, and the sweeps that found what hangs and what does not matter.

mod arithmetic;
mod delta;
mod families;
mod placement;
mod programs;
mod rig;
mod specials;
mod sweeps;
mod vectors;
