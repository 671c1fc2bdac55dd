//! Programs that call with arguments made of chance: neither they nor the daemon may come to harm.

use std::process::Command;

use ane_device::Options;
use ane_tests::preload::{Preload, compiled};

/// Calls of one program: some that are good by chance hang, and take a second each.
const CALLS: &str = "1000";

#[test]
fn arguments_of_chance_are_answered_and_harm_nobody() {
    let preload = Preload::start(&Options::default());
    let Some(program) = compiled("random.c", preload.scratch(), &[]) else { return };
    for seed in 1..=4 {
        let done = preload.done(Command::new(&program).args([&seed.to_string(), CALLS]));
        assert_ne!(done, "0\n", "calls that are good by chance, with seed {seed}");
    }
}
