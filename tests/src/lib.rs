//! What crosses the crates: test data, independent references, and tests from end to end.

pub mod command;
pub mod control;
pub mod daemon;
pub mod data;
pub mod differential;
pub mod guest;
pub mod hostile;
pub mod random;
pub mod reference;
pub mod runner;
