//! What crosses the crates: test data, independent references, and tests from end to end.

pub mod command;
pub mod data;
pub mod random;
pub mod reference;
