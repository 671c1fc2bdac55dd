//! The release figures: how often something may go wrong before a release, counted.
//!
//! Each figure is a test. As `cargo nextest run` runs it, it has its smaller size; `cargo xtask release` (`tools/release`) runs
//! the same tests for hours and makes docs/reliability.md of what they print. Every figure draws what it does from one seed,
//! which its line has; `ANE_RELEASE_SEED` sets it. F1 (fuzzing) builds programs of its own and is in
//! `xtask/src/release/`.

mod greed;
mod harness;
mod having;
mod ioctls;
mod isolation;
mod kills;
mod mutated;
mod routes;
mod sessions;
mod soak;
mod storm;
mod users;
