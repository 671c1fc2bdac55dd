//! Any bytes as a file: opening it keeps every promise of the readers and of the converter.

#![no_main]

#[path = "../../userspace/tests/support/check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|file: &[u8]| check::check(file));
