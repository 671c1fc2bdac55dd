//! Any text as the description of a program: it is built, or the line that is wrong is told; memory is bounded by what a script
//! may ask for.

#![no_main]

use ane::build::script;
use half::f16;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let array = |name: &str, count: u64| match name {
        "" => Err("it has no name".to_owned()),
        _ => Ok(vec![f16::ONE; usize::try_from(count.min(1 << 16)).unwrap_or_default()]),
    };
    if let Err(why) = script::build_within(text, 1 << 18, array) {
        assert!(!why.to_string().is_empty());
    }
});
