//! The timing model: its walks over the pool against counting by hand, and its costs under any work.

mod costs;
mod energy;
mod walks;
