//! What crosses the crates: test data, independent references, and tests from end to end.

pub mod aned;
pub mod client;
pub mod command;
pub mod control;
pub mod counting;
pub mod daemon;
pub mod data;
pub mod differential;
pub mod driven;
pub mod guest;
pub mod guest_checks;
pub mod hostile;
pub mod known;
pub mod linux;
pub mod long_task;
pub mod machine;
pub mod model;
pub mod null_task;
pub mod numpy;
pub mod oracles;
pub mod preload;
pub mod random;
pub mod reference;
pub mod remote;
pub mod runner;
pub mod stranger;
