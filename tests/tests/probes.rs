//! The probes of the arithmetic, run by their script as somebody with an M1 would run them.

use std::path::Path;
use std::process::Command;

use ane_tests::{command, data};

#[test]
fn every_probe_runs_and_gives_the_answer_of_the_rules() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/probes/run.py");
    let run = Command::new("python3").arg(script).arg("--ane").arg(command::path()).output();
    let Ok(run) = run else { return data::not_run("python3 is missing") };
    let printed = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{printed}{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(printed.lines().last(), Some("19 rules, 0 otherwise, 0 neither, 0 did not run"), "{printed}");
}
