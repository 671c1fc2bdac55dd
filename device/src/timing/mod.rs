//! The timing model: the time of a task on the chip.
//!
//! Virtual time, in cycles of the engine's clock: a function of the task's registers and of the chip's named numbers,
//! the same on every host and in every run, and nothing to do with how long the model takes to compute. The model
//! follows the data (docs/timing.md): coefficients fill before the array starts, unless there are so many that they
//! come in tiles, each of which fills while the array works on the one before; tiles of the activations come in and go
//! out meanwhile, or, of an activation that the pool does not hold, one after the other; the array takes one line of 64
//! bytes in a cycle, as often as there are passes over the output channels; granules that want the same bank wait.
//!
//! * [`machine`]: the numbers of a chip.
//! * [`work`]: what a pass asks for, from its plan.
//! * [`access`]: lines, work tiles and the banks that they meet in.
//! * [`cost`]: how long that takes.
//! * [`phases`]: the same as spans, for the timeline.
//! * [`usage`]: the same, added up.

pub mod access;
pub mod cost;
pub mod machine;
pub mod phases;
pub mod usage;
pub mod work;

pub use self::cost::{Before, Clock, Cost, Spent};
pub use self::machine::Machine;
pub use self::work::Work;
