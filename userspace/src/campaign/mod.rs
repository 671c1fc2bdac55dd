//! Campaigns: many programs in many modes, and what held.
//!
//! A campaign is a list of cases. A case is one program, one way of computing, one seed of random inputs, and what is
//! expected of it. Each gives one line of JSON in a file that is only ever appended to, so that a part that was killed is
//! run again and goes on where it stopped.
//!
//! | file | holds |
//! |---|---|
//! | [`manifest`] | a TOML file or a folder, as cases |
//! | [`files`] | which programs a name stands for, and what is fit to be read |
//! | [`case`] | one case, its name for all times, and the part it belongs to |
//! | [`contents`] | what its files hold |
//! | [`runner`] | runs one case on a device |
//! | [`outputs`] | compares what came out with what is expected |
//! | [`meaning`] | operations in double precision, as they are meant |
//! | [`blame`] | the register that a failed request blames |
//! | [`record`] | lines of results, written whole and read back |
//! | [`pool`] | processes that run cases and may be killed |
//! | [`report`] | tables, rankings, JUnit and HTML |
//!
//! A manifest and what it names are untrusted: what a case reads is bounded, and what it costs is too.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod blame;
pub mod case;
pub mod contents;
pub mod files;
pub mod manifest;
pub mod meaning;
pub mod outputs;
pub mod pool;
pub mod record;
pub mod report;
pub mod runner;
